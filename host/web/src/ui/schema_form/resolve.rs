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
/// Keywords for alternatives.
const UNIONS: [&str; 2] = ["anyOf", "oneOf"];

/// A resolved schema, with annotations collected on the way.
pub(super) struct Resolved<'a> {
    pub(super) keywords: &'a Map<String, Value>,
    pub(super) title: Option<&'a str>,
    pub(super) description: Option<&'a str>,
    pub(super) default: Option<&'a Value>,
    pub(super) is_nullable: bool,
    /// References that were followed to this schema, from the root.
    pub(super) followed: Vec<&'a str>,
}

/// Resolves a schema of the document `root`. `None` if it allows anything, or leads outside the document or
/// into itself.
pub(super) fn resolve<'a>(root: &'a Value, schema: &'a Value, followed: &[&'a str]) -> Option<Resolved<'a>> {
    let mut resolved = Resolved {
        keywords: schema.as_object()?,
        title: None,
        description: None,
        default: None,
        is_nullable: false,
        followed: followed.to_vec(),
    };
    for _ in 0..MAX_HOPS {
        resolved.annotate();
        match resolved.next(root)? {
            Next::Itself => return Some(resolved),
            Next::Schema(schema) => resolved.keywords = schema.as_object()?,
        }
    }
    None
}

/// Next step of the resolution.
enum Next<'a> {
    Itself,
    Schema(&'a Value),
}

impl<'a> Resolved<'a> {
    /// Collects annotations; the outermost ones take precedence.
    fn annotate(&mut self) {
        let keywords = self.keywords;
        let text = |name: &str| keywords.get(name).and_then(Value::as_str);
        self.title = self.title.or_else(|| text("title"));
        self.description = self.description.or_else(|| text("description"));
        self.default = self.default.or_else(|| keywords.get("default"));
    }

    /// Returns the next step; `None` if the schema cannot be described.
    fn next(&mut self, root: &'a Value) -> Option<Next<'a>> {
        if let Some(reference) = self.keywords.get("$ref") {
            let reference = reference.as_str()?;
            if !self.is_only("$ref") || self.followed.contains(&reference) {
                return None;
            }
            self.followed.push(reference);
            return Some(Next::Schema(target(root, reference)?));
        }
        if let Some(Value::Array(all)) = self.keywords.get("allOf")
            && let [only] = all.as_slice()
            && self.is_only("allOf")
        {
            return Some(Next::Schema(only));
        }
        if UNIONS.iter().any(|name| self.is_only(name))
            && let Some([one, other]) = self.alternatives()
        {
            let value = if is_null(one) { Some(other) } else { is_null(other).then_some(one) };
            self.is_nullable |= value.is_some();
            return Some(value.map_or(Next::Itself, Next::Schema));
        }
        Some(Next::Itself)
    }

    /// Whether only annotations stand beside this keyword.
    fn is_only(&self, keyword: &str) -> bool {
        self.keywords.keys().all(|name| name == keyword || ANNOTATIONS.contains(&name.as_str()))
    }

    /// Returns the alternatives of a union, unless there are too many.
    fn alternatives(&self) -> Option<&'a [Value]> {
        let union = UNIONS.iter().find_map(|name| self.keywords.get(*name))?;
        union.as_array().map(Vec::as_slice).filter(|all| all.len() <= MAX_ALTERNATIVES)
    }

    /// Returns the values of an enumeration, or of a union of constants and enumerations; `None` if there are
    /// too many.
    pub(super) fn choices(&self) -> Option<Vec<Value>> {
        if let Some(listed) = values(self.keywords) {
            return Some(listed.to_vec());
        }
        let mut all = Vec::new();
        for alternative in self.alternatives()? {
            if is_null(alternative) {
                all.push(Value::Null);
                continue;
            }
            let keywords = alternative.as_object()?;
            match keywords.get("const") {
                Some(value) => all.push(value.clone()),
                None => all.extend_from_slice(values(keywords)?),
            }
        }
        Some(all)
    }

    /// Whether the schema has keywords for combinations, such as `anyOf`.
    pub(super) fn is_union(&self) -> bool {
        ["allOf", "anyOf", "oneOf", "$dynamicRef"].iter().any(|name| self.keywords.contains_key(*name))
    }

    /// Returns the only type besides `null`, declared or implied.
    pub(super) fn kind(&mut self) -> Option<&'a str> {
        let declared = match self.keywords.get("type") {
            Some(Value::String(name)) => return Some(name),
            Some(Value::Array(names)) => names,
            None if self.keywords.contains_key("properties") => return Some("object"),
            Some(_) | None => return None,
        };
        let mut names: Vec<_> = declared.iter().filter_map(Value::as_str).collect();
        self.is_nullable |= names.contains(&"null");
        names.retain(|name| *name != "null");
        match names.as_slice() {
            [name] => Some(*name),
            ["integer", "number"] | ["number", "integer"] => Some("number"),
            _ => None,
        }
    }
}

/// Returns the values of `enum`, unless there are too many.
fn values(keywords: &Map<String, Value>) -> Option<&[Value]> {
    keywords.get("enum")?.as_array().map(Vec::as_slice).filter(|all| all.len() <= MAX_ALTERNATIVES)
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null" || schema.get("const") == Some(&Value::Null)
}

/// Returns the schema at a reference within the document (RFC 6901, section 6).
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()?;
    root.pointer(&pointer)
}
