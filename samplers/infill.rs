use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, StepError, Vocab};

/// What a candidate that is no end token needs at first.
const THRESHOLD: f32 = 0.2;

/// Fill in the middle: ends the text where that is likely enough, and else merges candidates that begin alike and keeps the
/// likely ones: `llama_sampler_init_infill`.
///
/// # Order and flags
/// Sorts, computes p, filters. Merged candidates stay with a logit of -infinity and p = 0 until they are filtered out. Where
/// only end tokens are left, one candidate stays: the end of the turn, or of the sequence.
///
/// It compares every pair of candidates, so it belongs behind a truncation.
///
/// # Draws
/// None.
///
/// # Chain file
/// ```json
/// {"type": "infill"}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Infill {}

crate::describe_step!(Infill);

#[typetag::serde(name = "infill")]
impl SamplerStep for Infill {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        let instead = "the step compares the texts of tokens";
        match ctx.vocab() {
            None => Err(StepError::NeedsVocab { field: "infill", instead }),
            Some(vocab) if vocab.eot().or(vocab.eos()).is_none() => {
                Err(StepError::Other("infill: the vocabulary has neither an end of turn nor an end of sequence".into()))
            }
            Some(_) => Ok(()),
        }
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        let Some(vocab) = ctx.vocab() else { return };
        let is_end = |id: u32| vocab.is_eog(id);
        cands.softmax(true);

        let (mut text_sum, mut end_sum) = (0.0f32, 0.0f32);
        for cand in cands.as_slice() {
            *(if is_end(cand.id) { &mut end_sum } else { &mut text_sum }) += cand.p;
        }
        if 3.0 * end_sum * cands.len() as f32 > text_sum {
            cands.retain(|cand| is_end(cand.id));
            cands.share_p();
            return;
        }

        merge_prefixes(cands, vocab.as_ref());
        cands.retain(|cand| !is_below(cand.p, THRESHOLD) || is_end(cand.id));
        let n_text = cands.as_slice().iter().filter(|cand| !is_end(cand.id)).count();
        if n_text == 0 {
            if let Some(end) = vocab.eot().or(vocab.eos()) {
                cands.leave_only(end, 1.0);
            }
            return;
        }
        cands.share_p();
        let even = (1.0 / (n_text as f64 + 1.0)) as f32;
        cands.retain(|cand| !is_below(cand.p, even) || is_end(cand.id));
        cands.share_p();
    }

    fn facts(&self) -> Facts {
        Facts { needs_vocab: true, ..Facts::default() }
    }
}

/// Whether a probability is below a threshold. NaN, which a row of -infinity gives, is not.
fn is_below(p: f32, threshold: f32) -> bool {
    p < threshold
}

/// Adds the probability of a candidate to one whose text begins it, or is begun by it; the likelier of the two stays.
fn merge_prefixes(cands: &mut CandSet<'_>, vocab: &dyn Vocab) {
    let text = |id: u32| if vocab.is_control(id) { &[] } else { vocab.piece(id) };
    for i in 0..cands.len() {
        for j in 0..cands.len() {
            let (Some(a), Some(b)) = (cands.get(i), cands.get(j)) else { return };
            if a.logit == f32::NEG_INFINITY {
                break;
            }
            if i == j || b.logit == f32::NEG_INFINITY {
                continue;
            }
            let (start, whole) = (text(a.id), text(b.id));
            if !start.is_empty() && whole.starts_with(start) {
                let (into, from) = if b.p > a.p { (j, i) } else { (i, j) };
                cands.merge(into, from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::{Left, Words, apply, round_trip};

    /// Runs it over tokens with these texts and probabilities; `</s>` ends the text.
    fn infill(words: &[(&str, f32)]) -> Left {
        let texts = words.iter().map(|(text, _)| text.to_string()).collect();
        let logits: Vec<f32> = words.iter().map(|(_, p)| p.ln()).collect();
        let mut ctx = Ctx::new(1).with_vocab(Arc::new(Words(texts)));
        let mut step = Infill {};
        step.prepare(&ctx).unwrap();
        apply(&mut step, &logits, &mut ctx)
    }

    #[test]
    fn an_end_that_is_likely_enough_is_all() {
        let left = infill(&[("a", 0.6), ("b", 0.2), ("</s>", 0.2)]);
        assert_eq!((left.ids(), left.cands[0].p), (vec![2], 1.0));
    }

    #[test]
    fn what_begins_alike_is_merged() {
        let left = infill(&[("a", 0.3), ("ab", 0.4), ("c", 0.298), ("</s>", 0.002)]);
        assert_eq!(left.ids(), [1, 3]);
        assert!((left.cands[0].p - 0.997).abs() < 1e-3, "{left:?}");
    }

    #[test]
    fn nothing_likely_leaves_the_end() {
        let even: Vec<(&str, f32)> = ["q", "w", "e", "r", "t", "z"].map(|text| (text, 1.0 / 6.0)).to_vec();
        let left = infill(&[even, vec![("</s>", 1e-9)]].concat());
        assert_eq!((left.ids(), left.logits()), (vec![6], vec![1.0]));
    }

    /// As libllama leaves it: a row of -infinity makes every p NaN, and NaN is not below a threshold.
    #[test]
    fn nan_stays() {
        let left = infill(&[("a", 0.0), ("b", 0.0), ("</s>", 0.0)]);
        assert_eq!(left.ids(), [0, 1, 2]);
        assert!(left.cands.iter().all(|cand| cand.p.is_nan()), "{left:?}");
    }

    /// A selection from before is of a candidate that is gone.
    #[test]
    fn the_end_alone_is_not_selected() {
        let texts = ["q", "w", "e", "r", "t", "z", "</s>"].map(String::from).to_vec();
        let mut ctx = Ctx::new(1).with_vocab(Arc::new(Words(texts)));
        let mut sorted: Vec<crate::Cand> = (0..7).map(|id| crate::Cand { id, logit: 0.0, p: 0.0 }).collect();
        sorted[6].logit = -20.0;
        let mut buf = crate::CandBuf::default();
        let mut cands = CandSet::from_cands(&sorted, true, &mut buf);
        cands.select(5);
        Infill {}.apply(&mut cands, &mut ctx);
        assert_eq!((cands.as_slice().len(), cands.selected(), cands.selected_id()), (1, None, None));
    }

    #[test]
    fn wants_a_vocabulary() {
        let error = Infill {}.prepare(&Ctx::new(1)).unwrap_err().to_string();
        assert_eq!(error, "infill: needs a vocabulary, and there is none: the step compares the texts of tokens");
    }

    #[test]
    fn file() {
        round_trip(Box::new(Infill {}), r#"{"type":"infill"}"#);
    }
}
