//! `std::sort` of keys with a payload: [`sort_by`](super::sort_by)'s result, without branches that depend on the data.

use super::partial_sort;
use super::sort::{SMALL, median};

/// So many elements of either side are compared with the pivot before any moves.
const BLOCK: usize = 64;

/// A key in the upper half, which alone is compared, and a payload in the lower half.
pub fn keyed(key: u32, payload: u32) -> u64 {
    u64::from(key) << 32 | u64::from(payload)
}

/// The payload of a [`keyed`] element.
pub fn payload(element: u64) -> u32 {
    element as u32
}

/// A key that rises with a float: `a < b` is `rising(a) < rising(b)`, and both zeros are one. NaN has no place in an order.
pub fn rising(x: f32) -> u32 {
    let bits = (x + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The float of a [`rising`] key.
pub fn risen(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key ^ 1 << 31 } else { !key })
}

fn key(element: u64) -> u32 {
    (element >> 32) as u32
}

/// Whether one [`keyed`] element goes before another one.
pub fn keyed_before(a: &u64, b: &u64) -> bool {
    key(*a) < key(*b)
}

/// `std::sort` of [`keyed`] elements by their rising keys, with equal keys where libstdc++ leaves them.
pub fn sort_keyed(v: &mut [u64]) {
    if let Some(log2) = v.len().checked_ilog2() {
        introsort(v, 2 * log2);
    }
}

/// Partitions until every range is short. libstdc++ sorts the short ranges by one insertion over everything at the end: since
/// no element of a range goes before one of an earlier range, that is a stable sort of each.
fn introsort(mut v: &mut [u64], mut depth: u32) {
    while v.len() > SMALL {
        if depth == 0 {
            partial_sort(v, v.len(), keyed_before);
            return;
        }
        depth -= 1;
        let cut = partition(v);
        let (left, right) = v.split_at_mut(cut);
        introsort(right, depth);
        v = left;
    }
    sort_small(v);
}

/// A stable sort of up to 16 elements: each goes to the place that the number of those before it says. Counting makes more
/// comparisons than insertion, and no branches.
fn sort_small(v: &mut [u64]) {
    let mut places = [0u32; SMALL];
    for i in 1..v.len().min(SMALL) {
        let mine = key(v[i]);
        let mut place = 0;
        for (j, other) in v[..i].iter().enumerate() {
            let is_before = u32::from(key(*other) <= mine);
            place += is_before;
            places[j] += 1 - is_before;
        }
        places[i] = place;
    }
    let mut sorted = [0u64; SMALL];
    for (&element, place) in v.iter().zip(places) {
        sorted[place as usize % SMALL] = element;
    }
    v.copy_from_slice(&sorted[..v.len()]);
}

/// The walk of `std::sort` from both ends, which exchanges the n-th element from the left that does not go before the pivot
/// with the n-th from the right that does not go behind it, until the two meet. Which these are does not depend on the exchanges,
/// so they are listed by blocks first and then exchanged.
fn partition(v: &mut [u64]) -> usize {
    v.swap(0, median(v, &mut keyed_before));
    let pivot = key(v[0]);
    let (mut left, mut right) = (1, v.len());
    let (mut lefts, mut rights) = (Listed::new(), Listed::new());
    while right - left >= 2 * BLOCK {
        if lefts.is_empty() {
            lefts.list(v[left..left + BLOCK].iter(), |key| key >= pivot);
        }
        if rights.is_empty() {
            rights.list(v[right - BLOCK..right].iter().rev(), |key| key <= pivot);
        }
        let n = lefts.len().min(rights.len());
        for (&l, &r) in lefts.take(n).iter().zip(rights.take(n)) {
            v.swap(left + usize::from(l), right - 1 - usize::from(r));
        }
        if lefts.is_empty() {
            left += BLOCK;
        }
        if rights.is_empty() {
            right -= BLOCK;
        }
    }
    // At most one of the lists has something left: the walk goes on from there, and what is left to walk is listed whole.
    left += lefts.first();
    right -= rights.first();
    let rest = &mut v[left..right];
    lefts.list(rest.iter(), |key| key >= pivot);
    rights.list(rest.iter().rev(), |key| key <= pivot);
    let (mut cut, n) = (rest.len(), lefts.len().min(rights.len()));
    let mut n_exchanged = 0;
    for (&l, &r) in lefts.places[..n].iter().zip(&rights.places[..n]) {
        let (l, r) = (usize::from(l), rest.len() - 1 - usize::from(r));
        if l >= r {
            break;
        }
        rest.swap(l, r);
        cut = r;
        n_exchanged += 1;
    }
    lefts.next = n_exchanged;
    // The walk from the left ends at the next of its list, or at what has been exchanged.
    left + if lefts.is_empty() { cut } else { cut.min(lefts.first()) }
}

/// The places in a block, or in two, that are to be exchanged.
struct Listed {
    places: [u8; 2 * BLOCK],
    next: usize,
    end: usize,
}

impl Listed {
    fn new() -> Self {
        Self { places: [0; 2 * BLOCK], next: 0, end: 0 }
    }

    fn is_empty(&self) -> bool {
        self.next == self.end
    }

    fn len(&self) -> usize {
        self.end - self.next
    }

    fn list<'v>(&mut self, block: impl Iterator<Item = &'v u64>, is_misplaced: impl Fn(u32) -> bool) {
        (self.next, self.end) = (0, 0);
        for (element, place) in block.zip(0..) {
            self.places[self.end % (2 * BLOCK)] = place;
            self.end += usize::from(is_misplaced(key(*element)));
        }
    }

    fn take(&mut self, n: usize) -> &[u8] {
        self.next += n;
        &self.places[self.next - n..self.next]
    }

    /// The next place; 0 where the list is empty.
    fn first(&self) -> usize {
        if self.is_empty() { 0 } else { self.places[self.next].into() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mt19937, sort_by};
    use super::*;

    #[test]
    fn keys_rise_with_floats() {
        let floats = [f32::NEG_INFINITY, f32::MIN, -1.0, -1e-45, 0.0, 1e-45, 1.0, f32::MAX, f32::INFINITY];
        assert!(floats.is_sorted_by(|a, b| rising(*a) < rising(*b)));
        assert_eq!(rising(-0.0), rising(0.0));
        assert!(floats.iter().all(|&x| risen(rising(x)).to_bits() == x.to_bits()));
    }

    /// The plain twin: `sort_by`, which the recorded arrays hold to libstdc++.
    #[test]
    fn leaves_what_sort_by_leaves() {
        let mut rng = Mt19937::new(11);
        let mut run = |n: usize, spread: u32, shape: u32| {
            let mut plain: Vec<u64> = (0..n as u32)
                .map(|i| {
                    let x = rng.next_u32() % spread;
                    let rising = (u64::from(i) * u64::from(spread) / n as u64) as u32;
                    let key = match shape {
                        0 => x,
                        1 => rising,
                        2 => spread - rising,
                        3 => rising.min(spread - rising),
                        4 => {
                            if i.is_multiple_of(16) {
                                x
                            } else {
                                rising
                            }
                        }
                        _ => {
                            if x.is_multiple_of(3) {
                                u32::MAX
                            } else {
                                x
                            }
                        }
                    };
                    keyed(key, i)
                })
                .collect();
            let mut quick = plain.clone();
            sort_by(&mut plain, keyed_before);
            sort_keyed(&mut quick);
            assert_eq!(plain, quick, "{n} elements, keys below {spread}, shape {shape}");
        };
        for n in (0..300).chain([511, 512, 1000, 1024, 5000, 50_000]) {
            for spread in [1, 2, 3, 17, 1000, 1 << 16, u32::MAX] {
                (0..6).for_each(|shape| run(n, spread, shape));
            }
        }
    }

    /// Keys against which the median of three is always bad, so that the rounds run out and a heap takes over.
    #[test]
    fn a_killer_goes_to_the_heap() {
        for n in [64u32, 1000, 4096] {
            let half = n / 2;
            let killer = (0..n).map(|i| {
                if i >= half {
                    (i - half) * 2 + 1
                } else if i % 2 == 0 {
                    i
                } else {
                    half + i - 1
                }
            });
            let mut plain: Vec<u64> = killer.zip(0..).map(|(key, i)| keyed(key / 2, i)).collect();
            let mut quick = plain.clone();
            sort_by(&mut plain, keyed_before);
            sort_keyed(&mut quick);
            assert_eq!(plain, quick);
        }
    }
}
