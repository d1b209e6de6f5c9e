//! Where b11192 ends the process: shown in a child.

use std::process::Command;

use libllama::Candidates;
use libtest_mimic::Failed;
use sampler_chain_differential::step::{Oracle, Setting, Step};

use super::{Test, ensure};

/// Tells a child what to run into.
pub const CHILD: &str = "DIFFERENTIAL_ABORTS";

pub const TESTS: &[(&str, Test)] = &[("an_empty_set_ends_the_process", empty_set)];

/// The samplers that take a softmax of an empty set, which `GGML_ASSERT` does not let pass.
const ABORTING: [&str; 6] = ["top_p", "typ_p", "mirostat", "mirostat_v2", "adaptive_p", "infill"];

/// Those that look at the size first, and do nothing.
const ALIVE: [&str; 2] = ["temp_ext", "xtc"];

pub fn child(what: &str) {
    let Ok(oracle) = Oracle::from_env() else { return };
    let library = oracle.library();
    let mut sampler = match what {
        "top_p" => library.top_p(0.5, 0),
        "typ_p" => library.typical(0.5, 0),
        "mirostat" => library.mirostat(8, 1, 5.0, 0.1, 100),
        "mirostat_v2" => library.mirostat_v2(1, 5.0, 0.1),
        "adaptive_p" => library.adaptive_p(0.5, 0.9, 1),
        "infill" => oracle.sampler(&Step::Infill, Setting { seed: 1, n_vocab: 300, vocab: 0 }),
        "xtc" => library.xtc(1.0, 0.1, 0, 1),
        _ => library.temp_ext(1.0, 0.5, 1.0),
    };
    // SAFETY: the assertion comes before anything is read, and so does the look at the size.
    unsafe { sampler.apply(&mut Candidates::default()) };
}

fn empty_set(_: &Oracle) -> Result<(), Failed> {
    for what in ABORTING.into_iter().chain(ALIVE) {
        let output = Command::new(std::env::current_exe()?).env(CHILD, what).output()?;
        let words = String::from_utf8_lossy(&output.stderr);
        let aborted = output.status.code().is_none() && words.contains("GGML_ASSERT(cur_p->size > 0) failed");
        let is_expected = if ABORTING.contains(&what) { aborted } else { output.status.success() };
        ensure(is_expected, || format!("{what}: {:?}: {words}", output.status))?;
    }
    Ok(())
}
