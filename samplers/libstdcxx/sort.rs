//! `std::sort`: introsort, then insertion.

use super::partial_sort;

/// Ranges up to this length are left to the insertion sort.
pub(super) const SMALL: usize = 16;

/// `std::sort(first, last, before)`, with equal elements where libstdc++ leaves them.
///
/// `before(a, b)` is "a goes before b". A comparator that contradicts itself (NaN keys) gives some order, never a panic.
pub fn sort_by<T: Copy>(v: &mut [T], mut before: impl FnMut(&T, &T) -> bool) {
    if v.is_empty() {
        return;
    }
    introsort(v, 2 * v.len().ilog2(), &mut before);
    let head = v.len().min(SMALL);
    for i in 1..head {
        if before(&v[i], &v[0]) {
            v[..=i].rotate_right(1);
        } else {
            insert_back(v, i, &mut before);
        }
    }
    for i in head..v.len() {
        insert_back(v, i, &mut before);
    }
}

/// Partitions until every range is short; `depth` rounds at most, then by heap.
fn introsort<T: Copy>(mut v: &mut [T], mut depth: u32, before: &mut impl FnMut(&T, &T) -> bool) {
    while v.len() > SMALL {
        if depth == 0 {
            partial_sort(v, v.len(), before);
            return;
        }
        depth -= 1;
        let cut = partition(v, before);
        let (left, right) = v.split_at_mut(cut);
        introsort(right, depth, before);
        v = left;
    }
}

/// Moves the median to the front and parts the rest around it. The index where the right part begins.
fn partition<T: Copy>(v: &mut [T], before: &mut impl FnMut(&T, &T) -> bool) -> usize {
    v.swap(0, median(v, before));

    // A consistent comparator stops both walks by itself; the bounds are for the others.
    let (mut left, mut right) = (1, v.len());
    loop {
        while left < v.len() && before(&v[left], &v[0]) {
            left += 1;
        }
        right -= 1;
        while right > 0 && before(&v[0], &v[right]) {
            right -= 1;
        }
        if left >= right {
            return left;
        }
        v.swap(left, right);
        left += 1;
    }
}

/// Where the median of the second, the middle and the last element is.
pub(super) fn median<T: Copy>(v: &[T], before: &mut impl FnMut(&T, &T) -> bool) -> usize {
    let (a, b, c) = (1, v.len() / 2, v.len() - 1);
    if before(&v[a], &v[b]) {
        if before(&v[b], &v[c]) {
            b
        } else if before(&v[a], &v[c]) {
            c
        } else {
            a
        }
    } else if before(&v[a], &v[c]) {
        a
    } else if before(&v[b], &v[c]) {
        c
    } else {
        b
    }
}

/// Moves element `i` back over all that it goes before.
fn insert_back<T: Copy>(v: &mut [T], i: usize, before: &mut impl FnMut(&T, &T) -> bool) {
    let value = v[i];
    let mut hole = i;
    while hole > 0 && before(&value, &v[hole - 1]) {
        v[hole] = v[hole - 1];
        hole -= 1;
    }
    v[hole] = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts() {
        for n in [0usize, 1, 2, 16, 17, 100, 1000] {
            let mut v: Vec<u64> = (0..n as u64).map(|i| i * 7919 % 1009).collect();
            let mut expected = v.clone();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            sort_by(&mut v, |a, b| a > b);
            assert_eq!(v, expected);
        }
    }

    #[test]
    fn a_comparator_that_contradicts_itself_stays_in_bounds() {
        let mut seed = 1u32;
        for n in 0..200 {
            for kind in 0..3 {
                let mut v: Vec<usize> = (0..n).collect();
                sort_by(&mut v, |_, _| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    kind == 0 || (kind == 1 && seed >> 31 == 1)
                });
                v.sort_unstable();
                assert_eq!(v, (0..n).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn nan_keys_stay_in_bounds() {
        let mut v: Vec<f32> = (0..300).map(|i| if i % 3 == 0 { f32::NAN } else { i as f32 }).collect();
        sort_by(&mut v, |a, b| a > b);
        assert_eq!(v.iter().filter(|x| x.is_nan()).count(), 100);
    }
}
