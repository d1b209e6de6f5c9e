//! This crate beside libllama b11192, on random chains, logits, histories and events: every id, flag and bit, step by
//! step and as a whole. `README.md` says how to run it.
#![deny(unsafe_code)]

pub mod case;
pub mod found;
pub mod generate;
pub mod left_out;
pub mod run;
pub mod shrink;
pub mod step;
pub mod sweep;
pub mod tally;
pub mod write;
