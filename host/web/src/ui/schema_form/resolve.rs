//! Resolution of references, nullable unions and single alternatives in a schema.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// Maximum number of references and unions followed for one argument.
const MAX_HOPS: usize = 16;
/// Maximum number of alternatives or `enum` values considered.
const MAX_ALTERNATIVES: usize = 2000;
/// Keywords that may stand beside a reference or a union without changing which values are allowed.
const ANNOTATIONS: [&str; 10] = [
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "title",
];

/// A resolved schema, with annotations collected on the way; the outermost ones take precedence.
pub(super) struct Resolved<'a> {
    /// The schema before its resolution.
    pub(super) schema: &'a Value,
    /// Keywords of the resolved schema; `None` if it allows anything, or leads outside the document or into itself.
    pub(super) keywords: Option<&'a Map<String, Value>>,
    /// The only type besides `null`; `None` if there are others, or combinations such as `anyOf`.
    pub(super) kind: Option<&'a str>,
    pub(super) title: Option<&'a str>,
    pub(super) description: Option<&'a str>,
    pub(super) default: Option<&'a Value>,
    pub(super) is_nullable: bool,
}

impl<'a> Resolved<'a> {
    /// Resolves a schema of the document `root`.
    pub(super) fn of(root: &'a Value, schema: &'a Value) -> Self {
        let mut resolved = Self {
            schema,
            keywords: None,
            kind: None,
            title: None,
            description: None,
            default: None,
            is_nullable: false,
        };
        let mut next = Some(schema);
        for _ in 0..MAX_HOPS {
            let Some(keywords) = next.and_then(Value::as_object) else { break };
            resolved.annotate(keywords);
            let mut others = keywords.iter().filter(|(name, _)| !ANNOTATIONS.contains(&name.as_str()));
            let only = others.next().filter(|_| others.next().is_none());
            next = match only.map(|(name, value)| (name.as_str(), value)) {
                Some(("$ref", reference)) => reference.as_str().and_then(|reference| target(root, reference)),
                Some(("allOf", Value::Array(all))) if all.len() == 1 => all.first(),
                Some(("anyOf" | "oneOf", Value::Array(all))) if all.len() == 2 && all.iter().any(is_null) => {
                    resolved.is_nullable = true;
                    all.iter().find(|alternative| !is_null(alternative))
                }
                _ => {
                    resolved.end_at(keywords);
                    break;
                }
            };
        }
        resolved
    }

    fn annotate(&mut self, keywords: &'a Map<String, Value>) {
        let text = |name: &str| keywords.get(name).and_then(Value::as_str);
        self.title = self.title.or_else(|| text("title"));
        self.description = self.description.or_else(|| text("description"));
        self.default = self.default.or_else(|| keywords.get("default"));
    }

    fn end_at(&mut self, keywords: &'a Map<String, Value>) {
        self.keywords = Some(keywords);
        let mut names: Vec<_> = match keywords.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if names.len() > 1 {
            self.is_nullable |= names.contains(&"null");
            names.retain(|name| *name != "null");
        }
        self.kind = match names.as_slice() {
            _ if is_union(keywords) => None,
            [name] => Some(*name),
            ["integer", "number"] | ["number", "integer"] => Some("number"),
            _ => None,
        };
    }

    /// Returns the values of a constant, of an enumeration, or of a union of these; `None` if there are too many.
    pub(super) fn choices(&self) -> Option<Vec<Value>> {
        let keywords = self.keywords?;
        if let Some(listed) = values(keywords) {
            return Some(listed);
        }
        let union = ["anyOf", "oneOf"].iter().find_map(|name| keywords.get(*name))?;
        let alternatives = union.as_array().filter(|all| all.len() <= MAX_ALTERNATIVES)?;
        let of = |schema| if is_null(schema) { Some(vec![Value::Null]) } else { values(schema.as_object()?) };
        alternatives.iter().map(of).collect::<Option<Vec<_>>>().map(|all| all.concat())
    }
}

/// Whether a schema has keywords for combinations, such as `anyOf`.
pub(super) fn is_union(keywords: &Map<String, Value>) -> bool {
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf"].iter().any(|name| keywords.contains_key(*name))
}

/// Returns the values of `const` or `enum`, unless there are too many.
fn values(keywords: &Map<String, Value>) -> Option<Vec<Value>> {
    if let Some(constant) = keywords.get("const") {
        return Some(vec![constant.clone()]);
    }
    keywords.get("enum")?.as_array().filter(|all| all.len() <= MAX_ALTERNATIVES).cloned()
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null" || schema.get("const") == Some(&Value::Null)
}

/// Returns the schema at a reference within the document (RFC 6901, section 6).
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()?;
    root.pointer(&pointer)
}
