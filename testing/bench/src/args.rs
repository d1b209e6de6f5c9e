//! The command line.

use std::path::PathBuf;

use crate::Failure;
use crate::chains;

pub const USAGE: &str = "\
sampler-chain-bench [--csv FILE] [--rows N] [--sizes N,N,…] [--chains NAME,…] [--rounds N]

  --csv FILE     also write chain,n_vocab,engine,median_us,p95_us,ratio_to_llama,ratio_to_floor
  --rows N       different rows of logits a size; 16 or more (16)
  --sizes N,…    vocabularies (49152,151669,262144); 49152 takes real rows of SmolLM2
  --chains NAME,…  some chains only (all)
  --rounds N     how often each row is drawn from with the clock running (4)

LLAMA_LIB=…/libllama.so names llama.cpp b11192's library. Without it, it is left out.";

/// What is to be measured.
pub struct Args {
    pub csv: Option<PathBuf>,
    pub rows: usize,
    pub sizes: Vec<usize>,
    /// Empty: all.
    pub chains: Vec<String>,
    pub rounds: usize,
}

impl Args {
    /// None: the usage was asked for.
    pub fn read(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, Failure> {
        let mut args =
            Self { csv: None, rows: 16, sizes: vec![49_152, 151_669, 262_144], chains: Vec::new(), rounds: 4 };
        while let Some(flag) = words.next() {
            if flag == "--help" || flag == "-h" {
                return Ok(None);
            }
            let mut value = || words.next().ok_or(format!("{flag} wants a value"));
            match flag.as_str() {
                "--csv" => args.csv = Some(value()?.into()),
                "--rows" => args.rows = number(&flag, &value()?)?,
                "--sizes" => args.sizes = value()?.split(',').map(|n| number(&flag, n)).collect::<Result<_, _>>()?,
                "--chains" => args.chains = value()?.split(',').map(String::from).collect(),
                "--rounds" => args.rounds = number(&flag, &value()?)?,
                _ => return Err(format!("no such flag: {flag}\n\n{USAGE}").into()),
            }
        }
        // Fewer rows would let the branch predictors learn them by heart.
        if args.rows < 16 {
            return Err("--rows: at least 16 different rows".into());
        }
        if args.rounds == 0 || args.sizes.iter().any(|&n| n < 1000) {
            return Err("--rounds is at least 1, a size at least 1000".into());
        }
        if let Some(unknown) = args.chains.iter().find(|name| !chains::NAMES.contains(&name.as_str())) {
            return Err(format!("--chains: no {unknown}; there are {}", chains::NAMES.join(", ")).into());
        }
        Ok(Some(args))
    }
}

fn number(flag: &str, text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{flag}: {text} is not a number"))
}
