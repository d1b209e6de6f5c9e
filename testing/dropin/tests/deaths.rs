//! What ends the process, with which words: each in a process of its own. What the unsafe blocks do wrong is seen before it harms.

mod common;

use std::process::Command;
use std::ptr::null_mut;

use common::{Owned, Row};
use sampler_chain_dropin::abi::{Sampler, SamplerI};
use sampler_chain_dropin::chain::*;
use sampler_chain_dropin::init::*;
use sampler_chain_dropin::sampler::*;

static IFACE: SamplerI = SamplerI::NOTHING;

fn idle(ctx: *mut std::ffi::c_void) -> *mut Sampler {
    unsafe { llama_sampler_init((&raw const IFACE).cast_mut(), ctx) }
}

type Death = (&'static str, &'static str, fn());

const DEATHS: &[Death] = &[
    ("apply", "llama_sampler_apply: the sampler has no apply", || unsafe {
        llama_sampler_apply(idle(null_mut()), &mut Row::new(&[1.0]).array);
    }),
    ("clone", "the sampler does not support cloning", || unsafe {
        llama_sampler_clone(idle(std::ptr::dangling_mut()));
    }),
    ("copy", "llama_sampler_copy: cannot copy between different sampler types", || unsafe {
        llama_sampler_copy(llama_sampler_init_greedy(), llama_sampler_init_dist(1));
    }),
    ("copy-off", "llama_sampler_copy: cannot copy between different sampler types", || unsafe {
        llama_sampler_copy(llama_sampler_init_top_k(5), llama_sampler_init_top_k(0));
    }),
    ("copy-chain", "llama_sampler_copy: the chains have different lengths", || unsafe {
        llama_sampler_copy(Owned::chain().0, Owned::chain().add(llama_sampler_init_greedy()).0);
    }),
    ("add", "llama_sampler_chain_add: the chain has this sampler already", || {
        let sampler = llama_sampler_init_greedy();
        Owned::chain().add(sampler).add(sampler);
    }),
    (
        "n",
        "llama_sampler_chain_n: invalid sampler passed - requires a sampler created with llama_sampler_chain_init()",
        || unsafe {
            llama_sampler_chain_n(llama_sampler_init_greedy());
        },
    ),
    ("perf", "llama_perf_sampler: invalid sampler passed", || unsafe {
        llama_perf_sampler(null_mut());
    }),
    ("no-libllama", "llama_vocab_n_tokens is wanted, and libllama is not loaded", || unsafe {
        llama_sampler_init_infill(std::ptr::dangling());
    }),
];

#[test]
fn each_says_why() {
    const DIE: &str = "SAMPLER_CHAIN_DROPIN_TEST_DEATH";
    if let Ok(name) = std::env::var(DIE) {
        let (.., die) = DEATHS.iter().find(|(known, ..)| *known == name).unwrap();
        die();
        return;
    }
    for (name, message, _) in DEATHS {
        let mut again = Command::new(std::env::current_exe().unwrap());
        let output = again.args(["--exact", "each_says_why", "--nocapture"]).env(DIE, name).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name} lives");
        assert!(stderr.contains(&format!("sampler-chain-dropin: {message}")), "{name}: {stderr}");
    }
}
