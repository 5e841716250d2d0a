//! Validation of questions that a handler asks its user during a call: forms of flat fields, as in MCP's
//! elicitation in form mode (MCP 2025-11-25 and 2026-07-28, `ElicitRequestFormParams`).

mod credential;
mod fields;
mod order;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Problems;
use crate::schema::{Schema, SchemaError};

/// Maximum number of questions per call.
pub const MAX_QUESTIONS: usize = 5;
/// Maximum length of a key, in bytes.
pub const MAX_KEY_BYTES: usize = 64;
/// Maximum length of a message, in characters.
pub const MAX_MESSAGE_CHARS: usize = 1000;
/// Maximum size of the JSON Schema of an answer, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 16 << 10;
/// Maximum number of fields in a form.
pub const MAX_FIELDS: usize = 20;
/// Maximum number of choices of a field.
pub const MAX_CHOICES: usize = 100;
/// Maximum length of a title or a choice, in characters.
pub const MAX_TITLE_CHARS: usize = 100;
/// Maximum length of a description, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 500;
/// Maximum size of an answer as JSON text, in bytes.
pub const MAX_ANSWER_BYTES: usize = 16 << 10;

/// A validated question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Key of the answer when the handler runs again.
    pub key: String,
    /// Text of the question for the user.
    pub message: String,
    /// JSON Schema of the answer: an object of flat fields.
    pub schema: Map<String, Value>,
    /// Names of the fields in the author's order.
    pub order: Vec<String>,
}

impl Question {
    /// Validates a question.
    ///
    /// # Errors
    ///
    /// All problems, each with its path: `schema.properties.city.type`.
    pub fn check(key: &str, message: &str, schema: &str) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        check_key(key, &mut problems);
        check_message(message, &mut problems);
        let text = schema;
        let schema = read_schema(text, &mut problems);
        if let Some(schema) = &schema {
            fields::check(schema, &mut problems);
            // Only a question within all size limits is scanned word by word.
            if problems.0.is_empty() {
                fields::check_defaults(schema, &mut problems);
                credential::check(message, schema, &mut problems);
            }
        }
        match schema {
            Some(schema) if problems.0.is_empty() => {
                let order = order::of_fields(text);
                Ok(Self { key: key.to_owned(), message: message.to_owned(), schema, order })
            }
            _ => Err(problems),
        }
    }

    /// Validates an answer. Returns its fields without those that the question does not have.
    ///
    /// # Errors
    ///
    /// Every violation as `path: what is wrong`, as for arguments.
    pub fn accept(&self, mut answer: Map<String, Value>) -> Result<Map<String, Value>, Vec<String>> {
        let properties = self.schema.get("properties").and_then(Value::as_object);
        answer.retain(|name, _| properties.is_some_and(|known| known.contains_key(name)));
        let answer = Value::Object(answer);
        let violations =
            compile(&self.schema).map_err(|error| vec![format!("/: {error}")])?.violations(&answer);
        match answer {
            Value::Object(fields) if violations.is_empty() => Ok(fields),
            _ => Err(violations),
        }
    }
}

fn compile(schema: &Map<String, Value>) -> Result<Schema, SchemaError> {
    Schema::compile(&Value::Object(schema.clone()))
}

fn check_key(key: &str, problems: &mut Problems) {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if key.is_empty() || key.len() > MAX_KEY_BYTES || !key.bytes().all(is_word) {
        problems.add("key", format!("must match ^[a-zA-Z0-9_.-]{{1,{MAX_KEY_BYTES}}}$"));
    }
}

fn check_message(message: &str, problems: &mut Problems) {
    if message.trim().is_empty() {
        problems.add("message", "must not be empty");
    }
    // Stops counting at the limit.
    if message.chars().nth(MAX_MESSAGE_CHARS).is_some() {
        problems.add("message", format!("has more than {MAX_MESSAGE_CHARS} characters"));
    }
}

fn read_schema(text: &str, problems: &mut Problems) -> Option<Map<String, Value>> {
    if text.len() > MAX_SCHEMA_BYTES {
        problems.add("schema", format!("has more than {MAX_SCHEMA_BYTES} bytes"));
        return None;
    }
    if let Ok(Value::Object(schema)) = serde_json::from_str(text) {
        return Some(schema);
    }
    problems.add("schema", "must be a JSON Schema object");
    None
}

#[cfg(test)]
mod tests;
