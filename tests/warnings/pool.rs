//! Steps of all kinds with values that act, others with values that change nothing, and random chains of them.

use serde_json::{Value, json};

use super::cases::Random;

/// Steps that change nothing with their values, off or not.
#[rustfmt::skip]
pub const IDLE: &[&str] = &[
    r#"{"type":"top_k","k":0}"#,
    r#"{"type":"top_p","p":1}"#,
    r#"{"type":"min_p","p":0}"#,
    r#"{"type":"typ_p","p":1}"#,
    r#"{"type":"top_n_sigma","n":"inf"}"#,
    r#"{"type":"top_n_sigma","n":-1}"#,
    r#"{"type":"temperature","temp":1}"#,
    r#"{"type":"xtc","probability":1,"threshold":0.6}"#,
    r#"{"type":"penalties"}"#,
    r#"{"type":"dry","multiplier":2,"allowed_length":3,"last_n":3,"breakers":[]}"#,
    r#"{"type":"logit_bias","bias":[[0,0]]}"#,
    r#"{"type":"tfs","z":1}"#,
    r#"{"type":"top_p_decay","p":1,"decay":1,"min":0}"#,
    r#"{"type":"no_repeat_ngram","n":3,"window":2}"#,
    r#"{"type":"repetition_penalty_hf","penalty":1}"#,
    r#"{"type":"encoder_repetition_penalty","penalty":1}"#,
    r#"{"type":"rep_pen_slope","penalty":1}"#,
    r#"{"type":"min_new_tokens","n":9,"tokens":[]}"#,
    r#"{"type":"suppress_tokens"}"#,
];

/// Steps that change nothing but the order of the set, or the mark that it is sorted.
#[rustfmt::skip]
pub const ORDERING: &[&str] = &[
    r#"{"type":"top_k","k":2147483647}"#, r#"{"type":"min_k","tau":"inf"}"#,
    r#"{"type":"exponential_decay_length","factor":1.2,"tokens":[]}"#, r#"{"type":"sequence_bias","bias":[[[0],0]]}"#,
];

/// Steps that do not select, for a vocabulary of forty.
#[rustfmt::skip]
pub const STEPS: &[&str] = &[
    r#"{"type":"top_k","k":1}"#, r#"{"type":"top_k","k":3}"#, r#"{"type":"top_k","k":9}"#,
    r#"{"type":"top_p","p":0}"#, r#"{"type":"top_p","p":0.6}"#, r#"{"type":"top_p","p":0.8,"min_keep":3}"#,
    r#"{"type":"min_p","p":0.05}"#, r#"{"type":"min_p","p":0.3}"#, r#"{"type":"min_p","p":0.3,"min_keep":3}"#,
    r#"{"type":"typ_p","p":0.5}"#, r#"{"type":"typ_p","p":0.9}"#,
    r#"{"type":"top_n_sigma","n":1}"#,
    r#"{"type":"temperature","temp":0}"#, r#"{"type":"temperature","temp":0.7}"#,
    r#"{"type":"temperature","temp":3}"#, r#"{"type":"temperature","temp":1,"delta":0.5}"#,
    r#"{"type":"xtc","probability":1,"threshold":0.1}"#, r#"{"type":"xtc","probability":0.5,"threshold":0.02}"#,
    r#"{"type":"xtc","probability":1,"threshold":0}"#,
    r#"{"type":"penalties","repeat":1.5}"#, r#"{"type":"penalties","present":9,"window":"generated"}"#,
    r#"{"type":"dry","multiplier":2,"allowed_length":1,"breakers":[]}"#,
    r#"{"type":"logit_bias","bias":[[0,9],[3,-9]]}"#, r#"{"type":"logit_bias","bias":[[0,"-inf"],[1,"-inf"]]}"#,
    r#"{"type":"logit_bias","bias":[[0,"-inf"],[2,5]]}"#,
    r#"{"type":"infill"}"#,
    r#"{"type":"reasoning_budget","start":[[1]],"end":[[9]],"forced":[2],"budget":1}"#,
    r#"{"type":"reasoning_budget","start":[],"forced":[5]}"#,
    r#"{"type":"smoothing","factor":0.3}"#, r#"{"type":"smoothing","factor":0.02,"curve":2}"#,
    r#"{"type":"top_a","a":0.3}"#,
    r#"{"type":"tfs","z":0.9}"#, r#"{"type":"tfs","z":0.95,"variant":"kobold"}"#,
    r#"{"type":"epsilon_cutoff","epsilon":0.02}"#, r#"{"type":"epsilon_cutoff","epsilon":0.05,"min_keep":3}"#,
    r#"{"type":"eta_cutoff","epsilon":0.3}"#,
    r#"{"type":"top_h","h":0.4}"#,
    r#"{"type":"p_less"}"#, r#"{"type":"p_less","normalised":true}"#,
    r#"{"type":"min_k","tau":0}"#,
    r#"{"type":"top_p_decay","p":0.6,"decay":0.9,"min":0.3}"#, r#"{"type":"top_p_decay","p":1,"decay":0.7,"min":0.2,"reset_ids":[0]}"#,
    r#"{"type":"no_repeat_ngram","n":1}"#, r#"{"type":"no_repeat_ngram","n":2}"#,
    r#"{"type":"repetition_penalty_hf","penalty":1.5}"#,
    r#"{"type":"encoder_repetition_penalty","penalty":1.5}"#,
    r#"{"type":"rep_pen_slope","range":8,"penalty":1.5,"slope":0.5}"#,
    r#"{"type":"exponential_decay_length","start":1,"factor":1.2,"tokens":[2,4]}"#, r#"{"type":"exponential_decay_length","factor":1.2}"#,
    r#"{"type":"sequence_bias","bias":[[[0],9],[[1,3],-9]]}"#, r#"{"type":"sequence_bias","bias":[[[1,0],"-inf"],[[2,0],"-inf"]]}"#,
    r#"{"type":"sequence_bias","bias":[[[0],"-inf"],[[1],"-inf"]]}"#,
    r#"{"type":"min_new_tokens","n":99,"tokens":[0,1]}"#, r#"{"type":"min_new_tokens","n":5}"#,
    r#"{"type":"suppress_tokens","tokens":[0,1,2,3]}"#, r#"{"type":"suppress_tokens","tokens":[1]}"#,
    r#"{"type":"biggest_gap"}"#,
];

pub const SELECTIONS: &[&str] = &[
    r#"{"type":"dist"}"#,
    r#"{"type":"greedy"}"#,
    r#"{"type":"gumbel"}"#,
    r#"{"type":"mirostat"}"#,
    r#"{"type":"mirostat_v2"}"#,
    r#"{"type":"adaptive_p","target":0.4}"#,
];

pub fn read(step: &str) -> Value {
    serde_json::from_str(step).unwrap_or_else(|error| panic!("{step}: {error}"))
}

/// So many steps, some made of others.
fn steps(random: &mut Random, n: usize, depth: usize) -> Vec<Value> {
    (0..n)
        .map(|_| {
            let n = random.below(4);
            match random.below(if depth == 0 { 1 } else { 8 }) {
                1 => json!({"type": "chain", "steps": steps(random, n, depth - 1)}),
                2 => {
                    let lists = [vec![], vec![0, 5], vec![0, 1, 2, 3], vec![39]];
                    let tokens: &Vec<u32> = random.of(&lists);
                    json!({"type": "protect", "tokens": tokens, "steps": steps(random, n, depth - 1)})
                }
                3 => {
                    let m = random.below(3);
                    switch(random, steps, [n, m], depth)
                }
                _ if random.below(8) == 0 => read(random.of::<&str>(IDLE)),
                _ if random.below(8) == 0 => read(random.of::<&str>(ORDERING)),
                _ => read(random.of::<&str>(STEPS)),
            }
        })
        .collect()
}

type Make = fn(&mut Random, usize, usize) -> Vec<Value>;

fn switch(random: &mut Random, make: Make, [n, m]: [usize; 2], depth: usize) -> Value {
    let lists = [vec![[1]], vec![[1]], vec![[0], [4]], vec![]];
    let after: &Vec<[u32; 1]> = random.of(&lists);
    let generators = random.of(&["separate", "shared"]);
    let (first, second) = (make(random, n, depth - 1), make(random, m, depth - 1));
    json!({"type": "switch", "after": after, "back": [[2]], "generators": generators, "sees_prompt": true, "first": first,
        "second": second})
}

/// So many steps and one that selects.
pub fn chain(random: &mut Random, n: usize, depth: usize) -> Vec<Value> {
    let mut chain = steps(random, n, depth);
    if depth > 0 && random.below(4) == 0 {
        let (n, m) = (random.below(3), random.below(3));
        chain.push(switch(random, self::chain, [n, m], depth));
    } else {
        chain.push(read(random.of::<&str>(&[SELECTIONS, &SELECTIONS[..2]].concat())));
    }
    chain
}

/// Whether it is one of the selections.
pub fn selects(step: &Value) -> bool {
    SELECTIONS.iter().any(|selection| read(selection)["type"] == step["type"])
}
