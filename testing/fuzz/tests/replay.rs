//! The fuzz targets on the stable toolchain: every regression, every seed, and seeds spoiled for FUZZ_SECONDS (10) seconds each. An
//! input that breaks a promise is kept in `artifacts/`.

use std::path::Path;
use std::time::{Duration, Instant};

use sampler_chain_fuzz::mutate::Mutator;
use sampler_chain_fuzz::{TARGETS, seeds};

/// One input may take so long, in a debug build.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Keeps the input whose entry panics.
struct Kept<'a>(&'a str, &'a [u8]);

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(self.0);
            let path = dir.join(format!("stable-{:08x}", crc32fast::hash(self.1)));
            let kept = std::fs::create_dir_all(&dir).and_then(|()| std::fs::write(&path, self.1));
            eprintln!("{}: {kept:?}", path.display());
        }
    }
}

/// How long an input took.
fn run(target: &str, bytes: &[u8]) -> Duration {
    let entry = TARGETS.iter().find(|known| known.0 == target).expect("the target is in the list").1;
    let (_kept, start) = (Kept(target, bytes), Instant::now());
    entry(bytes);
    let time = start.elapsed();
    assert!(time < MAX_TIME, "{time:?} for {} bytes", bytes.len());
    time
}

fn replay(target: &str) {
    let mut known: Vec<Vec<u8>> = seeds::regressions(target).into_iter().map(|(_, bytes)| bytes).collect();
    known.extend(seeds::seeds(target));
    let mut slowest = known.iter().map(|bytes| run(target, bytes)).max().expect("each target has seeds");
    let variable =
        |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().expect("it is a number"));
    let (seconds, seed) = (variable("FUZZ_SECONDS", 10), variable("FUZZ_SEED", 1));
    let (mut mutator, start, mut n) = (Mutator::new(seed), Instant::now(), 0u64);
    while start.elapsed() < Duration::from_secs(seconds.into()) {
        slowest = slowest.max(run(target, &mutator.next_input(&known)));
        n += 1;
    }
    println!("{target}: {} known inputs, {n} spoiled ones, the slowest took {slowest:.2?}", known.len());
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
