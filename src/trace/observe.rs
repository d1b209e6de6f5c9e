//! Who looks on: the candidates before and after each step, and what is between them.

use std::sync::Arc;

use sampler_steps::{Cand, CandSet, SamplerStep, Vocab};
use serde_json::Value;

use super::moment::{Change, Moment};
use super::{Candidate, Piece, Set, Step, Story};

/// Looks at the candidates after every step, and changes nothing.
pub struct Observer {
    vocab: Option<Arc<dyn Vocab>>,
    top: usize,
    /// The candidates as they were seen last.
    now: Moment,
    logits: Set,
    steps: Vec<Step>,
    stories: Vec<Story>,
}

impl Observer {
    pub fn new(logits: &[f32], vocab: Option<Arc<dyn Vocab>>, top: usize, follow: &[u32]) -> Self {
        let cands = logits.iter().zip(0..).map(|(&logit, id)| Cand { id, logit, p: 0.0 }).collect();
        let now = Moment::new(cands, logits.len());
        let nothing = Set { len: 0, sorted: false, selected: None, entropy: None, top: Vec::new() };
        let mut observer = Self { vocab, top, now, logits: nothing, steps: Vec::new(), stories: Vec::new() };
        observer.logits = observer.set(&observer.now, false, None, None);
        observer.stories = follow.iter().map(|&id| Story::new(id, observer.piece(id))).collect();
        observer.tell_stories();
        observer
    }

    /// Looks at what a step left, and tells it.
    pub fn see(&mut self, place: &[usize], step: &dyn SamplerStep, set: &mut CandSet<'_>) -> &Step {
        let next = self.now.next(set.as_slice());
        let before = &self.now;
        let after = next.as_ref().unwrap_or(before);
        let out = before.best(self.top, |cand| after.place(cand.id).is_none());
        let out = out.into_iter().map(|at| self.candidate(before, at, None)).collect();
        let Change { removed, added, moved, changed, masked, mass } = Change::between(before, after);
        let params = match serde_json::to_value(step) {
            Ok(Value::Object(mut fields)) => {
                fields.shift_remove("type");
                fields
            }
            _ => serde_json::Map::new(),
        };
        let told = Step {
            place: place.to_vec(),
            step: step.typetag_name().to_string(),
            params,
            off: step.is_off(),
            before: before.cands.len(),
            after: self.set(after, set.is_sorted(), set.selected(), Some(before)),
            removed,
            added,
            moved,
            changed,
            masked,
            mass,
            out,
            ns: None,
        };
        if let Some(next) = next {
            self.now = next;
        }
        self.tell_stories();
        let index = self.steps.len();
        self.steps.push(told);
        &self.steps[index]
    }

    /// The probability of a token now.
    pub fn prob(&self, token: u32) -> Option<f64> {
        self.now.prob(token)
    }

    /// What was seen: the candidates before the first step, the steps, the stories.
    pub fn done(self) -> (Set, Vec<Step>, Vec<Story>) {
        (self.logits, self.steps, self.stories)
    }

    fn tell_stories(&mut self) {
        let Self { stories, now, .. } = self;
        for story in stories {
            story.see(&now.cands, now.probs.as_deref(), now.place(story.id));
        }
    }

    fn set(&self, now: &Moment, sorted: bool, selected: Option<usize>, before: Option<&Moment>) -> Set {
        let top = now.best(self.top, |_| true);
        Set {
            len: now.cands.len(),
            sorted,
            selected,
            entropy: now.entropy,
            top: top.into_iter().map(|at| self.candidate(now, at, before)).collect(),
        }
    }

    fn candidate(&self, now: &Moment, at: usize, before: Option<&Moment>) -> Candidate {
        let Cand { id, logit, .. } = now.cands[at];
        let was = before.and_then(|before| before.prob(id));
        Candidate { id, piece: self.piece(id), logit, prob: now.prob_at(at), was }
    }

    fn piece(&self, id: u32) -> Option<Piece> {
        self.vocab.as_ref().map(|vocab| Piece::new(vocab.piece(id)))
    }
}
