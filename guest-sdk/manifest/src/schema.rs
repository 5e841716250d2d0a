//! JSON Schema (draft 2020-12) of arguments and structured results.
//!
//! Neither schemas, chosen by authors, nor values, chosen by callers, may block the server: a schema is
//! rejected if it is too costly (`cost`), and a check is aborted when its budget is used up (`meter`).

mod budget;
mod cost;
mod engine;
mod graph;
mod look_around;
mod meter;
mod metered;
mod pattern;
mod unwind;
mod violation;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonschema::{Draft, Validator};
use serde_json::Value;

pub use budget::{Budget, Exceeded, MAX_STEPS};
use metered::Metered;
pub(crate) use pattern::{MAX_NAME_PATTERNS_SIZE, PatternsSize};

use crate::json;
use crate::mismatch::MAX_REPORTED;

/// Maximum number of values (members and items, at any depth) in one checked value.
pub const MAX_VALUES: usize = 50_000;

/// Maximum number of steps for listing violations. Beyond that, only whether the value fits is reported:
/// listing takes memory at each step, deciding does not.
const MAX_LISTING_STEPS: u64 = 200_000;

/// A compiled schema.
pub struct Schema {
    validator: Validator<Metered>,
    patterns: PatternsSize,
}

/// Reason why a schema is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaError {
    /// The schema is not valid.
    Invalid(String),
    /// Compiling the schema, or checking values against it, would cost too much.
    TooCostly(String),
}

impl fmt::Display for SchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Invalid(message) | Self::TooCostly(message)) = self;
        out.write_str(message)
    }
}

impl std::error::Error for SchemaError {}

impl Schema {
    /// Compiles a schema whose root describes an object, as MCP requires for both schemas of a tool.
    ///
    /// References to other documents are refused, and nothing is ever fetched. The cost of compiling the
    /// schema, and of checking one value of an argument against it, is bounded before compilation starts.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let invalid = |message: &str| SchemaError::Invalid(message.to_owned());
        match schema {
            Value::Object(root) if root.get("type") == Some(&Value::from("object")) => {}
            Value::Object(_) => return Err(invalid("the root of the schema must have \"type\": \"object\"")),
            _ => return Err(invalid("a JSON Schema object is expected")),
        }
        let name_patterns = cost::admit(schema).map_err(SchemaError::TooCostly)?;
        let names = pattern::name_patterns_size(&name_patterns).map_err(SchemaError::TooCostly)?;

        let texts = Arc::new(AtomicUsize::new(0));
        let validator = jsonschema::options_for::<Metered>()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(pattern::name_pattern_options())
            .with_keyword("pattern", pattern::factory(texts.clone()))
            .offline()
            .build(schema)
            .map_err(|error| SchemaError::Invalid(format!("not a valid JSON Schema: {error}")))?;
        let patterns = PatternsSize { texts: texts.load(Ordering::Relaxed), names };
        Ok(Self { validator, patterns })
    }

    /// Returns the compiled size of its patterns.
    pub(crate) fn patterns(&self) -> PatternsSize {
        self.patterns
    }

    /// Returns every violation as `path: what is wrong`, without the offending value itself.
    /// The path is a JSON Pointer (RFC 6901); the root is `/`.
    ///
    /// Time and memory are bounded for any schema and value: a value that takes more than [`MAX_STEPS`]
    /// is refused, and if listing the violations would take too long, one line stands for all of them.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        self.violations_within(value, &Budget::whole())
            .unwrap_or_else(|exceeded| vec![format!("/: {exceeded}")])
    }

    /// Like [`violations`](Self::violations), within a given budget.
    ///
    /// # Errors
    ///
    /// If the budget is exceeded or the check is stopped. It is then unknown whether the value fits.
    pub fn violations_within(&self, value: &Value, budget: &Budget) -> Result<Vec<String>, Exceeded> {
        if cost::values(value, MAX_VALUES).is_none() {
            return Ok(vec![too_many_values()]);
        }
        let max_name = if self.patterns.names > 0 { pattern::MAX_NAME_BYTES } else { usize::MAX };
        if meter::within(budget, max_name, || self.validator.is_valid(value))? {
            return Ok(Vec::new());
        }
        let listing = Budget { steps: budget.steps.min(MAX_LISTING_STEPS), ..budget.clone() };
        let listed = meter::within(&listing, max_name, || {
            let errors = self.validator.iter_errors(value).take(MAX_REPORTED);
            errors.flat_map(|error| violation::lines(&error, value)).take(MAX_REPORTED).collect()
        });
        match listed {
            Err(Exceeded::Steps) if budget.steps >= MAX_LISTING_STEPS => {
                Ok(vec!["/: does not match the schema, which is too intricate to say where".to_owned()])
            }
            listed => listed,
        }
    }
}

/// Parses a JSON value to be checked.
///
/// # Errors
///
/// A violation, when the text is not valid JSON or has more than [`MAX_VALUES`] values.
pub fn parse(json: &str) -> Result<Value, String> {
    if json::measure(json.as_bytes(), MAX_VALUES).values > MAX_VALUES {
        return Err(too_many_values());
    }
    serde_json::from_str(json).map_err(|_| "/: not valid JSON".to_owned())
}

fn too_many_values() -> String {
    format!("/: has more than {MAX_VALUES} values in it, the most that are checked")
}

impl fmt::Debug for Schema {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Schema").finish_non_exhaustive()
    }
}

/// Builds the meta-schema of JSON Schema in advance. Otherwise the first [`Schema::compile`] of a process
/// builds it, which takes milliseconds. A server calls this before its first tool call.
pub fn prepare() {
    let _ = Schema::compile(&serde_json::json!({ "type": "object" }));
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{Budget, Exceeded, MAX_VALUES, Schema, parse};

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
        let schema = json!({ "type": "object", "properties": { "a": { "pattern": "^(a+)(a+)(a+)\\1c$" } } });

        let found = check(&schema, &json!({ "a": "a".repeat(4000) }));

        assert!(found[0].contains("too long for a pattern"), "{found:?}");
        let found = check(&schema, &json!({ "a": "a".repeat(200) }));
        assert!(found[0].contains("gives up"), "{found:?}");
        // Also under `not`, where a mismatch would count as a match.
        let not = json!({ "type": "object", "properties": { "a": { "not": { "pattern": "^(a+)(a+)(a+)\\1c$" } } } });
        let found = check(&not, &json!({ "a": "a".repeat(200) }));
        assert!(found[0].contains("gives up"), "{found:?}");
    }

    #[test]
    fn patterns_say_what_they_always_said_and_short_ones_take_long_texts() {
        let schema = json!({ "type": "object", "properties": {
            "email": { "pattern": "^(?!\\.)(?!.*\\.\\.)[A-Za-z0-9_'+\\-.]*[A-Za-z0-9_+-]@([A-Za-z0-9-]*\\.)+[A-Za-z]{2,}$" },
            "text": { "pattern": "\\S" },
        } });

        let fits = json!({ "email": "ana@mail.example", "text": " ".repeat(1 << 20) + "x" });
        assert_eq!(check(&schema, &fits), [""; 0]);
        let found = check(&schema, &json!({ "email": "canary@", "text": "   " }));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("/email: value does not match \"^(?!"), "{found:?}");
        assert_eq!(found[1], "/text: value does not match \"\\S\"");
        assert!(
            Schema::compile(&json!({ "type": "object", "properties": { "a": { "pattern": "(" } } })).is_err()
        );
    }

    #[test]
    fn patterns_are_bounded_each_and_together() {
        let with =
            |patterns: Vec<Value>| json!({ "type": "object", "properties": { "a": { "anyOf": patterns } } });
        let compile = |patterns| Schema::compile(&with(patterns)).map(drop);

        assert!(compile(vec![json!({ "pattern": "\\w{1,100}" })]).is_ok());
        assert!(compile(vec![json!({ "pattern": "(((a{100}){100}){100}){100}" })]).is_err());
        let large =
            (0..100).map(|index| json!({ "pattern": format!("[a-z]{{{}}}", 2000 + index) })).collect();
        let error = compile(large).expect_err("they are too large together");
        assert!(error.to_string().contains("patterns take more than"), "{error}");
    }

    #[test]
    fn patterns_of_names_are_bounded_and_get_short_names_only() {
        let schema = |patterns: &[String]| {
            let members: Map<String, Value> = patterns.iter().map(|it| (it.clone(), json!({}))).collect();
            json!({ "type": "object", "patternProperties": members })
        };
        let of_length = |length: usize| (0..20).map(move |index| format!("^[a-z]{{{length}}}{index}$"));

        let (small, large): (Vec<_>, Vec<_>) = (of_length(10).collect(), of_length(150).collect());
        assert!(Schema::compile(&schema(&small)).is_ok());
        let error = Schema::compile(&schema(&large)).expect_err("they are too large together").to_string();
        assert!(error.contains("patternProperties take more than 65536 bytes"), "{error}");
        assert!(Schema::compile(&schema(&["(".to_owned()])).is_err());

        let named = |length: usize| json!({ "a".repeat(length): 1 });
        assert_eq!(check(&schema(&small), &named(256)), [""; 0]);
        assert!(check(&schema(&small), &named(257))[0].contains("a name of more than 256 bytes"));
        assert_eq!(check(&json!({ "type": "object" }), &named(257)), [""; 0]);
    }

    #[test]
    fn look_ahead_at_the_beginning_takes_long_texts() {
        let schema = json!({ "type": "object", "properties": {
            "password": { "pattern": "^(?=.*[a-z])(?=.*[0-9])(?!.*(.)\\.).{8,}$" },
        } });
        let fits = |text: String| check(&schema, &json!({ "password": text })).is_empty();

        assert!(fits("letters1".repeat(1000)));
        assert!(!fits("letters.1".to_owned()) && !fits("12345678".to_owned()) && !fits("short1".to_owned()));
    }

    #[test]
    fn values_are_compared_with_no_more_patterns_than_there_are_steps_for() {
        let patterns: Vec<_> =
            (0..40).map(|index| json!({ "pattern": format!("^[a-z]+{index}$") })).collect();
        let schema = json!({ "type": "object", "properties": { "tags": { "items": { "allOf": [{ "anyOf": patterns }] } } } });

        let found = check(&schema, &json!({ "tags": vec!["word39"; 45_000] }));

        assert_eq!(found, ["/: takes more than 5000000 steps to check against its schema"]);
        assert_eq!(check(&schema, &json!({ "tags": vec!["word39"; 4000] })), [""; 0]);
    }

    #[test]
    fn items_are_compared_with_one_another_within_the_budget() {
        let schema = json!({ "type": "object", "properties": { "a": { "uniqueItems": true } } });
        let lists = |count: u64| (0..count).map(|index| json!([u64::MAX, index])).collect::<Vec<_>>();

        assert!(check(&schema, &json!({ "a": lists(16_000) }))[0].contains("steps"));
        assert_eq!(check(&schema, &json!({ "a": lists(500) })), [""; 0]);
        let texts: Vec<_> = (0..40_000).map(|index| index.to_string()).collect();
        assert_eq!(check(&schema, &json!({ "a": texts })), [""; 0]);
    }

    #[test]
    fn the_deepest_value_and_schema_fit_a_small_stack() {
        let all = (0..14).fold(
            json!({ "type": ["object", "integer"], "properties": { "a": { "$ref": "#/$defs/n" } } }),
            |inner, _| json!({ "allOf": [{ "anyOf": [inner] }] }),
        );
        let schema = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/n" } }, "$defs": { "n": all } });
        let deep = |last: Value| (0..126).fold(last, |inner, _| json!({ "a": inner }));
        let fits = deep(json!(1));
        let breaks = deep(json!("x"));
        let run = move || {
            let schema = Schema::compile(&schema).expect("it is admitted");
            assert_eq!(schema.violations(&fits), [""; 0]);
            assert!(!schema.violations(&breaks).is_empty());
        };

        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).expect("a thread");

        thread.join().expect("the stack suffices");
    }

    #[test]
    fn a_check_within_a_small_budget_says_that_it_does_not_know() {
        let schema = json!({ "type": "object", "properties": { "a": { "items": { "type": "integer" } } } });
        let schema = Schema::compile(&schema).expect("the schema is valid");
        let value = json!({ "a": vec![1; 10_000] });

        assert_eq!(schema.violations_within(&value, &Budget::prompt(500)), Err(Exceeded::Steps));
        assert_eq!(schema.violations_within(&value, &Budget::whole().until(|| true)), Err(Exceeded::Stopped));
        assert_eq!(schema.violations_within(&value, &Budget::whole()), Ok(Vec::new()));
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
    fn a_value_with_too_many_parts_is_not_even_built() {
        let zeros = |count: usize| format!("[{}0]", "0,".repeat(count - 1));

        assert!(parse(&zeros(MAX_VALUES - 1)).is_ok());
        assert_eq!(
            parse(&zeros(MAX_VALUES)),
            Err("/: has more than 50000 values in it, the most that are checked".to_owned())
        );
        assert_eq!(parse("{"), Err("/: not valid JSON".to_owned()));
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
