//! How often the end of a text stands in it already.

/// For each distance k from the end, how many of the last tokens stand there, too: the Z-algorithm on the reversed window,
/// in linear time, with every count cut to `limit` as it is written (later counts build on the cut ones, as in llama.cpp).
pub(super) fn suffix_repeats(window: &[u32], limit: i32, repeats: &mut Vec<i32>) {
    let n = window.len();
    let back = |i: usize| window[n - 1 - i];
    repeats.clear();
    repeats.resize(n, 0);
    let (mut left, mut right) = (0, 0);
    for k in 1..n {
        let inside = right + 1 - k.min(right + 1);
        let known = if inside > 0 { repeats[k - left] } else { 0 };
        if inside == 0 && back(k) != back(0) {
            continue;
        }
        if inside > 0 && (known as usize) < inside {
            repeats[k] = known.min(limit);
            continue;
        }
        let mut end = k + inside;
        while end < n && back(end) == back(end - k) {
            end += 1;
        }
        repeats[k] = ((end - k) as i32).min(limit);
        if end > k {
            (left, right) = (k, end - 1);
        }
    }
}
