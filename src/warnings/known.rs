//! What is known of the candidates from step to step. Where a fact is not certain it is not known.

use std::collections::BTreeMap;

use sampler_steps::community::{EpsilonCutoff, TopH};
use sampler_steps::{Facts, Infill, MinP, SamplerStep, TopK, TopNSigma, TopP, Xtc};

use super::StepPlace;
use super::steps::{self, Sorting, is, known};

/// What `top_h` cuts to before it weighs.
const TOP_H_MOST: i32 = 100;

/// How few candidates a step leaves that can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// One is left.
    Left,
    /// All others are masked.
    Unmasked,
}

/// Whether a set is marked as sorted, and is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Order {
    /// It is not marked.
    #[default]
    Unsorted,
    /// It is marked, and so it is.
    Sorted(StepPlace),
    /// It is marked, and `by` changed the order.
    Broken {
        /// Who sorted.
        sorted_by: StepPlace,
        /// Who changed it.
        by: StepPlace,
        /// Whether the first may be masked.
        masks: bool,
        /// Whether somebody was told.
        told: bool,
    },
    /// It may be marked, and is sorted then.
    Unknown,
    /// It may be marked, and need not be sorted then.
    Suspect,
}

impl Order {
    /// Whether a step that takes a marked set's first candidate for the best may take a wrong one.
    pub fn misleads(&self, step: &dyn SamplerStep) -> bool {
        match self {
            Self::Broken { masks, .. } => steps::goes_by_order(step, *masks),
            Self::Suspect => steps::goes_by_order(step, true),
            _ => false,
        }
    }

    fn after(self, sorting: Sorting, here: &StepPlace) -> Self {
        match (self, sorting) {
            (_, Sorting::Clears) => Self::Unsorted,
            (Self::Unsorted | Self::Unknown, Sorting::Sorts) => Self::Sorted(here.clone()),
            (Self::Unsorted, Sorting::MaySort) | (Self::Sorted(_), Sorting::MayClear) => Self::Unknown,
            (Self::Sorted(sorted_by), Sorting::Breaks { masks }) => {
                Self::Broken { sorted_by, by: here.clone(), masks, told: false }
            }
            (Self::Broken { sorted_by, masks: false, told, .. }, Sorting::Breaks { masks: true }) => {
                Self::Broken { sorted_by, by: here.clone(), masks: true, told }
            }
            (Self::Unknown, Sorting::Breaks { .. }) | (Self::Broken { .. }, Sorting::MayClear) => Self::Suspect,
            (Self::Unsorted | Self::Sorted(_), Sorting::Unknown) => Self::Unknown,
            (Self::Broken { .. }, Sorting::Unknown) | (_, Sorting::Suspect) => Self::Suspect,
            (order, _) => order,
        }
    }

    fn of_both(first: Self, second: Self, place: &StepPlace) -> Self {
        match (first, second) {
            (first, second) if first == second => first,
            (Self::Sorted(_), Self::Sorted(_)) => Self::Sorted(place.clone()),
            (Self::Broken { .. } | Self::Suspect, _) | (_, Self::Broken { .. } | Self::Suspect) => Self::Suspect,
            _ => Self::Unknown,
        }
    }
}

/// What the steps so far have made of the candidates.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Only one candidate can be drawn.
    pub decided: Option<(StepPlace, Only)>,
    /// The first step that removes or masks.
    pub removed: Option<StepPlace>,
    /// No more than so many are left.
    pub at_most: Option<(i32, StepPlace)>,
    /// As few as so many may be left that can be drawn.
    pub few: Option<(usize, StepPlace)>,
    /// None is left that is less likely than so, relative to the best.
    pub at_least: Option<(f32, StepPlace)>,
    /// Just now those below a probability were removed.
    pub cut: Option<(EpsilonCutoff, StepPlace)>,
    /// Tokens that are masked or gone, by whom, and whether one of them stays all the same where there is no other one.
    pub banned: BTreeMap<u32, (StepPlace, bool)>,
    pub order: Order,
    /// Some are masked, and whether they are few, as banned tokens are: then a truncation by number takes them first.
    pub masked: Option<(StepPlace, bool)>,
    /// The steps since the last one that may prefer another candidate.
    pub keeping: Vec<StepPlace>,
    /// Those in front of a `greedy`, and that one.
    pub settled: Vec<(StepPlace, StepPlace)>,
}

/// How a step stands where it is.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    /// What it removes may come back.
    pub is_loose: bool,
    /// It goes by an order that may be none.
    pub is_misled: bool,
}

impl Known {
    /// Takes note of what a step leaves.
    pub fn learn(&mut self, step: &dyn SamplerStep, facts: Facts, at: &StepPlace, standing: Standing) {
        self.learn_removal(step, facts, at, standing);
        self.cut = None;
        if !steps::unmasks_nothing(step, facts) {
            self.banned.clear();
        }
        if !standing.is_loose {
            self.learn_how_many(step, at, standing);
            self.learn_bans(step, at);
        }
        self.learn_order(step, facts, at, standing);
    }

    fn learn_removal(&mut self, step: &dyn SamplerStep, facts: Facts, at: &StepPlace, standing: Standing) {
        let here = || at.clone();
        if !facts.only_removes {
            self.at_least = None;
        }
        let ban = steps::ban(step);
        self.masked = self.masked.take().filter(|(_, are_few)| !steps::drops_masked(step, facts, *are_few));
        // The banned tokens may be those that come back.
        if is::<TopNSigma>(step) || (ban.is_some() && !standing.is_loose) {
            self.masked.get_or_insert_with(|| (here(), ban.is_some()));
        }
        if is::<Infill>(step) {
            // It brings the end token in, which may have been gone.
            self.removed = Some(here());
        } else if steps::truncates(step, facts) {
            self.removed.get_or_insert_with(here);
        }
    }

    fn learn_how_many(&mut self, step: &dyn SamplerStep, at: &StepPlace, standing: Standing) {
        let here = || at.clone();
        self.learn_few(step, at, steps::ban(step));
        if let Some(TopK { k }) = known(step) {
            self.leaves_at_most(*k, at);
        } else if let Some(TopP { p, min_keep }) = known(step) {
            // It compares with NaN where the order misleads it, and keeps all.
            if *p <= 0.0 && *min_keep <= 1 && !standing.is_misled {
                self.leaves_at_most(1, at);
            }
        } else if let Some(Xtc { probability, threshold, min_keep, .. }) = known(step) {
            if *probability >= 1.0 && *threshold <= 0.0 && *min_keep <= 1 && !standing.is_misled {
                self.leaves_at_most(1, at);
            }
        } else if let Some(MinP { p, min_keep }) = known(step) {
            let is_cut = *min_keep <= 1 && *p <= 1.0 && !standing.is_misled;
            if is_cut && self.at_least.as_ref().is_none_or(|(least, _)| p > least) {
                self.at_least = Some((*p, here()));
            }
        } else if is::<TopH>(step) {
            self.leaves_at_most(TOP_H_MOST, at);
        } else if let Some(step) = known::<EpsilonCutoff>(step).filter(|_| !standing.is_misled) {
            self.cut = Some((step.clone(), here()));
        } else if steps::is_cold(step) {
            self.decided = Some((here(), Only::Unmasked));
        }
    }

    fn learn_bans(&mut self, step: &dyn SamplerStep, at: &StepPlace) {
        let Some(ban) = steps::ban(step) else { return };
        for token in steps::always_bans(step).0 {
            let known = self.banned.entry(token).or_insert_with(|| (at.clone(), ban.leaves_one));
            known.1 &= ban.leaves_one;
        }
    }

    /// Who has banned all of these tokens, the first of them; and whether one of them may be left.
    pub fn banned_by(&self, tokens: impl IntoIterator<Item = u32>) -> Option<(StepPlace, bool)> {
        let mut all: Option<(StepPlace, bool)> = None;
        for token in tokens {
            let (by, may_stay) = self.banned.get(&token)?;
            let (_, may_one_stay) = all.get_or_insert_with(|| (by.clone(), false));
            *may_one_stay |= may_stay;
        }
        all
    }

    fn leaves_at_most(&mut self, n: i32, at: &StepPlace) {
        if self.at_most.as_ref().is_none_or(|(most, _)| n < *most) {
            self.at_most = Some((n, at.clone()));
        }
        if n == 1 {
            self.decided = Some((at.clone(), Only::Left));
        }
    }

    fn learn_order(&mut self, step: &dyn SamplerStep, facts: Facts, at: &StepPlace, standing: Standing) {
        self.order = std::mem::take(&mut self.order).after(steps::sorting(step, facts), at);
        if self.at_most.as_ref().is_some_and(|(most, _)| *most <= 1) {
            // One is in order.
            self.order = Order::Unsorted;
        }
        let comes_back = standing.is_loose && !steps::takes_nothing(step);
        match &mut self.order {
            // What comes back takes the mark away.
            Order::Sorted(_) if comes_back => self.order = Order::Unknown,
            Order::Broken { .. } if comes_back => self.order = Order::Suspect,
            // They find the best and mask others, the first among them.
            Order::Broken { masks, .. } if steps::is_cold(step) || is::<TopNSigma>(step) => *masks = true,
            _ => {}
        }
    }

    fn learn_few(&mut self, step: &dyn SamplerStep, at: &StepPlace, ban: Option<steps::Ban>) {
        let now = self.few.as_ref().map(|(n, _)| *n);
        let left = match (steps::leaves(step), known::<Xtc>(step), ban) {
            (Some(n), _, _) => Some(n),
            // What is below the threshold stays, and of a whole vocabulary that is most.
            (_, Some(step), _) => now.and(Some(step.min_keep.max(1) as usize)),
            (_, _, Some(ban)) => now.map(|n| n.saturating_sub(ban.n).max(1)),
            _ => None,
        };
        if let Some(n) = left
            && now.is_none_or(|now| n < now)
        {
            self.few = Some((n, at.clone()));
        }
    }

    /// What holds behind a switch after either of its chains, both of which began with `before`.
    pub fn of_both(mut first: Self, mut second: Self, before: &Self, place: &StepPlace) -> Self {
        let either = |first: StepPlace, second: StepPlace| if first == second { first } else { place.clone() };
        let is_before = |step: &StepPlace| before.keeping.contains(step);
        // Where both chains end in `greedy`, a step in front of them matters to neither or to one.
        let (all, others) = (first.settled.clone(), second.settled.clone());
        let is_settled =
            |step: &StepPlace, settled: &[(StepPlace, StepPlace)]| settled.iter().any(|(at, _)| at == step);
        let settled_before = before.keeping.iter().filter(|at| is_settled(at, &all) && is_settled(at, &others));
        let mut settled: Vec<(StepPlace, StepPlace)> = settled_before.map(|at| (at.clone(), place.clone())).collect();
        settled.extend(all.iter().chain(&others).filter(|(at, _)| !is_before(at)).cloned());
        let (kept_first, kept_second) = (std::mem::take(&mut first.keeping), std::mem::take(&mut second.keeping));
        let is_kept = |at: &StepPlace| !is_before(at) || (kept_first.contains(at) && kept_second.contains(at));
        let mut keeping: Vec<StepPlace> = kept_first.iter().filter(|at| is_kept(at)).cloned().collect();
        keeping.extend(kept_second.iter().filter(|at| !is_before(at)).cloned());
        Self {
            decided: first
                .decided
                .zip(second.decided)
                .map(|((a, only), (b, other))| (either(a, b), if only == other { only } else { Only::Unmasked })),
            removed: first.removed.zip(second.removed).map(|(a, b)| either(a, b)),
            at_most: first.at_most.zip(second.at_most).map(|((k, a), (l, b))| {
                let (k, since) = (k.max(l), before.at_most.as_ref().filter(|(most, _)| *most == k.max(l)));
                (k, since.map_or_else(|| either(a, b), |(_, at)| at.clone()))
            }),
            few: first.few.zip(second.few).map(|((n, a), (m, b))| (n.min(m), either(a, b))),
            at_least: first.at_least.zip(second.at_least).map(|((p, a), (q, b))| {
                let (p, since) = (p.min(q), before.at_least.as_ref().filter(|(least, _)| *least == p.min(q)));
                (p, since.map_or_else(|| either(a, b), |(_, at)| at.clone()))
            }),
            cut: first.cut.zip(second.cut).filter(|(a, b)| a == b).map(|(cut, _)| cut),
            banned: of_both_bans(first.banned, &second.banned, place),
            order: Order::of_both(first.order, second.order, place),
            masked: first.masked.zip(second.masked).map(|((a, few), (b, others))| (either(a, b), few || others)),
            keeping,
            settled,
        }
    }
}

/// What either chain bans.
fn of_both_bans(
    first: BTreeMap<u32, (StepPlace, bool)>,
    second: &BTreeMap<u32, (StepPlace, bool)>,
    place: &StepPlace,
) -> BTreeMap<u32, (StepPlace, bool)> {
    let both = |(token, (by, may_stay)): (u32, (StepPlace, bool))| {
        let (other, may_other_stay) = second.get(&token)?;
        let by = if by == *other { by } else { place.clone() };
        Some((token, (by, may_stay || *may_other_stay)))
    };
    first.into_iter().filter_map(both).collect()
}
