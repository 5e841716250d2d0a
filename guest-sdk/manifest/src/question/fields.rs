//! Validation of form fields: texts, numbers, booleans and choices, not nested. A form without fields is a
//! yes/no question.

use serde_json::{Map, Value};

use super::{MAX_CHOICES, MAX_DESCRIPTION_CHARS, MAX_FIELDS, MAX_TITLE_CHARS, compile};
use crate::Problems;
use crate::hidden::has_hidden;

/// Allowed members of the schema itself.
const ROOT: [&str; 6] = ["$schema", "type", "title", "description", "properties", "required"];
/// Allowed members of every field.
const COMMON: [&str; 4] = ["type", "title", "description", "default"];
/// Allowed formats of texts, which clients know.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// Checks that the schema is a flat form.
pub(super) fn check(schema: &Map<String, Value>, problems: &mut Problems) {
    only("schema", schema, &[&ROOT], problems);
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        problems.add("schema.type", "must be \"object\"");
    }
    texts("schema", schema, problems);
    if schema.get("$schema").is_some_and(|it| !it.is_string()) {
        problems.add("schema.$schema", "must be a text");
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return problems.add("schema.properties", "must be an object");
    };
    if properties.len() > MAX_FIELDS {
        problems.add("schema.properties", format!("must have at most {MAX_FIELDS} fields"));
        return;
    }
    for (name, field) in properties {
        let path = format!("schema.properties.{name}");
        choice_text(&path, name, problems);
        match field {
            Value::Object(field) => check_field(&path, field, problems),
            _ => problems.add(path, "must be an object"),
        }
    }
    for (index, name) in listed(schema, "required", "schema", problems).iter().enumerate() {
        if !name.as_str().is_some_and(|name| properties.contains_key(name)) {
            problems.add(format!("schema.required[{index}]"), "must be the name of a field");
        }
    }
}

/// Checks that defaults fit their fields. The schema must be valid otherwise.
pub(super) fn check_defaults(schema: &Map<String, Value>, problems: &mut Problems) {
    let mut optional = schema.clone();
    optional.remove("required");
    let compiled = match compile(&optional) {
        Ok(compiled) => compiled,
        Err(error) => return problems.add("schema", error.to_string()),
    };
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let defaults = fields.filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
    for violation in compiled.violations(&Value::Object(defaults.collect())) {
        problems.add("schema.properties", format!("a default does not fit its field: {violation}"));
    }
}

/// Whether a field is free text, not a choice.
pub(super) fn is_free_text(field: &Value) -> bool {
    field["type"] == "string" && field.get("enum").is_none() && field.get("oneOf").is_none()
}

/// Whether a field is a number or an integer.
pub(super) fn is_number(field: &Value) -> bool {
    field["type"] == "number" || field["type"] == "integer"
}

fn check_field(path: &str, field: &Map<String, Value>, problems: &mut Problems) {
    texts(path, field, problems);
    match field.get("type").and_then(Value::as_str) {
        Some("string") if field.contains_key("oneOf") => {
            only(path, field, &[&COMMON, &["oneOf"]], problems);
            titled_choices(&format!("{path}.oneOf"), field.get("oneOf"), problems);
        }
        Some("string") if field.contains_key("enum") => {
            // `enumNames` is from MCP revisions before 2025-11-25.
            only(path, field, &[&COMMON, &["enum", "enumNames"]], problems);
            let choices = choices(&format!("{path}.enum"), field.get("enum"), problems);
            if let Some(names) = field.get("enumNames")
                && choices != self::choices(&format!("{path}.enumNames"), Some(names), problems)
            {
                problems.add(format!("{path}.enumNames"), "must have a name for each choice");
            }
        }
        Some("string") => {
            only(path, field, &[&COMMON, &["minLength", "maxLength", "format"]], problems);
            whole_numbers(path, field, &["minLength", "maxLength"], problems);
            let format = field.get("format");
            if format.is_some_and(|it| !it.as_str().is_some_and(|it| FORMATS.contains(&it))) {
                problems.add(format!("{path}.format"), format!("must be one of {}", FORMATS.join(", ")));
            }
        }
        Some("number") => only(path, field, &[&COMMON, &["minimum", "maximum"]], problems),
        Some("integer") => {
            only(path, field, &[&COMMON, &["minimum", "maximum"]], problems);
            for member in ["minimum", "maximum", "default"] {
                if field.get(member).is_some_and(|it| !it.is_i64()) {
                    problems.add(format!("{path}.{member}"), "must be an integer of 64 bits");
                }
            }
        }
        Some("boolean") => only(path, field, &[&COMMON], problems),
        Some("array") => {
            only(path, field, &[&COMMON, &["items", "minItems", "maxItems"]], problems);
            whole_numbers(path, field, &["minItems", "maxItems"], problems);
            several_choices(&format!("{path}.items"), field.get("items"), problems);
        }
        _ => problems.add(
            format!("{path}.type"),
            "must be string, number, integer, boolean, or array of choices; a form has no other fields",
        ),
    }
}

/// Checks the items of a multiple-choice field.
fn several_choices(path: &str, items: Option<&Value>, problems: &mut Problems) {
    match items.and_then(Value::as_object) {
        Some(items) if items.contains_key("anyOf") => {
            only(path, items, &[&["anyOf"]], problems);
            titled_choices(&format!("{path}.anyOf"), items.get("anyOf"), problems);
        }
        Some(items) if items.get("type").and_then(Value::as_str) == Some("string") => {
            only(path, items, &[&["type", "enum"]], problems);
            choices(&format!("{path}.enum"), items.get("enum"), problems);
        }
        _ => problems.add(path, "must have type string and enum, or anyOf of const and title"),
    }
}

/// Checks choices without titles. Returns their number.
fn choices(path: &str, choices: Option<&Value>, problems: &mut Problems) -> usize {
    let Some(all) = choices.and_then(Value::as_array) else {
        problems.add(path, "must be a list of texts");
        return 0;
    };
    if all.is_empty() || all.len() > MAX_CHOICES || !all.iter().all(Value::is_string) {
        problems.add(path, format!("must be 1 to {MAX_CHOICES} texts"));
    }
    for text in all.iter().take(MAX_CHOICES).filter_map(Value::as_str) {
        choice_text(path, text, problems);
    }
    all.len()
}

fn titled_choices(path: &str, choices: Option<&Value>, problems: &mut Problems) {
    let Some(all) = choices.and_then(Value::as_array) else {
        return problems.add(path, "must be a list of choices");
    };
    let is_choice = |choice: &Value| {
        choice.as_object().is_some_and(|it| it.len() == 2)
            && choice["const"].is_string()
            && choice["title"].is_string()
    };
    if all.is_empty() || all.len() > MAX_CHOICES || !all.iter().all(is_choice) {
        problems.add(path, format!("must be 1 to {MAX_CHOICES} objects of the texts const and title"));
    }
    for choice in all.iter().take(MAX_CHOICES) {
        for text in ["const", "title"].iter().filter_map(|member| choice[*member].as_str()) {
            choice_text(path, text, problems);
        }
    }
}

/// Reports members that are not part of MCP's forms.
fn only(path: &str, object: &Map<String, Value>, known: &[&[&str]], problems: &mut Problems) {
    for name in object.keys().filter(|name| !known.iter().any(|some| some.contains(&name.as_str()))) {
        let known = known.concat().join(", ");
        problems.add(format!("{path}.{name}"), format!("is not part of a form; there are {known}"));
    }
}

fn texts(path: &str, object: &Map<String, Value>, problems: &mut Problems) {
    for (member, max) in [("title", MAX_TITLE_CHARS), ("description", MAX_DESCRIPTION_CHARS)] {
        match object.get(member) {
            None => {}
            Some(Value::String(text)) if text.chars().nth(max).is_none() => {}
            Some(Value::String(_)) => {
                problems.add(format!("{path}.{member}"), format!("has more than {max} characters"));
            }
            Some(_) => problems.add(format!("{path}.{member}"), "must be a text"),
        }
    }
    match object.get("default") {
        Some(Value::String(text)) => hidden(&format!("{path}.default"), text, problems),
        Some(Value::Array(texts)) => {
            for text in texts.iter().filter_map(Value::as_str) {
                hidden(&format!("{path}.default"), text, problems);
            }
        }
        Some(_) | None => {}
    }
}

/// Checks a text that is both displayed and part of the answer: the name of a field, or a choice.
fn choice_text(path: &str, text: &str, problems: &mut Problems) {
    hidden(path, text, problems);
    if text.chars().nth(MAX_TITLE_CHARS).is_some() {
        problems.add(path, format!("has more than {MAX_TITLE_CHARS} characters"));
    }
}

fn hidden(path: &str, text: &str, problems: &mut Problems) {
    if has_hidden(text) {
        problems.add(path, "has control characters or invisible ones");
    }
}

fn whole_numbers(path: &str, object: &Map<String, Value>, members: &[&str], problems: &mut Problems) {
    for member in members {
        let is_number = |it: &Value| it.as_u64().is_some_and(|it| u32::try_from(it).is_ok());
        if object.get(*member).is_some_and(|it| !is_number(it)) {
            problems.add(format!("{path}.{member}"), "must be a whole number of 32 bits");
        }
    }
}

/// Returns the items of an optional list.
fn listed<'a>(
    object: &'a Map<String, Value>,
    member: &str,
    path: &str,
    problems: &mut Problems,
) -> &'a [Value] {
    match object.get(member) {
        None => &[],
        Some(Value::Array(items)) => items,
        Some(_) => {
            problems.add(format!("{path}.{member}"), "must be a list");
            &[]
        }
    }
}
