//! What chains do to the same rows of logits: the numbers by which two are compared.

mod distribution;
mod sequences;

pub use distribution::{Distribution, DistributionError};
pub use sequences::{agreement, distinct_n, median};
