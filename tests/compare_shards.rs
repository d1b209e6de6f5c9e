//! Shards of a comparison: what is refused, by whose name, and what a hostile file cannot do.

use std::path::PathBuf;

use sampler_chain::compare::{Comparison, Contestant, Follow, Plan, Shard, ShardNumber};
use sampler_chain::{Params, Sampler};

fn contestants() -> Vec<Contestant> {
    let of = |temperature| Sampler::new(Params { temperature, seed: 1, ..Params::default() }).unwrap();
    vec![Contestant::new("cool", of(0.5)), Contestant::new("hot", of(1.5))]
}

fn rows() -> Vec<Vec<f32>> {
    (0..4).map(|i| (0..8).map(|j| ((i * 5 + j * 3) % 7) as f32).collect()).collect()
}

fn part(plan: &Plan<'_>, number: &str) -> (String, Shard) {
    (number.replace('/', "-of-"), plan.run_shard(number.parse().unwrap(), &|| {}).unwrap())
}

#[test]
fn numbers() {
    for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "-1/2", "1/3/4", ""] {
        let error = wrong.parse::<ShardNumber>().unwrap_err();
        assert_eq!(error, format!("\"{wrong}\" is no part of a whole; 1/3, 2/3 and 3/3 are"));
    }
    assert_eq!((ShardNumber::new(0, 1), ShardNumber::new(2, 1)), (None, None));
    let number: ShardNumber = "2/3".parse().unwrap();
    assert_eq!((number.i(), number.n(), number.to_string()), (2, 3, "2/3".to_string()));
    // Every cell is in one part, at any size.
    for n_cells in [0, 1, 7, 100, usize::MAX] {
        for n in [1, 2, 3, 50, usize::MAX] {
            let of = |i| ShardNumber::new(i, n).unwrap().cells(n_cells);
            assert_eq!((of(1).start, of(n).end), (0, n_cells));
            if n > 2 {
                assert_eq!(of(1).end, of(2).start);
                assert!(of(1).len().abs_diff(of(2).len()) <= 1);
            }
        }
    }
}

#[test]
fn shards_that_do_not_belong_together() {
    let rows = rows();
    let plan = || Plan::new(&rows, contestants()).seeds(vec![1, 2]).untimed();
    let good = || [part(&plan(), "1/3"), part(&plan(), "2/3"), part(&plan(), "3/3")].to_vec();
    assert!(Comparison::merge(good()).is_ok());
    let error = |shards: Vec<(String, Shard)>| Comparison::merge(shards).unwrap_err().to_string();
    assert_eq!(error(vec![]), "there is no shard to merge");
    assert_eq!(error(good()[..2].to_vec()), "of 3 shards 1 is missing: 3");
    assert_eq!(error(good()[1..2].to_vec()), "of 3 shards 2 are missing: 1, 3");
    let last = vec![part(&plan(), "16/16")];
    assert_eq!(error(last), "of 16 shards 15 are missing: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 5 more");
    let twice = [good(), vec![("again".to_string(), good()[1].1.clone())]].concat();
    assert_eq!(error(twice), "shard 2/3 comes twice: 2-of-3 and again");

    let foreign = |plan: Plan<'_>, number: &str| {
        let error = error(vec![good()[0].clone(), part(&plan, number)]);
        let what = error.strip_prefix("2-of-3 is of another comparison than 1-of-3: ");
        what.unwrap_or(&error).to_string()
    };
    let seeds = foreign(plan().seeds((3..13).collect()), "2/3");
    assert_eq!(seeds, "its seeds are 3, 4, 5, 6, 7, 8 and 4 more, not 1, 2");
    assert_eq!(foreign(plan().rows(0..3), "2/3"), "its rows are 0..3, not 0..4");
    assert_eq!(foreign(plan().prompt(vec![1]), "2/3"), "it has another prompt");
    let follow = "its chains were told other tokens after the rows (follow)";
    assert_eq!(foreign(plan().follow(Follow::Own), "2/3"), follow);
    let timed = Plan::new(&rows, contestants()).seeds(vec![1, 2]);
    assert_eq!(foreign(timed, "2/3"), "it has times, not no times");
    let mut chains = contestants();
    chains[1].name = "warm".into();
    assert_eq!(foreign(Plan::new(&rows, chains.clone()), "2/3"), "its chains are cool, warm, not cool, hot");
    chains[1] = Contestant { name: "hot".into(), ..contestants().remove(0) };
    assert_eq!(foreign(Plan::new(&rows, chains), "2/3"), "its chain hot has other steps");
    let lenient = contestants().into_iter().map(|Contestant { name, sampler }| {
        let sampler = sampler.with_non_finite(sampler_chain::NonFinite::LikeLlamaCpp);
        Contestant { name, sampler }
    });
    let other = "its chain cool has another vocabulary, other DRY breakers or another history";
    assert_eq!(foreign(Plan::new(&rows, lenient.collect()).seeds(vec![1, 2]).untimed(), "2/3"), other);
    let mut others = rows.clone();
    others[3][7] += 0.5;
    let plan_of = |rows| Plan::new(rows, contestants()).seeds(vec![1, 2]).untimed();
    assert_eq!(foreign(plan_of(&others), "2/3"), "its logits are others (logits_sha256)");
    assert!(foreign(plan(), "2/4").ends_with(": it is shard 2/4, and that one 1/3"));
}

/// A file and what reading it says, without the file's name.
fn read(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("shard.jsonl");
    std::fs::write(&path, text).unwrap();
    match Shard::read(&path) {
        Ok(shard) => format!("{} cells", shard.cells().len()),
        Err(error) => error.to_string().replace(path.to_str().unwrap(), "shard.jsonl"),
    }
}

#[test]
fn files_that_are_no_shards() {
    let rows = rows();
    let (_, shard) = part(&Plan::new(&rows, contestants()).seeds(vec![1, 2]).untimed(), "2/2");
    let mut written = Vec::new();
    shard.write(&mut written).unwrap();
    let text = String::from_utf8(written).unwrap();
    assert_eq!(read(&text), "4 cells");
    let lines: Vec<&str> = text.lines().collect();
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        read(&text.replacen(from, to, 1))
    };

    assert!(Shard::read(&PathBuf::from("none.jsonl")).unwrap_err().to_string().starts_with("none.jsonl: No such file"));
    assert!(read("").starts_with("shard.jsonl:1: this is no shard of a comparison: EOF"), "{}", read(""));
    assert_eq!(read("{}"), "shard.jsonl:1: this is no shard of a comparison: it has no version");
    assert_eq!(with("\"version\":1", "\"version\":2"), "shard.jsonl:1: version 2 is not known; this is version 1");
    assert!(with("\"2/2\"", "\"3/2\"").starts_with("shard.jsonl:1: \"3/2\" is no part of a whole"));
    assert!(with("\"prompt\"", "\"promt\"").starts_with("shard.jsonl:1: unknown field `promt`, expected one of"));
    assert_eq!(with("[1,2]", "[2,2]"), "shard.jsonl:1: seed 2 comes twice");
    assert_eq!(with("\"end\":4", "\"end\":0"), "shard.jsonl:1: rows 0..0 of 0");
    // Cut short, drawn out, in disorder.
    assert_eq!(read(&lines[..3].join("\n")), "shard.jsonl:4: the file ends after 2 of 4 cells");
    assert_eq!(read(&(text.clone() + lines[1])), "shard.jsonl:6: it goes on after its 4 cells");
    let half = &text[..text.len() - 20];
    assert!(read(half).starts_with("shard.jsonl:5: EOF while parsing"), "{}", read(half));
    let disorder = [lines[0], lines[2]].join("\n");
    assert_eq!(read(&disorder), "shard.jsonl:2: seed 2 and row 1 are out of place; 2 and 0 are next");
    let few = text.replacen(&lines[1][lines[1].find(",{").unwrap()..], "]}", 1);
    assert_eq!(read(&few), "shard.jsonl:2: it has results of 1 chains, and 2 are compared");
    // Rows, seeds and parts beyond all counting.
    let long = with("\"end\":4", "\"end\":18446744073709551615");
    assert_eq!(long, "shard.jsonl:1: 2 seeds of 18446744073709551615 rows are too many");
    let long = text.replacen("\"end\":4", "\"end\":18446744073709551615", 1).replacen("[1,2]", "[2]", 1);
    let long = read(&long.replacen("2/2", "1/18446744073709551615", 1));
    assert_eq!(long, "shard.jsonl:3: it goes on after its 1 cells");

    let cell = |field: &str, to: &str| {
        let at = text.find(&format!("\"{field}\":")).unwrap() + field.len() + 3;
        let end = at + text[at..].find([',', '}']).unwrap();
        read(&[&text[..at], to, &text[end..]].concat())
    };
    let of = "shard.jsonl:2: chain cool: ";
    assert_eq!(cell("token", "8"), format!("{of}token is 8, of 8 tokens"));
    assert_eq!(cell("kept", "0"), format!("{of}kept is 0"));
    assert_eq!(cell("entropy", "-1"), format!("{of}entropy is -1"));
    assert_eq!(cell("tv", "1.5"), format!("{of}tv is 1.5"));
    assert_eq!(cell("kl", "-0.5"), format!("{of}kl is -0.5"));
    assert!(cell("kl", "\"-inf\"").starts_with("shard.jsonl:2: \"-inf\" is no number; \"inf\" is infinity"));
    assert!(cell("kl", "null").starts_with("shard.jsonl:2: a number or \"inf\" is wanted"));
    assert_eq!(cell("reverse_kl", "\"inf\""), "4 cells");
    assert_eq!(cell("reverse_kl", "0,\"nanos\":5"), format!("{of}nanos is there, and draws were not timed"));
    assert_eq!(cell("timed", "true"), format!("{of}nanos is missing"));

    // As one value it is held to the same.
    let whole = Plan::new(&rows, contestants()).untimed().run().unwrap();
    let mut json = serde_json::to_value(&whole).unwrap();
    json["cells"][2]["chains"][1]["tv"] = 7.into();
    let error = |json| serde_json::from_value::<Comparison>(json).unwrap_err().to_string();
    assert_eq!(error(json.clone()), "cell 2: chain hot: tv is 7");
    json["cells"].as_array_mut().unwrap().pop();
    assert_eq!(error(json.clone()), "there are 3 cells of 4");
    json["version"] = 9.into();
    assert_eq!(error(json), "version 9 is not known; this is version 1");
}
