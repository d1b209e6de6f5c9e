//! What every sampler does that comes out of a file: it draws from rows of every kind, or refuses with a text; whatever it draws
//! is a candidate; copies and restored snapshots draw the same; what is taken back was never there.

use sampler_chain::{NonFinite, SampleError, Sampler, post_sampling_probs};

/// Draws from a few rows as wide as the vocabulary, or 9 wide where nobody knows it. `n_top`: of how many the probabilities are told.
pub fn draw_some(mut sampler: Sampler, n_top: usize) {
    let n_vocab = sampler.ctx().n_vocab().unwrap_or(9);
    // A vocabulary may be of any size that a file says: rows are made for small ones.
    if n_vocab > 4096 {
        return crate::too_large();
    }
    for token in [0, 1, 2, 1, 2, 1] {
        let accepted = sampler.accept_prompt(token);
        assert_eq!(accepted.is_ok(), (token as usize) < n_vocab || sampler.ctx().n_vocab().is_none());
    }
    for policy in [NonFinite::Refuse, NonFinite::LikeLlamaCpp, NonFinite::FiniteArgmax] {
        let mut sampler = sampler.clone().with_non_finite(policy);
        for row in rows(n_vocab) {
            draw_one(&mut sampler, &row, n_top);
        }
        check_engine(&mut sampler);
    }
}

fn rows(n: usize) -> [Vec<f32>; 4] {
    let x = |i: usize| (i as u32).wrapping_mul(2_654_435_761) >> 8;
    [
        (0..n).map(|i| x(i) as f32 / 1_048_576.0 - 8.0).collect(),
        (0..n).map(|i| (x(i) % 3) as f32).collect(),
        (0..n).map(|i| if i % 2 == 0 { f32::NEG_INFINITY } else { x(i) as f32 * 1e30 }).collect(),
        (0..n).map(|i| [f32::NAN, f32::INFINITY, -0.0, f32::MAX, f32::MIN_POSITIVE, 1.0][i % 6]).collect(),
    ]
}

fn draw_one(sampler: &mut Sampler, row: &[f32], n_top: usize) {
    let mut copy = sampler.clone();
    let token = match sampler.draw(row) {
        Ok(mut draw) => {
            let (token, selected, place) = (draw.token(), draw.selected(), draw.selected_index());
            assert!(selected.id == token && (token as usize) < row.len(), "{selected:?}, token {token}");
            let cands = draw.candidates();
            assert!(cands.get(place).is_some_and(|cand| cand.id == token), "candidate {place} is not token {token}");
            let mut ids: Vec<u32> = cands.iter().map(|cand| cand.id).collect();
            ids.sort_unstable();
            assert!(ids.windows(2).all(|two| two[0] < two[1]), "a token is there twice: {ids:?}");
            assert!(post_sampling_probs(&mut draw, n_top).top.len() <= n_top.min(row.len()));
            Ok(token)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Err(error)
        }
    };
    // NaN is not equal to itself, its text is.
    let text = |drawn: &Result<u32, SampleError>| format!("{drawn:?}");
    assert_eq!(text(&copy.sample(row)), text(&token), "a copy draws something else");
    if let Ok(token) = token {
        assert_eq!(sampler.accept(token), Ok(()));
    }
}

/// Snapshots, rewinding and resetting.
fn check_engine(sampler: &mut Sampler) {
    let row: Vec<f32> = (0..sampler.ctx().n_vocab().unwrap_or(9)).map(|i| (i % 7) as f32).collect();
    // Undoes a draw that gave no token and may have moved a generator.
    sampler.rewind(0).expect("the state after the last token is kept");
    let now = sampler.snapshot();
    let json = serde_json::to_string(&now).expect("a snapshot is JSON");
    let read = serde_json::from_str(&json).expect("a snapshot that was written can be read");
    assert!(now == read, "a snapshot changes on its way through JSON: {json}");
    let mut other = sampler.clone();
    other.reset();
    other.restore(&read).expect("a snapshot of this chain can be restored");
    assert_eq!(serde_json::to_string(&other.snapshot()).expect("a snapshot is JSON"), json);
    let (drawn, drawn_there) = (sampler.sample(&row), other.sample(&row));
    assert_eq!(format!("{drawn:?}"), format!("{drawn_there:?}"), "a restored sampler draws something else");
    if let Ok(token) = drawn {
        sampler.accept(token).expect("a drawn token can be accepted");
        sampler.rewind(1).expect("the last token can be taken back");
        assert!(sampler.snapshot() == now, "what was taken back is still there");
    }
    let wrong = sampler.accept(u32::MAX).expect_err("no vocabulary has this token");
    crate::named(&wrong, "4294967295");
}
