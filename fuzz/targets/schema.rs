//! JSON Schema: untrusted schemas of authors, and untrusted values of models.

use jsonschema::Draft;
use kitbag_manifest::schema::{Budget, Schema};
use serde_json::Value;

/// Appended to every string of a value; does not occur in the schema.
const CANARY: &str = "canary-8c1f";

/// Steps of a check that is compared with one without a budget.
const STEPS: u64 = 20_000;

/// Input: a line with a schema, followed by a value.
///
/// Checks that compiling and checking terminate, and that violations are few, have a path and do not repeat
/// strings of the value. A check within its budget has the same result as one without a budget.
pub fn schema(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (schema, value) = text.split_once('\n').unwrap_or((text, "{}"));
    let (Ok(declared), Ok(mut value)) = (serde_json::from_str(schema), serde_json::from_str(value)) else {
        return;
    };
    let Ok(compiled) = Schema::compile(&declared) else { return };

    let found = compiled.violations(&value);
    check_form(&found);
    assert_eq!(found, compiled.violations(&value), "the same value has other problems the second time");

    // Patterns are left out: a match is given up earlier than in the validator without a budget.
    if !schema.contains("attern")
        && let Ok(found) = compiled.violations_within(&value, &Budget::prompt(STEPS))
    {
        let plain = jsonschema::options().with_draft(Draft::Draft202012).offline().build(&declared);
        let plain = plain.expect("what compiles to be counted compiles");
        assert_eq!(found.is_empty(), plain.is_valid(&value), "{value} has {found:?} by {declared}");
    }
    if !text.contains(CANARY) {
        mark(&mut value);
        let found = compiled.violations(&value);
        check_form(&found);
        assert!(!found.concat().contains(CANARY), "{found:?} repeats what is in {value}");
    }
}

fn check_form(found: &[String]) {
    assert!(found.len() <= 10, "{} problems", found.len());
    for line in found {
        assert!(line.starts_with('/') && line.contains(": "), "{line:?} has no place");
    }
}

fn mark(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(CANARY),
        Value::Array(items) => items.iter_mut().for_each(mark),
        Value::Object(members) => members.values_mut().for_each(mark),
        _ => {}
    }
}
