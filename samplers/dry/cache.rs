//! Breaker tables are made once for a vocabulary, and shared between samplers and threads.

use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use rustc_hash::FxHashMap;

use super::breakers::{ByByte, DryBreakers, cut, find};
use crate::core::{EncodeError, Vocab};

/// Tables of so many pairs are kept for a vocabulary, and of so many texts and lists; with more all are forgotten.
const MAX_PAIRS: usize = 1 << 20;
const MAX_KEPT: usize = 1024;

/// So many pieces are searched for the texts of one list, and so many pairs may it make: some hundred texts over a large vocabulary
/// are a hundredth of it, and a million would take hours.
const MAX_SEARCHED: usize = 1 << 27;
const MAX_MADE: usize = 1 << 22;

/// The tables of one vocabulary.
#[derive(Default)]
struct Tables {
    by_byte: Option<ByByte>,
    of_text: FxHashMap<Vec<u8>, Arc<DryBreakers>>,
    /// By the texts in order and each once, since their order changes nothing.
    of_list: FxHashMap<Vec<Vec<u8>>, Arc<DryBreakers>>,
    n_pairs: usize,
}

/// Each vocabulary that is alive, with its tables. They are locked one by one, so that nobody waits for another's.
type Cache = Vec<(Weak<dyn Vocab>, Arc<Mutex<Tables>>)>;

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

/// The breakers that texts make over a vocabulary, as `llama_sampler_init_dry` finds them, prepared once for a vocabulary
/// (the same `Arc`) and a text.
///
/// A token that contains the text is one by itself. A token that ends in the beginning of the text is the head of the rest
/// of the text, encoded; every such overlap counts. Texts are cut to 40 bytes, tails to 20 tokens; empty texts are left out,
/// and a text ends at a byte of 0.
///
/// # Errors
/// A rest that the vocabulary cannot encode, or so many texts that they would take minutes.
pub fn dry_breakers(vocab: &Arc<dyn Vocab>, breakers: &[impl AsRef<[u8]>]) -> Result<Arc<DryBreakers>, EncodeError> {
    breakers_up_to(Most { searched: MAX_SEARCHED, made: MAX_MADE }, vocab, breakers)
}

/// The same for lists of any length, as `llama_sampler_init_dry` takes them: for those who know where a list comes from, because
/// nothing holds the time and the memory that it takes.
///
/// # Errors
/// A rest that the vocabulary cannot encode.
pub fn dry_breakers_unbounded(
    vocab: &Arc<dyn Vocab>,
    breakers: &[impl AsRef<[u8]>],
) -> Result<Arc<DryBreakers>, EncodeError> {
    breakers_up_to(Most { searched: usize::MAX, made: usize::MAX }, vocab, breakers)
}

/// How much the breakers of one list may take.
struct Most {
    /// Pieces that are searched.
    searched: usize,
    /// Pairs that are made.
    made: usize,
}

fn breakers_up_to(
    most: Most,
    vocab: &Arc<dyn Vocab>,
    breakers: &[impl AsRef<[u8]>],
) -> Result<Arc<DryBreakers>, EncodeError> {
    let mut texts: Vec<Vec<u8>> =
        breakers.iter().map(|text| cut(text.as_ref()).to_vec()).filter(|text| !text.is_empty()).collect();
    texts.sort_unstable();
    texts.dedup();
    let tables = tables_of(vocab);
    let mut tables = tables.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = tables.of_list.get(&texts) {
        return Ok(table.clone());
    }
    if tables.of_list.len() + tables.of_text.len() >= MAX_KEPT || tables.n_pairs >= MAX_PAIRS {
        *tables = Tables { by_byte: tables.by_byte.take(), ..Tables::default() };
    }
    let Tables { by_byte, of_text, of_list, n_pairs } = &mut *tables;
    let by_byte = by_byte.get_or_insert_with(|| ByByte::new(vocab.as_ref()));
    let (mut tables, mut n_searched, mut n_made) = (Vec::new(), 0, 0);
    for text in &texts {
        let table = match of_text.get(text) {
            Some(table) => table.clone(),
            None => {
                n_searched += by_byte.with_first_of(text).len();
                if n_searched > most.searched {
                    return Err(too_many(text, texts.len(), vocab.n_tokens()));
                }
                let table = Arc::new(find(vocab.as_ref(), by_byte, text)?);
                *n_pairs += table.len();
                of_text.insert(text.clone(), table.clone());
                table
            }
        };
        n_made += table.len();
        if n_made > most.made {
            return Err(too_many(text, texts.len(), vocab.n_tokens()));
        }
        tables.push(table);
    }
    let all: Arc<DryBreakers> = Arc::new(tables.iter().flat_map(|table| table.iter()).collect());
    *n_pairs += all.len();
    of_list.insert(texts, all.clone());
    Ok(all)
}

fn too_many(text: &[u8], n_texts: usize, n_tokens: usize) -> EncodeError {
    let why = format!("the {n_texts} breakers of this list are too many for {n_tokens} tokens");
    EncodeError { text: text.escape_ascii().to_string(), why }
}

fn tables_of(vocab: &Arc<dyn Vocab>) -> Arc<Mutex<Tables>> {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cache.retain(|(vocab, _)| vocab.strong_count() > 0);
    // A weak pointer keeps the address taken, so equal addresses are the same vocabulary.
    let address = |weak: &Weak<dyn Vocab>| weak.as_ptr().cast::<()>();
    let wanted = Arc::as_ptr(vocab).cast::<()>();
    match cache.iter().find(|(known, _)| std::ptr::eq(address(known), wanted)) {
        Some((_, tables)) => tables.clone(),
        None => {
            let tables = Arc::<Mutex<Tables>>::default();
            cache.push((Arc::downgrade(vocab), tables.clone()));
            tables
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts how often it is asked for a piece. Of three tokens, unless there are more that are all the same.
    #[derive(Debug, Default)]
    struct Counting(AtomicUsize, usize);

    impl Vocab for Counting {
        fn n_tokens(&self) -> usize {
            self.1.max(3)
        }

        fn piece(&self, id: u32) -> &[u8] {
            self.0.fetch_add(1, Ordering::Relaxed);
            if self.1 > 0 { b"ax" } else { [b"a\n".as_slice(), b"b", b"c"][id as usize] }
        }

        fn is_eog(&self, _: u32) -> bool {
            false
        }

        fn eot(&self) -> Option<u32> {
            None
        }

        fn eos(&self) -> Option<u32> {
            None
        }

        fn encode(&self, text: &[u8]) -> Result<Vec<u32>, EncodeError> {
            Ok(text.iter().map(|&byte| byte.into()).collect())
        }
    }

    #[test]
    fn a_text_is_searched_once_for_a_vocabulary() {
        let counting = Arc::new(Counting::default());
        let vocab: Arc<dyn Vocab> = counting.clone();
        let first = dry_breakers(&vocab, &["\n", "b"]).unwrap();
        // Each piece once for the index, and once for the text that it may hold.
        assert_eq!((first.len(), counting.0.load(Ordering::Relaxed)), (2, 5));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let vocab = vocab.clone();
                std::thread::spawn(move || dry_breakers(&vocab, &["\n", "b"]).unwrap())
            })
            .collect();
        for thread in threads {
            assert!(Arc::ptr_eq(&thread.join().unwrap(), &first));
        }
        assert!(Arc::ptr_eq(&dry_breakers(&vocab, &["b", "\n", "b"]).unwrap(), &first), "in another order");
        dry_breakers(&vocab, &["b", "c"]).unwrap();
        assert_eq!(counting.0.load(Ordering::Relaxed), 6, "only c is new");
    }

    #[test]
    fn another_vocabulary_has_its_own() {
        let (one, other): (Arc<dyn Vocab>, Arc<dyn Vocab>) =
            (Arc::new(Counting::default()), Arc::new(Counting::default()));
        let (a, b) = (dry_breakers(&one, &["b"]).unwrap(), dry_breakers(&other, &["b"]).unwrap());
        assert!(!Arc::ptr_eq(&a, &b) && a == b);
    }

    /// 100 tokens end in the head of each of 41 texts: 4,100 pairs.
    #[test]
    fn lists_that_would_take_minutes_are_refused() {
        let vocab: Arc<dyn Vocab> = Arc::new(Counting(AtomicUsize::new(0), 100));
        let texts: Vec<String> = (0..41).map(|i| format!("x{i:04}")).collect();
        let up_to = |made, texts: &[String]| breakers_up_to(Most { searched: MAX_SEARCHED, made }, &vocab, texts);
        let error = up_to(4099, &texts).unwrap_err().to_string();
        assert!(error.ends_with("the 41 breakers of this list are too many for 100 tokens"), "{error}");
        assert_eq!(up_to(4000, &texts[..40]).unwrap().len(), 4000);
        let unbounded = dry_breakers_unbounded(&vocab, &texts).unwrap();
        assert_eq!(unbounded.len(), 4100);
        // What was made without a bound is there for everyone.
        assert!(Arc::ptr_eq(&dry_breakers(&vocab, &texts).unwrap(), &unbounded));
    }

    /// 2^22 pairs are the most: 100,000 tokens and 42 texts make 4,200,000.
    #[test]
    fn a_list_is_bounded_where_nothing_else_is_said() {
        let vocab: Arc<dyn Vocab> = Arc::new(Counting(AtomicUsize::new(0), 100_000));
        let texts: Vec<String> = (0..42).map(|i| format!("x{i:04}")).collect();
        let error = dry_breakers(&vocab, &texts).unwrap_err().to_string();
        assert!(error.ends_with("the 42 breakers of this list are too many for 100000 tokens"), "{error}");
    }
}
