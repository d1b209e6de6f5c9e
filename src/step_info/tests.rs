use serde_json::json;

use super::doc::Doc;
use super::{StepInfo, kind};

const COMMENT: &str = "Keeps the first\n`n` candidates, of 1.0 or more: `llama_sampler_init_first`, with `n`. The\nrest goes.\n\nMore \
     of it.\n\n# Order and flags\nCuts. Sorts\nnothing.\n\n# Chain file\n```json\n{\"type\": \"first\",\n\"n\": 1}\n```";

#[test]
fn a_doc_comment_is_taken_apart() {
    let doc = Doc::parse(COMMENT);
    assert_eq!(doc.summary().unwrap(), "Keeps the first `n` candidates, of 1.0 or more");
    assert_eq!(doc.counterpart().unwrap(), "`llama_sampler_init_first`, with `n`");
    assert!(doc.section("").unwrap().ends_with(" The rest goes.\n\nMore of it."));
    assert_eq!(doc.section("Order and flags"), Some("Cuts. Sorts nothing."));
    assert_eq!(doc.section("Draws"), None);
    assert_eq!(doc.example().unwrap(), json!({"type": "first", "n": 1}));
}

#[test]
fn a_doc_comment_may_say_nothing() {
    let doc = Doc::parse("");
    assert_eq!((doc.summary(), doc.counterpart(), doc.section(""), doc.example()), (None, None, None, None));
    let doc = Doc::parse("Cuts.\n\n# Chain file\n```json\n{\n```");
    assert_eq!((doc.summary().as_deref(), doc.example()), (Some("Cuts"), None));
}

#[test]
fn types_are_put_into_words() {
    for (schema, words) in [
        (json!({"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX}), "integer"),
        (json!({"type": "integer", "minimum": -1}), "integer from -1"),
        (json!({"type": "number", "exclusiveMinimum": 0}), "finite number above 0"),
        (json!({"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}), "number"),
        (json!({"enum": ["a", "b"]}), "\"a\" or \"b\""),
        (json!({"oneOf": [{"const": "a", "description": "A."}, {"const": "b"}]}), "\"a\" or \"b\""),
        (json!({"type": ["array", "null"], "items": {"type": "string"}}), "list of texts"),
        (json!({"type": "array", "items": {"type": "array", "items": {"$ref": "#/a/step"}}}), "list of lists of steps"),
        (json!({"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "object"}]}), "[true or false, table]"),
        (json!({"type": "array"}), "list"),
        (json!(true), "any value"),
        (json!({"type": 5}), "any value"),
    ] {
        assert_eq!(kind::in_words(&schema, None), words, "{schema}");
    }
    assert_eq!(kind::in_words(&json!(true), Some(&json!(5))), "number");
}

#[test]
fn a_step_that_is_not_there_is_told_with_the_nearest() {
    let error = StepInfo::of("top-k").unwrap_err();
    assert_eq!(error.nearest.as_deref(), Some("top_k"));
    assert!(
        error.to_string().starts_with("there is no step top-k (did you mean top_k?); there are adaptive_p, chain, ")
    );
}
