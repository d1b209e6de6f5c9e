//! What llama.h says of samplers and chains, whoever made them.
//!
//! In the unsafe blocks samplers are alive and each test's own, as llama.h wants them.

mod common;

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use common::{Owned, Row};
use sampler_chain_dropin::abi::{
    ChainParams, DEFAULT_SEED, PerfData, Sampler, SamplerI, Token, TokenData, TokenDataArray,
};
use sampler_chain_dropin::chain::*;
use sampler_chain_dropin::init::*;
use sampler_chain_dropin::sampler::*;

/// A sampler of somebody else: adds 1 to the logit of the token that it saw last, and counts what is alive.
mod others {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// A test has its own thread.
        pub static ALIVE: Cell<i32> = const { Cell::new(0) };
    }

    pub static IFACE: SamplerI = SamplerI {
        name: Some(name),
        accept: Some(accept),
        apply: Some(apply),
        reset: Some(reset),
        clone: Some(clone),
        free: Some(free),
        ..SamplerI::NOTHING
    };

    /// Without any function.
    pub static IDLE: SamplerI = SamplerI::NOTHING;

    /// Without a function but `apply`.
    pub static BARE: SamplerI = SamplerI { apply: Some(mask_first), ..SamplerI::NOTHING };

    pub fn new(last: Token) -> *mut Sampler {
        ALIVE.set(ALIVE.get() + 1);
        let ctx: *mut c_void = Box::into_raw(Box::new(last)).cast();
        // SAFETY: a static.
        unsafe { llama_sampler_init((&raw const IFACE).cast_mut(), ctx) }
    }

    unsafe fn last<'a>(sampler: *const Sampler) -> &'a mut Token {
        // SAFETY: `new` made its ctx.
        unsafe { &mut *(*sampler).ctx.cast() }
    }

    unsafe extern "C-unwind" fn name(_: *const Sampler) -> *const c_char {
        c"somebody's".as_ptr()
    }

    unsafe extern "C-unwind" fn accept(sampler: *mut Sampler, token: Token) {
        unsafe { *last(sampler) = token };
    }

    unsafe extern "C-unwind" fn apply(sampler: *mut Sampler, array: *mut TokenDataArray) {
        unsafe {
            let cands = std::slice::from_raw_parts_mut((*array).data, (*array).size);
            let token = *last(sampler) as u32;
            cands.iter_mut().filter(|cand| cand.id == token).for_each(|cand| cand.logit += 1.0);
        }
    }

    unsafe extern "C-unwind" fn mask_first(_: *mut Sampler, array: *mut TokenDataArray) {
        unsafe { (*(*array).data).logit = f32::NEG_INFINITY };
    }

    unsafe extern "C-unwind" fn reset(sampler: *mut Sampler) {
        unsafe { *last(sampler) = -1 };
    }

    unsafe extern "C-unwind" fn clone(sampler: *const Sampler) -> *mut Sampler {
        new(unsafe { *last(sampler) })
    }

    unsafe extern "C-unwind" fn free(sampler: *mut Sampler) {
        ALIVE.set(ALIVE.get() - 1);
        drop(unsafe { Box::from_raw((*sampler).ctx.cast::<Token>()) });
    }
}

fn at(chain: &Owned, i: i32) -> *mut Sampler {
    unsafe { llama_sampler_chain_get(chain.0, i) }
}

#[test]
fn somebodys_samplers_work_in_a_chain() {
    let chain = Owned::chain().add(llama_sampler_init_top_k(3)).add(others::new(2)).add(llama_sampler_init_greedy());
    let logits = [0.5, 3.0, 2.5, 1.0];
    assert_eq!(chain.draw(&logits), 2);
    chain.accept(&[1]);
    assert_eq!(chain.draw(&logits), 1);
    let copy = chain.copy();
    chain.reset();
    copy.accept(&[2]);
    assert_eq!((chain.draw(&logits), copy.draw(&logits)), (1, 2));
    // What our steps left before it is what it sees: top-k's order.
    let mut row = Row::new(&logits);
    copy.apply(&mut row);
    assert_eq!((row.ids(), row.left()[1].logit, row.array.sorted), (vec![1, 2, 3], 3.5, true));
    assert_eq!(others::ALIVE.get(), 2);
    drop((chain, copy));
    assert_eq!(others::ALIVE.get(), 0);
}

#[test]
fn functions_that_are_missing_do_nothing() {
    let bare = || unsafe { llama_sampler_init((&raw const others::BARE).cast_mut(), null_mut()) };
    let idle = unsafe { llama_sampler_init((&raw const others::IDLE).cast_mut(), null_mut()) };
    let chain = Owned::chain().add(bare()).add(idle).add(llama_sampler_init_greedy());
    chain.accept(&[1]);
    assert_eq!(chain.draw(&[3.0, 1.0, 2.0]), 2);
    let copy = chain.copy();
    copy.reset();
    assert_eq!(copy.draw(&[3.0, 1.0, 2.0]), 2);
    unsafe {
        assert_eq!(std::ffi::CStr::from_ptr(llama_sampler_name(at(&chain, 0))), c"(null)");
        let nameless = Owned(llama_sampler_init(null_mut(), null_mut()));
        assert_eq!(nameless.name(), "(null)");
    }
}

#[test]
fn null_is_taken_where_llama_h_takes_it() {
    unsafe {
        llama_sampler_accept(null_mut(), 1);
        llama_sampler_apply(null_mut(), null_mut());
        llama_sampler_reset(null_mut());
        llama_sampler_free(null_mut());
        llama_sampler_copy(null(), null_mut());
        assert!(llama_sampler_clone(null()).is_null());
        assert!(llama_sampler_chain_get(null_mut(), 0).is_null());
        assert_eq!(llama_sampler_get_seed(null()), DEFAULT_SEED);
        let biases = Owned(llama_sampler_init_logit_bias(4, 0, null()));
        assert_eq!(biases.name(), "?logit-bias");
    }
}

#[test]
fn a_chain_owns_what_it_has() {
    let chain = Owned::chain().add(llama_sampler_init_top_k(2)).add(llama_sampler_init_greedy());
    unsafe {
        assert_eq!(llama_sampler_chain_n(chain.0), 2);
        assert_eq!(at(&chain, -1), chain.0);
        assert!(at(&chain, 2).is_null() && at(&chain, -2).is_null());
        assert!(llama_sampler_chain_get(at(&chain, 0), -1).is_null(), "top-k is no chain");
        assert!(llama_sampler_chain_remove(chain.0, 7).is_null() && llama_sampler_chain_remove(chain.0, -1).is_null());
        let removed = Owned(llama_sampler_chain_remove(chain.0, 0));
        assert_eq!((removed.name().as_str(), llama_sampler_chain_n(chain.0)), ("top-k", 1));
        let mut row = Row::new(&[1.0, 2.0, 3.0]);
        chain.apply(&mut row);
        assert_eq!(row.array.size, 3);
    }
    // Chains nest.
    let outer = Owned::chain().add(chain.copy().give());
    assert_eq!(outer.draw(&[1.0, 2.0, 0.0]), 1);
}

/// One of each.
fn every_sampler() -> Vec<*mut Sampler> {
    vec![
        llama_sampler_init_top_k(1),
        llama_sampler_init_top_p(0.9, 0),
        llama_sampler_init_min_p(0.1, 0),
        llama_sampler_init_typical(0.9, 0),
        llama_sampler_init_temp(0.9),
        llama_sampler_init_temp_ext(1.0, 0.1, 1.0),
        llama_sampler_init_xtc(0.5, 0.1, 0, 1),
        llama_sampler_init_top_n_sigma(1.0),
        llama_sampler_init_penalties(8, 4, 1.1, 0.0, 0.0),
        common::dry(0.8, 1.75, 2, 64, &[vec![1]]),
        llama_sampler_init_mirostat(8, 1, 5.0, 0.1, 100),
        llama_sampler_init_mirostat_v2(1, 5.0, 0.1),
        llama_sampler_init_adaptive_p(0.5, 0.9, 1),
        llama_sampler_init_dist(1),
        llama_sampler_init_greedy(),
        llama_sampler_chain_init(ChainParams { no_perf: true }),
    ]
}

/// Nothing at all, one candidate, all masked, NaN and infinities among the logits: whatever comes out, nobody reads or writes
/// beyond it.
#[test]
fn odd_arrays_do_no_harm() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let mixed: Vec<f32> = (0..2000).map(|i| [1.0, nan, -inf, inf, -0.0][i % 5]).collect();
    for logits in [&[][..], &[1.0], &[nan], &[-inf; 3], &[inf; 600], &[nan; 600], &mixed] {
        for sampler in every_sampler().into_iter().map(Owned) {
            sampler.accept(&[0, 1, 0, 1, u32::MAX]);
            let mut row = Row::new(logits);
            let memory = row.memory.as_ptr_range();
            sampler.apply(&mut row);
            sampler.apply(&mut row);
            let left = row.left().as_ptr_range();
            assert!(memory.start <= left.start && left.end <= memory.end, "{}", sampler.name());
            assert!(row.array.selected <= row.array.size as i64, "{}", sampler.name());
            sampler.copy().reset();
        }
    }
}

#[test]
fn names_say_what_is_switched_off() {
    let names =
        |samplers: Vec<*mut Sampler>| samplers.into_iter().map(|s| Owned(s).name()).collect::<Vec<_>>().join(" ");
    let expected = "top-k top-p min-p typical temp temp-ext xtc top-n-sigma penalties dry mirostat mirostat-v2 \
                    adaptive-p dist greedy chain";
    assert_eq!(names(every_sampler()), expected);
    let off = vec![
        llama_sampler_init_top_k(0),
        llama_sampler_init_top_p(1.0, 0),
        llama_sampler_init_min_p(0.0, 0),
        llama_sampler_init_typical(1.0, 0),
        llama_sampler_init_temp(1.0),
        llama_sampler_init_temp_ext(1.0, 0.0, 2.0),
        llama_sampler_init_xtc(0.5, 0.51, 0, 1),
        llama_sampler_init_top_n_sigma(0.0),
        llama_sampler_init_penalties(8, -1, 1.1, 0.0, 0.0),
        common::dry(0.8, 0.99, 2, 64, &[]),
    ];
    let expected = "?top-k ?top-p ?min-p ?typical ?temp ?temp-ext ?xtc ?top-n-sigma ?penalties ?dry";
    assert_eq!(names(off), expected);
}

#[test]
fn seeds_are_shown_where_llama_cpp_shows_them() {
    let seed = |sampler: *mut Sampler| unsafe { llama_sampler_get_seed(Owned(sampler).0) };
    assert_eq!(seed(llama_sampler_init_dist(7)), 7);
    assert_eq!(seed(llama_sampler_init_mirostat(8, 8, 5.0, 0.1, 100)), 8);
    assert_eq!(seed(llama_sampler_init_mirostat_v2(9, 5.0, 0.1)), 9);
    assert_eq!(seed(llama_sampler_init_xtc(0.5, 0.1, 0, 7)), DEFAULT_SEED);
    assert_eq!(seed(llama_sampler_init_adaptive_p(0.5, 0.9, 7)), DEFAULT_SEED);
    let chain = Owned::chain().add(llama_sampler_init_dist(1)).add(llama_sampler_init_dist(2)).add(others::new(0));
    assert_eq!(unsafe { llama_sampler_get_seed(chain.0) }, 2);
    // A random seed is drawn anew at each reset.
    let random = Owned(llama_sampler_init_dist(DEFAULT_SEED));
    let seeds: std::collections::BTreeSet<u32> = (0..4)
        .map(|_| {
            random.reset();
            unsafe { llama_sampler_get_seed(random.0) }
        })
        .collect();
    assert!(seeds.len() > 1 && !seeds.contains(&DEFAULT_SEED));
}

/// The ways in which b11192's clone differs from a copy of everything are this library's, too.
#[test]
fn a_clone_draws_on_and_adaptive_p_begins_again() {
    let logits: Vec<f32> = (0..64).map(|i| (i as f32 * 0.7).sin()).collect();
    let draws = |sampler: &Owned| (0..20).map(|_| sampler.draw(&logits)).collect::<Vec<_>>();
    let dist = Owned(llama_sampler_init_dist(5));
    draws(&dist);
    let copy = dist.copy();
    assert_eq!(draws(&copy), draws(&dist));
    let adaptive = Owned(llama_sampler_init_adaptive_p(-1.0, 0.9, 5));
    let first = draws(&adaptive);
    assert_eq!(draws(&adaptive.copy()), first);
    assert_ne!(draws(&adaptive), first);
}

#[test]
fn state_is_copied_into_another_sampler() {
    let logits: Vec<f32> = (0..64).map(|i| (i as f32 * 0.7).sin()).collect();
    let make = || {
        Owned::chain()
            .add(llama_sampler_init_penalties(64, 8, 1.5, 0.1, 0.0))
            .add(others::new(3))
            .add(llama_sampler_init_mirostat_v2(5, 2.0, 0.1))
    };
    let (from, to) = (make(), make());
    for _ in 0..10 {
        let token = from.draw(&logits);
        from.accept(&[token]);
    }
    unsafe {
        llama_sampler_copy(from.0, to.0);
        llama_sampler_copy(from.0, from.0);
    }
    let draws = |chain: &Owned| {
        let one = || {
            let token = chain.draw(&logits);
            chain.accept(&[token]);
            token
        };
        std::iter::repeat_with(one).take(10).collect::<Vec<_>>()
    };
    assert_eq!(draws(&to), draws(&from));
    assert_ne!(draws(&make()), draws(&to));
}

/// llama.h's functions that take a `const` sampler may be called of one sampler by several threads.
#[test]
fn several_threads_may_read_one_sampler() {
    let chain = Owned::chain().add(llama_sampler_init_penalties(64, 8, 1.5, 0.1, 0.0)).add(llama_sampler_init_dist(7));
    let logits: Vec<f32> = (0..64).map(|i| (i as f32 * 0.7).sin()).collect();
    chain.accept(&[1, 2, 3]);
    let expected = chain.copy().draw(&logits);
    let address = chain.0.expose_provenance();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| unsafe {
                let chain = std::ptr::with_exposed_provenance_mut::<Sampler>(address);
                for _ in 0..100 {
                    assert_eq!(Owned(llama_sampler_clone(chain)).draw(&logits), expected);
                    assert_eq!((llama_sampler_get_seed(chain), llama_sampler_chain_n(chain)), (7, 2));
                    assert_eq!(llama_perf_sampler(chain).n_sample, 3);
                }
            });
        }
    });
}

#[test]
fn time_is_taken_where_it_is_wanted() {
    let logits = vec![0.5; 50_000];
    for no_perf in [true, false] {
        let chain = Owned(llama_sampler_chain_init(ChainParams { no_perf })).add(llama_sampler_init_typical(0.5, 0));
        for _ in 0..10 {
            chain.apply(&mut Row::new(&logits));
            chain.accept(&[1]);
        }
        unsafe {
            let PerfData { t_sample_ms, n_sample } = llama_perf_sampler(chain.0);
            assert_eq!((t_sample_ms > 0.0, n_sample), (!no_perf, 10));
            llama_perf_sampler_print(chain.0);
            llama_perf_sampler_reset(chain.0);
            assert_eq!(llama_perf_sampler(chain.0), PerfData { t_sample_ms: 0.0, n_sample: 0 });
        }
    }
    assert!(llama_sampler_chain_default_params().no_perf);
}

/// `selected` is an index that only selecting steps write, and XTC moves `data`.
#[test]
fn the_array_is_changed_as_llama_cpp_changes_it() {
    let mut row = Row::new(&[1.0, 3.0, 2.0]);
    row.array.selected = 2;
    Owned(llama_sampler_init_top_k(1)).apply(&mut row);
    assert_eq!((row.ids(), row.array.selected), (vec![1], 2));
    let mut row = Row::new(&[3.0, 3.0, 0.0]);
    let start = row.array.data;
    Owned(llama_sampler_init_xtc(1.0, 0.1, 0, 1)).apply(&mut row);
    assert_eq!((row.ids().len(), unsafe { row.array.data.offset_from(start) }), (2, 1));
    let mut empty = Row::of(Vec::new());
    empty.array.selected = 5;
    Owned(llama_sampler_init_dist(1)).apply(&mut empty);
    assert_eq!((empty.array.selected, empty.array.size), (-1, 0));
    Owned(llama_sampler_init_greedy()).apply(&mut empty);
    assert_eq!(empty.array.selected, 0);
    // A p that the caller gives stays.
    let cands = [(4, 1.0, 0.5), (9, 2.0, 0.25)].map(|(id, logit, p)| TokenData { id, logit, p });
    let mut given = Row::of(cands.to_vec());
    Owned(llama_sampler_init_temp(0.5)).apply(&mut given);
    assert_eq!(given.left(), [(4, 2.0, 0.5), (9, 4.0, 0.25)].map(|(id, logit, p)| TokenData { id, logit, p }));
}

/// A window does not grow with the text, and counts right after it was shortened.
#[test]
fn windows_forget() {
    let logits = vec![1.0; 600];
    let penalties = || Owned(llama_sampler_init_penalties(600, 5, 2.0, 0.5, 0.25));
    let (long, short) = (penalties(), penalties());
    let tokens: Vec<u32> = (0..5000u32).map(|i| i * 7 % 600).collect();
    for (i, token) in tokens.iter().enumerate() {
        long.accept(&[*token]);
        if i % 500 == 499 || (2040..2060).contains(&i) {
            short.reset();
            short.accept(&tokens[i.saturating_sub(20)..=i]);
            let (mut a, mut b) = (Row::new(&logits), Row::new(&logits));
            long.apply(&mut a);
            short.apply(&mut b);
            assert_eq!(a.left(), b.left(), "after {i}");
        }
    }
}
