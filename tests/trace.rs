//! Traces against the recorded results of the real llama.cpp, and against draws that nobody looks into.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sampler_chain::oracle::{Case, Replayer, read_cases};
use sampler_chain::trace::{Mass, Step};
use sampler_chain::{ChainFile, Ctx, LogitsFile, Sampler, Trace, TraceOptions, VocabFile};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn data() -> PathBuf {
    root().join("testing/data")
}

/// The cases of a file.
fn cases(file: &Path) -> Vec<Case> {
    let text = read_cases(file).unwrap();
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn untimed() -> TraceOptions {
    TraceOptions { top: 3, timed_draws: 0, ..TraceOptions::default() }
}

/// The percentages add up.
///
/// With u = EPSILON / 2, the largest error of one rounding: the softmax divides by a compensated sum, so its exact total is
/// within 2u of 1 (u of the sum, u of each quotient). `removed` and `kept` are rounded once each, and their sum once more: 4u.
/// `gained - removed - lost` is the difference of two totals (4u), of differences that were rounded (u of what was gained and u
/// of what was lost) and of three sums with one addition (3u, and u): at most 10u, whatever the number of candidates.
fn assert_adds_up(step: &Step, mass: &Mass, of: &str) {
    let Mass { removed, kept, lost, gained, .. } = *mass;
    assert!((removed + kept - 1.0).abs() <= 2.0 * f64::EPSILON, "{of}: {}: {mass:?}", step.step);
    assert!((removed + lost - gained).abs() <= 5.0 * f64::EPSILON, "{of}: {}: {mass:?}", step.step);
    assert!([removed, kept, lost, gained].iter().all(|share| (0.0..1.0 + f64::EPSILON * 4.0).contains(share)), "{of}");
    let same = step.removed == 0 && step.added == 0 && step.changed == 0;
    assert!(!same || gained == 0.0, "{of}: {}: nothing happened to a logit, and {gained} moved", step.step);
}

/// The counts of a trace belong together.
fn assert_consistent(trace: &Trace, of: &str) {
    let mut before = trace.logits.len;
    for step in &trace.steps {
        assert_eq!((step.before, step.after.len), (before, before - step.removed + step.added), "{of}: {}", step.step);
        assert!(!step.off || step.is_idle(), "{of}: {} is off and did something", step.step);
        assert_eq!(step.out.len(), step.removed.min(3));
        step.mass.iter().for_each(|mass| assert_adds_up(step, mass, of));
        before = step.after.len;
    }
}

/// llama.cpp's name of a step at run time, without the mark of a step that is off.
fn run_time_name(step: &str) -> String {
    match step {
        "typ_p" => "typical".into(),
        "temperature" => "temp".into(),
        other => other.replace('_', "-"),
    }
}

/// Every recorded case with its steps: the sizes, the flags and the tokens of the real llama.cpp.
#[test]
fn sizes_and_flags_are_those_of_llama_cpp() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap().to_str().unwrap().starts_with("steps-"));
    files.sort();
    let (mut replayer, mut n_cases, mut n_steps) = (Replayer::default(), 0, 0);
    for case in files.iter().flat_map(|file| cases(file)) {
        let Some(recorded) = &case.expect.steps else { continue };
        let (mut sampler, rows) = replayer.draws_of(&case, &data()).unwrap();
        // Looking is slow without optimisation: the widest rows are left to the release build.
        if cfg!(debug_assertions) && rows[0].len() > 1000 {
            continue;
        }
        let tokens = case.expect.tokens.as_ref().unwrap();
        for (i, (row, recorded)) in rows.iter().zip(recorded).enumerate() {
            let of = format!("{}: row {i}", case.name);
            let trace = sampler.trace(row, &untimed()).unwrap_or_else(|error| panic!("{of}: {error}"));
            assert_eq!(trace.token, tokens[i], "{of}");
            for (place, recorded) in (1..).zip(recorded) {
                let step = trace.steps.iter().rfind(|step| step.place[0] == place).unwrap();
                let found = (step.after.len, step.after.sorted);
                assert_eq!(found, (recorded.size, recorded.sorted), "{of}: step {place} ({})", step.step);
                let name = recorded.step.trim_start_matches('?').trim_end_matches("-ext");
                assert!(step.place.len() > 1 || run_time_name(&step.step) == name, "{of}: {} is {name}", step.step);
                assert!(
                    step.place.len() > 1 || name == "chain" || step.off == recorded.step.starts_with('?'),
                    "{of}: {name}"
                );
                n_steps += 1;
            }
            assert_eq!(trace.steps.last().unwrap().place[0], recorded.len(), "{of}");
            assert_consistent(&trace, &of);
            sampler.accept(trace.token).unwrap();
        }
        n_cases += 1;
    }
    assert!(n_cases >= 400 && n_steps >= 2000, "{n_cases} cases, {n_steps} steps");
}

/// Whole requests over SmolLM2: the tokens that llama-server drew, and step for step what `verify` sees.
#[test]
fn whole_requests_over_smollm2() {
    let mut replayer = Replayer::default();
    let mut n_rows = 0;
    for case in cases(&data().join("smollm2.jsonl")) {
        let (mut traced, rows) = replayer.draws_of(&case, &data()).unwrap();
        let mut drawn = traced.clone();
        for (i, (row, token)) in rows.iter().zip(case.expect.tokens.unwrap()).enumerate() {
            let of = format!("{}: row {i}", case.name);
            // Looking is slow without optimisation: most rows are left to the release build.
            if cfg!(debug_assertions) && i % 4 > 0 {
                for sampler in [&mut traced, &mut drawn] {
                    assert_eq!(sampler.sample(row), Ok(token), "{of}");
                    sampler.accept(token).unwrap();
                }
                continue;
            }
            let trace = traced.trace(row, &untimed()).unwrap();
            let mut seen = Vec::new();
            drawn
                .draw_seen(row, |_, step, cands| seen.push((step.typetag_name(), cands.len(), cands.is_sorted())))
                .unwrap();
            let steps = trace.steps.iter().map(|step| (step.step.as_str(), step.after.len, step.after.sorted));
            assert!(steps.eq(seen), "{of}");
            assert_eq!(trace.token, token, "{of}");
            assert_eq!(trace.n_accepted, case.prompt.len() + i);
            assert_eq!(trace.n_prompt, case.prompt.len());
            assert_consistent(&trace, &of);
            traced.accept(token).unwrap();
            drawn.accept(token).unwrap();
            assert_eq!(traced.snapshot(), drawn.snapshot(), "{of}");
            n_rows += 1;
        }
    }
    assert!(n_rows >= if cfg!(debug_assertions) { 15 } else { 60 }, "{n_rows}");
}

/// A chain of every kind over real rows.
fn chains() -> Vec<ChainFile> {
    let steps = [
        r#"{"type":"greedy"}"#,
        r#"{"type":"dist"}"#,
        r#"{"type":"min_p","p":0.1},{"type":"xtc","probability":0.9,"threshold":0.05},{"type":"dist"}"#,
        r#"{"type":"temperature","temp":1.5},{"type":"typ_p","p":0.6},{"type":"dist"}"#,
        r#"{"type":"top_n_sigma","n":1.0},{"type":"top_p","p":0.9},{"type":"dist"}"#,
        r#"{"type":"temperature","temp":1.0},{"type":"mirostat","tau":4.0}"#,
        r#"{"type":"mirostat_v2","tau":4.0}"#,
        r#"{"type":"penalties","last_n":64,"repeat":1.2},{"type":"dry","multiplier":0.8},{"type":"adaptive_p","target":0.3}"#,
        r#"{"type":"top_k","k":40},{"type":"chain","steps":[{"type":"top_p","p":0.9},{"type":"dist"}]}"#,
        r#"{"type":"temperature","temp":0.7,"delta":0.5},{"type":"top_k","k":500},{"type":"dist"}"#,
    ];
    let mut chains = Vec::new();
    for steps in steps {
        let text = format!(r#"{{"version":1,"seed":7,"steps":[{steps}]}}"#);
        let parsed = ChainFile::parse(&text, sampler_chain::Format::Json, Path::new("chain"));
        chains.push(parsed.unwrap_or_else(|error| panic!("{error}")));
    }
    chains
}

fn samplers(vocab: &Arc<VocabFile>) -> Vec<Sampler> {
    let of = |file: ChainFile| file.into_sampler(|seed| Ctx::new(seed).with_vocab(vocab.clone())).unwrap();
    chains().into_iter().map(of).collect()
}

/// The token of a trace is the one that `sample` draws on a clone, and everything moves alike.
#[test]
fn the_token_is_the_one_that_sample_draws() {
    let vocab = Arc::new(VocabFile::read(&data().join("smollm2-vocab.bin.gz")).unwrap());
    let logits = LogitsFile::open(&data().join("smollm2.safetensors"), None).unwrap();
    let mut row = Vec::new();
    for (n, mut traced) in samplers(&vocab).into_iter().enumerate() {
        for i in (n..logits.n_rows()).step_by(24) {
            logits.row(i, &mut row).unwrap();
            let mut drawn = traced.clone();
            let of = format!("chain {n}: row {i}");
            let trace = traced.trace(&row, &untimed()).unwrap();
            assert_eq!(Ok(trace.token), drawn.sample(&row), "{of}");
            assert_eq!(traced.snapshot(), drawn.snapshot(), "{of}");
            assert_consistent(&trace, &of);
            assert_eq!(trace.piece.as_ref().unwrap().bytes(), sampler_chain::Vocab::piece(&*vocab, trace.token));
            let story = trace.story(trace.token).unwrap();
            assert_eq!((story.points.len(), story.removed_by), (trace.steps.len() + 1, None), "{of}");
            assert_eq!(story.points.last().unwrap().unwrap().prob, trace.prob, "{of}");
            traced.accept(trace.token).unwrap();
        }
    }
}

/// The story of a token agrees with the steps.
#[test]
fn a_story_agrees_with_the_steps() {
    let vocab = Arc::new(VocabFile::read(&data().join("smollm2-vocab.bin.gz")).unwrap());
    let logits = LogitsFile::open(&data().join("smollm2.safetensors"), None).unwrap();
    let mut row = Vec::new();
    logits.row(3, &mut row).unwrap();
    for mut sampler in samplers(&vocab) {
        let first = sampler.clone().trace(&row, &untimed()).unwrap();
        let follow: Vec<u32> = first.steps.iter().flat_map(|step| &step.out).map(|cand| cand.id).collect();
        let trace = sampler.trace(&row, &TraceOptions { follow, ..untimed() }).unwrap();
        for (n, step) in trace.steps.iter().enumerate() {
            for cand in &step.out {
                let story = trace.story(cand.id).unwrap();
                assert_eq!(story.removed_by, Some(n));
                let last = story.points[n].unwrap();
                assert_eq!((last.prob, last.logit.to_bits()), (cand.prob, cand.logit.to_bits()));
                assert!(story.points[n + 1..].iter().all(Option::is_none));
            }
            for (rank, cand) in (1..).zip(&step.after.top) {
                let Some(story) = trace.story(cand.id) else { continue };
                let point = story.points[n + 1].unwrap();
                assert!(point.rank <= rank && point.prob == cand.prob);
            }
        }
    }
}
