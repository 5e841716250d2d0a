//! Constraints of a schema in words, shown beside the field.

use serde_json::{Map, Value};

use super::label;
use crate::ui::text::count;

/// Maximum bytes shown of a pattern, an example or a default.
const MAX_SHOWN_BYTES: usize = 200;

/// Constraints of a text.
pub(super) fn of_text(keywords: &Map<String, Value>) -> Vec<String> {
    let mut rules: Vec<String> =
        range(keywords, ["minLength", "maxLength"], "character").into_iter().collect();
    match keywords.get("format").and_then(Value::as_str) {
        Some("date-time") => rules.push("date and time, such as 2026-11-03T08:15:00Z".to_owned()),
        Some("date" | "email" | "uri" | "url") | None => {}
        Some(format) => rules.extend(short(format).map(|format| format!("format: {format}"))),
    }
    let pattern = keywords.get("pattern").and_then(Value::as_str);
    rules.extend(pattern.and_then(short).map(|pattern| format!("matches {pattern}")));
    rules
}

/// Constraints of a number.
pub(super) fn of_number(keywords: &Map<String, Value>) -> Vec<String> {
    let number = |name: &str| keywords.get(name).filter(|value| value.is_number());
    let mut rules = Vec::new();
    match (number("minimum"), number("maximum")) {
        (Some(minimum), Some(maximum)) => rules.push(format!("{minimum} to {maximum}")),
        (Some(minimum), None) => rules.push(format!("at least {minimum}")),
        (None, Some(maximum)) => rules.push(format!("at most {maximum}")),
        (None, None) => {}
    }
    for (name, words) in [
        ("exclusiveMinimum", "more than"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "a multiple of"),
    ] {
        rules.extend(number(name).map(|bound| format!("{words} {bound}")));
    }
    rules
}

/// Constraints of a list.
pub(super) fn of_list(keywords: &Map<String, Value>) -> Vec<String> {
    let mut rules = vec!["one a line".to_owned()];
    rules.extend(range(keywords, ["minItems", "maxItems"], "item"));
    if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
        rules.push("none twice".to_owned());
    }
    rules
}

/// Default value and an example.
pub(super) fn of_any(keywords: &Map<String, Value>, default: Option<&Value>) -> Vec<String> {
    let default =
        default.and_then(|default| short(&label(default))).map(|default| format!("default: {default}"));
    let example = keywords.get("examples").and_then(|examples| scalar(examples.get(0)?));
    default.into_iter().chain(example.map(|example| format!("example: {example}"))).collect()
}

fn range(keywords: &Map<String, Value>, [least, most]: [&str; 2], noun: &str) -> Option<String> {
    let number = |name: &str| usize::try_from(keywords.get(name)?.as_u64()?).ok();
    match (number(least).filter(|least| *least > 0), number(most)) {
        (Some(least), Some(most)) if least == most => Some(format!("exactly {}", count(least, noun))),
        (Some(least), Some(most)) => Some(format!("{least} to {}", count(most, noun))),
        (Some(least), None) => Some(format!("at least {}", count(least, noun))),
        (None, Some(most)) => Some(format!("at most {}", count(most, noun))),
        (None, None) => None,
    }
}

/// Formats a text, number or boolean; `None` for others.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => short(text),
        Value::Array(_) | Value::Object(_) => None,
        other => Some(other.to_string()),
    }
}

fn short(text: &str) -> Option<String> {
    (!text.is_empty() && text.len() <= MAX_SHOWN_BYTES).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keywords(schema: &Value) -> Map<String, Value> {
        schema.as_object().expect("an object").clone()
    }

    #[test]
    fn bounds_are_said_in_words() {
        for (schema, expected) in [
            (json!({ "minLength": 1, "maxLength": 20 }), vec!["1 to 20 characters"]),
            (json!({ "minLength": 0, "maxLength": 1 }), vec!["at most 1 character"]),
            (
                json!({ "minLength": 3, "maxLength": 3, "pattern": "^a" }),
                vec!["exactly 3 characters", "matches ^a"],
            ),
            (json!({ "pattern": "a".repeat(MAX_SHOWN_BYTES + 1), "format": "date" }), vec![]),
            (json!({ "format": "ipv4" }), vec!["format: ipv4"]),
        ] {
            assert_eq!(of_text(&keywords(&schema)), expected, "{schema}");
        }
        for (schema, expected) in [
            (json!({ "minimum": 1, "maximum": 5 }), vec!["1 to 5"]),
            (json!({ "exclusiveMinimum": 0, "multipleOf": 5 }), vec!["more than 0", "a multiple of 5"]),
            (json!({ "maximum": 0.5 }), vec!["at most 0.5"]),
            (json!({ "minimum": "1" }), vec![]),
        ] {
            assert_eq!(of_number(&keywords(&schema)), expected, "{schema}");
        }
        let list = keywords(&json!({ "minItems": 2, "uniqueItems": true }));
        assert_eq!(of_list(&list), ["one a line", "at least 2 items", "none twice"]);
        let any = keywords(&json!({ "examples": ["a", "b"] }));
        assert_eq!(of_any(&any, Some(&json!(7))), ["default: 7", "example: a"]);
    }
}
