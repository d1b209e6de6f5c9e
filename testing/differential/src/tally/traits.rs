//! What is rare in a case, by name: the counts show that the generator draws it.

use crate::case::Case;
use crate::step::{Step, leaves};

/// How many there are.
pub const N: usize = 19;

/// What a case has of it.
pub fn of(case: &Case) -> impl Iterator<Item = &'static str> {
    let steps = leaves(&case.steps);
    let any = |is: &dyn Fn(&Step) -> bool| steps.iter().any(|step| is(step));
    let windows = || steps.iter().filter_map(|step| step.window());
    let n_accepted = case.prompt.len();
    let breakers =
        |is: &dyn Fn(&[Vec<u32>]) -> bool| any(&|step| matches!(step, Step::Dry { breakers, .. } if is(breakers)));
    let floats = |is: &dyn Fn(&str, f32) -> bool| {
        any(&|step| step.clone().floats().into_iter().any(|x| x.is_finite() && is(step.name(), *x)))
    };
    let repeats_ids = case.start.as_ref().is_some_and(|start| {
        let mut ids = start.ids.clone();
        ids.sort_unstable();
        ids.windows(2).any(|pair| pair[0] == pair[1])
    });
    let traits: [(&str, bool); N] = [
        ("a seed from 2^31 on", case.seed > i32::MAX as u32),
        ("steps with seeds of their own", case.seeds.is_some()),
        ("a window of more than 65,536", windows().any(|window| window > 1 << 16)),
        (
            "a window of more than 700 that is full",
            windows().any(|window| window > 700 && n_accepted >= window as usize),
        ),
        ("a history of more than 700 tokens", n_accepted > 700),
        ("infill of the larger vocabulary", case.vocab == Some(1) && any(&|step| *step == Step::Infill)),
        ("breakers that are texts", any(&|step| matches!(step, Step::DryTexts { .. }))),
        (
            "an empty text as a breaker",
            any(&|step| matches!(step, Step::DryTexts { texts, .. } if texts.iter().any(String::is_empty))),
        ),
        (
            "a text of more than 40 bytes as a breaker",
            any(&|step| matches!(step, Step::DryTexts { texts, .. } if texts.iter().any(|text| text.len() > 40))),
        ),
        ("more than 4 breakers", breakers(&|all| all.len() > 4)),
        ("a breaker of more than 4 tokens", breakers(&|all| all.iter().any(|breaker| breaker.len() > 4))),
        ("an empty breaker", breakers(&|all| all.iter().any(Vec::is_empty))),
        ("an id beyond the vocabulary", any(&|step| step.largest_id().is_some_and(|id| id as usize >= case.n_vocab))),
        ("the id -1", any(&|step| step.largest_id() == Some(u32::MAX))),
        (
            "mirostat told another size than the row's",
            case.told.is_some_and(|n| n != case.n_vocab) && any(&|step| step.name() == "mirostat"),
        ),
        ("a token twice among the candidates", repeats_ids),
        (
            "a repetition penalty below 0.5 or above 2",
            any(&|step| matches!(step, Step::Penalties { repeat, .. } if !(0.5..=2.0).contains(repeat))),
        ),
        ("a temperature above 3", floats(&|name, x| name == "temp" && x > 3.0)),
        ("a tau above 8", floats(&|name, x| name.starts_with("mirostat") && x > 8.0)),
    ];
    traits.into_iter().filter(|(_, has)| *has).map(|(name, _)| name)
}
