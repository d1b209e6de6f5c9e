//! `llama_sampler_sample`: from the logits of a context of the real llama.cpp to a token.

use sampler_steps::Cand;

use crate::abi::{Context, Sampler, TOKEN_NULL, Token, TokenDataArray};
use crate::calls::{Call, count};
use crate::chain::chain_of_mut;
use crate::guard::die;
use crate::real;
use crate::sampler::{llama_sampler_accept, llama_sampler_apply};

/// `llama_sampler_sample`: applies a sampler to an output's logits, accepts the token and returns it. A sampler that selects nothing,
/// or an output without logits, ends the process, as in llama.cpp.
///
/// # Safety
/// A sampler that is alive and in use by nobody else, and a context of the real llama.cpp in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_sampler_sample(sampler: *mut Sampler, ctx: *mut Context, idx: i32) -> Token {
    count(Call::Sample);
    // SAFETY: what the caller promises of the context and the sampler.
    unsafe {
        let sampled = real::llama_get_sampled_token_ith(ctx, idx);
        if sampled != TOKEN_NULL {
            llama_sampler_accept(sampler, sampled);
            return sampled;
        }
        let mut row = chain_of_mut(sampler).map(|chain| std::mem::take(&mut chain.row)).unwrap_or_default();
        read_row(ctx, idx, &mut row);
        let (data, size) = (row.as_mut_ptr(), row.len());
        let mut array = TokenDataArray { data, size, selected: -1, sorted: false };
        llama_sampler_apply(sampler, &mut array);
        let selected = usize::try_from(array.selected).ok().filter(|&selected| selected < array.size);
        let Some(selected) = selected else { die("llama_sampler_sample: no token was selected") };
        let token = (*array.data.add(selected)).id as Token;
        if let Some(chain) = chain_of_mut(sampler) {
            chain.row = row;
        }
        llama_sampler_accept(sampler, token);
        token
    }
}

/// The candidates of an output: what the compute graph has left of them, or all.
///
/// # Safety
/// A context of the real llama.cpp.
unsafe fn read_row(ctx: *mut Context, idx: i32, row: &mut Vec<Cand>) {
    row.clear();
    // SAFETY: llama.h: where the probabilities are not NULL there are so many of them, as many logits and as many tokens; where only
    // logits are, the same of them; and an output's logits are one a token of the vocabulary.
    unsafe {
        let ids = real::llama_get_sampled_candidates_ith(ctx, idx);
        let probs = real::llama_get_sampled_probs_ith(ctx, idx);
        let logits = real::llama_get_sampled_logits_ith(ctx, idx);
        let cand = |i: usize, p| Cand { id: *ids.add(i) as u32, logit: *logits.add(i), p };
        if !probs.is_null() {
            let n = real::llama_get_sampled_probs_count_ith(ctx, idx);
            row.extend((0..n as usize).map(|i| cand(i, *probs.add(i))));
        } else if !logits.is_null() {
            let n = real::llama_get_sampled_logits_count_ith(ctx, idx);
            row.extend((0..n as usize).map(|i| cand(i, 0.0)));
        } else {
            let logits = real::llama_get_logits_ith(ctx, idx);
            if logits.is_null() {
                die("llama_sampler_sample: there are no logits");
            }
            let n = real::llama_vocab_n_tokens(real::llama_model_get_vocab(real::llama_get_model(ctx)));
            row.extend((0..n.max(0) as u32).map(|id| Cand { id, logit: *logits.add(id as usize), p: 0.0 }));
        }
    }
}
