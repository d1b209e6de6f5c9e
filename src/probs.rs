//! The probabilities that llama-server answers beside a token (`n_probs`).

use sampler_steps::Cand;
use sampler_steps::libm::{exp_each, logf, max};
use sampler_steps::libstdcxx::{partial_sort, sort_by};

use crate::sampler::Draw;

/// A token with its probability and the logarithm of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenProb {
    /// The token.
    pub id: u32,
    /// Its probability.
    pub prob: f32,
    /// Its natural logarithm; the lowest finite f32 for a probability of 0, so that it can be written as JSON.
    pub logprob: f32,
}

/// The probabilities of a row of logits, before any step.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenProbs {
    /// The token that was asked about, whether or not it is among the top.
    pub token: TokenProb,
    /// The most likely tokens.
    pub top: Vec<TokenProb>,
}

/// The probabilities that a chain left.
#[derive(Debug, Clone, PartialEq)]
pub struct PostProbs {
    /// The drawn token.
    pub token: TokenProb,
    /// The most likely candidates, up to the first whose probability is 0.
    pub top: Vec<TokenProb>,
}

impl TokenProb {
    fn new(id: u32, prob: f32) -> Self {
        Self { id, prob, logprob: if prob == 0.0 { f32::MIN } else { logf(prob) } }
    }

    fn of(cand: &Cand) -> Self {
        Self::new(cand.id, cand.p)
    }
}

/// llama-server's `logprobs`: the softmax of the raw logits, of the `n_top` most likely tokens and of `token`.
///
/// The sum is taken in f32 in the order in which `std::partial_sort` leaves the row, so every bit is llama-server's. None
/// where `token` is beyond the row.
pub fn token_probs(logits: &[f32], n_top: usize, token: u32) -> Option<TokenProbs> {
    let mut cands: Vec<Cand> =
        logits.iter().enumerate().map(|(i, &logit)| Cand { id: i as u32, logit, p: 0.0 }).collect();
    let n_top = n_top.min(cands.len());
    if n_top > 0 {
        partial_sort(&mut cands, n_top, |a, b| a.logit > b.logit);
    }
    let max_logit =
        if n_top > 0 { cands[0].logit } else { cands.iter().fold(f32::NEG_INFINITY, |m, c| max(m, c.logit)) };
    let mut probs: Vec<f32> = cands.iter().map(|cand| cand.logit - max_logit).collect();
    exp_each(&mut probs);
    let sum = probs.iter().fold(0.0f32, |sum, p| sum + p);
    for (cand, p) in cands.iter_mut().zip(&probs) {
        cand.p = p / sum;
    }
    Some(TokenProbs {
        token: TokenProb::of(cands.iter().find(|cand| cand.id == token)?),
        top: cands[..n_top].iter().map(TokenProb::of).collect(),
    })
}

/// llama-server's `post_sampling_probs`: the candidates that the chain left, sorted by probability unless they are sorted by
/// logit, up to the first of probability 0.
pub fn post_sampling_probs(draw: &mut Draw<'_>, n_top: usize) -> PostProbs {
    let mut cands = draw.candidates().to_vec();
    if !draw.is_sorted() {
        sort_by(&mut cands, |a, b| a.p > b.p);
    }
    PostProbs {
        token: TokenProb::of(&draw.selected()),
        top: cands.iter().take(n_top).take_while(|cand| cand.p != 0.0).map(TokenProb::of).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Sampler};

    fn p4() -> Vec<f32> {
        [0.50f32, 0.30, 0.15, 0.05].map(f32::ln).to_vec()
    }

    /// User case 40: raw probabilities are the model's, those after top-k 2 are of what was left.
    #[test]
    fn case_40_before_and_after_the_chain() {
        let probs = token_probs(&p4(), 2, 0).unwrap();
        assert_eq!((probs.token.prob, probs.token.logprob), (0.50000006, -0.69314706));
        let request = serde_json::json!({"seed": 42, "top_k": 2, "temperature": 1, "top_p": 1, "min_p": 0});
        let (params, _) = Params::from_request(&request, &Params::default(), None).unwrap();
        let (mut sampler, logits) = (Sampler::new(params).unwrap(), p4());
        let mut draw = sampler.draw(&logits).unwrap();
        let post = post_sampling_probs(&mut draw, 8);
        assert_eq!((post.top.len(), post.top[0].prob), (2, 0.625));
    }

    /// User case 40: at temperature 0 there is one entry, and it is certain.
    #[test]
    fn case_40_greedy_has_one_entry() {
        let params = Params { temperature: 0.0, seed: 1, ..Params::default() };
        let (mut sampler, logits) = (Sampler::new(params).unwrap(), p4());
        let post = post_sampling_probs(&mut sampler.draw(&logits).unwrap(), 8);
        assert_eq!((post.top.len(), post.top[0].id, post.top[0].prob), (1, 0, 1.0));
    }

    /// User case 41: a token outside the top has its own, and a probability of 0 has the lowest finite logarithm.
    #[test]
    fn case_41_outside_the_top_and_zero() {
        let probs = token_probs(&[0.0, 1.0, f32::NEG_INFINITY], 1, 2).unwrap();
        assert_eq!((probs.top.len(), probs.top[0].id), (1, 1));
        assert_eq!((probs.token.prob, probs.token.logprob), (0.0, f32::MIN));
        assert_eq!(token_probs(&[0.0], 1, 1), None);
        assert_eq!(token_probs(&p4(), 0, 1).unwrap().top, []);
    }
}
