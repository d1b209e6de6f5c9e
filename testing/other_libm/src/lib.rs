//! musl's mathematical functions under the names of C's, to be preloaded in front of the C library's.
//!
//! Rust's own `f32::exp` and its like call the platform's library by these names. The test suite of sampler-chain runs once more
//! under them (README.md): it gives the same bits, because no step calls the platform's functions.

/// The functions, each with its type: `name(arguments) -> result`.
macro_rules! exported {
    ($($name:ident($($argument:ident),+ : $type:ty)),+ $(,)?) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of musl.")]
            // SAFETY: the name is C's, and so is the signature; whoever links against it means this function.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name($($argument: $type),+) -> $type {
                libm::$name($($argument),+)
            }
        )+
    };
}

exported! {
    expf(x: f32), exp2f(x: f32), expm1f(x: f32), logf(x: f32), log2f(x: f32), log10f(x: f32), log1pf(x: f32), powf(x, y: f32),
    exp(x: f64), exp2(x: f64), expm1(x: f64), log(x: f64), log2(x: f64), log10(x: f64), log1p(x: f64), pow(x, y: f64),
    sinf(x: f32), cosf(x: f32), tanf(x: f32), tanhf(x: f32), cbrtf(x: f32), hypotf(x, y: f32),
    sin(x: f64), cos(x: f64), tan(x: f64), tanh(x: f64), cbrt(x: f64), hypot(x, y: f64),
}
