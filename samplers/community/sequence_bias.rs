use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{CandSet, Ctx, Facts, SamplerStep, SequenceBiases, StepError, float};

/// Adds a bias to the last token of each given sequence where the tokens before it have just been accepted; of a sequence of
/// one token, always.
///
/// The prompt counts, and so does a beginning that is the whole history. A bias of -infinity forbids the sequence: that is
/// `bad_words_ids`. Biases of one token add up in f32 before they are added to its logit: first that of the token alone, then
/// length by length, lengths as they are first seen in the list. A sequence that is given twice has the last bias.
///
/// What would rise above the largest f32 number is held there. Where nothing would be left above -infinity, the most likely
/// candidate keeps its logit.
///
/// # Origin
/// Hugging Face transformers: `sequence_bias` and `bad_words_ids` (`SequenceBiasLogitsProcessor`, `NoBadWordsLogitsProcessor`,
/// Apache-2.0), as 5.23.0 does it: older versions miss a match that uses the whole history. `bad_words_ids` passes over a sequence that is
/// nothing but an end token, which is to be left out of the list here. The code is this project's own.
/// Gate: those classes, run with torch.
///
/// # Order and flags
/// Changes logits, keeps the candidates and clears `sorted`. While no sequence matches it changes nothing.
///
/// # Draws
/// None.
///
/// # Errors
/// `prepare` refuses a sequence without a token, a token beyond the vocabulary, and a bias that is NaN or +infinity.
///
/// # Chain file
/// ```json
/// {"type": "sequence_bias", "bias": [[[5], 1.5], [[88, 12], -4.0], [[90, 14, 7], "-inf"]]}
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SequenceBias {
    /// Pairs of a sequence of tokens and what is added to the logit of its last one: a finite number, or `"-inf"`, which
    /// forbids it. Default none.
    pub bias: Vec<BiasedSequence>,
    #[serde(skip)]
    biases: SequenceBiases,
}

/// A sequence of tokens and its bias.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BiasedSequence(
    /// The tokens, at least one.
    #[schemars(length(min = 1))]
    pub Vec<u32>,
    /// What is added to the logit of the last one.
    #[serde(with = "float")]
    pub f32,
);

impl SequenceBias {
    /// The step with its sequences.
    pub fn new(bias: impl IntoIterator<Item = (Vec<u32>, f32)>) -> Self {
        Self { bias: bias.into_iter().map(|(tokens, bias)| BiasedSequence(tokens, bias)).collect(), ..Self::default() }
    }

    /// The step that forbids sequences: `bad_words_ids`.
    pub fn bad_words(sequences: impl IntoIterator<Item = Vec<u32>>) -> Self {
        Self::new(sequences.into_iter().map(|tokens| (tokens, f32::NEG_INFINITY)))
    }
}

crate::describe_step!(SequenceBias);

#[typetag::serde(name = "sequence_bias")]
impl SamplerStep for SequenceBias {
    fn prepare(&mut self, ctx: &Ctx) -> Result<(), StepError> {
        StepError::refuse_sequences("bias", self.bias.iter().map(|BiasedSequence(tokens, _)| tokens), ctx)?;
        for BiasedSequence(_, bias) in &self.bias {
            StepError::refuse_unless(*bias < f32::INFINITY, "bias", bias, "a finite number or -inf is wanted")?;
        }
        self.biases =
            SequenceBiases::new(self.bias.iter().map(|BiasedSequence(tokens, bias)| (tokens.as_slice(), *bias)));
        Ok(())
    }

    fn apply(&mut self, cands: &mut CandSet<'_>, ctx: &mut Ctx) {
        let now = self.biases.after(ctx.history().tokens());
        cands.update_but_leave_one(now, |logit, &bias| SequenceBiases::add(logit, bias));
    }

    fn is_off(&self) -> bool {
        self.bias.is_empty()
    }

    fn facts(&self) -> Facts {
        let needs_history = self.bias.iter().any(|BiasedSequence(tokens, _)| tokens.len() > 1);
        if self.is_off() { Facts::TRUNCATION } else { Facts { needs_history, ..Facts::default() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after_sort, refusal, round_trip, run};

    const NONE: f32 = f32::NEG_INFINITY;

    fn logits(bias: &[(&[u32], f32)], row: &[f32], prompt: &[u32]) -> Vec<f32> {
        run(&mut SequenceBias::new(bias.iter().map(|(tokens, bias)| (tokens.to_vec(), *bias))), row, prompt).logits()
    }

    #[test]
    fn the_tokens_before_must_end_the_history() {
        let bias: [(&[u32], f32); 3] = [(&[0], 0.5), (&[2, 1], 1.0), (&[0, 2, 1], 2.0)];
        for (prompt, expected) in [(&[][..], 0.0), (&[2], 1.0), (&[0, 2], 3.0), (&[1, 0, 2], 3.0), (&[2, 0], 0.0)] {
            assert_eq!(logits(&bias, &[0.0; 3], prompt), [0.5, expected, 0.0], "{prompt:?}");
        }
    }

    /// In f32, 2^24 + 1 is 2^24: which is added first is seen.
    #[test]
    fn biases_add_up_in_the_references_order() {
        let big = 16_777_216.0;
        assert_eq!(logits(&[(&[2, 0], big), (&[0], 1.0), (&[1, 2, 0], 1.0)], &[0.0; 3], &[1, 2]), [big, 0.0, 0.0]);
        assert_eq!(logits(&[(&[1, 2, 0], 1.0), (&[2, 0], big), (&[0], 1.0)], &[0.0; 3], &[1, 2])[0], big + 2.0);
        assert_eq!(logits(&[(&[2, 0], 5.0), (&[0], 1.0), (&[2, 0], 2.0)], &[0.0; 3], &[1, 2])[0], 3.0);
    }

    #[test]
    fn huge_biases_stay_numbers() {
        let max = f32::MAX;
        assert_eq!(logits(&[(&[0], max), (&[1, 0], max), (&[1], max)], &[5.0, NONE], &[1]), [max, NONE]);
        assert_eq!(logits(&[(&[0], max), (&[1, 0], max), (&[2, 1, 0], NONE)], &[5.0, 1.0], &[2, 1]), [NONE, 1.0]);
    }

    #[test]
    fn the_flag_falls_where_a_sequence_matches() {
        let step = || after_sort(SequenceBias::new([(vec![0, 1], -9.0)]));
        let left = run(&mut step(), &[1.0, 3.0, 2.0], &[0]);
        assert_eq!((left.ids(), left.logits(), left.sorted), (vec![1, 2, 0], vec![-6.0, 2.0, 1.0], false));
        assert!(run(&mut step(), &[1.0, 3.0, 2.0], &[1]).sorted);
    }

    #[test]
    fn of_everything_the_first_of_the_most_likely_stays() {
        let mut all = SequenceBias::bad_words([vec![0], vec![5, 1], vec![2]]);
        assert_eq!(run(&mut all, &[1.0, 3.0, 3.0], &[5]).logits(), [NONE, 3.0, NONE]);
        assert_eq!(run(&mut all, &[1.0], &[5]).logits(), [1.0]);
        assert_eq!(run(&mut all, &[NONE, 1.0, NONE], &[5]).logits(), [NONE, 1.0, NONE]);
        assert!(run(&mut all, &[], &[5]).cands.is_empty());
        // Finite ones that are too low together.
        let low: [(&[u32], f32); 3] = [(&[0], f32::MIN), (&[1, 0], f32::MIN), (&[1], f32::MIN)];
        assert_eq!(logits(&low, &[1.0, -1e38], &[1]), [1.0, NONE]);
        assert_eq!(logits(&low, &[1.0, 2.0], &[1]), [NONE, f32::MIN]);
    }

    #[test]
    fn file() {
        let step = SequenceBias::new([(vec![5], 1.5), (vec![90, 7], NONE)]);
        round_trip(Box::new(step), r#"{"type":"sequence_bias","bias":[[[5],1.5],[[90,7],"-inf"]]}"#);
        let of = |tokens: &[u32], bias| refusal(SequenceBias::new([(tokens.to_vec(), bias)]));
        assert_eq!(of(&[1, 100], 1.0), "bias: token 100 is beyond the vocabulary of 100 tokens");
        assert_eq!(of(&[], 1.0), "bias: [] is refused: a sequence has at least one token");
        assert_eq!(of(&[1], f32::NAN), "bias: NaN is refused: a finite number or -inf is wanted");
        assert_eq!(of(&[1], f32::INFINITY), "bias: inf is refused: a finite number or -inf is wanted");
    }
}
