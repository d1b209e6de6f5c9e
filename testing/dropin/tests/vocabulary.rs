//! What is read from a vocabulary, of a stand-in for llama.cpp: its functions are here, where `dlsym` finds them.

mod common;

use std::ffi::{CString, c_char};

use common::{Owned, Row};
use sampler_chain_dropin::abi::{Token, Vocab};
use sampler_chain_dropin::dry::llama_sampler_init_dry;
use sampler_chain_dropin::init::*;

/// The pieces of a vocabulary: what a `*const Vocab` points to here. "</s>" ends the text.
struct Pieces(Vec<&'static [u8]>);

impl Pieces {
    fn pointer(&self) -> *const Vocab {
        (&raw const *self).cast()
    }
}

/// # Safety
/// What [`Pieces::pointer`] gave.
unsafe fn pieces<'a>(vocab: *const Vocab) -> &'a [&'static [u8]] {
    unsafe { &(*vocab.cast::<Pieces>()).0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn llama_vocab_n_tokens(vocab: *const Vocab) -> i32 {
    unsafe { pieces(vocab) }.len() as i32
}

#[unsafe(no_mangle)]
unsafe extern "C" fn llama_vocab_is_eog(vocab: *const Vocab, token: Token) -> bool {
    token >= 0 && token == unsafe { llama_vocab_eos(vocab) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn llama_vocab_eot(_: *const Vocab) -> Token {
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn llama_vocab_eos(vocab: *const Vocab) -> Token {
    let end = unsafe { pieces(vocab) }.iter().position(|piece| piece == b"</s>");
    end.map_or(-1, |end| end as Token)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn llama_token_to_piece(
    vocab: *const Vocab,
    token: Token,
    buf: *mut c_char,
    length: i32,
    _: i32,
    _: bool,
) -> i32 {
    let piece = unsafe { pieces(vocab) }[token as usize];
    assert!(piece.len() <= length as usize);
    unsafe { std::ptr::copy_nonoverlapping(piece.as_ptr(), buf.cast(), piece.len()) };
    piece.len() as i32
}

#[unsafe(no_mangle)]
unsafe extern "C" fn llama_detokenize(
    vocab: *const Vocab,
    tokens: *const Token,
    n_tokens: i32,
    text: *mut c_char,
    length: i32,
    _: bool,
    _: bool,
) -> i32 {
    assert_eq!(n_tokens, 1);
    unsafe { llama_token_to_piece(vocab, *tokens, text, length, 0, false) }
}

/// A token for each byte: the first that has it alone, else 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn llama_tokenize(
    vocab: *const Vocab,
    text: *const c_char,
    length: i32,
    tokens: *mut Token,
    room: i32,
    _: bool,
    _: bool,
) -> i32 {
    assert!(length <= room);
    for i in 0..length as usize {
        let byte = unsafe { *text.add(i).cast::<u8>() };
        let token = unsafe { pieces(vocab) }.iter().position(|piece| **piece == [byte]).unwrap_or(0);
        unsafe { *tokens.add(i) = token as Token };
    }
    length
}

/// DRY that takes off 1, with breakers.
fn dry(vocab: &Pieces, breakers: &[CString]) -> Owned {
    let pointers: Vec<*const c_char> = breakers.iter().map(|text| text.as_ptr()).collect();
    // SAFETY: a vocabulary of the functions above, and so many strings.
    let made = unsafe { llama_sampler_init_dry(vocab.pointer(), 1.0, 1.0, 1, 64, pointers.as_ptr(), pointers.len()) };
    Owned(made)
}

fn logits_after(sampler: &Owned, n: usize, tokens: &[u32]) -> Vec<f32> {
    sampler.reset();
    sampler.accept(tokens);
    let mut row = Row::new(&vec![0.0; n]);
    sampler.apply(&mut row);
    row.left().iter().map(|cand| cand.logit).collect()
}

#[test]
fn breakers_are_found_in_the_pieces() {
    let vocab = Pieces(vec![b"a", b"b", b"x\ny", b"c", b"</s>"]);
    let sampler = dry(&vocab, &[c"\n".into(), c"cb".into()]);
    // 0 1 is repeated, and 0 would follow; token 2 has the newline in it, and 3 1 is a text.
    assert_eq!(logits_after(&sampler, 5, &[0, 1, 0, 1]), [-1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(logits_after(&sampler, 5, &[2, 1, 2]), [0.0; 5]);
    assert_eq!(logits_after(&sampler, 5, &[3, 1, 0, 3, 1]), [0.0; 5]);
    assert_eq!(logits_after(&sampler, 5, &[3, 0, 1, 3]), [-1.0, 0.0, 0.0, 0.0, 0.0]);
}

/// More pieces are searched than a request may ask for in sampler-chain: b11192 takes its time, and answers.
#[test]
fn long_lists_of_breakers_are_taken() {
    const N_TOKENS: usize = 8192;
    const N_TEXTS: u32 = (1 << 27) / N_TOKENS as u32 + 1;
    let mut pieces = vec![&b"xa"[..]; N_TOKENS];
    pieces[0] = b"b";
    pieces[1] = b"x!";
    let vocab = Pieces(pieces);
    let text = |i: u32| CString::new(format!("x{i:05}")).unwrap();
    let mut breakers: Vec<CString> = (0..N_TEXTS).map(text).collect();
    breakers.push(c"!".into());
    let sampler = dry(&vocab, &breakers);
    let lost = logits_after(&sampler, N_TOKENS, &[0, 2, 0, 2]);
    assert_eq!((lost[0], lost[2]), (-1.0, 0.0));
    assert_eq!(logits_after(&sampler, N_TOKENS, &[1, 0, 1, 0])[1], 0.0, "the last breaker is one");
}

#[test]
fn infill_reads_the_texts() {
    let vocab = Pieces(vec![b"a", b"ab", b"c", b"</s>"]);
    // SAFETY: a vocabulary of the functions above.
    let infill = || Owned(unsafe { llama_sampler_init_infill(vocab.pointer()) });
    // "a" begins "ab": the likelier of the two has the probability of both.
    let mut row = Row::new(&[2.0, 3.0, 1.0, -20.0]);
    infill().apply(&mut row);
    assert_eq!(row.ids(), [1, 3]);
    // The end is likely: it alone stays.
    let mut row = Row::new(&[2.0, 3.0, 1.0, 3.0]);
    infill().apply(&mut row);
    assert_eq!(row.ids(), [3]);
}

#[test]
fn infill_without_an_end_leaves_nothing() {
    let texts: Vec<String> = (0..10).map(|i| format!("{i}")).collect();
    let vocab = Pieces(texts.iter().map(|text| text.clone().leak().as_bytes()).collect());
    // SAFETY: a vocabulary of the functions above.
    let infill = Owned(unsafe { llama_sampler_init_infill(vocab.pointer()) });
    // A tenth each is too little.
    let mut row = Row::new(&[0.0; 10]);
    infill.apply(&mut row);
    assert_eq!(row.array.size, 0);
}

/// As `odd_arrays_do_no_harm` of the other samplers.
#[test]
fn odd_arrays_do_no_harm_to_infill() {
    let vocab = Pieces(vec![b"a", b"ab", b"c", b"</s>"]);
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for logits in [&[][..], &[1.0], &[nan], &[-inf; 3], &[inf; 4], &[nan; 4], &[1.0, nan, -inf, inf]] {
        for in_a_chain in [false, true] {
            // SAFETY: a vocabulary of the functions above.
            let infill = unsafe { llama_sampler_init_infill(vocab.pointer()) };
            let made =
                if in_a_chain { Owned::chain().add(infill).add(llama_sampler_init_greedy()) } else { Owned(infill) };
            let mut row = Row::new(logits);
            let memory = row.memory.as_ptr_range();
            made.apply(&mut row);
            made.apply(&mut row);
            let left = row.left().as_ptr_range();
            assert!(memory.start <= left.start && left.end <= memory.end);
            assert!(row.array.selected <= row.array.size as i64);
            assert_eq!(row.array.size == 0, logits.is_empty(), "{logits:?}");
        }
    }
}
