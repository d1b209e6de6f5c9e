//! The parts of libstdc++ that llama.cpp's samplers stand on, with libstdc++'s exact behaviour: which element comes first
//! among equals, and how many numbers a draw takes, are part of the result.
//!
//! Written from a description of what they do and checked against recorded results (`testing/sort_oracle.cpp`).

mod discrete;
mod heap;
mod mt19937;
mod sort;
mod sort_keyed;

pub use discrete::discrete_draw;
pub use heap::{Best, partial_sort};
pub use mt19937::Mt19937;
pub use sort::sort_by;
pub use sort_keyed::{keyed, keyed_before, payload, risen, rising, sort_keyed};
