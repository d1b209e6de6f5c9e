//! The states to go back to: one for the start, and one after each of the last accepted tokens.

use std::collections::VecDeque;

/// How many tokens can be taken back where nobody asked for another number.
pub const DEFAULT_DEPTH: usize = 256;

/// The last states, the newest at the back.
#[derive(Debug, Clone)]
pub struct Past {
    depth: usize,
    marks: VecDeque<Mark>,
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
        Self { depth: DEFAULT_DEPTH, marks: VecDeque::new() }
    }
}

impl Past {
    pub fn set_depth(&mut self, depth: usize) {
        self.depth = depth;
        while self.len() > depth {
            self.marks.pop_front();
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
        let mut mark = if self.marks.len() > self.depth { self.marks.pop_front() } else { None }.unwrap_or_default();
        mark.state.clear();
        self.marks.push_back(mark);
        self.marks.back_mut().expect("one was pushed")
    }

    /// Puts a mark in the newest one's place.
    pub fn replace_last(&mut self, mark: Mark) {
        if let Some(last) = self.marks.back_mut() {
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
        self.marks.truncate(kept);
        self.marks.back()
    }

    pub fn clear(&mut self) {
        self.marks.clear();
    }
}
