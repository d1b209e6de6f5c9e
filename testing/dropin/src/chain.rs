//! `llama_sampler_chain_*`, `llama_sampler_get_seed` and `llama_perf_sampler*`.

use std::ffi::c_char;
use std::time::Instant;

use sampler_steps::Cand;

use crate::abi::{ChainParams, DEFAULT_SEED, PerfData, Sampler, SamplerI, Token, TokenDataArray};
use crate::calls::{Call, count};
use crate::guard::{die, guard};
use crate::real;
use crate::run::{Memory, run};
use crate::sampler::{
    iface_of, llama_sampler_accept, llama_sampler_apply, llama_sampler_clone, llama_sampler_copy, llama_sampler_free,
    llama_sampler_reset, new, step_of,
};

/// What `ctx` of a chain points to: `llama_sampler_chain`.
pub(crate) struct Chain {
    params: ChainParams,
    /// It owns them. They are ours or others', chains among them.
    samplers: Vec<*mut Sampler>,
    memory: Memory,
    /// The candidates of `llama_sampler_sample`.
    pub(crate) row: Vec<Cand>,
    t_sample_us: i64,
    n_sample: i32,
}

/// What a chain can do. A sampler is a chain of ours exactly if this is its `iface`.
static CHAIN: SamplerI = SamplerI {
    name: Some(name),
    accept: Some(accept),
    apply: Some(apply),
    reset: Some(reset),
    clone: Some(clone),
    free: Some(free),
    copy_state: Some(copy_state),
    ..SamplerI::NOTHING
};

/// What belongs to a chain, if a sampler is one of ours.
///
/// # Safety
/// NULL, or a sampler that is alive.
unsafe fn own_of(sampler: *const Sampler) -> Option<*mut Chain> {
    // SAFETY: the caller promises that it is NULL or alive.
    let sampler = unsafe { sampler.as_ref()? };
    std::ptr::eq(sampler.iface, &CHAIN).then(|| sampler.ctx.cast())
}

/// The chain of a sampler, if it is one of ours, to be read: by several threads at once, if they like.
///
/// # Safety
/// NULL, or a sampler that is alive. While the result is used nobody changes the chain.
unsafe fn chain_of<'a>(sampler: *const Sampler) -> Option<&'a Chain> {
    // SAFETY: only `llama_sampler_chain_init` makes samplers with this `iface`, and their `ctx` is a box of this type until `free`.
    unsafe { own_of(sampler).map(|chain| &*chain) }
}

/// The same, to be changed.
///
/// # Safety
/// NULL, or a sampler that is alive. While the result is used nobody else has the chain.
pub(crate) unsafe fn chain_of_mut<'a>(sampler: *mut Sampler) -> Option<&'a mut Chain> {
    // SAFETY: as in `chain_of`.
    unsafe { own_of(sampler).map(|chain| &mut *chain) }
}

/// Ends the process for a sampler that is no chain.
fn no_chain(function: &str) -> ! {
    die(&format!("{function}: invalid sampler passed - requires a sampler created with llama_sampler_chain_init()"))
}

/// The sampler at a place of a chain. Looked up anew each time, because a sampler of others runs in between.
///
/// # Safety
/// As [`chain_of`].
unsafe fn sampler_at(chain: *const Sampler, i: usize) -> Option<*mut Sampler> {
    // SAFETY: what the caller promises.
    unsafe { chain_of(chain) }?.samplers.get(i).copied()
}

/// Takes the time of something that a chain does.
struct Timer(Option<Instant>);

impl Timer {
    /// # Safety
    /// As [`chain_of`].
    unsafe fn start(chain: *const Sampler) -> Self {
        // SAFETY: what the caller promises.
        let no_perf = unsafe { chain_of(chain) }.is_none_or(|chain| chain.params.no_perf);
        Self((!no_perf).then(Instant::now))
    }

    fn stop(self, chain: &mut Chain) {
        chain.t_sample_us += self.0.map_or(0, |start| start.elapsed().as_micros() as i64);
    }
}

unsafe extern "C-unwind" fn name(_: *const Sampler) -> *const c_char {
    c"chain".as_ptr()
}

unsafe extern "C-unwind" fn accept(sampler: *mut Sampler, token: Token) {
    // SAFETY: llama.h: called with a chain, by one thread at a time. What it owns is alive.
    unsafe {
        let timer = Timer::start(sampler);
        let mut i = 0;
        while let Some(one) = sampler_at(sampler, i) {
            llama_sampler_accept(one, token);
            i += 1;
        }
        if let Some(chain) = chain_of_mut(sampler) {
            chain.n_sample = chain.n_sample.wrapping_add(1);
            timer.stop(chain);
        }
    }
}

unsafe extern "C-unwind" fn apply(sampler: *mut Sampler, array: *mut TokenDataArray) {
    // SAFETY: as in `accept`; llama.h: an array whose `data` has `size` candidates. Nothing of the chain or of the array is held
    // while a sampler of others runs. That none stands in it twice `llama_sampler_chain_add` has seen to.
    unsafe {
        let timer = Timer::start(sampler);
        let mut i = 0;
        loop {
            i += guard(|| {
                let Some(chain) = chain_of_mut(sampler) else { return 0 };
                let rest = chain.samplers.get(i..).unwrap_or_default();
                let n = rest.iter().take_while(|&&one| !one.is_null() && step_of(one).is_some()).count();
                run(&rest[..n], &mut *array, &mut chain.memory);
                n
            });
            let Some(other) = sampler_at(sampler, i) else { break };
            if iface_of(other).is_some_and(|iface| iface.apply.is_some()) {
                llama_sampler_apply(other, array);
            }
            i += 1;
        }
        if let Some(chain) = chain_of_mut(sampler) {
            timer.stop(chain);
        }
    }
}

unsafe extern "C-unwind" fn reset(sampler: *mut Sampler) {
    let mut i = 0;
    // SAFETY: as in `accept`.
    while let Some(one) = unsafe { sampler_at(sampler, i) } {
        unsafe { llama_sampler_reset(one) };
        i += 1;
    }
}

unsafe extern "C-unwind" fn clone(sampler: *const Sampler) -> *mut Sampler {
    // SAFETY: llama.h: called with a chain, which nobody changes meanwhile. What it owns is alive.
    unsafe {
        let Some(&Chain { params, .. }) = chain_of(sampler) else { return std::ptr::null_mut() };
        let copy = llama_sampler_chain_init(params);
        let mut i = 0;
        while let Some(one) = sampler_at(sampler, i) {
            llama_sampler_chain_add(copy, llama_sampler_clone(one));
            i += 1;
        }
        copy
    }
}

unsafe extern "C-unwind" fn free(sampler: *mut Sampler) {
    // SAFETY: llama.h: called once, with a chain, whose `ctx` is a box of this type. It owns its samplers.
    unsafe {
        let chain = Box::from_raw((*sampler).ctx.cast::<Chain>());
        chain.samplers.iter().for_each(|&one| llama_sampler_free(one));
        guard(|| drop(chain));
    }
}

unsafe extern "C-unwind" fn copy_state(from: *const Sampler, to: *mut Sampler) {
    // SAFETY: `llama_sampler_copy` has seen that these are two samplers, both with this `iface`.
    unsafe {
        let (Some(from), Some(to)) = (chain_of(from), chain_of_mut(to)) else { return };
        if from.samplers.len() != to.samplers.len() {
            die("llama_sampler_copy: the chains have different lengths");
        }
        (to.params, to.t_sample_us, to.n_sample) = (from.params, from.t_sample_us, from.n_sample);
    }
    // SAFETY: as above; nothing of either chain is held while a sampler of others runs.
    unsafe {
        let mut i = 0;
        while let (Some(from), Some(to)) = (sampler_at(from, i), sampler_at(to, i)) {
            llama_sampler_copy(from, to);
            i += 1;
        }
    }
}

/// `llama_sampler_chain_default_params`: no time is taken.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_chain_default_params() -> ChainParams {
    count(Call::ChainDefaultParams);
    ChainParams { no_perf: true }
}

/// `llama_sampler_chain_init`: a chain of nothing.
#[unsafe(no_mangle)]
pub extern "C" fn llama_sampler_chain_init(params: ChainParams) -> *mut Sampler {
    count(Call::ChainInit);
    guard(|| {
        let samplers = Vec::new();
        let chain = Chain { params, samplers, memory: Memory::default(), row: Vec::new(), t_sample_us: 0, n_sample: 0 };
        new(&CHAIN, Box::into_raw(Box::new(chain)).cast())
    })
}

/// `llama_sampler_chain_add`: the chain owns the sampler from now on. A sampler that it has already, which llama.cpp would free
/// twice, ends the process.
///
/// # Safety
/// A chain that is alive and in use by nobody else, and a sampler that no chain owns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_sampler_chain_add(chain: *mut Sampler, sampler: *mut Sampler) {
    count(Call::ChainAdd);
    // SAFETY: what the caller promises.
    let chain = unsafe { chain_of_mut(chain) }.unwrap_or_else(|| no_chain("llama_sampler_chain_add"));
    if chain.samplers.contains(&sampler) && !sampler.is_null() {
        die("llama_sampler_chain_add: the chain has this sampler already");
    }
    guard(|| chain.samplers.push(sampler));
}

/// `llama_sampler_chain_get`: NULL for what is no chain, or beyond its end; the chain itself for -1.
///
/// # Safety
/// NULL, or a sampler that is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_sampler_chain_get(chain: *mut Sampler, i: i32) -> *mut Sampler {
    count(Call::ChainGet);
    // SAFETY: what the caller promises.
    match unsafe { chain_of(chain) } {
        None => std::ptr::null_mut(),
        Some(_) if i == -1 => chain,
        Some(found) => place(i, found).map_or(std::ptr::null_mut(), |i| found.samplers[i]),
    }
}

/// `llama_sampler_chain_n`: how many samplers it has.
///
/// # Safety
/// A chain that is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_sampler_chain_n(chain: *const Sampler) -> i32 {
    count(Call::ChainN);
    // SAFETY: what the caller promises.
    unsafe { chain_of(chain) }.unwrap_or_else(|| no_chain("llama_sampler_chain_n")).samplers.len() as i32
}

/// `llama_sampler_chain_remove`: the caller owns the sampler from now on. NULL beyond the end.
///
/// # Safety
/// A chain that is alive and in use by nobody else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_sampler_chain_remove(chain: *mut Sampler, i: i32) -> *mut Sampler {
    count(Call::ChainRemove);
    // SAFETY: what the caller promises.
    let chain = unsafe { chain_of_mut(chain) }.unwrap_or_else(|| no_chain("llama_sampler_chain_remove"));
    place(i, chain).map_or(std::ptr::null_mut(), |i| chain.samplers.remove(i))
}

fn place(i: i32, chain: &Chain) -> Option<usize> {
    usize::try_from(i).ok().filter(|&i| i < chain.samplers.len())
}

/// `llama_sampler_get_seed`: of dist and mirostat, and of the last of a chain that has one; else 4294967295.
///
/// # Safety
/// NULL (for which llama.cpp crashes), or a sampler that is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_sampler_get_seed(sampler: *const Sampler) -> u32 {
    count(Call::GetSeed);
    // SAFETY: what the caller promises; a chain's samplers are alive, too.
    unsafe { seed_of(sampler) }
}

/// # Safety
/// NULL, or a sampler that is alive.
unsafe fn seed_of(sampler: *const Sampler) -> u32 {
    if sampler.is_null() {
        return DEFAULT_SEED;
    }
    // SAFETY: what the caller promises; a chain's samplers are alive, too.
    unsafe {
        if let Some(step) = step_of(sampler) {
            return step.shown_seed();
        }
        let samplers = chain_of(sampler).map_or(&[][..], |chain| &chain.samplers);
        let mut seeds = samplers.iter().rev().map(|&one| seed_of(one));
        seeds.find(|&seed| seed != DEFAULT_SEED).unwrap_or(DEFAULT_SEED)
    }
}

/// `llama_perf_sampler`. What is no chain ends the process, as in llama.cpp.
///
/// # Safety
/// NULL, or a sampler that is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_perf_sampler(chain: *const Sampler) -> PerfData {
    count(Call::Perf);
    // SAFETY: what the caller promises.
    let chain = unsafe { chain_of(chain) }.unwrap_or_else(|| no_chain("llama_perf_sampler"));
    PerfData { t_sample_ms: 1e-3 * chain.t_sample_us as f64, n_sample: chain.n_sample.max(0) }
}

/// `llama_perf_sampler_print`: to llama.cpp's log.
///
/// # Safety
/// As [`llama_perf_sampler`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_perf_sampler_print(chain: *const Sampler) {
    count(Call::PerfPrint);
    // SAFETY: what the caller promises.
    let PerfData { t_sample_ms, n_sample } = unsafe { llama_perf_sampler(chain) };
    let line = format!("llama_perf_sampler_print:    samplers time = {t_sample_ms:10.2} ms / {n_sample:5} runs\n");
    real::log(real::Level::Info, &line);
}

/// `llama_perf_sampler_reset`.
///
/// # Safety
/// As [`llama_perf_sampler`], and in use by nobody else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_perf_sampler_reset(chain: *mut Sampler) {
    count(Call::PerfReset);
    // SAFETY: what the caller promises.
    let chain = unsafe { chain_of_mut(chain) }.unwrap_or_else(|| no_chain("llama_perf_sampler_reset"));
    (chain.t_sample_us, chain.n_sample) = (0, 0);
}
