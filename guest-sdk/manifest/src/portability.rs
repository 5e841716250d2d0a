//! Compatibility of tools with MCP clients and model APIs: portable schemas, and warnings about declarations
//! that some clients refuse. `docs/mcp.md` lists the behaviour of each client.

mod alternatives;

use serde_json::{Map, Value, json};

pub use self::alternatives::as_one_object;
use crate::{Problem, Problems, ToolDefinition, ToolkitDefinition};

/// Maximum length of a tool's name in model APIs.
const MAX_MODEL_NAME_LENGTH: usize = 64;
/// Prefix that Claude Code adds to the tool names of a server configured as `kitbag`.
const CLIENT_PREFIX: &str = "mcp__kitbag__";
/// Maximum length of a property's name in model APIs.
const MAX_PROPERTY_NAME_LENGTH: usize = 64;
/// Maximum number of warnings about one toolkit, and maximum number of quoted characters of a name.
const MAX_WARNINGS: usize = 100;
const MAX_QUOTED: usize = 80;
/// JSON Schema dialect of all schemas, without its fragment.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Keywords whose value is a schema.
const SCHEMA: [&str; 8] =
    ["contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"];
/// Keywords whose value is a schema, usually a boolean. Every client accepts a boolean there.
const SCHEMA_OR_FLAG: [&str; 4] =
    ["additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"];
/// Keywords whose value is a list of schemas.
const SCHEMAS: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords whose value is a map of schemas.
const NAMED_SCHEMAS: [&str; 5] =
    ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// Replaces boolean subschemas with the equivalent `{}` and `{"not": {}}`: some clients refuse all tools of a
/// server if a property has a boolean schema.
#[must_use]
pub fn portable(mut schema: Value) -> Value {
    make_portable(&mut schema);
    schema
}

fn make_portable(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({ "not": {} }),
        Value::Object(members) => {
            for keyword in SCHEMA_OR_FLAG {
                members.get_mut(keyword).filter(|it| it.is_object()).into_iter().for_each(make_portable);
            }
            for keyword in SCHEMA {
                members.get_mut(keyword).into_iter().for_each(make_portable);
            }
            for keyword in SCHEMAS {
                let list = members.get_mut(keyword).and_then(Value::as_array_mut);
                list.into_iter().flatten().for_each(make_portable);
            }
            for keyword in NAMED_SCHEMAS {
                let named = members.get_mut(keyword).and_then(Value::as_object_mut);
                named.into_iter().flat_map(Map::values_mut).for_each(make_portable);
            }
        }
        _ => {}
    }
}

/// Returns warnings about a valid declaration that some clients would refuse. Each has a path and names the
/// client.
pub fn warnings(definition: &ToolkitDefinition) -> Vec<Problem> {
    let mut warnings = Problems::default();
    for (index, tool) in definition.tools.iter().enumerate() {
        let path = format!("tools[{index}]");
        name(&definition.id, tool, &path, &mut warnings);
        let path = format!("{path}.input");
        root(&tool.input_schema, &path, &mut warnings);
        within(&tool.input_schema, &path, &mut warnings);
    }
    warnings.0.truncate(MAX_WARNINGS);
    warnings.0
}

fn name(toolkit: &str, tool: &ToolDefinition, path: &str, warnings: &mut Problems) {
    let length = CLIENT_PREFIX.len() + toolkit.len() + "__".len() + tool.name.len();
    if length > MAX_MODEL_NAME_LENGTH {
        let most = MAX_MODEL_NAME_LENGTH - CLIENT_PREFIX.len();
        warnings.add(
            format!("{path}.name"),
            format!(
                "{toolkit}__{} is too long for Claude Code, which calls it {CLIENT_PREFIX}…, and for Cursor: make it at most {most} characters",
                tool.name
            ),
        );
    }
}

fn root(schema: &Value, path: &str, warnings: &mut Problems) {
    let dialect = schema.get("$schema").and_then(Value::as_str).map(|it| it.trim_end_matches('#'));
    if let Some(dialect) = dialect.filter(|dialect| *dialect != DIALECT) {
        warnings.add(
            path,
            format!(
                "is checked as JSON Schema 2020-12, and some clients refuse its $schema, {}",
                quoted(dialect)
            ),
        );
    }
}

/// Checks a schema and all its subschemas.
fn within(schema: &Value, path: &str, warnings: &mut Problems) {
    let Some(members) = schema.as_object().filter(|_| warnings.0.len() < MAX_WARNINGS) else { return };
    let properties = members.get("properties").and_then(Value::as_object);
    let refused = properties.into_iter().flat_map(Map::keys).filter(|name| !is_accepted(name));
    for name in refused.take(MAX_WARNINGS).map(|name| quoted(name)) {
        let message = format!(
            "Claude refuses every request with the property {name:?}: use letters, digits, _, . and -, at most {MAX_PROPERTY_NAME_LENGTH}"
        );
        warnings.add(path, message);
    }
    if members.get("items").is_some_and(|items| items.get("type").is_some_and(Value::is_array)) {
        warnings.add(path, "Gemini refuses a list whose items have several types: list them in anyOf");
    }
    for keyword in SCHEMA.iter().chain(&SCHEMA_OR_FLAG) {
        members.get(*keyword).into_iter().for_each(|inner| within(inner, path, warnings));
    }
    for keyword in SCHEMAS {
        let list = members.get(keyword).and_then(Value::as_array);
        list.into_iter().flatten().for_each(|inner| within(inner, path, warnings));
    }
    for keyword in NAMED_SCHEMAS {
        let named = members.get(keyword).and_then(Value::as_object);
        named.into_iter().flat_map(Map::values).for_each(|inner| within(inner, path, warnings));
    }
}

fn quoted(text: &str) -> String {
    text.chars().take(MAX_QUOTED).collect()
}

fn is_accepted(property: &str) -> bool {
    (1..=MAX_PROPERTY_NAME_LENGTH).contains(&property.len())
        && property.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boolean_schema_is_an_object_at_every_depth() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "unevaluatedProperties": true,
            "properties": {
                "any": true,
                "none": false,
                "list": { "items": true, "contains": { "not": true } },
                "pair": { "prefixItems": [true, { "anyOf": [false, { "if": true }] }], "items": false },
                "map": { "additionalProperties": { "properties": { "a": true } }, "propertyNames": true },
                "value": { "const": true, "enum": [true, false], "default": false, "examples": [true] },
                "properties": { "properties": { "properties": true } },
            },
            "$defs": { "x": true },
            "dependentSchemas": { "any": true },
        });

        let nothing = json!({ "not": {} });
        assert_eq!(
            portable(schema),
            json!({
                "type": "object", "additionalProperties": false, "unevaluatedProperties": true,
                "properties": {
                    "any": {},
                    "none": nothing,
                    "list": { "items": {}, "contains": { "not": {} } },
                    "pair": { "prefixItems": [{}, { "anyOf": [nothing, { "if": {} }] }], "items": nothing },
                    "map": { "additionalProperties": { "properties": { "a": {} } }, "propertyNames": {} },
                    "value": { "const": true, "enum": [true, false], "default": false, "examples": [true] },
                    "properties": { "properties": { "properties": {} } },
                },
                "$defs": { "x": {} },
                "dependentSchemas": { "any": {} },
            })
        );
    }

    /// Returns the warnings about a tool whose input schema has these keywords and `"type": "object"`.
    fn of(schema: &Value) -> Vec<String> {
        let mut input_schema = json!({ "type": "object" });
        for (name, value) in schema.as_object().expect("an object") {
            input_schema[name] = value.clone();
        }
        let tool = ToolDefinition { name: "find".into(), input_schema, ..ToolDefinition::default() };
        let definition =
            ToolkitDefinition { id: "books".into(), tools: vec![tool], ..ToolkitDefinition::default() };
        warnings(&definition).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_a_client_refuses_is_told_with_its_name() {
        for (schema, expected) in [
            (
                json!({ "properties": { "a b": {} } }),
                "tools[0].input: Claude refuses every request with the property \"a b\"",
            ),
            (json!({ "properties": { "": {} } }), "tools[0].input: Claude refuses"),
            (
                json!({ "properties": { "a": { "items": { "properties": { "ä": {} } } } } }),
                "tools[0].input: Claude refuses",
            ),
            (json!({ "properties": { "a".repeat(65): {} } }), "tools[0].input: Claude refuses"),
            (
                json!({ "$schema": "http://json-schema.org/draft-07/schema#" }),
                "tools[0].input: is checked as JSON Schema 2020-12",
            ),
            (
                json!({ "properties": { "a": { "items": { "type": ["string", "null"] } } } }),
                "tools[0].input: Gemini refuses a list whose items have several types",
            ),
        ] {
            let found = of(&schema);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");
        }

        let fine = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "anyOf": [{}, {}],
            "properties": { "a.B-c_9": { "anyOf": [{}, {}], "type": ["string", "null"] }, "l": { "items": { "type": "string" } } },
        });
        assert_eq!(of(&fine), [""; 0]);
    }

    #[test]
    fn warnings_are_few_and_short_whatever_the_schema() {
        let properties: Map<String, Value> = (0..5000)
            .map(|index| (format!("{index} {}", "x".repeat(1000)), json!({ "items": { "type": ["null"] } })))
            .collect();

        let found = of(&json!({ "properties": properties, "$schema": "x".repeat(100_000) }));

        assert_eq!(found.len(), MAX_WARNINGS);
        assert!(found.iter().all(|warning| warning.len() < 400), "{found:?}");
    }

    #[test]
    fn a_name_that_is_too_long_with_what_clients_put_before_it_is_told() {
        let named = |length: usize| {
            let tool = ToolDefinition { name: "n".repeat(length), ..ToolDefinition::default() };
            warnings(&ToolkitDefinition {
                id: "books".into(),
                tools: vec![tool],
                ..ToolkitDefinition::default()
            })
        };

        assert!(named(51 - 7).is_empty());
        let found = named(52 - 7);
        assert_eq!(found[0].path, "tools[0].name");
        assert!(
            found[0].message.contains("Claude Code") && found[0].message.ends_with("at most 51 characters"),
            "{found:?}"
        );
    }
}
