//! What is known of single steps with their values, beyond the facts that they state.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};

use sampler_steps::community::{
    EncoderRepetitionPenalty, EpsilonCutoff, EtaCutoff, ExponentialDecayLength, Gumbel, MinK, MinNewTokens,
    NoRepeatNgram, PLess, Protect, RepPenSlope, RepetitionPenaltyHf, SequenceBias, Smoothing, SuppressTokens, Switch,
    Tfs, TfsVariant, TopA, TopH, TopPDecay,
};
use sampler_steps::{
    AdaptiveP, Chain, Dist, Dry, Facts, Infill, LogitBias, MinP, Mirostat, MirostatV2, Penalties, ReasoningBudget,
    SamplerStep, Temperature, TopK, TopNSigma, TopP, TypP, Xtc,
};
use serde_json::Value;

use super::known::Only;

/// A step of any type as one of a known type.
pub fn known<T: SamplerStep>(step: &dyn SamplerStep) -> Option<&T> {
    (step as &dyn Any).downcast_ref()
}

pub fn is<T: SamplerStep>(step: &dyn SamplerStep) -> bool {
    known::<T>(step).is_some()
}

/// Whether a step's type is one of those.
macro_rules! is_any {
    ($step:expr, $($kind:ty),+ $(,)?) => { false $(|| is::<$kind>($step))+ };
}

/// Whether there are steps among a step's parameters.
pub fn is_made_of_others(step: &dyn SamplerStep) -> bool {
    fn has_type(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(has_type),
            Value::Object(entries) => entries.contains_key("type") || entries.values().any(has_type),
            _ => false,
        }
    }
    let written = serde_json::to_value(step).unwrap_or_default();
    let is_shown = !step.inner().is_empty() || !step.chains().is_empty();
    is_shown || written.as_object().is_some_and(|fields| fields.values().any(has_type))
}

/// Whether a step changes nothing with its values: those that are off, and those whose values come to the same.
pub fn is_idle(step: &dyn SamplerStep) -> bool {
    let has_no_tokens = |step: &MinNewTokens| step.tokens.as_ref().is_some_and(Vec::is_empty);
    step.is_off()
        || known::<TopPDecay>(step).is_some_and(|step| step.p >= 1.0 && (step.decay >= 1.0 || step.min >= 1.0))
        || known::<MinNewTokens>(step).is_some_and(has_no_tokens)
        || known::<NoRepeatNgram>(step).is_some_and(|step| step.window < step.n)
        || known::<TopNSigma>(step).is_some_and(|step| step.n == f32::INFINITY)
        || known::<Dry>(step).is_some_and(|step| i64::from(step.last_n) <= i64::from(step.allowed_length))
        || known::<LogitBias>(step).is_some_and(|step| step.bias.iter().all(|bias| bias.1 == 0.0))
}

/// Whether a truncation sorts and keeps all, but for what is masked already.
fn keeps_all(step: &dyn SamplerStep) -> bool {
    known::<TopK>(step).is_some_and(|step| step.k == i32::MAX)
        || known::<MinK>(step).is_some_and(|step| step.tau == f32::INFINITY)
}

/// Whether a step takes candidates out of the running by what they are worth: it removes or masks them.
pub fn truncates(step: &dyn SamplerStep, facts: Facts) -> bool {
    (facts.only_removes && !step.selects() && !keeps_all(step)) || is::<TopNSigma>(step)
}

/// Whether a step leaves every candidate above -infinity, so that nothing can come back from it.
pub fn takes_nothing(step: &dyn SamplerStep) -> bool {
    let is_warm = known::<Temperature>(step).is_some_and(|step| step.temp > 0.0 && step.delta <= 0.0);
    let is_bias = is_any!(step, LogitBias, SequenceBias) && ban(step).is_none();
    keeps_all(step) || is_warm || is::<Smoothing>(step) || is_bias || is_finite(step)
}

/// Whether a step adds to logits and multiplies them by what is finite: that unmasks nothing and masks nothing.
fn is_finite(step: &dyn SamplerStep) -> bool {
    is_any!(step, Penalties, RepetitionPenaltyHf, EncoderRepetitionPenalty, RepPenSlope, ExponentialDecayLength)
        || known::<Dry>(step).is_some_and(|step| step.multiplier.is_finite())
        || known::<LogitBias>(step).is_some_and(|step| step.bias.iter().all(|bias| bias.1.is_finite()))
}

/// Whether what is masked stays so. What is gone stays gone, too.
pub fn unmasks_nothing(step: &dyn SamplerStep, facts: Facts) -> bool {
    let is_below = |bias: f32| bias < f32::INFINITY;
    let adds = known::<LogitBias>(step).is_some_and(|step| step.bias.iter().all(|bias| is_below(bias.1)))
        || known::<SequenceBias>(step).is_some_and(|step| biases(step).into_values().all(is_below));
    let removes = facts.only_removes && !is::<Infill>(step);
    let reshapes = is_any!(step, Temperature, TopNSigma, Smoothing);
    removes || reshapes || adds || is_finite(step) || is_any!(step, SuppressTokens, MinNewTokens, NoRepeatNgram)
}

/// Whether all steps of a chain are such, those inside others included. Of steps made of others in their own way none is.
pub fn all_are(chain: &[Box<dyn SamplerStep>], is_such: &dyn Fn(&dyn SamplerStep) -> bool) -> bool {
    chain.iter().map(Box::as_ref).filter(|step| !is_idle(*step)).all(|step| {
        if is_any!(step, Chain, Switch, Protect) {
            step.chains().iter().all(|(_, chain)| all_are(chain.steps(), is_such))
        } else {
            !is_made_of_others(step) && is_such(step)
        }
    })
}

/// Whether it is a temperature that leaves the best candidate alone.
pub fn is_cold(step: &dyn SamplerStep) -> bool {
    known::<Temperature>(step).is_some_and(|step| step.temp <= 0.0 && step.delta <= 0.0)
}

/// How many a step keeps at least, of those that have such a parameter.
fn min_keep(step: &dyn SamplerStep) -> Option<u32> {
    known::<TopP>(step)
        .map(|step| step.min_keep)
        .or(known::<MinP>(step).map(|step| step.min_keep))
        .or(known::<TypP>(step).map(|step| step.min_keep))
        .or(known::<Tfs>(step).map(|step| step.min_keep))
        .or(known::<TopPDecay>(step).map(|step| step.min_keep))
        .or(known::<EpsilonCutoff>(step).map(|step| step.min_keep))
        .or(known::<EtaCutoff>(step).map(|step| step.min_keep))
        .or(known::<Xtc>(step).map(|step| step.min_keep))
}

/// How few candidates that can be drawn a step of the known types may leave of many.
pub fn leaves(step: &dyn SamplerStep) -> Option<usize> {
    let kept = known::<TopK>(step).map(|step| step.k as u32).or_else(|| min_keep(step)).filter(|_| !is::<Xtc>(step));
    let leaves_one = is_cold(step) || is_any!(step, TopA, PLess, TopH, MinK, TopNSigma);
    kept.map(|kept| kept.max(1) as usize).or(leaves_one.then_some(1)).filter(|_| !keeps_all(step))
}

/// Whether a step leaves all of so few candidates.
pub fn keeps_all_of(step: &dyn SamplerStep, at_most: i32) -> bool {
    if let Some(Tfs { variant: TfsVariant::Ggml, min_keep, .. }) = known(step) {
        // The differences of slope begin with three candidates, and the cut lies behind the first.
        return i64::from(at_most) <= i64::from(*min_keep.max(&1)) + 2;
    }
    let of_number = known::<TopK>(step).map(|step| i64::from(step.k));
    of_number.or(min_keep(step).map(i64::from)).is_some_and(|kept| kept >= i64::from(at_most))
}

/// What a step bans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ban {
    /// So many tokens at once; of end tokens that a vocabulary names, one at least.
    pub n: usize,
    /// Whether the best one stays where it would ban all that there is.
    pub leaves_one: bool,
}

/// Each sequence with its bias: the last that it is given.
fn biases(step: &SequenceBias) -> BTreeMap<&[u32], f32> {
    step.bias.iter().map(|bias| (bias.0.as_slice(), bias.1)).collect()
}

pub fn ban(step: &dyn SamplerStep) -> Option<Ban> {
    let distinct = |tokens: &mut dyn Iterator<Item = u32>| tokens.collect::<BTreeSet<u32>>().len();
    let (n, leaves_one) = if let Some(step) = known::<SuppressTokens>(step) {
        (distinct(&mut step.tokens.iter().copied()), true)
    } else if let Some(step) = known::<MinNewTokens>(step) {
        (step.tokens.as_ref().map_or(1, |tokens| distinct(&mut tokens.iter().copied())), true)
    } else if is::<NoRepeatNgram>(step) {
        (usize::MAX, true)
    } else if let Some(step) = known::<SequenceBias>(step) {
        let banned = biases(step).into_iter().filter(|(_, bias)| *bias == f32::NEG_INFINITY);
        (distinct(&mut banned.filter_map(|(tokens, _)| tokens.last().copied())), true)
    } else if let Some(step) = known::<LogitBias>(step) {
        let banned = step.bias.iter().filter(|bias| bias.1 == f32::NEG_INFINITY);
        (distinct(&mut banned.map(|bias| bias.0)), false)
    } else {
        (0, false)
    };
    (n > 0).then_some(Ban { n, leaves_one })
}

/// The tokens that a step bans at every draw, and whether it does nothing else.
pub fn always_bans(step: &dyn SamplerStep) -> (BTreeSet<u32>, bool) {
    const BAN: f32 = f32::NEG_INFINITY;
    if let Some(step) = known::<SuppressTokens>(step) {
        (step.tokens.iter().copied().collect(), true)
    } else if let Some(step) = known::<SequenceBias>(step) {
        let all = biases(step);
        let of_one = |(tokens, bias): (&&[u32], &f32)| (tokens.len() == 1 && *bias == BAN).then(|| tokens[0]);
        let banned: BTreeSet<u32> = all.iter().filter_map(of_one).collect();
        let is_all = banned.len() == all.len();
        (banned, is_all)
    } else if let Some(step) = known::<LogitBias>(step) {
        let banned = step.bias.iter().filter(|bias| bias.1 == BAN).map(|bias| bias.0);
        (banned.collect(), step.bias.iter().all(|bias| bias.1 == BAN))
    } else {
        (BTreeSet::new(), false)
    }
}

/// Whether a step only matters to candidates that are there: it makes some more or less likely than others, by the history
/// or by their ids. A ban is no such thing: what is gone is as good as banned.
pub fn prefers(step: &dyn SamplerStep, facts: Facts) -> bool {
    let counts = |bias: f32| bias > f32::NEG_INFINITY && bias != 0.0;
    if let Some(step) = known::<LogitBias>(step) {
        step.bias.iter().any(|bias| counts(bias.1))
    } else if let Some(step) = known::<SequenceBias>(step) {
        biases(step).into_values().any(counts)
    } else if let Some(step) = known::<ExponentialDecayLength>(step) {
        step.tokens.as_ref().is_none_or(|tokens| !tokens.is_empty())
    } else {
        facts.needs_history && !facts.only_removes && !facts.keeps_order && !step.selects() && ban(step).is_none()
    }
}

/// What a step does to the order, and to the mark by which a set counts as sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sorting {
    /// Both stay.
    Keeps,
    /// It sorts what is not marked.
    Sorts,
    /// It may.
    MaySort,
    /// It takes the mark away.
    Clears,
    /// It may.
    MayClear,
    /// It changes the order and leaves the mark, and may mask the first.
    Breaks { masks: bool },
    /// Nobody knows, but that a sorted set stays sorted or loses its mark.
    Unknown,
    /// Nobody knows.
    Suspect,
}

pub fn sorting(step: &dyn SamplerStep, facts: Facts) -> Sorting {
    let is_dynamic = known::<Temperature>(step).is_some_and(|step| step.delta > 0.0);
    let may_keep_all = known::<TopPDecay>(step).is_some_and(|step| step.p >= 1.0 || step.min >= 1.0);
    if may_keep_all {
        Sorting::MaySort
    } else if is_dynamic || is_any!(step, TopK, TopP, Tfs, TopH, MinK, TopPDecay) {
        Sorting::Sorts
    } else if let Some(MinP { p, min_keep }) = known(step) {
        if *p <= 1.0 && *min_keep <= 1 { Sorting::Keeps } else { Sorting::MaySort }
    } else if is::<Xtc>(step) {
        Sorting::MaySort
    } else if is_any!(step, TopNSigma, Temperature, Smoothing, TopA, PLess, EpsilonCutoff, EtaCutoff) || step.selects()
    {
        Sorting::Keeps
    } else if let Some(step) = known::<SequenceBias>(step) {
        let always = step.bias.iter().any(|bias| bias.0.len() == 1);
        if always { Sorting::Clears } else { Sorting::MayClear }
    } else if is_any!(step, Penalties, RepetitionPenaltyHf, EncoderRepetitionPenalty, RepPenSlope, SuppressTokens, TypP)
    {
        Sorting::Clears
    } else if is_any!(step, Dry, MinNewTokens, NoRepeatNgram, ExponentialDecayLength) {
        Sorting::MayClear
    } else if is::<LogitBias>(step) {
        Sorting::Breaks { masks: ban(step).is_some() }
    } else if is::<ReasoningBudget>(step) {
        Sorting::Breaks { masks: true }
    } else if facts.keeps_order && !is::<Infill>(step) {
        Sorting::Unknown
    } else {
        Sorting::Suspect
    }
}

/// Whether a step takes the first of a set that is marked as sorted for the best. Where that one may be masked, whatever
/// computes probabilities gets NaN of it.
pub fn goes_by_order(step: &dyn SamplerStep, masks: bool) -> bool {
    let is_dynamic = known::<Temperature>(step).is_some_and(|step| step.delta > 0.0);
    let computes_p =
        is_dynamic || is_any!(step, Dist, AdaptiveP, Gumbel, TypP, TopA, PLess, EpsilonCutoff, EtaCutoff, Infill);
    is_any!(step, TopK, TopP, MinP, Xtc, Tfs, TopH, MinK, TopPDecay, Smoothing, Mirostat, MirostatV2)
        || (masks && computes_p)
}

/// Whether a step does more to the distribution than to draw from it.
pub fn steers(step: &dyn SamplerStep) -> bool {
    is_any!(step, Mirostat, MirostatV2, AdaptiveP)
}

/// Whether nothing that a step does can change the token where one candidate alone can be drawn.
pub fn cannot_matter(step: &dyn SamplerStep, facts: Facts, only: Only) -> bool {
    // It finds one candidate, or one with all of the probability, and removes no last one.
    let keeps_one = facts.keeps_argmax && (only == Only::Left || facts.only_removes);
    let keeps_unmasked = facts.keeps_argmax && is_any!(step, TopNSigma, Temperature, Smoothing);
    let finds_one =
        is::<TypP>(step) || known::<Xtc>(step).is_some_and(|step| only == Only::Left || step.threshold > 0.0);
    let spares_one = is::<SequenceBias>(step) || ban(step).is_some_and(|ban| ban.leaves_one);
    keeps_one || keeps_unmasked || finds_one || is_finite(step) || spares_one || is::<AdaptiveP>(step)
}

/// Whether masked candidates that are there or gone make no difference to a step behind a decision, although it may undo it.
pub fn passes_over_masked(step: &dyn SamplerStep) -> bool {
    let adds = known::<LogitBias>(step).is_some_and(|step| step.bias.iter().all(|bias| bias.1 < f32::INFINITY));
    adds || is::<ReasoningBudget>(step)
}

/// Whether a step masks, scales or bends, and keeps the best where it is: then what comes back from it is no better.
pub fn leaves_best_alone(step: &dyn SamplerStep, facts: Facts) -> bool {
    facts.keeps_argmax && (facts.only_removes || is_any!(step, TopNSigma, Temperature, Smoothing))
}

/// Whether a truncation certainly takes masked candidates away, wherever it cuts; by number it takes few of them first.
pub fn drops_masked(step: &dyn SamplerStep, facts: Facts, are_few: bool) -> bool {
    match step {
        _ if !facts.only_removes || is::<Xtc>(step) => false,
        _ if is::<TopK>(step) => are_few,
        _ => known::<TopPDecay>(step).is_none_or(|step| step.p < 1.0 && step.min < 1.0),
    }
}
