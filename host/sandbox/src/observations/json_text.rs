//! Guest-supplied JSON text, made safe to be embedded in a larger document.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Maximum nesting of JSON; deeper JSON becomes a string. Common parsers fail at 128 levels, and entries are
/// nested some levels deep in their document.
const MAX_LEVELS: usize = 64;

/// Returns `text` as JSON on one line, or as a JSON string if it is not valid JSON.
pub fn json_or_string(text: &str) -> Box<RawValue> {
    // Parsed and serialised again: a parser that only skips values would accept some invalid JSON.
    match serde_json::from_str::<Value>(text) {
        Ok(value) if nests_at_most(MAX_LEVELS, &value) => {
            to_raw_value(&value).unwrap_or_else(|_| json_string(text))
        }
        _ => json_string(text),
    }
}

/// Returns `text` as a JSON string.
pub fn json_string(text: &str) -> Box<RawValue> {
    to_raw_value(text).expect("a string always serialises")
}

fn nests_at_most(levels: usize, value: &Value) -> bool {
    let Some(below) = levels.checked_sub(1) else { return !value.is_array() && !value.is_object() };
    match value {
        Value::Array(items) => items.iter().all(|item| nests_at_most(below, item)),
        Value::Object(members) => members.values().all(|member| nests_at_most(below, member)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_becomes_one_line_and_everything_else_a_string() {
        for (text, expected) in [
            ("{\n  \"a\": [1, 2]\n}", r#"{"a":[1,2]}"#),
            ("\"x\"", r#""x""#),
            ("null", "null"),
            ("", r#""""#),
            ("1 2", r#""1 2""#),
            ("1e999", r#""1e999""#),
            (r#""\ud800""#, r#""\"\\ud800\"""#),
            ("two\nlines", r#""two\nlines""#),
        ] {
            assert_eq!(json_or_string(text).get(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_nests_too_deep_for_other_parsers_is_a_string() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));

        assert_eq!(json_or_string(&nested(MAX_LEVELS)).get(), nested(MAX_LEVELS));
        for levels in [MAX_LEVELS + 1, 100_000] {
            assert!(json_or_string(&nested(levels)).get().starts_with('"'), "{levels} levels");
        }
    }
}
