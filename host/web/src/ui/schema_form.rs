//! Form for the arguments of a tool, generated from their JSON Schema.
//!
//! Texts, numbers, booleans and choices have input elements; lists, objects and unions are entered as JSON. All arguments
//! can be edited as one JSON text too, which also holds what a field cannot, such as an empty text. The form is only a
//! convenience: arguments are validated against the schema itself when the tool is called.
//!
//! Invariant: the size of a form is bounded for every schema, by the constants below.

mod number;
mod resolve;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use kitbag_base::bounded_json::{self, Beginning};
use kitbag_manifest::json::measure;
use kitbag_manifest::schema::MAX_VALUES;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Map, Value};

use super::form::Form;
use resolve::{Resolved, is_union};

/// Characters that are encoded in field names: browsers change line ends there.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');
/// Maximum number of fields in a form.
const MAX_FIELDS: usize = 200;
/// Maximum number of names in `required` that are considered.
const MAX_REQUIRED: usize = 1000;
/// Maximum bytes of an argument's name.
const MAX_KEY_BYTES: usize = 200;
/// Maximum bytes shown of a title, of a description, and of the value of a constraint.
const MAX_TITLE_BYTES: usize = 200;
const MAX_DESCRIPTION_BYTES: usize = 1000;
const MAX_RULE_BYTES: usize = 200;
/// Maximum bytes of a default.
const MAX_DEFAULT_BYTES: usize = 4 << 10;
/// Maximum bytes of all choices of a form, including an overhead for each.
const MAX_CHOICE_BYTES: usize = 64 << 10;
const CHOICE_OVERHEAD_BYTES: usize = 32;
/// Maximum bytes shown of one schema, and of all schemas of a form.
const MAX_SCHEMA_BYTES: usize = 4 << 10;
const MAX_SCHEMAS_BYTES: usize = 32 << 10;
/// Maximum length of a text with a single-line input, in characters.
const MAX_LINE_CHARS: u64 = 200;
/// Constraints of texts and of numbers, in words.
const TEXT_RULES: [(&str, &str); 4] = [
    ("minLength", "length at least"),
    ("maxLength", "length at most"),
    ("format", "format"),
    ("pattern", "matches"),
];
const NUMBER_RULES: [(&str, &str); 5] = [
    ("minimum", "at least"),
    ("maximum", "at most"),
    ("exclusiveMinimum", "more than"),
    ("exclusiveMaximum", "less than"),
    ("multipleOf", "a multiple of"),
];

/// Error messages by the JSON Pointer of the argument.
pub(super) type Mistakes = BTreeMap<String, String>;

/// The fields of a form, those of required arguments first.
pub(super) struct SchemaForm {
    fields: Vec<Field>,
    /// Whether the schema allows arguments that have no field.
    pub(super) has_more: bool,
}

/// Field of an argument.
pub(super) struct Field {
    /// Name of the argument.
    pub(super) key: String,
    pub(super) title: String,
    pub(super) description: Option<String>,
    /// Constraints of the schema, in words.
    pub(super) rules: String,
    pub(super) is_required: bool,
    /// Whether `null` is allowed.
    pub(super) is_nullable: bool,
    default: Option<Value>,
    pub(super) input: Input,
}

/// Input element.
pub(super) enum Input {
    /// A single line, with the attributes `type`, `min` and `max`.
    Line { kind: &'static str, minimum: Option<i64>, maximum: Option<i64>, value: LineValue },
    /// A text of several lines.
    Lines,
    /// A choice among these values; the form submits their JSON.
    Choice(Vec<Value>),
    /// Any other value, entered as JSON; has the text of its schema.
    Json(String),
}

/// Type of the value on a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineValue {
    Text,
    Integer,
    Number,
}

/// A field as the page shows it.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) field: Field,
    /// The typed text.
    pub(super) value: String,
    pub(super) mistake: Option<String>,
}

/// Remaining size limits of a form.
struct Room {
    choice_bytes: usize,
    schema_bytes: usize,
}

impl SchemaForm {
    /// Creates the form for the arguments that a schema describes.
    pub(super) fn of(schema: &Value) -> Self {
        let Some(keywords) = Resolved::of(schema, schema).keywords else {
            return Self { fields: Vec::new(), has_more: true };
        };
        let takes_others =
            matches!(keywords.get("additionalProperties"), Some(Value::Object(_) | Value::Bool(true)));
        let mut has_more = takes_others || is_union(keywords) || keywords.contains_key("patternProperties");
        let required = keywords.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: BTreeSet<_> = required.take(MAX_REQUIRED).filter_map(Value::as_str).collect();
        let mut room = Room { choice_bytes: MAX_CHOICE_BYTES, schema_bytes: MAX_SCHEMAS_BYTES };
        let mut fields = Vec::new();
        for (key, property) in keywords.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if property == &Value::Bool(false) {
                continue;
            }
            if fields.len() == MAX_FIELDS || key.len() > MAX_KEY_BYTES {
                has_more = true;
                continue;
            }
            let resolved = Resolved::of(schema, property);
            fields.push(Field::of(key, &resolved, required.contains(key.as_str()), &mut room));
        }
        fields.sort_by_key(|field| !field.is_required);
        Self { fields, has_more }
    }

    /// Returns a form with the defaults of required arguments. Omits a default that contradicts its own
    /// schema, since the field could not hold it.
    pub(super) fn defaults(&self) -> Form {
        let required = self.fields.iter().filter(|field| field.is_required);
        let filled =
            required.filter_map(|field| Some((field.name(), field.input.text(field.default.as_ref()?)?)));
        Form::of(filled.collect())
    }

    /// Returns the arguments, or the mistakes in the form. An empty field omits its argument, or is `null` if that is
    /// required and may be `null`.
    pub(super) fn arguments(&self, form: &Form) -> Result<Map<String, Value>, Mistakes> {
        let mut arguments = Map::new();
        let mut mistakes = Mistakes::new();
        let mut json_values = MAX_VALUES;
        for field in &self.fields {
            // Browsers send line ends of texts as CRLF.
            let text = form.get(&field.name()).replace("\r\n", "\n");
            let value = match &field.input {
                _ if text.is_empty() || (text.trim().is_empty() && !field.input.is_text()) => {
                    let is_null = field.is_required && field.is_nullable;
                    is_null.then_some(Ok(Value::Null))
                }
                Input::Json(_) => Some(json(&text, &mut json_values)),
                input => Some(input.value(text)),
            };
            match value {
                None => {}
                Some(Ok(value)) => _ = arguments.insert(field.key.clone(), value),
                Some(Err(mistake)) => _ = mistakes.insert(field.pointer(), mistake),
            }
        }
        if mistakes.is_empty() { Ok(arguments) } else { Err(mistakes) }
    }

    /// Returns the rows, with the typed values and their mistakes.
    pub(super) fn rows(self, typed: &Form, mistakes: &Mistakes) -> Vec<Row> {
        let row = |(index, field): (usize, Field)| {
            let pointer = field.pointer();
            let within = format!("{pointer}/");
            let mistake = mistakes.iter().find(|(place, _)| **place == pointer || place.starts_with(&within));
            Row {
                id: format!("f{index}"),
                value: typed.get(&field.name()).to_owned(),
                mistake: mistake.map(|(_, mistake)| mistake.clone()),
                field,
            }
        };
        self.fields.into_iter().enumerate().map(row).collect()
    }
}

impl Field {
    fn of(key: &str, resolved: &Resolved<'_>, is_required: bool, room: &mut Room) -> Self {
        let constant = resolved.keywords.and_then(|keywords| keywords.get("const"));
        let default = resolved.default.or(constant);
        let default = default.filter(|it| bounded_json::size(it, MAX_DEFAULT_BYTES).is_some()).cloned();
        let mut rules = Vec::new();
        let mut input = room.input(resolved, &mut rules);
        if is_required && input.would_change(default.as_ref()) {
            input = room.json(resolved.schema);
            rules.clear();
        }
        rules.extend(resolved.default.and_then(short).map(|default| format!("default: {default}")));
        let examples = resolved.keywords.and_then(|keywords| keywords.get("examples"));
        rules.extend(examples.and_then(|it| short(it.get(0)?)).map(|example| format!("example: {example}")));
        Self {
            key: key.to_owned(),
            title: cut(resolved.title.unwrap_or(key), MAX_TITLE_BYTES),
            description: resolved.description.map(|it| cut(it, MAX_DESCRIPTION_BYTES)),
            rules: rules.join("; "),
            is_required,
            is_nullable: resolved.is_nullable,
            default,
            input,
        }
    }

    /// JSON Pointer (RFC 6901) into the arguments.
    fn pointer(&self) -> String {
        format!("/{}", self.key.replace('~', "~0").replace('/', "~1"))
    }

    /// Name of the form field, derived only from the argument's name: a form that was opened before a new version
    /// went live does not put values into other arguments.
    pub(super) fn name(&self) -> String {
        utf8_percent_encode(&self.pointer(), ENCODED).to_string()
    }
}

impl LineValue {
    /// Attribute `step`.
    pub(super) fn step(self) -> Option<&'static str> {
        match self {
            Self::Text => None,
            Self::Integer => Some("1"),
            Self::Number => Some("any"),
        }
    }
}

impl Row {
    /// Whether the browser may require a value (attribute `required`).
    pub(super) fn must_be_filled(&self) -> bool {
        self.field.is_required && !self.field.is_nullable
    }

    pub(super) fn is_json(&self) -> bool {
        matches!(self.field.input, Input::Json(_))
    }
}

impl Room {
    /// Returns the input element of a value, and adds its constraints.
    fn input(&mut self, resolved: &Resolved<'_>, rules: &mut Vec<String>) -> Input {
        let Some(keywords) = resolved.keywords else { return self.json(resolved.schema) };
        if let Some(choices) = resolved.choices().filter(|choices| self.admit(choices)) {
            return Input::Choice(choices);
        }
        let number = |value| Input::Line { kind: "number", minimum: None, maximum: None, value };
        let input = match resolved.kind {
            Some("string") => text(keywords),
            Some("integer") => integer(keywords),
            Some("number") => number(LineValue::Number),
            Some("boolean") => return Input::Choice(vec![true.into(), false.into()]),
            _ => return self.json(keywords),
        };
        let in_words: &[_] = if input.is_text() { &TEXT_RULES } else { &NUMBER_RULES };
        let shown = in_words.iter().filter_map(|(name, words)| Some((words, short(keywords.get(*name)?)?)));
        rules.extend(shown.map(|(words, value)| format!("{words} {value}")));
        if keywords.contains_key("enum") {
            rules.push("one of a long list".to_owned());
        }
        input
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

    /// Returns the input for a value that is entered as JSON. A truncated schema ends in an ellipsis.
    fn json(&mut self, schema: &impl serde::Serialize) -> Input {
        let room = MAX_SCHEMA_BYTES.min(self.schema_bytes);
        let Beginning { mut text, is_whole } = bounded_json::beginning(schema, room);
        self.schema_bytes -= text.len();
        if !is_whole {
            text.push('…');
        }
        Input::Json(text)
    }
}

impl Input {
    fn is_text(&self) -> bool {
        matches!(self, Self::Lines | Self::Line { value: LineValue::Text, .. })
    }

    /// Whether a field of texts cannot hold this default: browsers normalise carriage returns in a text area, drop
    /// line ends from a single line, and an empty field is no value.
    fn would_change(&self, default: Option<&Value>) -> bool {
        self.is_text() && default.is_some_and(|it| it.is_string() && self.text(it).is_none())
    }

    /// Formats a value as the field's text; `None` if it would not be submitted unchanged.
    fn text(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Line { value: LineValue::Text, .. }, Value::String(text)) => {
                (!text.is_empty() && !text.contains(['\n', '\r'])).then(|| text.clone())
            }
            (Self::Lines, Value::String(text)) => {
                (!text.is_empty() && !text.contains('\r')).then(|| text.clone())
            }
            (Self::Line { value: LineValue::Integer, .. }, Value::Number(number)) => {
                Some(number::without_zeros(number)).filter(|text| number::integer(text).is_ok())
            }
            (Self::Line { value: LineValue::Number, .. }, Value::Number(number)) => Some(number.to_string()),
            (Self::Choice(choices), value) => choices.contains(value).then(|| value.to_string()),
            (Self::Json(_), value) => Some(bounded_json::indented(value, MAX_DEFAULT_BYTES)),
            _ => None,
        }
    }

    /// Parses the text of a field that is not JSON.
    fn value(&self, text: String) -> Result<Value, String> {
        let typed = text.trim();
        match self {
            Self::Line { value: LineValue::Integer, .. } => number::integer(typed).map_err(str::to_owned),
            Self::Line { value: LineValue::Number, .. } => number::number(typed).map_err(str::to_owned),
            Self::Choice(choices) => {
                let chosen = choices.iter().find(|choice| choice.to_string() == text);
                chosen.cloned().ok_or_else(|| "This is not one of the choices.".to_owned())
            }
            _ => Ok(text.into()),
        }
    }
}

/// Parses a JSON field. `room` is the remaining number of values in all of them.
fn json(text: &str, room: &mut usize) -> Result<Value, String> {
    // Counted before any value is built, as in `tools::arguments`.
    let left = room.checked_sub(measure(text.as_bytes(), *room).values);
    *room = left.ok_or_else(|| format!("The JSON in this form has more than {MAX_VALUES} values in it."))?;
    serde_json::from_str(text)
        .map_err(|error| format!("This is not JSON at line {}, column {}.", error.line(), error.column()))
}

fn text(keywords: &Map<String, Value>) -> Input {
    let max_chars = keywords.get("maxLength").and_then(Value::as_u64);
    let kind = match keywords.get("format").and_then(Value::as_str) {
        Some("date") => "date",
        Some("email") => "email",
        Some("uri" | "url") => "url",
        Some(_) => "text",
        None if keywords.contains_key("pattern") => "text",
        None if max_chars.is_some_and(|most| most <= MAX_LINE_CHARS) => "text",
        None => return Input::Lines,
    };
    Input::Line { kind, minimum: None, maximum: None, value: LineValue::Text }
}

/// Uses only integer bounds: browsers count steps from the lower bound.
fn integer(keywords: &Map<String, Value>) -> Input {
    let number = |name: &str| keywords.get(name).and_then(Value::as_i64);
    let above = number("exclusiveMinimum").and_then(|bound| bound.checked_add(1));
    let below = number("exclusiveMaximum").and_then(|bound| bound.checked_sub(1));
    let minimum = number("minimum").or(above);
    let maximum = number("maximum").or(below);
    Input::Line { kind: "number", minimum, maximum, value: LineValue::Integer }
}

/// Formats a value for people: texts without quotes.
pub(super) fn label(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Formats a value that is short enough to be shown in a line.
fn short(value: &Value) -> Option<String> {
    bounded_json::size(value, MAX_RULE_BYTES)?;
    Some(label(value)).filter(|text| !text.is_empty())
}

fn cut(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max_bytes)])
}
