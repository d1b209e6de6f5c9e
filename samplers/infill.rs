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
/// only end tokens are left, one candidate stays: the end of the turn, or of the sequence. An empty set stays empty.
///
/// Its work is that of a sort by text and of the merges, so that it may stand before a truncation, too.
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
pub struct Infill {
    /// Places of candidates: in the order of their texts, and those whose text one begins.
    #[serde(skip)]
    places: [Vec<usize>; 2],
}

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
        if cands.is_empty() {
            return;
        }
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

        merge_prefixes(cands, vocab.as_ref(), &mut self.places);
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

/// Up to so many candidates every pair is compared: that is quicker than a sort by text.
const FEW: usize = 64;

/// Adds the probability of a candidate to one whose text begins it, or is begun by it; the likelier of the two stays.
fn merge_prefixes(cands: &mut CandSet<'_>, vocab: &dyn Vocab, [by_text, begun]: &mut [Vec<usize>; 2]) {
    let n = cands.len();
    if n <= FEW {
        return (0..n).for_each(|i| merge_into(cands, vocab, i, 0..n));
    }
    // In the order of their texts, all that one text begins stand together, from it on.
    by_text.clear();
    by_text.extend(0..n);
    let all = cands.as_slice();
    by_text.sort_unstable_by_key(|&place| (text(vocab, all[place].id), place));
    for i in 0..n {
        let all = cands.as_slice();
        let text_of = |place: usize| text(vocab, all[place].id);
        let start = text_of(i);
        if start.is_empty() || all[i].logit == f32::NEG_INFINITY {
            continue;
        }
        let from = by_text.partition_point(|&place| text_of(place) < start);
        begun.clear();
        begun.extend(by_text[from..].iter().take_while(|&&place| text_of(place).starts_with(start)));
        begun.sort_unstable();
        merge_into(cands, vocab, i, begun.iter().copied());
    }
}

/// The text of a token, as far as it is compared.
fn text(vocab: &dyn Vocab, id: u32) -> &[u8] {
    if vocab.is_control(id) { &[] } else { vocab.piece(id) }
}

/// Compares one candidate with those at some places, in their order, until it is merged away itself.
fn merge_into(cands: &mut CandSet<'_>, vocab: &dyn Vocab, i: usize, places: impl Iterator<Item = usize>) {
    for j in places {
        let (Some(a), Some(b)) = (cands.get(i), cands.get(j)) else { return };
        if a.logit == f32::NEG_INFINITY {
            return;
        }
        if i == j || b.logit == f32::NEG_INFINITY {
            continue;
        }
        let (start, whole) = (text(vocab, a.id), text(vocab, b.id));
        if !start.is_empty() && whole.starts_with(start) {
            let (into, from) = if b.p > a.p { (j, i) } else { (i, j) };
            cands.merge(into, from);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::core::{Cand, CandBuf};
    use crate::testing::{Left, Words, apply, round_trip};

    /// Runs it over tokens with these texts and probabilities; `</s>` ends the text.
    fn infill(words: &[(&str, f32)]) -> Left {
        let texts = words.iter().map(|(text, _)| text.to_string()).collect();
        let logits: Vec<f32> = words.iter().map(|(_, p)| p.ln()).collect();
        let mut ctx = Ctx::new(1).with_vocab(Arc::new(Words(texts)));
        let mut step = Infill::default();
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
        Infill::default().apply(&mut cands, &mut ctx);
        assert_eq!((cands.as_slice().len(), cands.selected(), cands.selected_id()), (1, None, None));
    }

    /// Beside the plain form, which compares every pair: texts that begin each other over and over, some masked, some empty.
    #[test]
    fn many_are_merged_as_few_are() {
        let mut rng = crate::Mt19937::new(3);
        for n in [65, 100, 300, 700] {
            let mut word =
                || (0..rng.next_u32() % 5).map(|_| ['a', 'b'][rng.next_u32() as usize % 2]).collect::<String>();
            let words = Words((0..n).map(|_| word()).collect());
            let logit = |i: usize| if i % 13 == 5 { f32::NEG_INFINITY } else { (i * 37 % 101) as f32 / 20.0 };
            let logits: Vec<f32> = (0..n).map(logit).collect();
            let (mut buf, mut plain_buf) = (CandBuf::default(), CandBuf::default());
            let mut cands = CandSet::new(&logits, &mut buf);
            let mut plain = CandSet::new(&logits, &mut plain_buf);
            cands.softmax(true);
            plain.softmax(true);
            merge_prefixes(&mut cands, &words, &mut Default::default());
            (0..n).for_each(|i| merge_into(&mut plain, &words, i, 0..n));
            let bits = |cand: &Cand| (cand.id, cand.logit.to_bits(), cand.p.to_bits());
            assert!(cands.as_slice().iter().map(bits).eq(plain.as_slice().iter().map(bits)), "{n}");
            let n_left = plain.as_slice().iter().filter(|cand| cand.logit > f32::NEG_INFINITY).count();
            assert!((1..n / 2).contains(&n_left), "{n_left} of {n}");
        }
    }

    /// 100,000 tokens, of which each begins a few others: every pair would be ten thousand million comparisons.
    #[test]
    fn a_whole_vocabulary_takes_no_square_of_time() {
        let words: Vec<String> = (0..100_000).map(|i| format!("{i}")).collect();
        let mut ctx = Ctx::new(1).with_vocab(Arc::new(Words(words.into_iter().chain(["</s>".into()]).collect())));
        let logits: Vec<f32> = (0..100_001).map(|i| if i == 100_000 { -50.0 } else { (i % 7) as f32 / 7.0 }).collect();
        let left = apply(&mut Infill::default(), &logits, &mut ctx);
        assert_eq!(left.ids(), [100_000]);
    }

    #[test]
    fn wants_a_vocabulary() {
        let error = Infill::default().prepare(&Ctx::new(1)).unwrap_err().to_string();
        assert_eq!(error, "infill: needs a vocabulary, and there is none: the step compares the texts of tokens");
    }

    #[test]
    fn file() {
        round_trip(Box::new(Infill::default()), r#"{"type":"infill"}"#);
    }
}
