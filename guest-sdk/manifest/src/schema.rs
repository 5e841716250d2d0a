//! JSON Schema (draft 2020-12) of arguments and structured results.

mod cost;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// How many problems of one value are reported; the rest would only repeat them.
const MAX_REPORTED: usize = 10;

/// How many values (members and items, at any depth) one checked value may hold.
const MAX_VALUES: usize = 50_000;

/// Up to how many visits (values × ways through the schema) problems are listed. Beyond, the answer
/// is only whether the value fits: listing costs memory for each visit, deciding does not.
const LISTING_LIMIT: u64 = 500_000;

/// How far a pattern may backtrack. Authors write the patterns, callers choose the values: without
/// a bound the two together could hold a thread for ever.
const BACKTRACK_LIMIT: usize = 10_000;

/// A schema ready to check values.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    /// Ways through it; see [`cost::ways`].
    ways: u64,
}

impl Schema {
    /// Compiles a schema whose root describes an object, as MCP requires of both schemas of a tool.
    ///
    /// References to other documents are refused: nothing is ever fetched.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        match schema {
            Value::Object(root) if root.get("type") == Some(&Value::from("object")) => {}
            Value::Object(_) => {
                return Err("the root of the schema must have \"type\": \"object\"".to_owned());
            }
            _ => return Err("a JSON Schema object is expected".to_owned()),
        }

        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
            .offline()
            .build(schema)
            .map(|validator| Self { validator, ways: cost::ways(schema) })
            .map_err(|error| format!("not a valid JSON Schema: {error}"))
    }

    /// Returns every violation as `path: what is wrong`, without the offending value itself.
    /// The path is a JSON Pointer (RFC 6901); the root is `/`.
    ///
    /// Time and memory are bounded, whatever schema and value are: a value with too many parts is
    /// refused, and where listing the problems could go on and on there is one line for all of them.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        let Some(values) = cost::values(value, MAX_VALUES) else {
            return vec![format!("/: has more than {MAX_VALUES} values in it, the most that are checked")];
        };
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        if self.ways.saturating_mul(values as u64) > LISTING_LIMIT {
            return vec!["/: does not match the schema, which is too intricate to say where".to_owned()];
        }
        self.validator.iter_errors(value).take(MAX_REPORTED).map(|error| violation(&error, value)).collect()
    }
}

fn violation(error: &ValidationError<'_>, value: &Value) -> String {
    let path = error.instance_path().to_string();
    let shown = if path.is_empty() { "/" } else { &path };
    match surplus(error, value.pointer(&path)) {
        Some(names) => format!("{shown}: no properties are allowed ({names})"),
        None => format!("{shown}: {}", error.masked()),
    }
}

/// Names what is too much where no property is declared at all; the validator then says only that
/// something is.
fn surplus(error: &ValidationError<'_>, at: Option<&Value>) -> Option<String> {
    let closed = matches!(error.kind(), ValidationErrorKind::FalseSchema)
        && error.schema_path().to_string().ends_with("/additionalProperties");
    let members = at.filter(|_| closed)?.as_object()?;
    Some(members.keys().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", "))
}

/// Builds what the first [`Schema::compile`] of a process would have to build: the rules of JSON Schema
/// itself, which takes milliseconds. A server does it before its first call comes.
pub fn prepare() {
    let _ = Schema::compile(&serde_json::json!({ "type": "object" }));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Schema;

    fn check(schema: &Value, value: &Value) -> Vec<String> {
        Schema::compile(schema).expect("the schema is valid").violations(value)
    }

    #[test]
    fn every_violation_is_reported_with_its_path_and_without_its_value() {
        let schema = json!({
            "type": "object",
            "properties": { "count": { "type": "integer" }, "tags": { "type": "array", "items": { "type": "string" } } },
            "required": ["name"],
        });

        let found = check(&schema, &json!({ "count": "canary", "tags": ["a", 1] }));

        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|line| line.starts_with("/count: ")));
        assert!(found.iter().any(|line| line.starts_with("/tags/1: ")));
        assert!(found.iter().any(|line| line.starts_with("/: ") && line.contains("name")));
        assert!(!found.concat().contains("canary"));
    }

    #[test]
    fn a_property_that_is_not_allowed_is_named() {
        let none = json!({ "type": "object", "additionalProperties": false });
        let one = json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false });

        for schema in [none, one] {
            let found = check(&schema, &json!({ "surplus": "canary" }));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with("/: ") && found[0].contains("'surplus'"), "{found:?}");
            assert!(!found[0].contains("canary"), "{found:?}");
        }
    }

    #[test]
    fn a_root_that_is_no_object_is_refused() {
        assert!(Schema::compile(&json!({ "type": "string" })).is_err());
        assert!(Schema::compile(&json!(true)).is_err());
        assert!(Schema::compile(&json!({ "type": "object", "properties": 3 })).is_err());
    }

    #[test]
    fn nothing_is_fetched_for_a_reference() {
        let refused = Schema::compile(&json!({
            "type": "object",
            "properties": { "a": { "$ref": "https://evil.example/schema.json" } },
        }));

        assert!(refused.is_err());
    }

    #[test]
    fn a_pattern_that_backtracks_without_end_gives_up() {
        let schema = json!({ "type": "object", "properties": { "a": { "pattern": "^(a+)+(?!b)$" } } });

        let found = check(&schema, &json!({ "a": format!("{}b", "a".repeat(4000)) }));

        assert!(!found.is_empty());
    }

    #[test]
    fn a_value_with_too_many_parts_is_refused_before_it_is_checked() {
        let schema =
            json!({ "type": "object", "properties": { "tags": { "items": { "type": "integer" } } } });

        let found = check(&schema, &json!({ "tags": vec![""; 1_000_000] }));

        assert_eq!(found.len(), 1);
        assert!(found[0].contains("50000"), "{found:?}");
    }

    #[test]
    fn problems_that_would_multiply_without_end_are_one_line() {
        let way = |name: &str| json!({ "required": [name], "properties": { "a": { "$ref": "#/$defs/n" } } });
        let schema = json!({
            "type": "object",
            "properties": { "a": { "$ref": "#/$defs/n" } },
            "$defs": { "n": { "type": "object", "anyOf": [way("x"), way("y")] } },
        });
        let deep = (0..60).fold(json!({}), |inner, _| json!({ "a": inner }));

        let found = check(&schema, &deep);

        assert_eq!(found, ["/: does not match the schema, which is too intricate to say where"]);
    }
}
