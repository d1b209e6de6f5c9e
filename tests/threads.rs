//! Samplers go from thread to thread and share vocabularies and breaker tables, and each draws what it draws alone.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sampler_chain::compare::{Comparison, Shard};
use sampler_chain::oracle::Replayer;
use sampler_chain::{
    Chain, ChainFile, Ctx, Diff, DryBreakers, GgufVocab, LogitsFile, Params, Record, Recorded, Recorder, Report,
    Sampler, Snapshot, StepInfo, Trace, Vocab, VocabFile, Warning, dry_breakers,
};
use serde_json::json;

const N_THREADS: usize = 8;
const N_JOBS: usize = 96;
/// How often a sampler is taken up, and what it draws then.
const N_TURNS: usize = 4;
const N_DRAWS: usize = if cfg!(debug_assertions) { 2 } else { 40 };

/// Everything that an engine keeps or hands on can be sent to another thread and looked at from many.
#[test]
fn what_an_engine_keeps_is_send_and_sync() {
    fn holds<T: Send + Sync>() {}
    holds::<Sampler>();
    holds::<Snapshot>();
    holds::<Chain>();
    holds::<Ctx>();
    holds::<Params>();
    holds::<Report>();
    holds::<ChainFile>();
    holds::<VocabFile>();
    holds::<GgufVocab>();
    holds::<Arc<dyn Vocab>>();
    holds::<LogitsFile>();
    holds::<Record>();
    holds::<Recorded>();
    holds::<Recorder<Vec<u8>>>();
    holds::<Recorder<std::fs::File>>();
    holds::<Replayer>();
    holds::<Comparison>();
    holds::<Shard>();
    holds::<Diff>();
    holds::<Trace>();
    holds::<StepInfo>();
    holds::<Warning>();
    holds::<sampler_chain::CandBuf>();
    holds::<DryBreakers>();
    holds::<sampler_chain::Mt19937>();
}

fn vocab() -> Arc<dyn Vocab> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testing/data/small-vocab.json");
    Arc::new(VocabFile::read(&path).unwrap())
}

/// Requests that share breakers in part: of three lists, each text is in two. Every seventh is given a table that many have.
fn sampler(job: usize, vocab: &Arc<dyn Vocab>, table: &Arc<DryBreakers>) -> Sampler {
    let breakers = [["\n", "a"], ["a", "e"], ["e", "\n"]][job % 3];
    let mut request =
        json!({ "seed": job, "dry_multiplier": 0.8, "dry_sequence_breakers": breakers, "repeat_penalty": 1.1 });
    let more = match job % 4 {
        0 => json!({ "mirostat": 1 }),
        1 => json!({ "xtc_probability": 0.5, "dynatemp_range": 0.4 }),
        2 => {
            json!({ "samplers": ["dry", "typ_p", "top_n_sigma", "adaptive_p"], "typical_p": 0.7, "adaptive_target": 0.2 })
        }
        _ => json!({ "mirostat": 2 }),
    };
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let base = Params { n_vocab: Some(vocab.n_tokens()), vocab: Some(vocab.clone()), ..Params::default() };
    let (params, _) = Params::from_request(&request, &base, Some(vocab.as_ref())).unwrap();
    let mut sampler = Sampler::new(params).unwrap();
    if job.is_multiple_of(7) {
        sampler.set_dry_breakers(table.clone());
    }
    sampler
}

fn table(vocab: &Arc<dyn Vocab>) -> Arc<DryBreakers> {
    dry_breakers(vocab, &["e", "o"]).unwrap()
}

/// One job's next tokens; the rows are told by the job and the place, and come again, so that texts repeat themselves.
fn go_on(sampler: &mut Sampler, job: usize) -> Vec<u32> {
    let n = sampler.ctx().n_vocab().unwrap();
    (0..N_DRAWS)
        .map(|_| {
            let t = sampler.ctx().history().len();
            let row: Vec<f32> = (0..n).map(|i| ((i * 31 + t % 5 * 170 + job) % 2039) as f32 / 150.0).collect();
            let token = sampler.sample(&row).unwrap();
            sampler.accept(token).unwrap();
            token
        })
        .collect()
}

/// Samplers are made, run a little, laid down and taken up by whoever comes, cloned and dropped, while vocabularies come and go.
#[test]
fn many_samplers_on_many_threads_draw_as_alone() {
    let own = vocab();
    let own_table = table(&own);
    let alone: Vec<Vec<u32>> = (0..N_JOBS)
        .map(|job| {
            let mut sampler = sampler(job, &own, &own_table);
            (0..N_TURNS).flat_map(|_| go_on(&mut sampler, job)).collect()
        })
        .collect();
    assert!(alone.windows(5).all(|near| near[0] != near[4]), "the jobs are too alike to tell");

    let shared = [vocab(), vocab()];
    let shared_table = table(&shared[0]);
    let fresh = AtomicUsize::new(0);
    // A sampler lies here between its turns, with what it has drawn.
    let waiting: Mutex<Vec<(usize, Sampler, Vec<u32>)>> = Mutex::default();
    let done: Mutex<Vec<Option<Vec<u32>>>> = Mutex::new(vec![None; N_JOBS]);
    std::thread::scope(|scope| {
        for thread in 0..N_THREADS {
            let (shared, shared_table, fresh, waiting, done) = (&shared, &shared_table, &fresh, &waiting, &done);
            scope.spawn(move || {
                loop {
                    let taken = (thread % 2 == 0).then(|| waiting.lock().unwrap().pop()).flatten();
                    let (job, mut sampler, mut drawn) = match taken {
                        Some(taken) => taken,
                        None => match fresh.fetch_add(1, Ordering::Relaxed) {
                            // Every fifth has a vocabulary of its own, which ends with it.
                            job if job < N_JOBS && job % 5 == 0 => {
                                (job, sampler(job, &vocab(), shared_table), Vec::new())
                            }
                            job if job < N_JOBS => (job, sampler(job, &shared[job % 2], shared_table), Vec::new()),
                            _ => match waiting.lock().unwrap().pop() {
                                Some(taken) => taken,
                                None => break,
                            },
                        },
                    };
                    let mut copy = sampler.clone();
                    drawn.extend(go_on(&mut sampler, job));
                    assert_eq!(go_on(&mut copy, job), drawn[drawn.len() - N_DRAWS..], "a clone of job {job}");
                    if drawn.len() < N_TURNS * N_DRAWS {
                        waiting.lock().unwrap().push((job, sampler, drawn));
                    } else {
                        done.lock().unwrap()[job] = Some(drawn);
                    }
                }
            });
        }
    });
    // A thread that found nothing waiting has ended, and another laid its sampler down and took it up again itself.
    assert!(waiting.into_inner().unwrap().is_empty());
    for (job, (alone, together)) in alone.iter().zip(done.into_inner().unwrap()).enumerate() {
        assert_eq!(together.as_ref(), Some(alone), "job {job}");
    }
}
