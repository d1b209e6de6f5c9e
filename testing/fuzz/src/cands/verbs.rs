//! The verbs with their arguments: chosen by a fuzzer's words, and done to a set or to the model alike.

use sampler_chain::{Cand, CandSet, Mt19937, Penalty};

use super::model::Model;

/// A verb of the candidates. What is a function there is told by numbers here.
#[derive(Debug, Clone)]
pub enum Verb {
    TopK(usize),
    Sort,
    Truncate(usize),
    DropFront(usize),
    RetainIds(u32),
    RetainAbove(f32, usize),
    RemoveButBest(usize, u32),
    BringBack(Vec<u32>, usize),
    Update(u32, f32),
    UpdateAll(Vec<(u32, f32)>),
    Penalise(Vec<(u32, u32)>, Penalty, bool),
    AddBiases(Vec<(u32, f32)>),
    MapLogits(f32, bool),
    LogitsFromP(f32),
    MaskBelow(f32),
    Mask(u32),
    Merge(usize, usize),
    ShareP,
    LeaveOnly(u32, f32),
    Temperature(f32),
    UpdateButLeaveOne(Vec<(u32, f32)>, bool),
    UpdateListed(Vec<u32>, Vec<u32>),
    BanBut(Vec<u32>, Vec<u32>),
    Softmax(bool),
    SoftmaxF64,
    KeepNucleus(f32, usize),
    KeepThrough(f32),
    KeepTypical(f32, usize),
    Select(usize),
    SelectByLogits(f64),
    SelectByP(u32),
    First(usize),
    Position(f32),
    Spread,
    Entropies,
    Maxima(f32),
}

/// Ids by rising id, each once, of which some are beyond the set.
fn ids(n: usize, words: [u32; 3]) -> Vec<u32> {
    let [count, first, stride] = words;
    let most = if stride.is_multiple_of(4) { n as u32 + 1 } else { 40 };
    let mut ids: Vec<u32> =
        (0..count % most).map(|i| i.wrapping_mul(1 + stride % 9).wrapping_add(first) % (n as u32 + 4)).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn amounts(ids: Vec<u32>) -> Vec<(u32, f32)> {
    ids.into_iter().zip(0..).map(|(id, i)| (id, (i % 50) as f32 / 4.0 - 1.0)).collect()
}

impl Verb {
    /// The verb that the next four words choose for such candidates.
    pub fn choose(mut word: impl FnMut() -> u32, model: &Model) -> Self {
        let (kind, x, y, z) = (word() % 40, word(), word(), word());
        let (n, k) = (model.len(), x as usize);
        let some = || ids(n, [x, y, z]);
        match kind {
            0 => Self::TopK(k % 45),
            1 => Self::TopK([100, 127, 128, 129, 130, 199, 255, n, n + 3, n / 2, n / 3, n / 5][k % 12]),
            2 => Self::Sort,
            3 => Self::Truncate(if z.is_multiple_of(16) { 0 } else { 1 + k % n.max(1) }),
            4 => Self::DropFront(if z.is_multiple_of(16) { k % (n + 2) } else { k % 3 }),
            5 => Self::RetainIds(x),
            6 => {
                let best = model.argmax().map_or(0.0, |best| model.as_slice()[best].logit);
                Self::RetainAbove(best - (x % 20) as f32 / 3.0, y as usize % 9)
            }
            // With NaN no order says which is the n-th.
            7 => Self::RemoveButBest(if model.logits().any(f32::is_nan) { 1 } else { k % 40 }, y),
            8 => Self::BringBack(some(), if z.is_multiple_of(8) { 0 } else { y as usize % (n + 1) }),
            9 => Self::Update(x % (n as u32 + 3), (y % 40) as f32 / 4.0 - 5.0),
            10 => Self::UpdateAll(amounts(some())),
            11 | 12 => {
                let counts = some().into_iter().map(|id| (id, 1 + id % 7)).collect();
                let [repeat, freq, present] = [
                    [1.1, 0.0, 0.0],
                    [1.0, 0.1, 0.4],
                    [1.5, 0.0, 2.0],
                    [0.8, 0.0, 0.0],
                    [1.2, 3e38, 0.0],
                    [1.1, -0.5, -1.0],
                ][y as usize % 6];
                Self::Penalise(counts, Penalty { repeat, freq, present }, kind == 11)
            }
            13 => {
                let bias = |i: u32| match (y >> i) % 16 {
                    0 => f32::INFINITY,
                    1..4 => f32::NEG_INFINITY,
                    by => by as f32 - 8.0,
                };
                Self::AddBiases((0..x % 8).map(|i| ((z >> i) % (n as u32 + 2), bias(i))).collect())
            }
            14 => Self::MapLogits([0.5, 1.7, -1.0, 0.0][k % 4], y.is_multiple_of(2) && k % 4 < 2),
            15 => Self::LogitsFromP([1.0, -3.0, 0.2][k % 3]),
            16 => Self::MaskBelow(model.max_logit() - (x % 20) as f32 / 3.0),
            17 => Self::Mask(x),
            18 if n > 1 => Self::Merge(k % n, (k % n + 1 + y as usize % (n - 1)) % n),
            19 => Self::ShareP,
            // Of an empty set the p is what stood in the memory, as in llama.cpp's infill: its recorded cases hold that.
            20 if n > 0 && z.is_multiple_of(4) => Self::LeaveOnly(x % (n as u32 + 3), (y % 9) as f32 - 4.0),
            21 | 22 => Self::Temperature([0.0, 0.7, 1.3, 0.8, 1e-5, -1.0, 3.7, 2e3][k % 8]),
            23 => Self::UpdateButLeaveOne(amounts(some()), y.is_multiple_of(2)),
            24 => Self::UpdateListed(some(), ids(n, [y, z, x])),
            25 => Self::BanBut(some(), if z.is_multiple_of(2) { Vec::new() } else { ids(n, [y, z, x]) }),
            26 | 27 => Self::Softmax(kind == 26),
            28 => Self::SoftmaxF64,
            29 => Self::KeepNucleus([0.1, 0.5, 0.9, 0.95, 0.999, 1.0][k % 6], y as usize % 5),
            30 => Self::KeepThrough([0.1, 0.5, 0.9, 0.999, 2.0][k % 5]),
            31 => Self::KeepTypical([0.1, 0.5, 0.9, 0.99, 2.0][k % 5], y as usize % 5),
            32 if n > 0 => Self::Select(if y.is_multiple_of(2) { model.argmax().unwrap_or_default() } else { k % n }),
            33 | 34 => Self::SelectByLogits(f64::from(x) / 4_294_967_296.0),
            35 => Self::SelectByP(x),
            36 => Self::First(k % 300),
            37 => Self::Position([0.3, 0.1, 0.01, 1e-4][k % 4]),
            38 if z.is_multiple_of(2) => Self::Spread,
            38 => Self::Maxima((x % 30) as f32 - 15.0),
            39 => Self::Entropies,
            _ => Self::Sort,
        }
    }
}

/// A float's bits; every NaN is one.
pub fn bits(x: f32) -> u64 {
    u64::from(if x.is_nan() { f32::NAN } else { x }.to_bits())
}

fn told(cand: &Cand) -> [u64; 3] {
    [u64::from(cand.id), bits(cand.logit), bits(cand.p)]
}

fn is_of(id: u32, which: u32) -> bool {
    (id ^ which).wrapping_mul(2_654_435_761) >> 30 != 0
}

/// Makes the function that does a verb to such a type and gives what it answers: the set and the model have the same methods.
macro_rules! done_to {
    ($name:ident, $set:ty) => {
        pub fn $name(verb: &Verb, set: &mut $set) -> Vec<u64> {
            let mut answer = Vec::new();
            match verb {
                Verb::TopK(k) => set.top_k(*k),
                Verb::Sort => set.sort(),
                Verb::Truncate(n) => set.truncate(*n),
                Verb::DropFront(n) => set.drop_front(*n),
                Verb::RetainIds(which) => set.retain(|cand| is_of(cand.id, *which)),
                Verb::RetainAbove(logit, at_least) => answer.push(set.retain_above(*logit, *at_least).into()),
                Verb::RemoveButBest(n, which) => set.remove_but_best(*n, |cand| is_of(cand.id, *which)),
                Verb::BringBack(tokens, n) => {
                    let mut found = Vec::new();
                    set.cands_of(tokens, &mut found);
                    answer.extend(found.iter().flat_map(told));
                    set.truncate(*n);
                    set.bring_back(&found);
                }
                Verb::Update(id, by) => set.update(*id, |logit| logit * 0.5 - by),
                Verb::UpdateAll(tokens) => set.update_all(tokens, |logit, by| logit - by),
                Verb::Penalise(counts, penalty, true) => set.penalise(counts, *penalty),
                Verb::Penalise(counts, penalty, false) => set.penalise_but_leave_one(counts, *penalty),
                Verb::AddBiases(biases) => set.add_biases(biases.iter().copied()),
                Verb::MapLogits(by, true) => set.map_logits_in_order(|logit| logit * by),
                Verb::MapLogits(by, false) => set.map_logits(|logit| logit * by + 1.0),
                Verb::LogitsFromP(by) => set.set_logits_from_p(|p| p * by),
                Verb::MaskBelow(logit) => set.mask_below(*logit),
                Verb::Mask(which) => set.mask(|id| is_of(id, *which)),
                Verb::Merge(into, from) => set.merge(*into, *from),
                Verb::ShareP => set.share_p(),
                Verb::LeaveOnly(id, logit) => set.leave_only(*id, *logit),
                Verb::Temperature(temp) => set.temperature(*temp),
                Verb::UpdateButLeaveOne(tokens, true) => {
                    set.update_but_leave_one(tokens, |logit, by| logit * by * 1e38)
                }
                Verb::UpdateButLeaveOne(tokens, false) => {
                    set.update_all_but_leave_one(tokens, |_, by| if *by < 5.0 { f32::NEG_INFINITY } else { *by })
                }
                Verb::UpdateListed(first, second) => {
                    set.update_listed(
                        [first, second],
                        |logit, second_alone| {
                            if second_alone { logit - 1.5 } else { logit * 3e38 }
                        },
                    )
                }
                Verb::BanBut(tokens, spared) if spared.is_empty() => set.ban(tokens),
                Verb::BanBut(tokens, spared) => set.ban_but(tokens, spared),
                Verb::Softmax(sort) => set.softmax(*sort),
                Verb::SoftmaxF64 => set.softmax_f64(),
                Verb::KeepNucleus(p, min_keep) => set.keep_nucleus(*p, *min_keep),
                Verb::KeepThrough(p) => {
                    let mut sum = 0.0f32;
                    set.keep_through(|i, cand| {
                        answer.extend(told(cand));
                        sum += cand.p;
                        sum >= *p || i > 700
                    });
                }
                Verb::KeepTypical(p, min_keep) => {
                    set.softmax(true);
                    let (entropy, mut sum) = (set.entropy(), 0.0f32);
                    answer.push(bits(entropy));
                    set.keep_typical_through(entropy, |i, cand| {
                        sum += cand.p;
                        sum > *p && i + 1 >= *min_keep
                    });
                }
                Verb::Select(i) => set.select(*i),
                Verb::SelectByLogits(u) => set.select_by_logits(*u),
                Verb::SelectByP(seed) => {
                    let mut rng = Mt19937::new(*seed);
                    answer.extend(set.select_by_p(&mut rng).iter().flat_map(told));
                    answer.push(rng.taken());
                }
                Verb::First(n) => {
                    answer.extend(set.first(*n).iter().flat_map(told));
                    answer.extend(set.get(*n).iter().flat_map(told));
                }
                Verb::Position(p) => answer.push(set.position(|cand| cand.p < *p).map_or(0, |i| i as u64 + 1)),
                Verb::Spread => {
                    let (max, mean, deviation) = set.spread();
                    answer.extend([max, mean, deviation].map(bits));
                }
                Verb::Entropies => answer.extend([bits(set.entropy()), bits(set.entropy_of_positive())]),
                Verb::Maxima(least) => {
                    answer.extend([bits(set.max_logit()), bits(set.max_logit_above(*least))]);
                    answer.push(set.argmax().map_or(0, |i| i as u64 + 1));
                    answer.extend(set.logits().map(bits));
                }
            }
            let selected = [set.selected().map(|i| i as u64), set.selected_id().map(u64::from)];
            answer.extend(selected.map(|number| number.map_or(0, |number| number + 1)));
            answer.extend([set.len() as u64, set.is_sorted().into(), set.selected_is_sound().into()]);
            answer
        }
    };
}

done_to!(to_set, CandSet<'_>);
done_to!(to_model, Model);

/// All of a set, to the bit.
pub fn state(cands: &[Cand]) -> Vec<[u64; 3]> {
    cands.iter().map(told).collect()
}
