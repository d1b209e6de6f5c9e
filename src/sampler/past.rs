//! The states to go back to: one for the start, and one after each of the last accepted tokens.

use std::collections::VecDeque;

/// How many tokens can be taken back where nobody asked for another number.
pub const DEFAULT_DEPTH: usize = 256;

/// The states take so many numbers together, 128 MB, before the oldest go: a chain of a million steps saves a million with each.
const MAX_NUMBERS: usize = 1 << 24;

/// The last states, the newest at the back.
#[derive(Debug, Clone)]
pub struct Past {
    depth: usize,
    marks: VecDeque<Mark>,
    /// How many numbers the states have together.
    n_numbers: usize,
}

/// Where a sampler was: the length of its history, and what its steps saved.
#[derive(Debug, Clone, Default)]
pub struct Mark {
    pub len: usize,
    pub n_prompt: usize,
    pub state: Vec<u64>,
}

impl Default for Past {
    fn default() -> Self {
        Self { depth: DEFAULT_DEPTH, marks: VecDeque::new(), n_numbers: 0 }
    }
}

impl Past {
    pub fn set_depth(&mut self, depth: usize) {
        self.depth = depth;
        while self.len() > depth {
            self.forget_oldest();
        }
    }

    /// Lets `n` more marks in before the oldest go; [`set_depth`](Self::set_depth) brings the depth back.
    pub fn make_room(&mut self, n: usize) -> usize {
        let depth = self.depth;
        self.depth = depth.saturating_add(n);
        depth
    }

    /// An empty mark to write the newest state to. The memory of one that is too old is used again.
    pub fn push(&mut self) -> &mut Mark {
        let mut mark = if self.marks.len() > self.depth { self.forget_oldest() } else { None };
        while self.marks.len() > 1 && self.n_numbers > MAX_NUMBERS {
            mark = self.forget_oldest();
        }
        let mut mark = mark.unwrap_or_default();
        mark.state.clear();
        self.marks.push_back(mark);
        self.marks.back_mut().expect("one was pushed")
    }

    /// Puts a mark in the newest one's place.
    pub fn replace_last(&mut self, mark: Mark) {
        if let Some(last) = self.marks.back_mut() {
            self.n_numbers = self.n_numbers - last.state.len() + mark.state.len();
            *last = mark;
        }
    }

    /// How many tokens can be taken back.
    pub fn len(&self) -> usize {
        self.marks.len().saturating_sub(1)
    }

    /// Forgets the last `n` states and shows the one before them.
    pub fn back(&mut self, n: usize) -> Option<&Mark> {
        let kept = self.marks.len().checked_sub(n)?;
        self.n_numbers -= self.marks.drain(kept..).map(|mark| mark.state.len()).sum::<usize>();
        self.marks.back()
    }

    pub fn clear(&mut self) {
        self.marks.clear();
        self.n_numbers = 0;
    }

    fn forget_oldest(&mut self) -> Option<Mark> {
        let oldest = self.marks.pop_front()?;
        self.n_numbers -= oldest.state.len();
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(past: &mut Past, len: usize, n_numbers: usize) {
        let mut mark = std::mem::take(past.push());
        (mark.len, mark.state) = (len, vec![7; n_numbers]);
        past.replace_last(mark);
    }

    /// However deep it is, what it keeps is bounded: a chain of very many steps has large states.
    #[test]
    fn large_states_go_before_there_are_many() {
        let mut past = Past::default();
        past.set_depth(usize::MAX);
        for len in 0..20 {
            push(&mut past, len, 1 << 20);
        }
        assert_eq!((past.len(), past.n_numbers), (16, 17 << 20));
        assert_eq!(past.back(16).map(|mark| mark.len), Some(3));
        assert!(past.back(2).is_none());
        for len in 0..1000 {
            push(&mut past, len, 1);
        }
        assert_eq!(past.len(), 1000);
        past.set_depth(10);
        assert_eq!((past.len(), past.n_numbers), (10, 11));
        past.clear();
        assert_eq!((past.len(), past.n_numbers), (0, 0));
    }
}
