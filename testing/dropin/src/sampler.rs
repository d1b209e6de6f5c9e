//! `llama_sampler_init`, `_name`, `_accept`, `_apply`, `_reset`, `_clone`, `_copy` and `_free`: for samplers of ours and of others.

use std::ffi::{c_char, c_void};

use crate::abi::{Sampler, SamplerI, Token, TokenDataArray};
use crate::calls::{Call, count};
use crate::guard::{die, guard};
use crate::run::{Memory, run};
use crate::step::Step;

/// What `ctx` of a step points to.
struct Own {
    step: Step,
    /// What it works in outside chains of ours.
    memory: Option<Box<Memory>>,
}

/// What a step can do. A sampler is one of ours exactly if this is its `iface`.
static STEP: SamplerI = SamplerI {
    name: Some(name),
    accept: Some(accept),
    apply: Some(apply),
    reset: Some(reset),
    clone: Some(clone),
    free: Some(free),
    copy_state: Some(copy_state),
    ..SamplerI::NOTHING
};

/// A new sampler over a step, for `llama_sampler_free` to free.
pub(crate) fn of_step(step: Step) -> *mut Sampler {
    let own = Box::new(Own { step, memory: None });
    new(&STEP, Box::into_raw(own).cast())
}

/// A new `llama_sampler`.
pub(crate) fn new(iface: *const SamplerI, ctx: *mut c_void) -> *mut Sampler {
    Box::into_raw(Box::new(Sampler { iface, ctx }))
}

/// What belongs to a sampler, if it is a step of ours.
///
/// # Safety
/// The sampler is alive.
unsafe fn own_of(sampler: *const Sampler) -> Option<*mut Own> {
    // SAFETY: the caller promises that it is alive.
    let sampler = unsafe { &*sampler };
    std::ptr::eq(sampler.iface, &STEP).then(|| sampler.ctx.cast())
}

/// The step of a sampler, if it is one of ours, to be read: by several threads at once, if they like.
///
/// # Safety
/// The sampler is alive. While the result is used nobody changes it.
pub(crate) unsafe fn step_of<'a>(sampler: *const Sampler) -> Option<&'a Step> {
    // SAFETY: only `of_step` makes samplers with this `iface`, and their `ctx` is a box of this type until `free`.
    unsafe { own_of(sampler).map(|own| &(*own).step) }
}

/// The same, to be changed.
///
/// # Safety
/// The sampler is alive. While the result is used nobody else has it.
pub(crate) unsafe fn step_of_mut<'a>(sampler: *mut Sampler) -> Option<&'a mut Step> {
    // SAFETY: as in `step_of`.
    unsafe { own_of(sampler).map(|own| &mut (*own).step) }
}

unsafe extern "C-unwind" fn name(sampler: *const Sampler) -> *const c_char {
    // SAFETY: llama.h: called with a sampler that has this `iface`. The name is a constant.
    unsafe { step_of(sampler) }.map_or(std::ptr::null(), |step| step.name().as_ptr())
}

unsafe extern "C-unwind" fn accept(sampler: *mut Sampler, token: Token) {
    // SAFETY: llama.h: called with a sampler that has this `iface`, by one thread at a time.
    let step = unsafe { step_of_mut(sampler) };
    guard(|| step.into_iter().for_each(|step| step.accept(token)));
}

unsafe extern "C-unwind" fn apply(sampler: *mut Sampler, array: *mut TokenDataArray) {
    // SAFETY: as in `accept`. The memory is taken out, because `run` looks at the same sampler.
    let mut memory = unsafe { own_of(sampler).and_then(|own| (*own).memory.take()) }.unwrap_or_default();
    // SAFETY: one sampler of ours, and llama.h: an array whose `data` has `size` candidates.
    guard(|| unsafe { run(&[sampler], &mut *array, &mut memory) });
    // SAFETY: as above; `run` is over.
    unsafe {
        if let Some(own) = own_of(sampler) {
            (*own).memory = Some(memory);
        }
    }
}

unsafe extern "C-unwind" fn reset(sampler: *mut Sampler) {
    // SAFETY: as in `accept`.
    let step = unsafe { step_of_mut(sampler) };
    guard(|| step.into_iter().for_each(Step::reset));
}

unsafe extern "C-unwind" fn clone(sampler: *const Sampler) -> *mut Sampler {
    // SAFETY: llama.h: called with a sampler that has this `iface`, which nobody changes meanwhile.
    let step = unsafe { step_of(sampler) };
    guard(|| step.map_or(std::ptr::null_mut(), |step| of_step(step.copy())))
}

unsafe extern "C-unwind" fn free(sampler: *mut Sampler) {
    // SAFETY: llama.h: called once, with a sampler that has this `iface`, whose `ctx` is a box of this type.
    let own = unsafe { Box::from_raw((*sampler).ctx.cast::<Own>()) };
    guard(|| drop(own));
}

unsafe extern "C-unwind" fn copy_state(from: *const Sampler, to: *mut Sampler) {
    // SAFETY: `llama_sampler_copy` has seen that these are two samplers, both with this `iface`.
    let (from, to) = unsafe { (step_of(from), step_of_mut(to)) };
    guard(|| {
        if let (Some(from), Some(to)) = (from, to) {
            if !to.is_like(from) {
                die("llama_sampler_copy: cannot copy between different sampler types");
            }
            to.copy_state(from);
        }
    });
}

/// `llama_sampler_init`: a sampler of the caller's own functions, or of llama.cpp's (a grammar).
///
/// # Safety
/// `iface` outlives the sampler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llama_sampler_init(iface: *mut SamplerI, ctx: *mut c_void) -> *mut Sampler {
    count(Call::Init);
    new(iface, ctx)
}

/// The functions of a sampler; none where it has none.
///
/// # Safety
/// NULL, or a sampler that is alive.
pub(crate) unsafe fn iface_of<'a>(sampler: *const Sampler) -> Option<&'a SamplerI> {
    // SAFETY: the caller promises that it is NULL or alive, and `llama_sampler_init` that its `iface` is.
    unsafe { sampler.as_ref().and_then(|sampler| sampler.iface.as_ref()) }
}

/// `llama_sampler_name`: "(null)" without functions, and where b11192 would crash: without that one, or without a sampler.
///
/// # Safety
/// NULL, or a sampler that is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_sampler_name(sampler: *const Sampler) -> *const c_char {
    count(Call::Name);
    // SAFETY: what the caller promises; a sampler's own functions may be called with it.
    match unsafe { iface_of(sampler) }.and_then(|iface| iface.name) {
        Some(name) => unsafe { name(sampler) },
        None => c"(null)".as_ptr(),
    }
}

/// `llama_sampler_accept`: nothing for NULL, or a sampler that does not care.
///
/// # Safety
/// NULL, or a sampler that is alive and in use by nobody else.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_sampler_accept(sampler: *mut Sampler, token: Token) {
    count(Call::Accept);
    // SAFETY: what the caller promises; a sampler's own functions may be called with it.
    if let Some(accept) = unsafe { iface_of(sampler) }.and_then(|iface| iface.accept) {
        unsafe { accept(sampler, token) };
    }
}

/// `llama_sampler_apply`: nothing for NULL. A sampler that cannot be applied ends the process, as in llama.cpp.
///
/// # Safety
/// NULL, or a sampler that is alive and in use by nobody else; an array whose `data` has `size` candidates.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_sampler_apply(sampler: *mut Sampler, array: *mut TokenDataArray) {
    count(Call::Apply);
    if sampler.is_null() {
        return;
    }
    // SAFETY: what the caller promises; a sampler's own functions may be called with it.
    match unsafe { iface_of(sampler) }.and_then(|iface| iface.apply) {
        Some(apply) => unsafe { apply(sampler, array) },
        None => die("llama_sampler_apply: the sampler has no apply"),
    }
}

/// `llama_sampler_reset`: nothing for NULL, or a sampler that has no state.
///
/// # Safety
/// NULL, or a sampler that is alive and in use by nobody else.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_sampler_reset(sampler: *mut Sampler) {
    count(Call::Reset);
    // SAFETY: what the caller promises; a sampler's own functions may be called with it.
    if let Some(reset) = unsafe { iface_of(sampler) }.and_then(|iface| iface.reset) {
        unsafe { reset(sampler) };
    }
}

/// `llama_sampler_clone`: NULL for NULL. A sampler of others that has a `ctx` and no `clone` ends the process, as in llama.cpp.
///
/// # Safety
/// NULL, or a sampler that is alive and not changed meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_sampler_clone(sampler: *const Sampler) -> *mut Sampler {
    count(Call::Clone);
    // SAFETY: the caller promises that it is NULL or alive.
    let Some(&Sampler { iface, ctx }) = (unsafe { sampler.as_ref() }) else { return std::ptr::null_mut() };
    // SAFETY: what the caller promises; a sampler's own functions may be called with it.
    match unsafe { iface_of(sampler) }.and_then(|iface| iface.clone) {
        Some(clone) => unsafe { clone(sampler) },
        None if ctx.is_null() => new(iface, ctx),
        None => die("the sampler does not support cloning"),
    }
}

/// `llama_sampler_copy`: nothing where either is NULL or both are one. Samplers of different kinds end the process, as in llama.cpp.
///
/// Parameters and seed of greedy, dist, top-k, top-p, min-p, both temperatures, penalties and biases stay; all others take over everything.
///
/// # Safety
/// Each is NULL or alive, and in use by nobody else.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_sampler_copy(from: *const Sampler, to: *mut Sampler) {
    count(Call::Copy);
    if from.is_null() || to.is_null() || std::ptr::eq(from, to) {
        return;
    }
    // SAFETY: neither is NULL, and the caller promises that both are alive.
    if unsafe { (*from).iface != (*to).iface } {
        die("llama_sampler_copy: cannot copy between different sampler types");
    }
    // SAFETY: what the caller promises; a sampler's own functions may be called with it.
    unsafe {
        let iface = iface_of(to);
        if let Some(copy_state) = iface.and_then(|iface| iface.copy_state) {
            return copy_state(from, to);
        }
        // A copy of `from` takes the place of what `to` had.
        let copy = llama_sampler_clone(from);
        if let Some(free) = iface.and_then(|iface| iface.free) {
            free(to);
        }
        (*to).ctx = (*copy).ctx;
        drop(Box::from_raw(copy));
    }
}

/// `llama_sampler_free`: nothing for NULL.
///
/// # Safety
/// NULL, or a sampler that `llama_sampler_init` of this library made, directly or not, that no chain owns, and that is not
/// used again.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn llama_sampler_free(sampler: *mut Sampler) {
    count(Call::Free);
    if sampler.is_null() {
        return;
    }
    // SAFETY: what the caller promises. `new` made it a box; llama.cpp's own samplers come from our `llama_sampler_init`, too.
    unsafe {
        if let Some(free) = iface_of(sampler).and_then(|iface| iface.free) {
            free(sampler);
        }
        drop(Box::from_raw(sampler));
    }
}
