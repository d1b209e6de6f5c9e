//! The changed logits beside a row. Some are written down; others are computed whenever somebody looks at them, since most of those
//! that a long history penalises are never looked at.

/// What the logit of a token that occurs is lowered by: llama.cpp's penalties.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalty {
    /// A logit above 0 is divided by this, another one multiplied; 1 is neutral.
    pub repeat: f32,
    /// Then this is taken off for each time that the token occurs; 0 is neutral.
    pub freq: f32,
    /// And this once; 0 is neutral.
    pub present: f32,
}

impl Penalty {
    /// The logit of a token that occurs `count` times.
    pub fn of(&self, logit: f32, count: u32) -> f32 {
        let scaled = if logit <= 0.0 { logit * self.repeat } else { logit / self.repeat };
        scaled - (count as f32 * self.freq + self.present)
    }

    /// Whether no finite logit, nor -infinity, becomes larger or NaN.
    pub(super) fn only_lowers(&self) -> bool {
        let bounded = |x: f32, least: f32| x >= least && x.is_finite();
        bounded(self.repeat, 1.0) && bounded(self.freq, 0.0) && bounded(self.present, 0.0)
    }
}

impl Default for Penalty {
    /// The neutral one.
    fn default() -> Self {
        Self { repeat: 1.0, freq: 0.0, present: 0.0 }
    }
}

/// The changes to a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changes<'c> {
    /// The logits that were written down, by rising id.
    pub patches: &'c [(u32, f32)],
    /// How often tokens occur, by rising id. Those that are not written down are penalised.
    pub counts: &'c [(u32, u32)],
    pub penalty: Penalty,
}

impl Changes<'static> {
    pub fn none() -> Self {
        Self { patches: &[], counts: &[], penalty: Penalty::default() }
    }
}

impl Changes<'_> {
    /// What a logit has become.
    pub fn get(&self, id: u32, logit: f32) -> f32 {
        if let Ok(at) = self.patches.binary_search_by_key(&id, |patch| patch.0) {
            return self.patches[at].1;
        }
        match self.counts.binary_search_by_key(&id, |count| count.0) {
            Ok(at) => self.penalty.of(logit, self.counts[at].1),
            Err(_) => logit,
        }
    }

    /// The same for token by token: no change before this one is left.
    #[inline(always)]
    pub fn next(&mut self, id: u32, logit: f32) -> f32 {
        let (patched, count) = (next(&mut self.patches, id), next(&mut self.counts, id));
        patched.unwrap_or_else(|| count.map_or(logit, |count| self.penalty.of(logit, count)))
    }

    /// Passes over those of the tokens before `start`.
    #[inline(always)]
    pub fn skip_to(&mut self, start: usize) {
        self.patches = from(self.patches, start);
        self.counts = from(self.counts, start);
    }

    /// Whether one of the tokens before `end` was changed.
    #[inline(always)]
    pub fn begin_before(&self, end: usize) -> bool {
        let patched = self.patches.first().is_some_and(|(id, _)| (*id as usize) < end);
        patched || self.counts.first().is_some_and(|(id, _)| (*id as usize) < end)
    }

    /// Changes logits that follow each other, of which the first is the token `start`'s: no change before it is left.
    #[inline(always)]
    pub fn write(&self, logits: &mut [f32], start: usize) {
        for &(id, count) in self.counts {
            let Some(logit) = logits.get_mut(id as usize - start) else { break };
            *logit = self.penalty.of(*logit, count);
        }
        for &(id, patched) in self.patches {
            let Some(logit) = logits.get_mut(id as usize - start) else { break };
            *logit = patched;
        }
    }
}

/// The part of a list by rising id that begins with `start`.
#[inline(always)]
fn from<T>(list: &[(u32, T)], start: usize) -> &[(u32, T)] {
    match list.first() {
        Some((id, _)) if (*id as usize) < start => &list[list.partition_point(|(id, _)| (*id as usize) < start)..],
        _ => list,
    }
}

/// What the list has for `id`, if it begins with that.
#[inline(always)]
fn next<T: Copy>(list: &mut &[(u32, T)], id: u32) -> Option<T> {
    let (&(first, value), rest) = list.split_first()?;
    (first == id).then(|| {
        *list = rest;
        value
    })
}
