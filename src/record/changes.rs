//! What differs between two chains, field by field.

use std::path::Path;

use sampler_steps::SamplerStep;
use serde::Serialize;
use serde_json::Value;

use super::header::Parameters;
use crate::chain_file::{ChainFile, Format};
use crate::oracle::same;

/// A field, or a whole step, that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterChange {
    /// Where: `2 (top_k)`; `2.1 (top_k)` for the first step of the chain that is the second. None for what no step has.
    pub step: Option<String>,
    /// Which field. None where only one of the chains has the step.
    pub field: Option<String>,
    /// A's value, or A's whole step; null where it has none.
    pub a: Value,
    /// B's.
    pub b: Value,
}

impl ParameterChange {
    /// In words, with names for A and B: `step 2 (top_k): k is 40 in A and 20 in B`.
    pub fn describe(&self, a: &str, b: &str) -> String {
        match (&self.step, &self.field) {
            (Some(step), Some(field)) => {
                format!("step {step}: {field} is {} in {a} and {} in {b}", value(&self.a), value(&self.b))
            }
            (Some(step), None) => format!("step {step} is only in {}", if self.b.is_null() { a } else { b }),
            (None, Some(field)) if field == "dry_breakers" => {
                format!("the breakers of DRY are other tokens in {a} than in {b}")
            }
            (None, field) => {
                let field = field.as_deref().unwrap_or("chain");
                format!("{field} is {} in {a} and {} in {b}", value(&self.a), value(&self.b))
            }
        }
    }
}

/// A value as it stands in a chain file. Long ones are cut.
fn value(value: &Value) -> String {
    let text = if value.is_null() { "absent".to_string() } else { value.to_string() };
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

impl Parameters {
    /// What differs from others, in the order of the steps. A field that is absent in one and has its default in the other
    /// does not, nor do the fields of a step that is off in both.
    pub fn changes(&self, other: &Self) -> Vec<ParameterChange> {
        changes(self, other)
    }
}

fn changes(a: &Parameters, b: &Parameters) -> Vec<ParameterChange> {
    let mut changes = Vec::new();
    if a == b {
        return changes;
    }
    let (a_steps, b_steps) = (whole(a), whole(b));
    steps(&a_steps, &b_steps, "", &mut changes);
    let whole = |field: &str, a: Value, b: Value| ParameterChange { step: None, field: Some(field.into()), a, b };
    // Where a DRY step itself differs, that says it.
    let is_told = |change: &ParameterChange| change.step.as_ref().is_some_and(|step| step.ends_with("(dry)"));
    if a.has_other_breakers(&b.dry_breakers) && !changes.iter().any(is_told) {
        let digests = |digests: &[u64]| digests.iter().copied().collect::<Value>();
        changes.push(whole("dry_breakers", digests(&a.dry_breakers), digests(&b.dry_breakers)));
    }
    if a.non_finite != b.non_finite {
        let value = |policy| serde_json::to_value(policy).unwrap_or_default();
        changes.push(whole("non_finite", value(a.non_finite), value(b.non_finite)));
    }
    // What is no chain at all still differs.
    if changes.is_empty() && a.steps().is_empty() && b.steps().is_empty() && !same(&a.chain, &b.chain) {
        changes.push(whole("chain", a.chain.clone(), b.chain.clone()));
    }
    changes
}

/// A step with every field, where this program knows it.
struct Step {
    value: Value,
    is_off: bool,
    inner: Vec<Step>,
}

fn whole(parameters: &Parameters) -> Vec<Step> {
    let read = ChainFile::parse(&parameters.chain.to_string(), Format::Json, Path::new("chain"));
    match read.ok().and_then(|file| file.chain.steps().iter().map(|step| known(step.as_ref())).collect()) {
        Some(steps) => steps,
        None => parameters.steps().iter().map(unknown).collect(),
    }
}

fn known(step: &dyn SamplerStep) -> Option<Step> {
    let inner = step.inner().iter().map(|step| known(step.as_ref())).collect::<Option<_>>()?;
    Some(Step { value: serde_json::to_value(step).ok()?, is_off: step.is_off(), inner })
}

fn unknown(step: &Value) -> Step {
    let inner = step.get("steps").and_then(Value::as_array).into_iter().flatten().map(unknown).collect();
    Step { value: step.clone(), is_off: false, inner }
}

fn type_of(step: &Step) -> &str {
    step.value.get("type").and_then(Value::as_str).unwrap_or("?")
}

/// Walks two lists of steps side by side.
fn steps(a: &[Step], b: &[Step], outer: &str, changes: &mut Vec<ParameterChange>) {
    let name = |i: usize, step: &Step| format!("{outer}{} ({})", i + 1, type_of(step));
    let only = |name: String, a: &Value, b: &Value| ParameterChange {
        step: Some(name),
        field: None,
        a: a.clone(),
        b: b.clone(),
    };
    let (mut i, mut j) = (0, 0);
    for (pair_i, pair_j) in pairs(a, b).into_iter().chain([(a.len(), b.len())]) {
        changes.extend((i..pair_i).map(|i| only(name(i, &a[i]), &a[i].value, &Value::Null)));
        changes.extend((j..pair_j).map(|j| only(name(j, &b[j]), &Value::Null, &b[j].value)));
        if let (Some(a), Some(b)) = (a.get(pair_i), b.get(pair_j)) {
            fields(a, b, &name(pair_i, a), &format!("{outer}{}.", pair_i + 1), changes);
        }
        (i, j) = (pair_i + 1, pair_j + 1);
    }
}

fn fields(a: &Step, b: &Step, name: &str, outer: &str, changes: &mut Vec<ParameterChange>) {
    if a.is_off && b.is_off {
        return;
    }
    steps(&a.inner, &b.inner, outer, changes);
    let (Value::Object(a), Value::Object(b)) = (&a.value, &b.value) else { return };
    let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
    for key in keys.filter(|key| *key != "steps") {
        let [a, b] = [a, b].map(|step| step.get(key).cloned().unwrap_or_default());
        if !same(&a, &b) {
            changes.push(ParameterChange { step: Some(name.into()), field: Some(key.clone()), a, b });
        }
    }
}

/// Which steps of two lists belong together: the most of the same type, in order.
fn pairs(a: &[Step], b: &[Step]) -> Vec<(usize, usize)> {
    // A list of this length is no chain, and the table would be large.
    if a.len().saturating_mul(b.len()) > 1 << 20 {
        return (0..a.len().min(b.len())).filter(|&i| type_of(&a[i]) == type_of(&b[i])).map(|i| (i, i)).collect();
    }
    // longest[i][j]: how many pairs a[i..] and b[j..] make.
    let mut longest = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i][j] = if type_of(&a[i]) == type_of(&b[j]) {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if type_of(&a[i]) == type_of(&b[j]) {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[i + 1][j] >= longest[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::NonFinite;

    fn of(steps: Value) -> Parameters {
        let chain = json!({"version": 1, "steps": steps});
        Parameters { chain, dry_breakers: Vec::new(), non_finite: NonFinite::Refuse }
    }

    fn told(a: Value, b: Value) -> Vec<String> {
        changes(&of(a), &of(b)).iter().map(|change| change.describe("A", "B")).collect()
    }

    #[test]
    fn a_field_is_told_with_its_step() {
        let a = json!([{"type": "top_k", "k": 40}, {"type": "temperature", "temp": 0.8}, {"type": "dist"}]);
        let b = json!([{"type": "top_k", "k": 20}, {"type": "temperature", "temp": 0.7}, {"type": "dist"}]);
        assert_eq!(
            told(a.clone(), b),
            ["step 1 (top_k): k is 40 in A and 20 in B", "step 2 (temperature): temp is 0.8 in A and 0.7 in B"]
        );
        assert!(told(a.clone(), a).is_empty());
    }

    #[test]
    fn a_default_may_stand_there_or_not() {
        let a = json!([{"type": "min_p", "p": 0.1}, {"type": "temperature", "temp": 1}, {"type": "dist"}]);
        let b =
            json!([{"type": "min_p", "p": 0.1, "min_keep": 0}, {"type": "temperature", "temp": 1.0}, {"type": "dist"}]);
        assert!(told(a.clone(), b).is_empty());
        let c =
            json!([{"type": "min_p", "p": 0.1, "min_keep": 3}, {"type": "temperature", "temp": 1.0}, {"type": "dist"}]);
        assert_eq!(told(a, c), ["step 1 (min_p): min_keep is absent in A and 3 in B"]);
    }

    /// Breakers that no step looks at, as a run with a vocabulary and one without have them, are no difference.
    #[test]
    fn a_step_that_is_off_in_both_is_passed_over() {
        let dry = |multiplier: f32, breakers: Value| json!([{"type": "dry", "multiplier": multiplier, "breaker_tokens": breakers}, {"type": "dist"}]);
        assert!(told(dry(0.0, json!([])), dry(0.0, json!([[7]]))).is_empty());
        assert_eq!(
            told(dry(0.0, json!([])), dry(0.5, json!([]))),
            ["step 1 (dry): multiplier is 0.0 in A and 0.5 in B"]
        );
    }

    #[test]
    fn a_step_that_only_one_has_is_told() {
        let a = json!([{"type": "top_k", "k": 1}, {"type": "min_p", "p": 0.1}, {"type": "dist"}]);
        let b = json!([{"type": "min_p", "p": 0.2}, {"type": "xtc"}, {"type": "dist"}]);
        assert_eq!(
            told(a, b),
            ["step 1 (top_k) is only in A", "step 2 (min_p): p is 0.1 in A and 0.2 in B", "step 2 (xtc) is only in B"]
        );
    }

    #[test]
    fn chains_inside_chains_are_walked() {
        let inner = |k: i32| json!([{"type": "chain", "steps": [{"type": "top_k", "k": k}]}, {"type": "dist"}]);
        assert_eq!(told(inner(5), inner(6)), ["step 1.1 (top_k): k is 5 in A and 6 in B"]);
    }

    #[test]
    fn what_no_step_says_is_told_too() {
        let a = Parameters { dry_breakers: vec![5], ..of(json!([{"type": "dist"}])) };
        let b = Parameters { dry_breakers: vec![7], non_finite: NonFinite::LikeLlamaCpp, ..a.clone() };
        let told: Vec<String> = changes(&a, &b).iter().map(|change| change.describe("A", "B")).collect();
        assert_eq!(
            told,
            [
                "the breakers of DRY are other tokens in A than in B",
                "non_finite is \"refuse\" in A and \"like_llama_cpp\" in B"
            ]
        );
    }

    #[test]
    fn what_is_no_chain_still_differs() {
        let of = |chain| Parameters { chain, dry_breakers: Vec::new(), non_finite: NonFinite::Refuse };
        let found = changes(&of(json!("x".repeat(90))), &of(json!({"steps": 5})));
        let cut = found[0].describe("A", "B");
        assert!(cut.starts_with("chain is \"xxx") && cut.ends_with("xxx… in A and {\"steps\":5} in B"), "{cut}");
        let (a, b) = (json!([{"type": "unheard_of", "x": 1}, 5]), json!([{"type": "unheard_of"}]));
        assert_eq!(told(a, b), ["step 1 (unheard_of): x is 1 in A and absent in B", "step 2 (?) is only in A"]);
    }
}
