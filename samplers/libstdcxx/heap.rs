//! `std::partial_sort`, and the heap beneath it.
//!
//! `before(a, b)` is "a goes before b". A comparator that contradicts itself (NaN keys) gives some order, never a panic.

/// Puts `value` into the heap `v[..len]`, whose place `hole` is free: the hole sinks to a leaf, then the value rises.
fn sift_down<T: Copy>(v: &mut [T], mut hole: usize, len: usize, value: T, before: &mut impl FnMut(&T, &T) -> bool) {
    let top = hole;
    while 2 * hole + 2 < len {
        let (left, right) = (2 * hole + 1, 2 * hole + 2);
        let child = if before(&v[right], &v[left]) { left } else { right };
        v[hole] = v[child];
        hole = child;
    }
    if 2 * hole + 2 == len {
        v[hole] = v[2 * hole + 1];
        hole = 2 * hole + 1;
    }
    while hole > top {
        let parent = (hole - 1) / 2;
        if !before(&v[parent], &value) {
            break;
        }
        v[hole] = v[parent];
        hole = parent;
    }
    v[hole] = value;
}

/// Makes a heap of a slice, with the element at its root that goes behind all others.
fn make_heap<T: Copy>(v: &mut [T], before: &mut impl FnMut(&T, &T) -> bool) {
    for parent in (0..v.len() / 2).rev() {
        sift_down(v, parent, v.len(), v[parent], before);
    }
}

/// Sorts a heap.
fn sort_heap<T: Copy>(v: &mut [T], before: &mut impl FnMut(&T, &T) -> bool) {
    for last in (1..v.len()).rev() {
        let value = v[last];
        v[last] = v[0];
        sift_down(v, 0, last, value, before);
    }
}

/// `std::partial_sort(first, first + middle, last, before)`: the first `middle` elements become the ones that go before all
/// others, in order; where the rest ends up is libstdc++'s, too.
///
/// With `middle` 0 the first element still changes places with whatever beats it.
///
/// # Panics
/// If `middle` is larger than the slice.
pub fn partial_sort<T: Copy>(v: &mut [T], middle: usize, mut before: impl FnMut(&T, &T) -> bool) {
    assert!(middle <= v.len(), "partial_sort: middle {middle} of {}", v.len());
    let before = &mut before;
    make_heap(&mut v[..middle], before);
    for i in middle..v.len() {
        if before(&v[i], &v[0]) {
            let value = v[i];
            v[i] = v[0];
            sift_down(v, 0, middle, value, before);
        }
    }
    sort_heap(&mut v[..middle], before);
}

/// What [`partial_sort`] leaves in its first `k` places, for elements that come one after the other: whoever does not go
/// before the [`worst`](Self::worst) that is kept need not be offered.
pub struct Best<T, F> {
    heap: Vec<T>,
    k: usize,
    before: F,
}

impl<T: Copy, F: FnMut(&T, &T) -> bool> Best<T, F> {
    /// Keeps `k` elements, 1 or more, in the memory of `heap`.
    pub fn new(k: usize, mut heap: Vec<T>, before: F) -> Self {
        heap.clear();
        Self { heap, k: k.max(1), before }
    }

    /// Whether there are `k` elements: from then on only better ones are kept.
    pub fn is_full(&self) -> bool {
        self.heap.len() == self.k
    }

    /// The element that the next better one replaces.
    pub fn worst(&self) -> Option<&T> {
        self.heap.first().filter(|_| self.is_full())
    }

    /// Takes the next element.
    pub fn offer(&mut self, value: T) {
        if !self.is_full() {
            self.heap.push(value);
            if self.is_full() {
                make_heap(&mut self.heap, &mut self.before);
            }
        } else if (self.before)(&value, &self.heap[0]) {
            sift_down(&mut self.heap, 0, self.k, value, &mut self.before);
        }
    }

    /// The kept elements in order. Fewer than `k` are sorted as `partial_sort` sorts them all.
    pub fn into_sorted(mut self) -> Vec<T> {
        if !self.is_full() {
            make_heap(&mut self.heap, &mut self.before);
        }
        sort_heap(&mut self.heap, &mut self.before);
        self.heap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_best_in_order() {
        let mut v = [3, 9, 1, 7, 5, 8];
        partial_sort(&mut v, 3, |a, b| a > b);
        assert_eq!(v[..3], [9, 8, 7]);
    }

    #[test]
    fn the_best_of_a_stream_are_those_of_a_partial_sort() {
        let mut seed = 3u32;
        for n in 1..60usize {
            for levels in [1, 3, 1000] {
                let all: Vec<(u32, usize)> = (0..n)
                    .map(|i| {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        ((seed >> 16) % levels, i)
                    })
                    .collect();
                for k in 1..=n {
                    let mut sorted = all.clone();
                    partial_sort(&mut sorted, k, |a, b| a.0 > b.0);
                    let mut best = Best::new(k, Vec::new(), |a: &(u32, usize), b: &(u32, usize)| a.0 > b.0);
                    all.iter().for_each(|value| best.offer(*value));
                    assert_eq!(best.into_sorted(), sorted[..k]);
                }
            }
        }
    }

    #[test]
    fn a_middle_of_nothing_still_moves_the_first() {
        let mut v = [3, 9, 1, 10];
        partial_sort(&mut v, 0, |a, b| a > b);
        assert_eq!(v, [10, 3, 1, 9]);
        partial_sort(&mut [0u8; 0], 0, |a, b| a > b);
    }

    #[test]
    fn a_comparator_that_contradicts_itself_stays_in_bounds() {
        for n in 0..40 {
            for middle in 0..=n {
                let mut v: Vec<usize> = (0..n).collect();
                partial_sort(&mut v, middle, |_, _| true);
                v.sort_unstable();
                assert_eq!(v, (0..n).collect::<Vec<_>>());
            }
        }
    }
}
