//! Schemas of arguments that combine others at their root, as one object: Claude Code leaves out a tool with
//! `anyOf` there, and `OpenAI`'s API refuses the whole request. Arguments are still checked against the real
//! schema; the listed one accepts at least as much, and says in its description what belongs together.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// Maximum number of schemas that are merged, nested ones included.
const MAX_ALTERNATIVES: usize = 64;
/// Maximum nesting of combinations and references.
const MAX_DEPTH: usize = 8;
/// Maximum number of required properties that are considered.
const MAX_REQUIRED: usize = 256;
/// Maximum bytes of the sentence about what belongs together.
const MAX_SENTENCE_BYTES: usize = 2000;
/// Keywords that model APIs refuse at the root, besides combinations.
const REFUSED_AT_ROOT: [&str; 2] = ["enum", "not"];

/// Replaces combinations at the root by the properties of all that they combine. Returns other schemas
/// unchanged.
#[must_use]
pub fn as_one_object(mut schema: Map<String, Value>) -> Map<String, Value> {
    if !["allOf", "anyOf", "oneOf"].iter().any(|keyword| schema.contains_key(*keyword)) {
        return schema;
    }
    let merged = Merge { root: &schema, left: MAX_ALTERNATIVES }.object(&schema, MAX_DEPTH);
    let properties = merged.properties();
    let sentence = merged.sentence();
    let required: Vec<Value> = merged.required.iter().map(|name| (*name).into()).collect();
    for keyword in
        ["allOf", "anyOf", "oneOf", "required", "unevaluatedProperties"].iter().chain(&REFUSED_AT_ROOT)
    {
        schema.remove(*keyword);
    }
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    if let Some(sentence) = sentence {
        let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let separator = if description.is_empty() { "" } else { " " };
        schema.insert("description".to_owned(), format!("{description}{separator}{sentence}").into());
    }
    schema
}

/// Properties of a schema and of those that it combines.
#[derive(Default)]
struct Object<'a> {
    /// Distinct schemas of each property.
    properties: BTreeMap<&'a str, Vec<&'a Value>>,
    /// Properties without which no value is valid.
    required: Vec<&'a str>,
    /// For each choice, the properties that each of its alternatives needs.
    choices: Vec<Vec<Vec<&'a str>>>,
}

struct Merge<'a> {
    root: &'a Map<String, Value>,
    /// Number of schemas that may still be merged.
    left: usize,
}

impl<'a> Merge<'a> {
    fn object(&mut self, schema: &'a Map<String, Value>, depth: usize) -> Object<'a> {
        let mut object = Object { required: names(schema.get("required")), ..Object::default() };
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            object.add(name, property);
        }
        let Some(depth) = depth.checked_sub(1) else { return object };
        if let Some(target) = self.target(schema.get("$ref")) {
            let target = self.object(target, depth);
            object.also(target);
        }
        for part in self.parts(schema, "allOf") {
            let part = self.object(part, depth);
            object.also(part);
        }
        for keyword in ["anyOf", "oneOf"] {
            let parts = self.parts(schema, keyword).into_iter();
            let alternatives = parts.map(|part| self.object(part, depth)).collect();
            object.one_of(alternatives);
        }
        object
    }

    fn parts(&mut self, schema: &'a Map<String, Value>, keyword: &str) -> Vec<&'a Map<String, Value>> {
        let list = schema.get(keyword).and_then(Value::as_array);
        let objects = list.into_iter().flatten().filter_map(Value::as_object);
        let parts: Vec<_> = objects.take(self.left).collect();
        self.left -= parts.len();
        parts
    }

    /// Returns the definition that a reference within the document names.
    fn target(&mut self, reference: Option<&Value>) -> Option<&'a Map<String, Value>> {
        let path = reference?.as_str()?.strip_prefix('#')?;
        self.left = self.left.checked_sub(1)?;
        let (first, rest) = path.strip_prefix('/')?.split_once('/')?;
        self.root.get(first)?.pointer(&format!("/{rest}"))?.as_object()
    }
}

impl<'a> Object<'a> {
    fn add(&mut self, name: &'a str, property: &'a Value) {
        let known = self.properties.entry(name).or_default();
        if !known.contains(&property) {
            known.push(property);
        }
    }

    fn add_all(&mut self, properties: BTreeMap<&'a str, Vec<&'a Value>>) {
        for (name, schemas) in properties {
            for schema in schemas {
                self.add(name, schema);
            }
        }
    }

    fn require(&mut self, names: Vec<&'a str>) {
        for name in names {
            if self.required.len() < MAX_REQUIRED && !self.required.contains(&name) {
                self.required.push(name);
            }
        }
    }

    /// Adds a schema that applies as well.
    fn also(&mut self, other: Self) {
        self.add_all(other.properties);
        self.require(other.required);
        self.choices.extend(other.choices);
    }

    /// Adds schemas of which one applies.
    fn one_of(&mut self, alternatives: Vec<Self>) {
        let Some(first) = alternatives.first() else { return };
        let is_always = |name: &&&str| alternatives.iter().all(|it| it.required.contains(name));
        let always: Vec<_> = first.required.iter().filter(is_always).copied().collect();
        let needs = |it: &Self| it.required.iter().filter(|name| !always.contains(name)).copied().collect();
        let choice: Vec<Vec<&str>> = alternatives.iter().map(needs).collect();
        if choice.iter().any(|needed| !needed.is_empty()) {
            self.choices.push(choice);
        }
        self.require(always);
        for alternative in alternatives {
            self.add_all(alternative.properties);
            self.choices.extend(alternative.choices);
        }
    }

    /// The listed `properties`: where schemas differ, either may apply.
    fn properties(&self) -> Value {
        let listed = self.properties.iter().map(|(name, schemas)| match schemas.as_slice() {
            [schema] => ((*name).to_owned(), (*schema).clone()),
            schemas => ((*name).to_owned(), json!({ "anyOf": schemas })),
        });
        Value::Object(listed.collect())
    }

    fn sentence(&self) -> Option<String> {
        let mut text = String::new();
        for choice in &self.choices {
            let alternatives: Vec<_> = choice
                .iter()
                .map(
                    |needed| {
                        if needed.is_empty() { "none of these".to_owned() } else { needed.join(" and ") }
                    },
                )
                .collect();
            let separator = if text.is_empty() { "" } else { " " };
            let _ = write!(text, "{separator}Needs {}.", alternatives.join(", or "));
            if text.len() > MAX_SENTENCE_BYTES {
                break;
            }
        }
        text.truncate(text.floor_char_boundary(MAX_SENTENCE_BYTES));
        (!text.is_empty()).then_some(text)
    }
}

/// Names in `required`, of which the first are enough: the listed schema may accept more.
fn names(list: Option<&Value>) -> Vec<&str> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).take(MAX_REQUIRED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(schema: &Value) -> Value {
        Value::Object(as_one_object(schema.as_object().expect("an object").clone()))
    }

    #[test]
    fn alternatives_become_one_object_that_says_what_belongs_together() {
        let schema = json!({
            "type": "object",
            "description": "What to find.",
            "properties": { "limit": { "type": "integer" } },
            "required": ["limit"],
            "anyOf": [
                { "properties": { "id": { "type": "string" } }, "required": ["id"] },
                { "properties": { "name": { "type": "string" }, "kind": { "enum": ["a"] } }, "required": ["name", "kind"] },
            ],
        });

        let expected = json!({
            "type": "object",
            "description": "What to find. Needs id, or name and kind.",
            "properties": {
                "id": { "type": "string" },
                "kind": { "enum": ["a"] },
                "limit": { "type": "integer" },
                "name": { "type": "string" },
            },
            "required": ["limit"],
        });
        assert_eq!(listed(&schema), expected);
    }

    #[test]
    fn what_each_alternative_needs_is_required_and_properties_that_differ_are_either() {
        let schema = json!({
            "oneOf": [
                { "properties": { "type": { "const": "card" }, "number": {} }, "required": ["type", "number"], "additionalProperties": false },
                { "properties": { "type": { "const": "cash" } }, "required": ["type"], "additionalProperties": false },
            ],
            "additionalProperties": false,
        });

        let expected = json!({
            "type": "object",
            "description": "Needs number, or none of these.",
            "properties": { "number": {}, "type": { "anyOf": [{ "const": "card" }, { "const": "cash" }] } },
            "required": ["type"],
            "additionalProperties": false,
        });
        assert_eq!(listed(&schema), expected);
    }

    #[test]
    fn references_and_nested_combinations_are_followed() {
        let schema = json!({
            "allOf": [{ "$ref": "#/$defs/paged" }, { "anyOf": [{ "$ref": "#/$defs/by~1id" }, { "required": ["q"] }] }],
            "$defs": {
                "paged": { "properties": { "page": {} }, "required": ["page"] },
                "by/id": { "properties": { "id": {} }, "required": ["id"] },
            },
            "not": { "required": ["x"] },
        });

        let listed = listed(&schema);

        assert_eq!(listed["properties"], json!({ "id": {}, "page": {} }));
        assert_eq!(listed["required"], json!(["page"]));
        assert_eq!(listed["description"], "Needs id, or q.");
        assert!(listed.get("allOf").or(listed.get("not")).is_none(), "{listed}");
    }

    #[test]
    fn combinations_without_end_are_cut() {
        let level = |next: usize| json!({ "allOf": [{ "$ref": format!("#/$defs/{next}") }, { "$ref": format!("#/$defs/{next}") }] });
        let levels: Map<String, Value> = (0..40).map(|index| (index.to_string(), level(index + 1))).collect();
        let circle = json!({ "$ref": "#/$defs/circle", "properties": { "a": {} } });
        let many: Vec<_> = (0..10_000).map(|index| json!({ "required": [format!("p{index}")] })).collect();

        let nested = listed(&json!({ "anyOf": [{ "$ref": "#/$defs/0" }], "$defs": levels }));
        let circular =
            listed(&json!({ "allOf": [{ "$ref": "#/$defs/circle" }], "$defs": { "circle": circle } }));
        let wide = listed(&json!({ "anyOf": many }));

        assert_eq!(nested["properties"], json!({}));
        assert_eq!(circular["properties"], json!({ "a": {} }));
        assert!(wide["description"].as_str().expect("a text").len() <= MAX_SENTENCE_BYTES);
        let names: Vec<_> = (0..100_000).map(|index| format!("p{index}")).collect();
        let demanding =
            listed(&json!({ "required": names, "anyOf": [{ "required": names }, { "required": names }] }));
        assert_eq!(demanding["required"].as_array().map(Vec::len), Some(MAX_REQUIRED));
    }

    #[test]
    fn other_schemas_stay_as_they_are() {
        for schema in [json!({ "type": "object" }), json!({ "properties": { "a": { "anyOf": [{}] } } })] {
            assert_eq!(listed(&schema), schema);
        }
    }
}
