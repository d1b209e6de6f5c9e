//! The tokens that end a text or a turn: given by id, or known by their names.

use std::collections::{BTreeSet, HashMap};

use super::read::Metadata;
use super::vocab::{Attr, Defaults, Token};
use super::walk::walk_order;

const END_OF_TURN: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<end_of_utterance>",
];
const END_OF_MESSAGE: &[&str] = &["<|eom_id|>"];
const FIM_PREFIX: &[&str] = &[
    "<|fim_prefix|>",
    "<fim-prefix>",
    "<fim_prefix>",
    "<｜fim▁begin｜>",
    "<PRE>",
    "▁<PRE>",
    "<|code_prefix|>",
    "<|prefix|>",
];
const FIM_SUFFIX: &[&str] = &[
    "<|fim_suffix|>",
    "<fim-suffix>",
    "<fim_suffix>",
    "<｜fim▁hole｜>",
    "<SUF>",
    "▁<SUF>",
    "<|code_suffix|>",
    "<|suffix|>",
];
const FIM_MIDDLE: &[&str] = &[
    "<|fim_middle|>",
    "<fim-middle>",
    "<fim_middle>",
    "<｜fim▁end｜>",
    "<MID>",
    "▁<MID>",
    "<|code_middle|>",
    "<|middle|>",
];
const FIM_PAD: &[&str] = &["<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"];
const FIM_REPO: &[&str] = &["<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"];
const FIM_SEPARATOR: &[&str] = &["<|file_sep|>"];
const END_OF_GENERATION: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "</s>",
    "<|eom_id|>",
    "<EOT>",
    "_<EOT>",
    "[EOT]",
    "[EOS]",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<eos>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
];
/// Shown like text, whatever their type.
const ALWAYS_SHOWN: &[&str] = &["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Special {
    pub eog: BTreeSet<u32>,
    pub eot: Option<u32>,
    pub eos: Option<u32>,
}

/// Finds the special tokens, and corrects the types of those that are known by name.
pub fn find(metadata: &Metadata, tokens: &mut [Token], defaults: Defaults) -> Special {
    let given = |key: &str, default: Option<u32>| {
        let valid = |id: i128| u32::try_from(id).ok().filter(|&id| (id as usize) < tokens.len());
        let default = default.filter(|&id| (id as usize) < tokens.len());
        metadata.number(&format!("tokenizer.ggml.{key}")).and_then(valid).or(default)
    };
    let eos = given("eos_token_id", defaults.eos);
    let mut slots = [
        (given("eot_token_id", None), END_OF_TURN),
        (given("eom_token_id", None), END_OF_MESSAGE),
        (given("prefix_token_id", given("fim_pre_token_id", None)), FIM_PREFIX),
        (given("suffix_token_id", given("fim_suf_token_id", None)), FIM_SUFFIX),
        (given("middle_token_id", given("fim_mid_token_id", None)), FIM_MIDDLE),
        (given("fim_pad_token_id", None), FIM_PAD),
        (given("fim_rep_token_id", None), FIM_REPO),
        (given("fim_sep_token_id", None), FIM_SEPARATOR),
    ];
    // Of several tokens with such a name the first of llama.cpp's walk counts; the walk is only made where it matters.
    let named: Vec<u32> = (0..tokens.len() as u32)
        .filter(|&id| slots.iter().any(|(_, names)| is_one_of(&tokens[id as usize], names)))
        .collect();
    for id in in_walk_order(named, tokens) {
        for (slot, names) in &mut slots {
            if slot.is_none() && is_one_of(&tokens[id as usize], names) {
                *slot = Some(id);
                tokens[id as usize].attr = tokens[id as usize].attr | Attr::CONTROL;
            }
        }
    }
    let [eot, eom, _, _, _, pad, repo, separator] = slots.map(|(slot, _)| slot);

    let mut eog: BTreeSet<u32> = [pad, repo, separator].into_iter().flatten().collect();
    for (id, token) in tokens.iter_mut().enumerate() {
        if is_one_of(token, END_OF_GENERATION) {
            eog.insert(id as u32);
            token.attr = token.attr | Attr::CONTROL;
        }
        if is_one_of(token, ALWAYS_SHOWN) {
            token.attr = Attr::USER_DEFINED;
        }
    }
    eog.extend([eos, eot, eom].into_iter().flatten());
    leave_out(&mut eog, tokens);
    Special { eog, eot, eos }
}

/// llama.cpp's two exceptions: tokens whose names end generation in most models, and in some do not.
fn leave_out(eog: &mut BTreeSet<u32>, tokens: &mut [Token]) {
    let by_name: HashMap<&str, u32> = eog
        .iter()
        .filter_map(|&id| Some((std::str::from_utf8(&tokens[id as usize].text).ok()?, id)))
        .filter(|(name, _)| {
            ["<|return|>", "<|call|>", "<|calls|>", "<|flush|>", "<|end|>", "<|tool_response>", "</s>"].contains(name)
        })
        .collect();
    let has = |name: &str| by_name.contains_key(name);
    let call = has("<|call|>") || has("<|calls|>");
    let end = by_name.get("<|end|>").copied().filter(|_| call && (has("<|return|>") || has("<|flush|>")));
    let s = by_name.get("</s>").copied().filter(|_| has("<|tool_response>"));
    for (id, attr) in [(end, Attr::USER_DEFINED), (s, Attr::NORMAL)] {
        if let Some(id) = id {
            eog.remove(&id);
            tokens[id as usize].attr = attr;
        }
    }
}

fn is_one_of(token: &Token, names: &[&str]) -> bool {
    names.iter().any(|name| name.as_bytes() == token.text)
}

fn in_walk_order(named: Vec<u32>, tokens: &[Token]) -> Vec<u32> {
    if named.len() < 2 {
        return named;
    }
    let order = walk_order(tokens.iter().map(|token| token.text.as_slice()));
    order.into_iter().map(|place| place as u32).filter(|id| named.contains(id)).collect()
}
