//! What chains do to the same rows of logits, against a baseline.
//!
//! A [`Plan`] has chains, rows and seeds. Every chain draws from every row, once a seed; the first chain is the baseline. What
//! comes out is a [`Comparison`], which keeps a [`RowResult`] for each (seed, row, chain) and gives a [`Summary`] a chain.
//!
//! ```
//! use sampler_chain::compare::{Contestant, Plan};
//! use sampler_chain::{Params, Sampler};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rows = vec![vec![0.1, 2.0, -1.0, 1.5], vec![1.0, 0.9, 0.8, -3.0]];
//! let cool = Sampler::new(Params { seed: 1, temperature: 0.7, ..Params::default() })?;
//! let hot = Sampler::new(Params { seed: 1, temperature: 1.5, ..Params::default() })?;
//! let plan = Plan::new(&rows, vec![Contestant::new("cool", cool), Contestant::new("hot", hot)]).seeds(vec![1, 2, 3]);
//! let comparison = plan.run()?;
//! let table = comparison.table();
//! assert_eq!((table[0].agreement, table[0].tv), (1.0, 0.0)); // the baseline with itself
//! assert!(table[1].entropy > table[0].entropy);
//! # Ok(())
//! # }
//! ```
//!
//! # Common random numbers
//! Each chain is started with the same seed, and each of its random steps has a generator of its own, as in llama.cpp. So two
//! chains that end in `dist` draw with the same number at every row, and luck has less of a part in where their tokens differ.
//! Of two distributions at a distance of TV, no way to draw agrees more often than 1 - TV on average, and this one usually agrees
//! less often: `dist` goes along the running sum of the candidates in their order, where a probability that changes moves all
//! that come after it, and another order (sorted, or by id) moves everything. [`Summary::tv`] and the divergences know neither
//! order nor luck.
//!
//! # What joins the history
//! Recorded rows are those that a model gave along *one* text, so what a chain draws cannot change what comes next. [`Follow`]
//! says which token the chains are told after each row. All are told the same unless [`Follow::Own`] is asked for: penalties and
//! DRY then look at the same history, and two distributions differ by their chains alone. Random steps and mirostat go by their
//! own draws, as always. `adaptive_p` learns from a token only when it drew it, as in llama.cpp, so what is told matters there.
//!
//! # Shards
//! A comparison has `seeds × rows` [`Cell`]s, in the order of the seeds and, within each, of the rows. [Shard] i of n does
//! the i-th part of them, and draws, without measuring, the rows that come before it for its first seed, because generators and
//! histories depend on them. A shard keeps every result of every row, and a table is always made from all of them in their order.
//! So [merged](Comparison::merge) shards give the table of one run, bit for bit; only times are another run's times.

mod cells;
mod distribution;
mod error;
mod plan;
mod run;
mod sequences;
mod setup;
mod shard;
mod summary;

pub use cells::{Cell, RowResult};
pub use distribution::{Distribution, DistributionError};
pub use error::{CompareError, ShardError};
pub use plan::{Contestant, Plan, RowSource};
pub use sequences::{agreement, distinct_n, median, standard_error};
pub use setup::{ChainSetup, Follow, Setup};
pub use shard::{Comparison, Shard, ShardNumber};
pub use summary::{Divergence, Summary};
