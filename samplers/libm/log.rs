//! `log`: the logarithm that is in `pow`, rounded once.

use super::pow::log as log_in_parts;

/// `log`, correctly rounded unless the true value lies almost midway between two numbers. glibc's is less exact: where the two
/// differ, they are neighbours.
pub fn log(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    match x {
        0.0 => f64::NEG_INFINITY,
        f64::INFINITY => x,
        _ => log_in_parts(x).0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nearest numbers to the true values, from a computation in 300 bits.
    #[test]
    fn is_rounded_once() {
        for (x, expected) in [
            (0.5, 0xbfe6_2e42_fefa_39ef_u64),
            (2.0, 0x3fe6_2e42_fefa_39ef),
            (1.0 / 3.0, 0xbff1_93ea_7aad_030b),
            (0.1, 0xc002_6bb1_bbb5_5515),
            (4_294_967_294.0 / 4_294_967_295.0, 0xbdf0_0000_0008_0000),
            (1.0 / 4_294_967_295.0, 0xc036_2e42_fef9_39ef),
            (f64::from_bits(1), 0xc087_4385_446d_71c3),
            (1e-310, 0xc086_4e69_394d_9508),
            (f64::MAX, 0x4086_2e42_fefa_39ef),
            (22.180_709_777_918_25, 0x4008_cb35_6b3d_1af7),
            (709.782_712_893_384, 0x401a_4284_94fa_f1b1),
            (1.0 / 4_294_967_296.0, 0xc036_2e42_fefa_39ef),
            (0.999_999_9, 0xbe7a_d7f2_b104_9b9f),
            (1.000_000_1, 0x3e7a_d7f2_847b_6492),
            (1.41, 0x3fd5_fd5f_abe6_4084),
            (0.707, 0xbfd6_30bc_6e7a_ed9c),
            (3.0, 0x3ff1_93ea_7aad_030b),
        ] {
            assert_eq!(log(x).to_bits(), expected, "log({x:e}) is {:#x}", log(x).to_bits());
        }
    }

    #[test]
    fn edges() {
        assert_eq!((log(1.0).to_bits(), log(0.0), log(-0.0)), (0, f64::NEG_INFINITY, f64::NEG_INFINITY));
        assert_eq!(log(f64::INFINITY), f64::INFINITY);
        assert!(log(f64::NAN).is_nan() && log(-1.0).is_nan() && log(f64::NEG_INFINITY).is_nan());
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    fn is_the_hosts_or_its_neighbour() {
        let mut rng = crate::libstdcxx::Mt19937::new(5);
        let mut n_differ = 0;
        let n = 50_000;
        for i in 0..n {
            let (a, b) = (rng.next_u32(), rng.next_u32());
            let x = match i % 4 {
                0 => f64::from_bits(u64::from(a >> 1) << 32 | u64::from(b)),
                1 => f64::from(a) / 4_294_967_295.0,
                2 => 1.0 + f64::from(a as i32) / 1e12,
                _ => 1e-9 + f64::from(a) / 1e8,
            };
            let (ours, hosts) = (log(x), std::hint::black_box(x).ln());
            if !hosts.is_finite() {
                assert!(ours == hosts || ours.is_nan() && hosts.is_nan(), "log({x:e})");
                continue;
            }
            let apart = (ours.to_bits() as i64).abs_diff(hosts.to_bits() as i64);
            assert!(apart <= 1, "log({x:e}) is {ours:e}, the host's {hosts:e}");
            n_differ += u32::from(apart > 0);
        }
        assert!(n_differ < n / 20, "{n_differ} differ");
    }
}
