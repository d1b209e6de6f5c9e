//! What the tests of steps share: the toy distribution of four candidates and a way to run a step on it.

use crate::{Cand, CandBuf, CandSet, Chain, Ctx, EncodeError, SamplerStep, Vocab};

/// Probabilities 0.50, 0.30, 0.15, 0.05 for the ids 0 to 3, as logits.
pub fn p4() -> Vec<f32> {
    [0.50f32, 0.30, 0.15, 0.05].map(f32::ln).to_vec()
}

/// What a step leaves.
#[derive(Debug, PartialEq)]
pub struct Left {
    pub cands: Vec<Cand>,
    pub sorted: bool,
    pub selected: Option<usize>,
}

impl Left {
    pub fn ids(&self) -> Vec<u32> {
        self.cands.iter().map(|c| c.id).collect()
    }

    pub fn logits(&self) -> Vec<f32> {
        self.cands.iter().map(|c| c.logit).collect()
    }
}

/// Prepares a step with seed 42 and the given history, and applies it once.
pub fn run(step: &mut dyn SamplerStep, logits: &[f32], prompt: &[u32]) -> Left {
    let mut ctx = Ctx::new(42);
    step.prepare(&ctx).unwrap();
    for &token in prompt {
        ctx.history_mut().push_prompt(token);
        step.accept(token, &ctx);
    }
    apply(step, logits, &mut ctx)
}

/// Applies a step that is prepared.
pub fn apply(step: &mut dyn SamplerStep, logits: &[f32], ctx: &mut Ctx) -> Left {
    let mut buf = CandBuf::default();
    let mut cands = CandSet::new(logits, &mut buf);
    step.apply(&mut cands, ctx);
    Left { cands: cands.as_slice().to_vec(), sorted: cands.is_sorted(), selected: cands.selected() }
}

/// A step sorted first: a chain of `top_k` with all candidates, then the step.
pub fn after_sort(step: impl SamplerStep + 'static) -> Chain {
    Chain::new().with(crate::TopK { k: i32::MAX }).with(step)
}

/// Checks that the step's JSON is this, that it reads back to the same, and that an unknown field is refused.
pub fn round_trip(step: Box<dyn SamplerStep>, json: &str) {
    let text = serde_json::to_string(&step).unwrap();
    assert_eq!(text, json);
    let back: Box<dyn SamplerStep> = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), json);
    let with_unknown = format!("{},\"no_such_field\":1}}", json.strip_suffix('}').unwrap());
    let error = serde_json::from_str::<Box<dyn SamplerStep>>(&with_unknown).unwrap_err().to_string();
    assert!(error.contains("no_such_field"), "{error}");
}

/// The text of what `prepare` refuses.
pub fn refusal(mut step: impl SamplerStep) -> String {
    step.prepare(&Ctx::new(1).with_n_vocab(100)).unwrap_err().to_string()
}

/// A vocabulary of words; `</s>` ends the text, and a text is encoded as the word that it is.
#[derive(Debug)]
pub struct Words(pub Vec<String>);

impl Words {
    fn id(&self, word: &[u8]) -> Option<u32> {
        self.0.iter().position(|known| known.as_bytes() == word).map(|id| id as u32)
    }
}

impl Vocab for Words {
    fn n_tokens(&self) -> usize {
        self.0.len()
    }

    fn piece(&self, id: u32) -> &[u8] {
        self.0.get(id as usize).map_or(&[], |word| word.as_bytes())
    }

    fn is_eog(&self, id: u32) -> bool {
        self.piece(id) == b"</s>"
    }

    fn eot(&self) -> Option<u32> {
        None
    }

    fn eos(&self) -> Option<u32> {
        self.id(b"</s>")
    }

    fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
        let unknown = || EncodeError { text: text.escape_ascii().to_string(), why: "no such word".into() };
        self.id(text).map(|id| vec![id]).ok_or_else(unknown)
    }
}
