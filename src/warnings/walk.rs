//! Goes through a chain with what is known of the candidates, and judges each step where it stands.

use sampler_steps::community::{EpsilonCutoff, Protect, Switch};
use sampler_steps::{Chain, Facts, Generators, Greedy, MinP, Mirostat, ReasoningBudget, SamplerStep, TypP};

use super::known::{Known, Only, Order, Standing};
use super::steps::{self, is, is_made_of_others, known};
use super::{Meaningless, StepPlace, Warning};

#[derive(Debug, Default)]
pub struct Walk {
    found: Vec<Warning>,
    /// The places so far, in the order in which they are printed.
    places: Vec<String>,
    known: Known,
    /// Those that were told to do nothing where all candidates but one are masked: they may take masked ones away.
    doubtful: Vec<StepPlace>,
    /// What the steps here remove may come back.
    is_loose: bool,
    /// The generators here go on in another chain.
    shares_generators: bool,
}

impl Walk {
    /// The warnings, in the chain's order.
    pub fn finish(mut self) -> Vec<Warning> {
        for (at, by) in std::mem::take(&mut self.known.settled) {
            self.warn(&at, Meaningless::BeforeGreedy { by });
        }
        let Self { mut found, places, .. } = self;
        found.sort_by_key(|warning| places.iter().position(|place| *place == warning.at.index));
        found
    }

    /// Goes through the steps of a chain, and of the chains in it.
    pub fn chain(&mut self, steps: &[Box<dyn SamplerStep>], outer: &str) {
        for (i, boxed) in steps.iter().enumerate() {
            let (step, index) = (boxed.as_ref(), format!("{outer}{}", i + 1));
            let at = StepPlace { index, step: step.typetag_name() };
            self.places.push(at.index.clone());
            if steps::is_idle(step) {
                continue;
            }
            if let Some(chain) = known::<Chain>(step) {
                self.chain(chain.steps(), &at.within("steps"));
            } else if let Some(switch) = known(step) {
                self.switch(switch, &at);
            } else if let Some(protect) = known(step) {
                self.protect(protect, &at);
            } else if is_made_of_others(step) {
                self.composite(step, &at);
            } else {
                // In two chains that share generators, a step moves one even where it changes nothing.
                let moves_another = self.shares_generators && boxed.clone().generator().is_some();
                self.step(step, &at, moves_another);
            }
        }
    }

    /// One of two chains runs. Both begin with what holds here, and what holds after both holds behind them.
    fn switch(&mut self, switch: &Switch, at: &StepPlace) {
        let (before, shares) = (self.known.clone(), self.shares_generators);
        if switch.after.is_empty() {
            self.warn(at, Meaningless::NeverSwitches);
            self.chain(switch.first.steps(), &at.within("first"));
            return self.attribute(switch, &before, at);
        }
        self.shares_generators |= switch.generators == Generators::Shared;
        self.chain(switch.first.steps(), &at.within("first"));
        let first = std::mem::replace(&mut self.known, before.clone());
        self.chain(switch.second.steps(), &at.within("second"));
        let second = std::mem::take(&mut self.known);
        self.known = Known::of_both(first, second, &before, at);
        self.shares_generators = shares;
        self.attribute(switch, &before, at);
    }

    /// Inside a `protect`, what comes back from a step made of others is as it was in front of all of them: so it is this step
    /// that removes, and one that changes logits may prefer what comes back.
    fn attribute(&mut self, step: &dyn SamplerStep, before: &Known, at: &StepPlace) {
        if !self.is_loose {
            return;
        }
        if self.known.removed != before.removed {
            self.known.removed = self.known.removed.take().map(|_| at.clone());
        }
        if self.known.masked != before.masked {
            self.known.masked = self.known.masked.take().map(|(_, are_few)| (at.clone(), are_few));
        }
        let Facts { keeps_argmax, only_removes, .. } = step.facts();
        self.known.keeping = if keeps_argmax && only_removes { before.keeping.clone() } else { Vec::new() };
    }

    /// The steps run one after another, and of what each removes the listed tokens come back.
    fn protect(&mut self, protect: &Protect, at: &StepPlace) {
        let lists_some = !protect.tokens.is_empty() || protect.eog || !protect.pieces.is_empty();
        let (was_loose, before) = (self.is_loose, self.known.clone());
        if let Some(why) = self.protects_nothing(protect, lists_some) {
            self.warn(at, why);
        }
        self.is_loose |= lists_some;
        self.chain(protect.steps.steps(), &at.within("steps"));
        self.is_loose = was_loose;
        self.attribute(protect, &before, at);
    }

    fn protects_nothing(&self, protect: &Protect, lists_some: bool) -> Option<Meaningless> {
        let steps = protect.steps.steps();
        if !lists_some {
            return Some(Meaningless::NothingToProtect);
        }
        if steps::all_are(steps, &steps::takes_nothing) {
            return Some(Meaningless::NothingToProtectFrom);
        }
        if protect.eog || !protect.pieces.is_empty() {
            return None;
        }
        let (by, may_stay) = self.known.banned_by(protect.tokens.iter().copied())?;
        // One that stayed where there was no other is all that there is: none of the steps may take the last one.
        let is_in_order = !matches!(self.known.order, Order::Broken { .. } | Order::Suspect);
        let spares = |step: &dyn SamplerStep| is_in_order && steps::cannot_matter(step, step.facts(), Only::Unmasked);
        let is_such =
            |step: &dyn SamplerStep| steps::unmasks_nothing(step, step.facts()) && (!may_stay || spares(step));
        steps::all_are(steps, &is_such).then_some(Meaningless::ProtectsBanned { by })
    }

    /// A step made of others in its own way: nobody knows what it leaves, and the chains in it are chains of their own, from
    /// which candidates may come back.
    fn composite(&mut self, step: &dyn SamplerStep, at: &StepPlace) {
        for (field, chain) in step.chains() {
            let known = Known { order: Order::Suspect, ..Known::default() };
            let mut walk = Self { known, is_loose: true, shares_generators: true, ..Self::default() };
            walk.chain(chain.steps(), &at.within(field));
            self.found.extend(walk.found);
            self.places.extend(walk.places);
        }
        self.doubt();
        self.known = Known { order: Order::Suspect, removed: self.known.removed.take(), ..Known::default() };
    }

    fn warn(&mut self, at: &StepPlace, why: Meaningless) {
        self.found.push(Warning { at: at.clone(), why });
    }

    fn step(&mut self, step: &dyn SamplerStep, at: &StepPlace, moves_another: bool) {
        let facts = step.facts();
        if is::<ReasoningBudget>(step) && facts == Facts::TRUNCATION {
            return self.warn(at, Meaningless::NothingToForce);
        }
        let standing = Standing { is_loose: self.is_loose, is_misled: self.known.order.misleads(step) };
        // What goes by an order that is none may drop the best.
        let facts = if standing.is_misled { Facts { keeps_argmax: false, ..facts } } else { facts };
        let is_judged = steps::steers(step) || !step.selects();
        if is_judged && !steps::cannot_matter(step, facts, Only::Unmasked) && !steps::passes_over_masked(step) {
            self.doubt();
        }
        if let Some((by, only)) = self.known.decided.clone().filter(|_| is_judged) {
            let is_in_order = !matches!(self.known.order, Order::Broken { .. } | Order::Suspect);
            if is_in_order && steps::cannot_matter(step, facts, only) {
                if !moves_another {
                    self.warn(at, Meaningless::Decided { by: by.clone() });
                    self.doubtful.extend((only == Only::Unmasked).then(|| at.clone()));
                }
                if !facts.keeps_argmax {
                    self.known.keeping.clear();
                }
                self.known.learn(step, facts, at, standing);
                let is_alone = matches!(self.known.decided, Some((_, Only::Left)));
                self.known.decided = Some((by, if is_alone { Only::Left } else { only }));
                return;
            }
            self.known.decided = None;
        }
        self.judge(step, facts, at);
        self.judge_masked(step, at);
        self.judge_order(step, at);
        self.known.learn(step, facts, at, standing);
        self.greedy(step, facts, at, moves_another);
    }

    /// A step comes to which masked candidates matter, so that it does who takes them away.
    fn doubt(&mut self) {
        let doubtful = std::mem::take(&mut self.doubtful);
        let is_doubted = |warning: &Warning| doubtful.contains(&warning.at);
        self.found.retain(|warning| !(matches!(warning.why, Meaningless::Decided { .. }) && is_doubted(warning)));
    }

    /// Warns of the step, by what is gone or may be.
    fn judge(&mut self, step: &dyn SamplerStep, facts: Facts, at: &StepPlace) {
        if let (Some(by), true) = (self.known.removed.clone(), steps::prefers(step, facts)) {
            let is_forced = is::<ReasoningBudget>(step);
            self.warn(at, if is_forced { Meaningless::ForcedIsGone { by } } else { Meaningless::TooLate { by } });
        }
        let banned_by = self.bans_nothing_new(step);
        if let Some(ban) = steps::ban(step).filter(|_| banned_by.is_none())
            && let Some((_, by)) = self.known.few.clone().filter(|(n, _)| *n <= ban.n)
        {
            self.warn(at, if ban.leaves_one { Meaningless::BanMayFail { by } } else { Meaningless::BansAll { by } });
        }
        let as_many = self.known.at_most.clone().filter(|(most, _)| steps::keeps_all_of(step, *most));
        let at_least = self.known.at_least.clone();
        let as_likely = known::<MinP>(step).and_then(|step| at_least.filter(|(least, _)| step.p <= *least));
        let as_much = known::<EpsilonCutoff>(step).and_then(|step| {
            let (cut, by) = self.known.cut.as_ref()?;
            // What stayed for its number alone must stay again.
            let keeps_as_many = cut.min_keep <= 1 || step.min_keep >= cut.min_keep;
            (step.epsilon <= cut.epsilon && keeps_as_many).then(|| by.clone())
        });
        let by = as_many.map(|(_, by)| by).or(as_likely.map(|(_, by)| by)).or(as_much).or(banned_by);
        if let Some(by) = by {
            self.warn(at, Meaningless::NothingToRemove { by });
        }
    }

    /// Who has banned all that a step bans, if it does nothing else.
    fn bans_nothing_new(&self, step: &dyn SamplerStep) -> Option<StepPlace> {
        let ban = steps::ban(step)?;
        let (tokens, is_all) = steps::always_bans(step);
        let (by, may_stay) = self.known.banned_by(tokens)?;
        (is_all && (!may_stay || ban.leaves_one)).then_some(by)
    }

    /// Warns of a step that probabilities of 0 make a NaN of.
    fn judge_masked(&mut self, step: &dyn SamplerStep, at: &StepPlace) {
        let Some((by, are_few)) = self.known.masked.clone() else { return };
        if is::<TypP>(step) {
            self.warn(at, Meaningless::NoEntropy { by });
        } else if let Some(Mirostat { m, .. }) = known(step) {
            let is_small = self.known.at_most.as_ref().is_some_and(|(most, _)| most <= m);
            if !are_few || is_small || *m <= 0 {
                self.warn(at, Meaningless::NoEstimate { by });
            }
        }
    }

    /// Warns of what changed the order by which the step goes.
    fn judge_order(&mut self, step: &dyn SamplerStep, at: &StepPlace) {
        if let Order::Broken { sorted_by, by, masks, told: told @ false } = &mut self.known.order
            && steps::goes_by_order(step, *masks)
        {
            *told = true;
            let (bias, sorted_by) = (by.clone(), sorted_by.clone());
            self.warn(&bias, Meaningless::BreaksOrder { sorted_by, used_by: at.clone() });
        }
    }

    /// Before `greedy` a step that keeps the most likely candidate changes nothing, if those between do so, too.
    fn greedy(&mut self, step: &dyn SamplerStep, facts: Facts, at: &StepPlace, moves_another: bool) {
        let keeps = if self.is_loose { steps::leaves_best_alone(step, facts) } else { facts.keeps_argmax };
        let Known { keeping, settled, .. } = &mut self.known;
        if is::<Greedy>(step) {
            settled.extend(keeping.drain(..).map(|step| (step, at.clone())));
        } else if !keeps {
            keeping.clear();
        } else if !moves_another {
            keeping.push(at.clone());
        }
    }
}
