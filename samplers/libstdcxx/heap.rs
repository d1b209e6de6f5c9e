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
    for parent in (0..middle / 2).rev() {
        sift_down(v, parent, middle, v[parent], before);
    }
    for i in middle..v.len() {
        if before(&v[i], &v[0]) {
            let value = v[i];
            v[i] = v[0];
            sift_down(v, 0, middle, value, before);
        }
    }
    for last in (1..middle).rev() {
        let value = v[last];
        v[last] = v[0];
        sift_down(v, 0, last, value, before);
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
