//! No step of the community leaves nothing, whatever its parameters and the logits are: where a set had a number, it has one after the
//! step, and no number became NaN or +infinity. (A probability may be NaN beside logits above 1e8: llama.cpp's bucket sort takes the
//! best of such a row for the worst, and its softmax the first of a sorted set for the best.) A new step needs no line here: its file is found, its docs have an example, and
//! the parameters of the example are set to the ends of what they take.

use std::sync::LazyLock;

use biggest_gap as _;
use sampler_chain::{Cand, CandBuf, CandSet, Ctx, Mt19937, SamplerStep, StepInfo, registered_steps};
use serde_json::{Value, json};

/// So many pairs of parameters and a row are tried of each step.
const CASES: usize = if cfg!(debug_assertions) { 4_000 } else { 40_000 };

const N_VOCAB: usize = 12;

/// The steps of the community, by the names of their files, each with the example in its docs.
fn community() -> &'static [(String, Value)] {
    static FOUND: LazyLock<Vec<(String, Value)>> = LazyLock::new(|| {
        let known = registered_steps();
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("samplers/community");
        let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = files.filter_map(|file| file.strip_suffix(".rs").map(String::from)).collect();
        names.retain(|name| name != "mod");
        names.sort();
        let of = |name: String| {
            assert!(known.contains(&name), "samplers/community/{name}.rs has no step of its name");
            let example = StepInfo::of(&name).unwrap().example.unwrap_or_else(|| panic!("{name} has no example"));
            (name, example)
        };
        names.into_iter().map(of).collect()
    });
    &FOUND
}

fn of<T: Clone>(rng: &mut Mt19937, items: &[T]) -> T {
    items[rng.next_u32() as usize % items.len()].clone()
}

const NUMBERS: [f64; 23] = [
    0.0,
    1e-45,
    1e-44,
    2e-38,
    1.2e-38,
    1e-37,
    1e-30,
    1e-7,
    0.01,
    0.5,
    0.999_999_9,
    1.0,
    1.000_000_1,
    1.5,
    2.0,
    2.999,
    3.0,
    40.0,
    1e9,
    1e30,
    1e37,
    3e38,
    3.402_823_466_385_288_6e38,
];

/// A value of the same kind, as near to an end as can be.
fn extreme(rng: &mut Mt19937, value: &Value) -> Value {
    let tokens = |rng: &mut Mt19937, n: u32| (0..n).map(|_| rng.next_u32() % N_VOCAB as u32).collect::<Vec<u32>>();
    match value {
        Value::Bool(_) => json!(rng.next_u32().is_multiple_of(2)),
        Value::Number(number) if number.is_u64() && rng.next_u32().is_multiple_of(2) => {
            json!(of(rng, &[0u32, 1, 2, 3, 5, 12, u32::MAX]))
        }
        Value::Number(_) => match (of(rng, &NUMBERS), rng.next_u32() % 3) {
            (number, 0) => json!(-number),
            (number, _) => json!(number),
        },
        Value::String(text) if text == "ggml" => json!(of(rng, &["ggml", "kobold"])),
        Value::String(_) => json!(of(rng, &["inf", "-inf"])),
        Value::Array(items) => match items.first() {
            // Tokens.
            None | Some(Value::Number(_)) if items.iter().all(Value::is_u64) => {
                let n = of(rng, &[0, 1, 3, 40]);
                json!(tokens(rng, n))
            }
            // Sequences and their biases.
            Some(Value::Array(pair)) if pair.last().is_some_and(|last| !last.is_array() && !last.is_u64()) => {
                let pairs = (0..of(rng, &[1u32, 3, 40])).map(|_| {
                    let bias = of(rng, &[json!(-3.4e38), json!(3.4e38), json!("-inf"), json!(-1e38), json!(0)]);
                    let n = of(rng, &[1, 1, 1, 2]);
                    json!([tokens(rng, n), bias])
                });
                json!(pairs.collect::<Vec<Value>>())
            }
            // Steps inside, and what leads to them.
            _ => json!(items.iter().map(|item| extreme(rng, item)).collect::<Vec<Value>>()),
        },
        // What llama.cpp has does as llama.cpp does: it may leave nothing.
        Value::Object(_) => match of(rng, community()).1 {
            step if step["steps"].is_null() && rng.next_u32().is_multiple_of(2) => varied(rng, &step),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// A step with some of its parameters at an end.
fn varied(rng: &mut Mt19937, step: &Value) -> Value {
    let fields = step.as_object().unwrap().iter().map(|(name, value)| {
        let keep = name == "type" || rng.next_u32().is_multiple_of(5);
        (name.clone(), if keep { value.clone() } else { extreme(rng, value) })
    });
    Value::Object(fields.collect())
}

/// Logits of a few values that are as far apart, as near, as large and as small as can be.
fn row(rng: &mut Mt19937) -> Vec<f32> {
    let values = [
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        -f32::MIN_POSITIVE,
        f32::from_bits(1),
        -f32::from_bits(1),
        0.0,
        -0.0,
        1.0,
        -1.0,
        -1.5,
        3e38,
        -3e38,
        1e20,
        -1e20,
        88.0,
        -104.0,
        f32::NEG_INFINITY,
        f32::NEG_INFINITY,
    ];
    let (n, n_values) = (of(rng, &[1, 2, 3, N_VOCAB, N_VOCAB]), of(rng, &[1, 1, 2, 3, 9]));
    let of_row: Vec<f32> = (0..n_values).map(|_| of(rng, &values)).collect();
    // A row of 1,200 is read in blocks, and not written out.
    let n = if rng.next_u32().is_multiple_of(8) { n * 100 } else { n };
    (0..n).map(|_| of(rng, &of_row)).collect()
}

/// What became wrong, if anything did. None of a case that has no number to begin with.
fn broken(step: &mut dyn SamplerStep, logits: &[f32], rng: &mut Mt19937) -> Option<Option<String>> {
    let mut ctx = Ctx::new(3).with_n_vocab(logits.len().max(N_VOCAB));
    step.prepare(&ctx).ok()?;
    logits.iter().find(|logit| logit.is_finite())?;
    let (n_prompt, n_drawn) = (of(rng, &[0, 3, 20]), of(rng, &[0, 1, 3, 20]));
    for i in 0..n_prompt + n_drawn {
        let token = rng.next_u32() % N_VOCAB as u32;
        if i < n_prompt {
            ctx.history_mut().push_prompt(token)
        } else {
            ctx.history_mut().push(token)
        }
        step.accept(token, &ctx);
    }
    let (mut buf, kind) = (CandBuf::default(), rng.next_u32() % 3);
    let cands: Vec<Cand> = logits.iter().zip(0..).map(|(&logit, id)| Cand { id, logit, p: 0.0 }).collect();
    let mut set = if kind == 0 { CandSet::from_cands(&cands, false, &mut buf) } else { CandSet::new(logits, &mut buf) };
    if kind == 1 {
        set.sort();
    }
    step.apply(&mut set, &mut ctx);
    let left = set.as_slice();
    let sorts_well = logits.iter().all(|&logit| logit <= 1e8);
    let is_wrong = |cand: &&Cand| cand.logit.is_nan() || cand.logit == f32::INFINITY || (sorts_well && cand.p.is_nan());
    let wrong = left.iter().find(is_wrong);
    Some(if let Some(cand) = wrong {
        Some(format!("{cand:?} came out"))
    } else if left.iter().all(|cand| cand.logit == f32::NEG_INFINITY) {
        Some(format!("nothing is left of {} candidates", left.len()))
    } else {
        None
    })
}

#[test]
fn no_step_of_the_community_leaves_nothing() {
    let mut wrong = Vec::new();
    assert!(community().len() >= 20, "{:?}", community());
    for (name, example) in community() {
        let (mut rng, mut judged) = (Mt19937::new(1), 0);
        for _ in 0..CASES * 20 {
            if judged == CASES {
                break;
            }
            let (parameters, logits) = (varied(&mut rng, example), row(&mut rng));
            let Ok(mut step) = serde_json::from_value::<Box<dyn SamplerStep>>(parameters.clone()) else { continue };
            let Some(broken) = broken(step.as_mut(), &logits, &mut rng) else { continue };
            judged += 1;
            if let Some(what) = broken {
                let some = &logits[..logits.len().min(N_VOCAB)];
                wrong.push(format!("{parameters}: {what}\nof {some:?}"));
                break;
            }
        }
        println!("{name}: {judged} cases");
        assert!(judged >= CASES / 4 || !wrong.is_empty(), "{name}: {judged} cases alone were judged");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
