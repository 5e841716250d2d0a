//! Conversion of a schema to form fields.

use std::collections::BTreeSet;

use kitbag_base::bounded_json::{self, Beginning};
use serde::Serialize;
use serde_json::{Map, Value};

use super::resolve::{Resolved, resolve};
use super::{Kind, Node, Scalar, SchemaForm, TextInput, has_line_end, label, rules};

/// Maximum number of fields in a form.
const MAX_FIELDS: usize = 200;
/// Maximum nesting of objects.
const MAX_DEPTH: usize = 6;
/// Maximum bytes of an argument's name.
const MAX_KEY_BYTES: usize = 200;
/// Maximum bytes shown of a title and of a description.
const MAX_TITLE_BYTES: usize = 200;
const MAX_DESCRIPTION_BYTES: usize = 1000;
/// Maximum bytes of a default.
const MAX_DEFAULT_BYTES: usize = 4 << 10;
/// Maximum bytes of all choices of a form, including an overhead for each.
const MAX_CHOICE_BYTES: usize = 64 << 10;
const CHOICE_OVERHEAD_BYTES: usize = 32;
/// Maximum bytes shown of one schema, and of all schemas of a form.
const MAX_SCHEMA_BYTES: usize = 4 << 10;
const MAX_SCHEMAS_BYTES: usize = 32 << 10;
/// Maximum number of names in `required` that are considered.
const MAX_REQUIRED: usize = 1000;
/// Maximum length of a text with a single-line input, in characters.
const MAX_LINE_CHARS: u64 = 200;

/// Builder of a form, with the remaining size limits.
struct Builder<'a> {
    root: &'a Value,
    fields: usize,
    choice_bytes: usize,
    schema_bytes: usize,
    has_more: bool,
}

/// The object that contains a field.
struct Parent<'a> {
    pointer: String,
    depth: usize,
    followed: Vec<&'a str>,
}

impl SchemaForm {
    /// Creates the form for the arguments that a schema describes.
    pub(in crate::ui) fn of(schema: &Value) -> Self {
        let mut builder = Builder {
            root: schema,
            fields: MAX_FIELDS,
            choice_bytes: MAX_CHOICE_BYTES,
            schema_bytes: MAX_SCHEMAS_BYTES,
            has_more: false,
        };
        let nodes = if let Some(object) = resolve(schema, schema, &[]) {
            builder.members(&object, String::new(), 0)
        } else {
            builder.has_more = true;
            Vec::new()
        };
        Self { nodes, has_more: builder.has_more }
    }
}

impl<'a> Builder<'a> {
    /// Returns the members of an object, required ones first.
    fn members(&mut self, object: &Resolved<'a>, pointer: String, depth: usize) -> Vec<Node> {
        let keyword = |name: &str| object.keywords.get(name);
        let takes_others =
            matches!(keyword("additionalProperties"), Some(Value::Object(_) | Value::Bool(true)));
        self.has_more |= takes_others || object.is_union() || keyword("patternProperties").is_some();
        let required: Vec<_> = match keyword("required") {
            Some(Value::Array(names)) => names.iter().take(MAX_REQUIRED).filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let parent = Parent { pointer, depth, followed: object.followed.clone() };
        let mut nodes = Vec::new();
        for (key, schema) in keyword("properties").and_then(Value::as_object).into_iter().flatten() {
            if self.fields == 0 || key.len() > MAX_KEY_BYTES {
                self.has_more = true;
                continue;
            }
            if schema != &Value::Bool(false) {
                self.fields -= 1;
                nodes.push(self.node(&parent, key, schema, required.contains(&key.as_str())));
            }
        }
        nodes.sort_by_key(|node| !node.is_required);
        nodes
    }

    fn node(&mut self, parent: &Parent<'a>, key: &str, schema: &'a Value, is_required: bool) -> Node {
        let pointer = format!("{}/{}", parent.pointer, key.replace('~', "~0").replace('/', "~1"));
        let mut node = Node {
            pointer: pointer.clone(),
            key: key.to_owned(),
            title: key.to_owned(),
            description: None,
            rules: Vec::new(),
            is_required,
            is_nullable: false,
            default: None,
            kind: Kind::Json(String::new()),
        };
        let Some(mut resolved) = resolve(self.root, schema, &parent.followed) else {
            let text = |name: &str| schema.get(name).and_then(Value::as_str);
            node.title = text("title").map_or(node.title, |title| cut(title, MAX_TITLE_BYTES));
            node.description = text("description").map(|it| cut(it, MAX_DESCRIPTION_BYTES));
            node.kind = self.json(schema);
            return node;
        };
        node.title = resolved.title.map_or(node.title, |title| cut(title, MAX_TITLE_BYTES));
        node.description = resolved.description.map(|it| cut(it, MAX_DESCRIPTION_BYTES));
        node.default = resolved.default.filter(|default| is_short(default)).cloned();
        (node.kind, node.rules) = self.kind(&mut resolved, pointer, is_required, parent.depth);
        if is_required && node.default.as_ref().is_some_and(|default| node.kind.would_change(default)) {
            (node.kind, node.rules) = (self.json(resolved.keywords), Vec::new());
        }
        node.is_nullable = resolved.is_nullable;
        node.rules.extend(rules::of_any(resolved.keywords, node.default.as_ref()));
        node
    }

    fn kind(
        &mut self,
        schema: &mut Resolved<'a>,
        pointer: String,
        is_required: bool,
        depth: usize,
    ) -> (Kind, Vec<String>) {
        if let Some(value) = schema.keywords.get("const")
            && self.admit(std::slice::from_ref(value))
        {
            let kind = if is_required { Kind::Constant(value.clone()) } else { choice(vec![value.clone()]) };
            return (kind, Vec::new());
        }
        if let Some((scalar, rules)) = self.scalar(schema) {
            return (Kind::Scalar(scalar), rules);
        }
        let has_members =
            schema.keywords.get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
        match schema.kind() {
            Some("array") if !schema.is_union() => {
                if let Some(list) = self.list(schema) {
                    return list;
                }
            }
            Some("object") if has_members && depth < MAX_DEPTH => {
                return (Kind::Group(self.members(schema, pointer, depth + 1)), Vec::new());
            }
            _ => {}
        }
        (self.json(schema.keywords), Vec::new())
    }

    /// Returns the scalar type of a field; `None` for objects, lists and others.
    fn scalar(&mut self, schema: &mut Resolved<'a>) -> Option<(Scalar, Vec<String>)> {
        if let Some(choices) = schema.choices().filter(|choices| self.admit(choices)) {
            // Called for its side effect: it sets `is_nullable`.
            let _ = schema.kind();
            return Some((Scalar::Choice(choices), Vec::new()));
        }
        if schema.is_union() {
            return None;
        }
        let keywords = schema.keywords;
        match schema.kind()? {
            "string" => {
                let mut rules = rules::of_text(keywords);
                if keywords.contains_key("enum") {
                    rules.push("one of a long list".to_owned());
                }
                Some((text(keywords), rules))
            }
            "integer" => Some((integer(keywords), rules::of_number(keywords))),
            "number" => Some((Scalar::Number, rules::of_number(keywords))),
            "boolean" => Some((Scalar::Boolean, Vec::new())),
            _ => None,
        }
    }

    /// Returns a list whose items fit on a line each.
    fn list(&mut self, schema: &Resolved<'a>) -> Option<(Kind, Vec<String>)> {
        let keywords = schema.keywords;
        if keywords.contains_key("prefixItems") {
            return None;
        }
        let mut items = resolve(self.root, keywords.get("items")?, &schema.followed)?;
        let (item, of_items) = self.scalar(&mut items)?;
        if items.is_nullable {
            return None;
        }
        let mut rules = rules::of_list(keywords);
        if let Scalar::Choice(choices) = &item {
            if !are_lines(choices) {
                return None;
            }
            let choices: Vec<_> = choices.iter().map(label).collect();
            rules.push(format!("each one of: {}", cut(&choices.join(", "), MAX_DESCRIPTION_BYTES)));
        }
        rules.extend(of_items.into_iter().map(|rule| format!("each {rule}")));
        let takes_none = keywords.get("minItems").and_then(Value::as_u64).is_none_or(|least| least == 0);
        Some((Kind::List { item, takes_none }, rules))
    }

    /// Whether these choices fit into the remaining limit; reserves their size.
    fn admit(&mut self, choices: &[Value]) -> bool {
        let mut left = self.choice_bytes;
        for choice in choices {
            let bytes = bounded_json::size(choice, left);
            let rest = bytes.and_then(|bytes| left.checked_sub(bytes + CHOICE_OVERHEAD_BYTES));
            let Some(rest) = rest else { return false };
            left = rest;
        }
        self.choice_bytes = left;
        true
    }

    /// Returns a value that is entered as JSON. A truncated schema ends in an ellipsis.
    fn json(&mut self, schema: &impl Serialize) -> Kind {
        let room = MAX_SCHEMA_BYTES.min(self.schema_bytes);
        let Beginning { mut text, is_whole } = bounded_json::beginning(schema, room);
        self.schema_bytes -= text.len();
        if !is_whole {
            text.push('…');
        }
        Kind::Json(text)
    }
}

/// Whether a value is small enough to be a field's default.
fn is_short(value: &Value) -> bool {
    bounded_json::size(value, MAX_DEFAULT_BYTES).is_some()
}

/// Whether each choice can be written as a line that identifies it.
fn are_lines(choices: &[Value]) -> bool {
    let labels: BTreeSet<_> = choices.iter().map(label).collect();
    let is_line = |label: &String| !label.is_empty() && label.trim() == label && !has_line_end(label);
    labels.len() == choices.len() && labels.iter().all(is_line)
}

fn choice(values: Vec<Value>) -> Kind {
    Kind::Scalar(Scalar::Choice(values))
}

fn text(keywords: &Map<String, Value>) -> Scalar {
    let number = |name: &str| keywords.get(name).and_then(Value::as_u64);
    let input = match keywords.get("format").and_then(Value::as_str) {
        Some("date") => TextInput::Line("date"),
        Some("email") => TextInput::Line("email"),
        Some("uri" | "url") => TextInput::Line("url"),
        Some(_) => TextInput::Line("text"),
        None if keywords.contains_key("pattern") => TextInput::Line("text"),
        None if number("maxLength").is_some_and(|most| most <= MAX_LINE_CHARS) => TextInput::Line("text"),
        None => TextInput::Lines,
    };
    let takes_empty = number("minLength").unwrap_or_default() == 0 && !keywords.contains_key("format");
    Scalar::Text { input, takes_empty }
}

/// Uses only integer bounds: browsers count steps from the lower bound.
fn integer(keywords: &Map<String, Value>) -> Scalar {
    let number = |name: &str| keywords.get(name).and_then(Value::as_i64);
    let above = number("exclusiveMinimum").and_then(|bound| bound.checked_add(1));
    let below = number("exclusiveMaximum").and_then(|bound| bound.checked_sub(1));
    Scalar::Integer { minimum: number("minimum").or(above), maximum: number("maximum").or(below) }
}

fn cut(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max_bytes)])
}
