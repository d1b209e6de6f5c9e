//! Two chains in one: what an engine does with a sampler, drafts, rewinding, snapshots, clones, leaves `switch` exact.

use std::path::Path;
use std::sync::Arc;

use sampler_chain::{Chain, ChainFile, Ctx, Format, Sampler, Snapshot, steps};

const N_VOCAB: u32 = 24;

/// Thinking ends with 3 or 7, and begins again with 5. Mirostat and XTC keep more than a generator.
fn sampler(generators: &str) -> Sampler {
    let text = format!(
        r#"
        version = 1
        seed = 5
        [[steps]]
        type = "penalties"
        last_n = 8
        repeat = 1.2
        freq = 0.0
        present = 0.0
        [[steps]]
        type = "switch"
        after = [[3], [7]]
        back = [[5], [2, 1]]
        generators = "{generators}"
        [[steps.first]]
        type = "protect"
        tokens = [3, 7]
        [[steps.first.steps]]
        type = "xtc"
        probability = 0.5
        threshold = 0.05
        [[steps.first]]
        type = "dist"
        [[steps.second]]
        type = "chain"
        [[steps.second.steps]]
        type = "xtc"
        probability = 0.5
        threshold = 0.05
        [[steps.second]]
        type = "mirostat_v2"
        tau = 2.0
        eta = 0.3
        "#
    );
    let file =
        ChainFile::parse(&text, Format::Toml, Path::new("switch.toml")).unwrap_or_else(|error| panic!("{error}"));
    file.into_sampler(|seed| Ctx::new(seed).with_n_vocab(N_VOCAB as usize)).unwrap()
}

fn row(at: usize) -> Vec<f32> {
    (0..N_VOCAB).map(|i| ((i as usize * 31 + at * 17) % 25) as f32 / 7.0).collect()
}

fn go_on(sampler: &mut Sampler, n: usize) -> Vec<u32> {
    let one = |_| {
        let token = sampler.sample(&row(sampler.ctx().history().len())).unwrap();
        sampler.accept(token).unwrap();
        token
    };
    (0..n).map(one).collect()
}

fn is_second(sampler: &Sampler) -> bool {
    let mut is = false;
    sampler.chain().visit(&mut |switch: &steps::community::Switch| is = switch.is_second());
    is
}

#[test]
fn a_switching_sampler_goes_back_and_on_exactly() {
    for generators in ["separate", "shared"] {
        let mut original = sampler(generators);
        original.accept_prompt_all(&[3, 1, 2]).unwrap();
        let (mut sides, mut was_second) = (0, false);
        for _ in 0..60 {
            let before = go_on(&mut original.clone(), 25);
            // A draw that nobody accepts is undone by going back by nothing.
            let mut undone = original.clone();
            undone.sample(&row(99)).unwrap();
            undone.rewind(0).unwrap();
            assert_eq!(go_on(&mut undone, 25), before);
            let json = serde_json::to_string(&original.snapshot()).unwrap();
            let mut restored = sampler(generators);
            restored.restore(&serde_json::from_str::<Snapshot>(&json).unwrap()).unwrap();
            assert_eq!(go_on(&mut restored, 25), before);
            let mut ahead = original.clone();
            go_on(&mut ahead, 25);
            ahead.rewind(25).unwrap();
            assert_eq!(is_second(&ahead), is_second(&original));
            assert_eq!(go_on(&mut ahead, 25), before);
            go_on(&mut original, 1);
            sides += usize::from(is_second(&original) != was_second);
            was_second = is_second(&original);
        }
        assert!(sides >= 4, "{generators}: {sides} switches");
        let drawn = original.ctx().history().generated().to_vec();
        original.reset();
        original.accept_prompt_all(&[3, 1, 2]).unwrap();
        assert_eq!(go_on(&mut original, 60), drawn, "{generators}");
    }
}

#[test]
fn a_draft_switches_where_single_draws_do() {
    for generators in ["separate", "shared"] {
        let (mut single, mut drafted) = (sampler(generators), sampler(generators));
        let expected = go_on(&mut single, 30);
        let rows: Vec<Vec<f32>> = (0..30).map(row).collect();
        let drawn = drafted.sample_and_accept(&expected[..29], rows.iter().map(Vec::as_slice)).unwrap();
        assert_eq!((drawn, is_second(&drafted)), (expected, is_second(&single)));
    }
}

/// An engine that encodes texts itself gives DRY its breakers, and those inside other steps get them, too.
#[test]
fn breakers_reach_dry_inside_other_steps() {
    let dry = || Chain::new().with(steps::Dry::new(0.8, 1.75, 1, 64));
    let protect = steps::community::Protect::new([2], dry());
    let switch = steps::community::Switch::new([9], dry(), Chain::new().with(protect));
    let chain = Chain::new().with(switch).with(steps::Greedy {});
    for (breakers, expected) in [(vec![], [0, 0]), (vec![vec![1]], [2, 2])] {
        let mut sampler = Sampler::from_chain(chain.clone(), Ctx::new(1).with_n_vocab(10)).unwrap();
        sampler.set_dry_breakers(Arc::new(steps::DryBreakers::from_tokens(&breakers)));
        let mut row = [0.0; 10];
        row[..3].copy_from_slice(&[2.9, 0.0, 3.0]);
        // 1 2 1: after 1 came 2, which DRY makes less likely than 0, unless 1 breaks.
        let mut drawn = |tokens: &[u32]| {
            tokens.iter().for_each(|&token| sampler.accept(token).unwrap());
            sampler.sample(&row).unwrap()
        };
        assert_eq!([drawn(&[1, 2, 1]), drawn(&[9, 1, 2, 1])], expected);
    }
}

#[test]
fn a_chain_that_selects_beside_one_that_does_not_is_refused_by_name() {
    let switch = steps::community::Switch::new([1], Chain::new().with(steps::Greedy {}), Chain::new());
    let error = Sampler::from_chain(Chain::new().with(switch), Ctx::new(1)).unwrap_err().to_string();
    let expected =
        "step 1 (switch): second: is refused beside first: one of them selects the token, and the other does not";
    assert_eq!(error, expected);
}

/// A switch that keeps generators apart, inside one that shares them, is told with file, line and place.
#[test]
fn generators_that_cannot_be_one_are_refused_by_place() {
    let text = r#"version = 1
[[steps]]
type = "switch"
generators = "shared"
[[steps.first]]
type = "switch"
[[steps.first.first]]
type = "dist"
[[steps.first.second]]
type = "dist"
[[steps.second]]
type = "dist"
"#;
    let read = |text: &str| ChainFile::parse(text, Format::Toml, Path::new("nested.toml"));
    let expected = "nested.toml:5:1: step 1 (switch): first: step 1 (switch) keeps the generators of its chains apart, and the \
                    chains around it share theirs: it must share its own, too";
    assert_eq!(read(text).unwrap_err().to_string(), expected);
    let inner = "[[steps.first]]\ntype = \"switch\"\n";
    read(&text.replace(inner, &format!("{inner}generators = \"shared\"\n"))).unwrap();
}

#[cfg(feature = "cli")]
#[test]
fn check_shows_the_steps_of_both_chains() {
    let args = ["check", "examples/chains/community/switch.toml"];
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_sampler-chain"));
    let out = program.current_dir(env!("CARGO_MANIFEST_DIR")).args(args).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{text}");
    for line in [
        "   1  switch  after = [[8]], back = [[7]], generators = \"shared\", sees_prompt = false\n",
        "1.first.2  top_p  p = 0.95\n",
        "1.second.4  dist   (selects the token)\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}
