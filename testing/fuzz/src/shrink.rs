//! Makes an input smaller that breaks a promise.

/// The smallest input found that still fails: parts are left out, halves first and single bytes last, as long as something can be,
/// until it is `enough`.
pub fn shrink(bytes: &[u8], mut fails: impl FnMut(&[u8]) -> bool, mut enough: impl FnMut() -> bool) -> Vec<u8> {
    let mut small = bytes.to_vec();
    let mut part = small.len().div_ceil(2);
    while part > 0 {
        let (mut at, before) = (0, small.len());
        while at < small.len() && !enough() {
            let end = (at + part).min(small.len());
            let without = [&small[..at], &small[end..]].concat();
            if fails(&without) {
                small = without;
            } else {
                at = end;
            }
        }
        // What has become possible is tried once more.
        part = if small.len() == before || enough() { part / 2 } else { part.min(small.len()) };
    }
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_takes_to_fail_is_left() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3000).collect();
        let fails = |bytes: &[u8]| {
            let at = |wanted: u8| bytes.iter().position(|&byte| byte == wanted);
            at(200).zip(at(7)).is_some_and(|(late, early)| early < late)
        };
        assert_eq!(shrink(&bytes, fails, || false), [7, 200]);
        assert!(shrink(&bytes, |_| true, || false).is_empty());
        assert_eq!(shrink(&bytes, |_| false, || false), bytes);
    }

    #[test]
    fn it_ends_when_it_is_enough() {
        let (mut n, bytes) = (0, [1; 1000]);
        let enough = || {
            n += 1;
            n > 10
        };
        let small = shrink(&bytes, |bytes| bytes.len() > 2, enough);
        assert!(small.len() > 2 && small.len() <= 500, "{}", small.len());
    }
}
