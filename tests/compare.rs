//! Comparisons: a chain with itself, shards of every size, and what is told of a plan or a shard that cannot be.

use std::path::{Path, PathBuf};

use sampler_chain::compare::{
    Comparison, Contestant, Follow, Plan, Shard, ShardNumber, Summary, agreement, distinct_n,
};
use sampler_chain::{ChainFile, Ctx, Format, LogitsFile, Params, Sampler, Synthetic, SyntheticKind};
use serde_json::json;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

fn smollm2() -> LogitsFile {
    LogitsFile::open(&root().join("testing/data/smollm2.safetensors"), Some("logits")).unwrap()
}

/// A few small rows, which repeat themselves enough for penalties and DRY to matter.
fn small() -> Synthetic {
    Synthetic { kind: SyntheticKind::Ties, seed: 5, n_vocab: 40, rows: 11 }
}

fn of_steps(name: &str, steps: serde_json::Value) -> Contestant {
    let text = json!({"version": 1, "steps": steps}).to_string();
    let file = ChainFile::parse(&text, Format::Json, Path::new(name)).unwrap();
    Contestant::new(name, file.into_sampler(Ctx::new).unwrap())
}

fn of_file(name: &str, n_vocab: usize) -> Contestant {
    let file = ChainFile::read(&root().join(format!("examples/chains/{name}.toml"))).unwrap();
    Contestant::new(name, file.into_sampler(|seed| Ctx::new(seed).with_n_vocab(n_vocab)).unwrap())
}

/// Chains that look at the history.
fn with_history() -> Vec<Contestant> {
    let dry = json!({"type": "dry", "multiplier": 2.0, "allowed_length": 1});
    let penalties = json!({"type": "penalties", "repeat": 1.4, "freq": 0.3});
    let (warm, dist) = (json!({"type": "temperature", "temp": 0.7}), json!({"type": "dist"}));
    vec![
        of_steps("plain", json!([{"type": "top_k", "k": 6}, dist])),
        of_steps("dry", json!([dry, dist])),
        of_steps("penalties", json!([penalties, warm, dist])),
        Contestant::new("mirostat", Sampler::new(Params { mirostat: 2, seed: 1, ..Params::default() }).unwrap()),
        Contestant::new(
            "request",
            Sampler::new(Params { seed: 1, xtc_probability: 0.5, ..Params::default() }).unwrap(),
        ),
        of_steps("greedy", json!([{"type": "greedy"}])),
    ]
}

/// Every number's bits.
fn bits(table: &[Summary]) -> Vec<Vec<u64>> {
    let of = |line: &Summary| {
        let sure = [line.agreement, line.tv, line.kl.infinite, line.reverse_kl.infinite];
        let more = [line.kept_median, line.kept_mean, line.entropy];
        let maybe = [line.agreement_error, line.kl.mean, line.reverse_kl.mean].into_iter().chain(line.distinct);
        let maybe = maybe.map(|value: Option<f64>| value.map_or(u64::MAX, f64::to_bits));
        sure.iter().chain(&more).map(|value| value.to_bits()).chain(maybe).collect()
    };
    table.iter().map(of).collect()
}

fn shards(plan: &Plan<'_>, n: usize) -> Vec<(String, Shard)> {
    let shard = |i| (format!("{i}.jsonl"), plan.run_shard(ShardNumber::new(i, n).unwrap(), &|| {}).unwrap());
    (1..=n).map(shard).collect()
}

/// Must hold: with itself a chain agrees exactly, on a model's rows.
#[test]
fn a_chain_with_itself() {
    let logits = smollm2();
    for name in ["llama-server", "min-p", "mirostat"] {
        let [mut a, mut b] = [of_file(name, logits.n_vocab()), of_file(name, logits.n_vocab())];
        (a.name, b.name) = ("a".into(), "b".into());
        let table = Plan::new(&logits, vec![a, b]).rows(20..40).seeds(vec![3, 4]).run().unwrap().table();
        for line in &table {
            assert_eq!(line.agreement.to_bits(), 1f64.to_bits(), "{name}");
            let kl = [line.kl.mean, line.reverse_kl.mean].map(|mean| mean.map(f64::to_bits));
            assert_eq!((line.tv.to_bits(), kl), (0, [Some(0); 2]), "{name}");
            assert_eq!((line.kl.infinite, line.reverse_kl.infinite), (0.0, 0.0), "{name}");
        }
        let same = Summary { name: "b".into(), nanos: table[1].nanos, ..table[0].clone() };
        assert_eq!(table[1], same);
    }
}

/// Must hold: shards are the whole, bit for bit, wherever they are cut: within a seed, with several, and more of them than
/// there are rows.
#[test]
fn shards_make_the_whole() {
    let rows = small();
    for follow in [Follow::Baseline, Follow::Own, Follow::Tokens((10..21).collect())] {
        for seeds in [vec![9], vec![1, 2, 3], vec![7, 5]] {
            let plan = Plan::new(&rows, with_history()).seeds(seeds.clone()).prompt(vec![1, 2, 1]);
            let plan = plan.follow(follow.clone()).untimed();
            let whole = plan.run().unwrap();
            assert_eq!(whole.cells().len(), seeds.len() * 11);
            for n in [1, 2, 3, 5, 40] {
                let mut parts = shards(&plan, n);
                parts.rotate_left(n / 2);
                let merged = Comparison::merge(parts).unwrap();
                assert_eq!(merged, whole, "{n} shards of {seeds:?}, {follow:?}");
                assert_eq!(bits(&merged.table()), bits(&whole.table()));
            }
        }
    }
}

/// On a model's rows, through files.
#[test]
fn shards_of_a_model_make_the_whole_through_files() {
    let logits = smollm2();
    let chains = ["llama-server", "min-p", "mirostat"].map(|name| of_file(name, logits.n_vocab()));
    let penalties = Params { repeat_penalty: 1.3, dry_multiplier: 0.8, seed: 1, ..Params::default() };
    let mut chains = chains.to_vec();
    chains.push(Contestant::new("penalties", Sampler::new(penalties).unwrap()));
    let plan = Plan::new(&logits, chains).rows(0..12).seeds(vec![42, 43]).prompt(vec![736, 457, 253]).untimed();
    let whole = plan.run().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let read = |(name, shard): (String, Shard)| {
        let path = dir.path().join(name);
        shard.write(std::fs::File::create(&path).unwrap()).unwrap();
        (path.display().to_string(), Shard::read(&path).unwrap())
    };
    let merged = Comparison::merge(shards(&plan, 3).into_iter().map(read).collect()).unwrap();
    assert_eq!(merged, whole);
    assert_eq!(bits(&merged.table()), bits(&whole.table()));
    let some_infinite = whole.table().iter().any(|line| line.kl.infinite > 0.0 && line.reverse_kl.infinite < 1.0);
    assert!(some_infinite, "the file holds infinities, too");
    // As one value, too.
    let json = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), whole);
}

/// What a chain is told decides what penalties see.
#[test]
fn histories() {
    let rows = vec![vec![2.0, 1.9, 0.0]; 4];
    let once = json!({"type": "penalties", "repeat": 1.0, "present": 0.5});
    let baseline = || of_steps("greedy", json!([{"type": "greedy"}]));
    let plan = |follow| {
        let other = of_steps("once", json!([once, {"type": "greedy"}]));
        Plan::new(&rows, vec![baseline(), other]).follow(follow).run().unwrap()
    };
    // The baseline always draws 0, so after the first row 0 is penalised for ever.
    assert_eq!(plan(Follow::Baseline).drawn(1), [[0, 1, 1, 1]]);
    // Its own draws penalise 0, then 1 as well.
    assert_eq!(plan(Follow::Own).drawn(1), [[0, 1, 0, 0]]);
    // The text was 1 2 2 2.
    assert_eq!(plan(Follow::Tokens(vec![1, 2, 2, 2])).drawn(1), [[0, 0, 0, 0]]);
    let own = plan(Follow::Own);
    let table = own.table();
    assert_eq!(table[1].agreement, agreement(&[0, 0, 0, 0], &[0, 1, 0, 0]).unwrap());
    assert_eq!(table[1].distinct, [1, 2, 3].map(|n| distinct_n(&[0, 1, 0, 0], n)));
    assert_eq!((table[1].tv, table[1].kl.mean, table[1].kl.infinite), (0.25, Some(0.0), 0.25));
}

/// The numbers of a small case, by hand: two rows, logits whose exponentials are plain.
#[test]
fn by_hand() {
    let ln = |x: f64| x.ln() as f32;
    let rows = vec![vec![ln(0.5), ln(0.25), ln(0.25)], vec![ln(0.25), ln(0.25), ln(0.5)]];
    let all = of_steps("all", json!([{"type": "dist"}]));
    let best = of_steps("best", json!([{"type": "greedy"}]));
    let comparison = Plan::new(&rows, vec![all, best]).seeds(vec![1, 2]).run().unwrap();
    let table = comparison.table();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-7, "{a} {b}");
    close(table[0].entropy, 1.5);
    close(table[1].tv, 0.5);
    close(table[1].reverse_kl.mean.unwrap(), std::f64::consts::LN_2);
    assert_eq!((table[1].kl.mean, table[1].kl.infinite, table[1].reverse_kl.infinite), (None, 1.0, 0.0));
    assert_eq!((table[0].kept_median, table[0].kept_mean, table[1].kept_mean, table[1].entropy), (3.0, 3.0, 1.0, 0.0));
    assert_eq!(comparison.drawn(1), [[0, 2], [0, 2]]);
    assert_eq!(table[1].distinct, [Some(1.0), Some(1.0), None]);
    assert!(table.iter().all(|line| line.nanos.is_some_and(|nanos| nanos > 0.0)));
}

/// Common random numbers: a chain draws what it draws alone.
#[test]
fn each_chain_draws_what_it_draws_alone() {
    let rows = small();
    let comparison = Plan::new(&rows, with_history()).seeds(vec![11, 12]).follow(Follow::Own).run().unwrap();
    for (i, contestant) in with_history().into_iter().enumerate() {
        for (seed, drawn) in [11, 12].into_iter().zip(comparison.drawn(i)) {
            let mut alone = contestant.sampler.clone();
            alone.restart(seed);
            let draw = |row| {
                let token = alone.sample(&rows.row(row)).unwrap();
                alone.accept(token).map(|()| token).unwrap()
            };
            assert_eq!((0..11).map(draw).collect::<Vec<u32>>(), drawn, "{}", contestant.name);
        }
    }
}

#[test]
fn plans_that_cannot_be() {
    let rows = small();
    let two = || with_history().into_iter().take(2).collect::<Vec<_>>();
    let error = |plan: Plan<'_>| plan.run().unwrap_err().to_string();
    let plan = || Plan::new(&rows, two());
    assert_eq!(error(Plan::new(&rows, vec![])), "there is no chain to compare");
    assert_eq!(error(plan().rows(5..12)), "rows 5..12 of 11");
    assert_eq!(error(plan().rows(4..4)), "rows 4..4 of 11");
    assert_eq!(error(plan().seeds(vec![])), "there is no seed");
    assert_eq!(error(plan().seeds(vec![1, 2, 1])), "seed 1 comes twice");
    assert_eq!(error(plan().follow(Follow::Tokens(vec![1]))), "1 tokens to follow for 11 rows; one a row is wanted");
    let beyond = plan().follow(Follow::Tokens([vec![1; 10], vec![40]].concat()));
    let told = "chain plain: the token after row 10: token 40 is beyond the vocabulary of 40 tokens";
    assert_eq!(error(beyond), told);
    let same = Plan::new(&rows, vec![two()[0].clone(), two()[0].clone()]);
    assert_eq!(error(same), "two chains are called plain");
    let wide = Plan::new(&rows, vec![two()[0].clone(), of_file("min-p", 41)]);
    assert_eq!(error(wide), "chain min-p has a vocabulary of 41 tokens, and the rows are 40 wide");
    let prompt = Plan::new(&rows, vec![two()[0].clone(), of_file("min-p", 40)]).prompt(vec![3, 40]);
    assert_eq!(error(prompt), "chain min-p: the prompt: token 40 is beyond the vocabulary of 40 tokens");

    // One chain fails at one row.
    let rows = vec![vec![1.0, 2.0], vec![1.0, f32::NAN]];
    let failed = error(Plan::new(&rows, two()).seeds(vec![8]));
    let why = "logit 1 is NaN: the model's output is broken, or the row is not one of logits";
    assert_eq!(failed, format!("chain plain: row 1, seed 8: {why}"));
    let uneven = vec![vec![1.0, 2.0], vec![1.0]];
    let failed = error(Plan::new(&uneven, two()));
    assert_eq!(failed, "chain plain: row 1, seed 0: the row has 1 logits, and the vocabulary 2 tokens");
}

/// Two chains with the same random numbers agree where their running sums lie over the same token, and no more.
#[test]
fn agreement_is_the_overlap_of_running_sums() {
    let rows = vec![[0.5f64, 0.3, 0.15, 0.05].map(|p| p.ln() as f32).to_vec()];
    let plain = of_steps("plain", json!([{"type": "dist"}]));
    let warm = of_steps("warm", json!([{"type": "temperature", "temp": 2.0}, {"type": "dist"}]));
    let roots = [0.5f64, 0.3, 0.15, 0.05].map(f64::sqrt);
    let warm_p = roots.map(|root| root / roots.iter().sum::<f64>());
    let (mut here, mut there, mut overlap, mut tv) = (0.0, 0.0, 0.0, 0.0);
    for (p, q) in [0.5f64, 0.3, 0.15, 0.05].into_iter().zip(warm_p) {
        overlap += ((here + p).min(there + q) - f64::max(here, there)).max(0.0);
        tv += (p - q).abs() / 2.0;
        (here, there) = (here + p, there + q);
    }
    let line = Plan::new(&rows, vec![plain, warm]).seeds((0..5000).collect()).run().unwrap().table().remove(1);
    assert!((line.tv - tv).abs() < 1e-7, "{} {tv}", line.tv);
    // Four standard deviations of 5000 draws.
    let spread = 4.0 * (overlap * (1.0 - overlap) / 5000.0).sqrt();
    assert!((line.agreement - overlap).abs() < spread, "{} {overlap}", line.agreement);
    assert!(line.agreement + spread < 1.0 - tv, "{} {tv}", line.agreement);
}
