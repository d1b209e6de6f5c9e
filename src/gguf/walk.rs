//! The order in which llama.cpp walks a vocabulary's names: that of a `std::unordered_map` of libstdc++.
//!
//! Where several tokens have a name that marks the end of a turn, the first of this walk is taken, so the walk is a part of
//! the result. Written from what is known of the container: one singly linked list; a new node goes to the front of its
//! bucket's run, or, in an empty bucket, to the front of the list; the buckets grow to the next of a list of primes as soon as
//! there would be more nodes than buckets, and all nodes are then put in again in the list's order.

/// The numbers of buckets, each at least twice the one before.
const BUCKETS: [usize; 23] = [
    13,
    29,
    59,
    127,
    257,
    541,
    1109,
    2357,
    5087,
    10273,
    20753,
    42043,
    85229,
    172_933,
    351_061,
    712_697,
    1_447_153,
    2_938_679,
    5_967_347,
    12_117_689,
    24_607_243,
    49_969_847,
    101_473_717,
];

const NONE: usize = usize::MAX;
/// What stands before the first node.
const BEFORE: usize = usize::MAX - 1;

/// Inserts keys one after the other and returns their places in the order in which the container is walked.
pub fn walk_order<'k>(keys: impl Iterator<Item = &'k [u8]>) -> Vec<usize> {
    let mut list = List { hashes: Vec::new(), next: Vec::new(), first: NONE, before: vec![NONE; 1] };
    for key in keys {
        list.insert(hash(key));
    }
    let mut order = Vec::with_capacity(list.next.len());
    let mut at = list.first;
    while at != NONE {
        order.push(at);
        at = list.next[at];
    }
    order
}

struct List {
    hashes: Vec<u64>,
    next: Vec<usize>,
    first: usize,
    /// For each bucket the node before its first one.
    before: Vec<usize>,
}

impl List {
    fn insert(&mut self, hash: u64) {
        let node = self.hashes.len();
        self.hashes.push(hash);
        self.next.push(NONE);
        let n_buckets = if self.before.len() == 1 { 0 } else { self.before.len() };
        if node + 1 > n_buckets {
            let grown = BUCKETS.into_iter().find(|n| *n > n_buckets).unwrap_or(2 * n_buckets + 1);
            self.before = vec![NONE; grown];
            let mut at = std::mem::replace(&mut self.first, NONE);
            while at != NONE {
                let then = self.next[at];
                self.link(at);
                at = then;
            }
        }
        self.link(node);
    }

    fn link(&mut self, node: usize) {
        let bucket = self.bucket(node);
        match self.before[bucket] {
            NONE => {
                self.next[node] = self.first;
                self.first = node;
                if self.next[node] != NONE {
                    let follower = self.bucket(self.next[node]);
                    self.before[follower] = node;
                }
                self.before[bucket] = BEFORE;
            }
            BEFORE => {
                self.next[node] = self.first;
                self.first = node;
            }
            before => {
                self.next[node] = self.next[before];
                self.next[before] = node;
            }
        }
    }

    fn bucket(&self, node: usize) -> usize {
        (self.hashes[node] % self.before.len() as u64) as usize
    }
}

/// `std::hash<std::string>`: the 64-bit MurmurHash2 with libstdc++'s seed.
fn hash(key: &[u8]) -> u64 {
    const MUL: u64 = 0xc6a4_a793_5bd1_e995;
    const SEED: u64 = 0xc70f_6907;
    let mix = |x: u64| x ^ (x >> 47);
    let mut hash = SEED ^ (key.len() as u64).wrapping_mul(MUL);
    let (eights, rest) = key.as_chunks::<8>();
    for eight in eights {
        let data = mix(u64::from_le_bytes(*eight).wrapping_mul(MUL)).wrapping_mul(MUL);
        hash = (hash ^ data).wrapping_mul(MUL);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(MUL);
    }
    mix(mix(hash).wrapping_mul(MUL))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Orders that programs compiled with g++ 12 printed.
    #[test]
    fn keys_are_walked_as_in_libstdcxx() {
        let text = include_str!("../../testing/data/unordered_map.txt");
        let mut n_maps = 0;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (n, places) = line.split_once(':').unwrap();
            let n: usize = n.parse().unwrap();
            let expected: Vec<usize> = places.split_whitespace().map(|place| place.parse().unwrap()).collect();
            let keys: Vec<String> = (0..n).map(|i| format!("<|token number {i}|>")).collect();
            let order = walk_order(keys.iter().map(String::as_bytes));
            assert_eq!(order[..expected.len()], expected, "{n} keys");
            n_maps += 1;
        }
        assert!(n_maps >= 10);
    }
}
