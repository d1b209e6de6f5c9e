//! What the seeded draw by place is for: the same tokens along a draft, in a text that is taken up in its middle, and beside steps that
//! draw.

use std::path::Path;

use sampler_chain::{ChainFile, Ctx, Format, Sampler};

const N_VOCAB: usize = 60;

fn sampler(steps: &str, prompt: &[u32]) -> Sampler {
    let chain = format!(r#"{{"version":1,"seed":5,"steps":[{steps}{{"type":"gumbel"}}]}}"#);
    let file = ChainFile::parse(&chain, Format::Json, Path::new("chain")).unwrap();
    let mut sampler = file.into_sampler(|seed| Ctx::new(seed).with_n_vocab(N_VOCAB)).unwrap();
    sampler.accept_prompt_all(prompt).unwrap();
    sampler
}

/// The row that a model would give at a place of the text.
fn row(place: usize) -> Vec<f32> {
    (0..N_VOCAB).map(|i| ((i * 31 + place * 17) % 41) as f32 / 9.0).collect()
}

/// Draws one by one to the end of a text of 40 tokens.
fn text(steps: &str, prompt: &[u32]) -> Vec<u32> {
    let (mut sampler, mut text) = (sampler(steps, prompt), prompt.to_vec());
    while text.len() < 40 {
        let token = sampler.sample(&row(text.len())).unwrap();
        sampler.accept(token).unwrap();
        text.push(token);
    }
    text
}

#[test]
fn a_text_goes_on_wherever_it_is_taken_up() {
    let whole = text("", &[1, 2, 3]);
    for taken_up in 3..40 {
        assert_eq!(text("", &whole[..taken_up]), whole, "from {taken_up} on");
    }
}

#[test]
fn a_draft_draws_what_is_drawn_one_by_one() {
    let whole = text("", &[1, 2, 3]);
    for n_right in 0..6 {
        let mut draft = whole[3..9].to_vec();
        draft[n_right] = (draft[n_right] + 1) % N_VOCAB as u32;
        let rows: Vec<Vec<f32>> = (3..10).map(row).collect();
        let drawn = sampler("", &[1, 2, 3]).sample_and_accept(&draft, rows.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(drawn, whole[3..=3 + n_right]);
    }
}

/// A step that draws from its generator takes nothing from this one, and where it drops nothing, nothing changes.
#[test]
fn other_draws_do_not_matter() {
    let beside = r#"{"type":"top_k","k":60},{"type":"xtc","probability":0.5,"threshold":0.4},"#;
    assert_eq!(text(beside, &[1, 2, 3]), text("", &[1, 2, 3]));
}
