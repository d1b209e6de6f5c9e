//! Where b11192 ends the process or is undefined, and this library does something: the rows of docs/divergences.md, "Through the C
//! interface", that no other file shows.
//!
//! In the unsafe blocks samplers are alive and each test's own, as llama.h wants them.

mod common;

use std::ptr::{null, null_mut};

use common::{Owned, Row};
use sampler_chain_dropin::abi::{ChainParams, DEFAULT_SEED, LogitBias, SamplerI};
use sampler_chain_dropin::chain::*;
use sampler_chain_dropin::dry::llama_sampler_init_dry;
use sampler_chain_dropin::init::*;
use sampler_chain_dropin::sampler::*;

fn logits() -> Vec<f32> {
    (0..64).map(|i| (i as f32 * 0.7).sin() * 4.0).collect()
}

/// The bits of what it leaves of the row.
fn left(sampler: &Owned) -> Vec<(u32, u32)> {
    let mut row = Row::new(&logits());
    sampler.apply(&mut row);
    row.left().iter().map(|cand| (cand.id, cand.logit.to_bits())).collect()
}

#[test]
fn the_memory_behind_size_stays() {
    for cut in [llama_sampler_init_top_k(3), llama_sampler_init_typical(0.3, 1), llama_sampler_init_top_p(0.2, 1)] {
        let (mut row, before) = (Row::new(&logits()), Row::new(&logits()));
        Owned(cut).apply(&mut row);
        assert!((1..64).contains(&row.array.size));
        assert_eq!(row.memory[row.array.size..], before.memory[row.array.size..]);
    }
}

/// libllama offloads a chain only if its `llama_sampler_i` has these.
#[test]
fn no_sampler_offers_the_compute_graph() {
    for sampler in [llama_sampler_init_dist(1), llama_sampler_chain_init(ChainParams { no_perf: true })].map(Owned) {
        let SamplerI { backend_init, backend_accept, backend_apply, backend_set_input, backend_reset, .. } =
            unsafe { &*(*sampler.0).iface };
        let offered = [backend_init, backend_accept, backend_apply, backend_set_input, backend_reset];
        assert!(offered.iter().all(|function| function.is_none()));
    }
}

#[test]
fn a_clone_of_adaptive_p_knows_the_probability() {
    let adaptive = Owned(llama_sampler_init_adaptive_p(0.4, 0.9, 3));
    let fresh = left(&adaptive);
    let token = adaptive.draw(&logits());
    let clone = adaptive.copy();
    for sampler in [&adaptive, &clone] {
        sampler.accept(&[token]);
    }
    // The logits that it leaves tell what it remembers.
    let after = left(&adaptive);
    assert_eq!(left(&clone), after);
    assert_ne!(after, fresh);
}

#[test]
fn adaptive_p_passes_over_no_token() {
    let [adaptive, other] = [3, 3].map(|seed| Owned(llama_sampler_init_adaptive_p(0.4, 0.9, seed)));
    adaptive.accept(&[u32::MAX]);
    assert_eq!(left(&adaptive), left(&other));
}

#[test]
fn a_clone_of_mirostat_shows_the_seed_that_it_draws_with() {
    let make: [fn(u32) -> Owned; 2] = [
        |seed| Owned(llama_sampler_init_mirostat(64, seed, 5.0, 0.1, 100)),
        |seed| Owned(llama_sampler_init_mirostat_v2(seed, 5.0, 0.1)),
    ];
    for make in make {
        let clone = make(DEFAULT_SEED).copy();
        let same = make(unsafe { llama_sampler_get_seed(clone.0) });
        let draws = |sampler: &Owned| (0..20).map(|_| sampler.draw(&logits())).collect::<Vec<_>>();
        assert_eq!(draws(&clone), draws(&same));
    }
}

#[test]
fn a_negative_vocabulary_of_mirostat_is_none() {
    let draws = |n| {
        let sampler = Owned(llama_sampler_init_mirostat(n, 5, 5.0, 0.1, 100));
        (0..20).map(|_| sampler.draw(&logits())).collect::<Vec<_>>()
    };
    assert_eq!(draws(-5), draws(0));
}

#[test]
fn the_smallest_numbers_do_not_overflow() {
    let dry = Owned(common::dry(1.0, 1.0, i32::MIN, 64, &[]));
    dry.accept(&[0, 1, 0]);
    let mut row = Row::new(&[1.0, 2.0, 3.0]);
    dry.apply(&mut row);
    // A base of 1 to any exponent is 1, which tokens 0 and 1 lose: they have followed something before.
    assert_eq!(row.left().iter().map(|cand| cand.logit).collect::<Vec<_>>(), [0.0, 1.0, 3.0]);
    let draws = |m| {
        let sampler = Owned(llama_sampler_init_mirostat(64, 5, 2.0, 0.1, m));
        (0..20).map(|_| sampler.draw(&logits())).collect::<Vec<_>>()
    };
    assert_eq!(draws(i32::MIN), draws(0));
}

#[test]
fn null_is_taken_where_llama_cpp_crashes() {
    unsafe {
        assert_eq!(std::ffi::CStr::from_ptr(llama_sampler_name(null())), c"(null)");
        assert_eq!(llama_sampler_get_seed(null()), DEFAULT_SEED);
        let texts = [c"\n".as_ptr()];
        let dry = Owned(llama_sampler_init_dry(null(), 0.8, 1.75, 2, 64, texts.as_ptr(), 1));
        let none = Owned(llama_sampler_init_dry(null(), 0.8, 1.75, 2, 64, null(), 0));
        for sampler in [&dry, &none] {
            sampler.accept(&[1, 2, 3, 4, 1, 2, 3]);
        }
        assert_eq!(left(&dry), left(&none));
        let infill = Owned(llama_sampler_init_infill(null()));
        assert_eq!(left(&infill), left(&Owned(llama_sampler_init_top_k(0))));
        let bias = LogitBias { token: 1, bias: 1.0 };
        for biases in [llama_sampler_init_logit_bias(64, 3, null()), llama_sampler_init_logit_bias(64, -1, &bias)] {
            assert_eq!(Owned(biases).name(), "?logit-bias");
        }
        llama_sampler_copy(null(), null_mut());
    }
}
