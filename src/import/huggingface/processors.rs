//! transformers' own processors and warpers.

use sampler_steps::community::{ExponentialDecayLength, RepetitionPenaltyHf, SequenceBias, SuppressTokens, TopH};
use serde_json::Value;

use crate::import::community::{CutoffUnit, used, used_with};
use crate::import::draft::Draft;
use crate::import::report::Fate;

/// Fields that only this program has.
const FIELDS: [&str; 5] =
    ["sequence_bias", "bad_words_ids", "exponential_decay_length_penalty", "suppress_tokens", "eos_token_id"];

/// All of them. The places are in the order of [`ORDER`](super::ORDER).
pub fn read(draft: &mut Draft<'_>) {
    draft.know(FIELDS);
    let ends = ends(draft);
    sequence_bias(draft);
    draft.encoder_repetition_penalty("encoder_repetition_penalty");
    repetition_penalty(draft);
    draft.no_repeat_ngram();
    bad_words(draft, ends.as_deref().unwrap_or_default());
    draft.min_new_tokens("min_new_tokens", ends.clone());
    exponential_decay(draft, ends.clone());
    if ends.is_some() && (draft.adds("min_new_tokens") || draft.adds("exponential_decay_length")) {
        draft.note("eos_token_id", used("tokens"));
    }
    suppressed(draft);
    if let Some(h) = draft.on("top_h", |_| false) {
        draft.add("top_h", TopH { h: h as f32 }, [("top_h", used("top_h"))]);
    }
    draft.cutoffs(CutoffUnit::One);
}

/// The tokens that end a text: one, or a list. Anything else is the model's affair, as the field is.
fn ends(draft: &Draft<'_>) -> Option<Vec<u32>> {
    let value = draft.get("eos_token_id")?.to_json();
    id_of(&value).map(|id| vec![id]).or_else(|| ids_of(&value)).filter(|ids| !ids.is_empty())
}

fn id_of(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

fn ids_of(value: &Value) -> Option<Vec<u32>> {
    value.as_array()?.iter().map(id_of).collect()
}

/// What is read of a field that is a list; an empty one is off, another value a problem.
fn list<T>(draft: &mut Draft<'_>, own: &str, wanted: &str, read: impl Fn(&Value) -> Option<Vec<T>>) -> Option<Vec<T>> {
    let value = draft.get(own)?.to_json();
    match read(&value) {
        Some(items) if items.is_empty() => {
            draft.note(own, Fate::Off { value: draft.shown(own) });
            None
        }
        Some(items) => Some(items),
        None => {
            draft.problem(own, format!("{wanted} is wanted"));
            None
        }
    }
}

/// It sees the whole context, the prompt included.
fn repetition_penalty(draft: &mut Draft<'_>) {
    let own = "repetition_penalty";
    let Some(penalty) = draft.on(own, |penalty| penalty == 1.0).map(|penalty| penalty as f32) else { return };
    if penalty.is_finite() && penalty > 0.0 && penalty.recip().is_finite() {
        draft.add("repetition_penalty_hf", RepetitionPenaltyHf::new(penalty), [(own, used("repetition_penalty_hf"))]);
    } else {
        draft.problem(own, "must be finite and greater than 0");
    }
}

/// Pairs of token ids and a bias.
fn sequence_bias(draft: &mut Draft<'_>) {
    let own = "sequence_bias";
    let pair = |value: &Value| match value.as_array()?.as_slice() {
        [tokens, bias] => Some((ids_of(tokens)?, bias.as_f64()? as f32)),
        _ => None,
    };
    let pairs = |value: &Value| value.as_array()?.iter().map(pair).collect();
    if let Some(pairs) = list(draft, own, "a list of pairs, each of a list of token ids and a number,", pairs) {
        draft.add("sequence_bias", SequenceBias::new(pairs), [(own, used("sequence_bias"))]);
    }
}

/// Sequences that never end. One that is only an end token is passed over.
fn bad_words(draft: &mut Draft<'_>, ends: &[u32]) {
    let own = "bad_words_ids";
    let sequences = |value: &Value| value.as_array()?.iter().map(ids_of).collect();
    let Some(mut sequences) = list(draft, own, "a list of lists of token ids", sequences) else { return };
    sequences.retain(|tokens: &Vec<u32>| !matches!(tokens.as_slice(), [id] if ends.contains(id)));
    if sequences.is_empty() {
        return draft.note(own, Fate::NoEffect { why: "transformers passes over end tokens in it".into() });
    }
    let (from, to) = (draft.shown(own), "a sequence_bias of -inf on each".to_string());
    let fate = Fate::Translated { from, to, why: "they are never drawn".into() };
    draft.add("bad_words", SequenceBias::bad_words(sequences), [(own, fate)]);
}

/// `[start, factor]`: both for the end tokens, after so many drawn ones.
fn exponential_decay(draft: &mut Draft<'_>, ends: Option<Vec<u32>>) {
    let own = "exponential_decay_length_penalty";
    let Some(value) = draft.get(own).map(|node| node.to_json()) else { return };
    let pair = match value.as_array().map(Vec::as_slice) {
        Some([start, factor]) => id_of(start).zip(factor.as_f64()),
        _ => None,
    };
    let Some((start, factor)) = pair else {
        draft.problem(own, "a list of two numbers is wanted: after how many tokens, and the factor");
        return;
    };
    let mut step = ExponentialDecayLength::new(start, factor);
    step.tokens = ends;
    let fate = used_with(step.tokens.as_ref(), "exponential_decay_length");
    draft.add("exponential_decay_length", step, [(own, fate)]);
}

/// Token ids that are never drawn.
fn suppressed(draft: &mut Draft<'_>) {
    let own = "suppress_tokens";
    if let Some(ids) = list(draft, own, "a list of token ids", ids_of) {
        draft.add("suppress_tokens", SuppressTokens::new(ids), [(own, used("suppress_tokens"))]);
    }
}
