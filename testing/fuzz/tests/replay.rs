//! The fuzz targets on the stable toolchain: every regression, every seed, the packed corpora, and inputs spoiled for FUZZ_SECONDS (10)
//! seconds each. An input that breaks a promise is kept in `artifacts/`, and beside it the smallest part of it that still does.

#[path = "../../../tests/limits/processor.rs"]
mod processor;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

use sampler_chain_fuzz::mutate::Mutator;
use sampler_chain_fuzz::shrink::shrink;
use sampler_chain_fuzz::{TARGETS, corpora, n_too_large, oracle_case, seeds};

/// One input may have so many seconds of the processor, in a debug build.
const MAX_SECONDS: f64 = 10.0;
/// So long is an input made smaller that breaks a promise.
const SHRINK_TIME: Duration = Duration::from_secs(20);

thread_local! {
    /// Whether this thread's panics are expected, and not worth a text.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

fn processor_seconds() -> f64 {
    processor::seconds(Path::new("/proc/thread-self")).expect("this runs on Linux")
}

/// How many seconds of the processor an input took, or how it breaks a promise.
fn seconds_of(entry: fn(&[u8]), bytes: &[u8]) -> Result<f64, String> {
    let start = processor_seconds();
    let ended = catch_unwind(AssertUnwindSafe(|| entry(bytes)));
    let seconds = processor_seconds() - start;
    match ended {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(format!("it panics: {}", text.unwrap_or_default()))
        }
        Ok(()) if seconds >= MAX_SECONDS => Err(format!("it takes {seconds:.1} s")),
        Ok(()) => Ok(seconds),
    }
}

/// The seconds that an input took; one that breaks a promise is kept in the folder.
fn run(entry: fn(&[u8]), bytes: &[u8], folder: &Path) -> f64 {
    seconds_of(entry, bytes).unwrap_or_else(|broken| {
        let [whole, small] = keep(entry, bytes, folder);
        panic!("{broken}: {} bytes in {}, the smallest part in {}", bytes.len(), whole.display(), small.display());
    })
}

/// Writes an input that breaks a promise, and the smallest part of it that was found.
fn keep(entry: fn(&[u8]), bytes: &[u8], folder: &Path) -> [PathBuf; 2] {
    let name = format!("stable-{:08x}", crc32fast::hash(bytes));
    let paths = [folder.join(&name), folder.join(name + "-small")];
    std::fs::create_dir_all(folder).expect("the folder of artifacts can be made");
    std::fs::write(&paths[0], bytes).expect("an artifact can be written");
    let start = Instant::now();
    IS_QUIET.set(true);
    let small = shrink(bytes, |part| seconds_of(entry, part).is_err(), || start.elapsed() > SHRINK_TIME);
    IS_QUIET.set(false);
    std::fs::write(&paths[1], small).expect("an artifact can be written");
    paths
}

fn replay(target: &str) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                usual(panic)
            }
        }));
    });
    let entry = TARGETS.iter().find(|known| known.0 == target).expect("the target is in the list").1;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(target);
    let (mut slowest, mut n_refused) = (0.0f64, 0u64);
    let mut run = |bytes: &[u8]| {
        let before = n_too_large();
        slowest = slowest.max(run(entry, bytes, &folder));
        n_refused += u64::from(n_too_large() > before);
    };
    let mut known: Vec<Vec<u8>> = seeds::regressions(target).into_iter().map(|(_, bytes)| bytes).collect();
    let (n_regressions, seeds, found) = (known.len(), seeds::seeds(target), corpora::read(target));
    let (n_seeds, n_found) = (seeds.len(), found.len());
    known.extend(seeds.into_iter().chain(found));
    known.iter().for_each(|bytes| run(bytes));
    let variable =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect("it is a number"));
    let (seconds, seed) = (variable("FUZZ_SECONDS", 10), variable("FUZZ_SEED", 1));
    let (mut mutator, start, mut n) = (Mutator::new(seed), Instant::now(), 0u64);
    while start.elapsed() < Duration::from_secs(seconds.into()) {
        run(&mutator.next_input(&known));
        n += 1;
    }
    println!(
        "{target}: {n_regressions} regressions, {n_seeds} seeds, {n_found} of the corpus, {n} spoiled; {n_refused} were in part too \
         large; the slowest took {slowest:.2} s"
    );
}

macro_rules! replay {
    ($($target:ident)*) => {
        $(#[test] fn $target() { replay(stringify!($target)); })*

        #[test]
        fn every_target_is_replayed() {
            assert!(TARGETS.iter().map(|target| target.0).eq([$(stringify!($target)),*]));
            for (target, _) in TARGETS {
                let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fuzz_targets/{target}.rs"));
                let text = std::fs::read_to_string(file).expect("each has its file");
                assert!(text.contains(&format!("::{target}::entry(data)")), "{target} calls another");
            }
        }
    };
}

replay!(cands chain_json chain_toml gguf oracle_case preset record request safetensors shard snapshot sort vocabulary);

#[test]
fn packed_corpora_are_small_and_are_read() {
    let folder = corpora::path("any").parent().expect("it is in a folder").to_path_buf();
    let mut n_inputs = 0;
    for entry in folder.read_dir().expect("there are corpora") {
        let path = entry.expect("it can be listed").path();
        let target = path.file_stem().and_then(|name| name.to_str()).expect("its name is a text");
        assert!(TARGETS.iter().any(|(name, _)| *name == target), "{} has no target", path.display());
        assert!(path.metadata().is_ok_and(|file| file.len() <= corpora::MAX_PACKED as u64), "{}", path.display());
        let n = corpora::read(target).len();
        assert!(n > 0, "{} is empty", path.display());
        n_inputs += n;
    }
    assert!(n_inputs > 1000, "{n_inputs} inputs");
}

/// Rows and their results are cut off alike, so a recorded case that is cut passes as it did.
#[test]
fn recorded_cases_pass_when_they_are_cut() {
    let (mut n_passed, mut n_broken) = (0, 0);
    for seed in seeds::seeds("oracle_case") {
        for outcome in oracle_case::outcomes(&seed) {
            match outcome.failure {
                None => n_passed += 1,
                Some(failure) if failure.starts_with("not a case") => n_broken += 1,
                Some(failure) => panic!("{}: {failure}", outcome.name),
            }
        }
    }
    assert!(n_passed > 200 && n_broken == 3, "{n_passed} passed, {n_broken} are no cases");
}

#[test]
fn what_breaks_a_promise_is_kept_small() {
    let entry: fn(&[u8]) = |bytes| assert!(!bytes.contains(&b'x'), "there is an x");
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let broken = seconds_of(entry, b"abcxdef").expect_err("it panics");
    assert_eq!(broken, "it panics: there is an x");
    assert!(seconds_of(entry, b"abc").is_ok_and(|seconds| seconds < MAX_SECONDS));
    let [whole, small] = keep(entry, b"abcxdef", folder.path());
    assert_eq!(std::fs::read(whole).expect("it was written"), b"abcxdef");
    assert_eq!(std::fs::read(small).expect("it was written"), b"x");
}
