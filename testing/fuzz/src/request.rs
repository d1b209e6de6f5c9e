//! Request bodies: what is accepted is reported as settings that are accepted again, and draws; refusals name the field.

use sampler_chain::{DEFAULT_SEED, Params, RequestError, Sampler, StepName, token_probs};
use serde_json::{Map, Value, json};

use crate::draws::draw_some;
use crate::named;
use crate::toy_vocab::toy;

pub fn entry(data: &[u8]) {
    let Ok(body) = serde_json::from_slice::<Value>(data) else { return };
    for base in [Params::default(), Params { vocab: Some(toy()), ..Params::default() }] {
        match Params::from_request(&body, &base, None) {
            Ok((params, report)) => {
                report.notes.iter().for_each(|note| named(&note, &note.field));
                check_settings(&params, &base);
                check_sampler(params);
            }
            Err(error @ RequestError::Field { .. }) => named(&error, "Field '"),
            Err(error) => named(&error, "a request body is"),
        }
    }
}

/// Settings, sent as a request, give the same settings.
fn check_settings(params: &Params, base: &Params) {
    let settings = params.to_request();
    let mut body: Map<String, Value> = settings.as_object().expect("settings are an object").clone();
    // The form of biases that requests take; infinities, which settings show as null, are left out.
    body.insert("logit_bias".into(), params.logit_bias.iter().map(|&(id, bias)| json!([id, bias])).collect());
    body.retain(|_, value| !value.is_null());
    // It has added its biases already.
    body.remove("ignore_eos");
    let (again, _) = Params::from_request(&body.clone().into(), base, None)
        .unwrap_or_else(|error| panic!("{error}: settings are refused: {settings}"));
    let again = again.to_request();
    for (name, value) in body.iter().filter(|(name, _)| *name != "logit_bias") {
        assert_eq!(again.get(name), Some(value), "{name} changes on its way through the settings");
    }
}

fn check_sampler(mut params: Params) {
    if params.seed == DEFAULT_SEED {
        params.seed = 1;
    }
    let n_top = usize::try_from(params.n_probs).unwrap_or_default();
    assert!(token_probs(&[1.0, f32::NAN, 3.0], n_top, 2).is_some_and(|probs| probs.top.len() <= 3));
    assert!(params.samplers.iter().all(|step| StepName::from_name(step.as_str()) == Some(*step)));
    match Sampler::new(params) {
        Ok(sampler) => draw_some(sampler, n_top),
        Err(error) => assert!(error.to_string().len() > 8, "{error:?}"),
    }
}
