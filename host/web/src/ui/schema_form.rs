//! Form for the arguments of a tool, generated from their JSON Schema.
//!
//! The form is only a convenience: arguments are validated against the schema itself when the tool is called.
//! Values without a field of their own (unions, recursion, records) are entered as JSON; so can be all
//! arguments.
//!
//! Invariant: the size of a form is bounded for every schema, by the constants of `build`.

mod build;
mod defaults;
mod number;
mod read;
mod resolve;
mod rules;
#[cfg(test)]
mod tests;
mod view;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

pub(super) use read::Mistakes;
pub(super) use view::{Row, Widget};

/// Characters that are encoded in field names: browsers change line ends there.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

/// The fields of a form.
pub(super) struct SchemaForm {
    nodes: Vec<Node>,
    /// Whether the schema allows arguments that have no field.
    pub(super) has_more: bool,
}

/// An argument, or a member of one.
struct Node {
    /// JSON Pointer (RFC 6901) into the arguments.
    pointer: String,
    /// Name of the member in its object.
    key: String,
    title: String,
    description: Option<String>,
    /// Constraints of the schema, in words.
    rules: Vec<String>,
    is_required: bool,
    /// Whether `null` is allowed.
    is_nullable: bool,
    default: Option<Value>,
    kind: Kind,
}

enum Kind {
    Scalar(Scalar),
    /// A list with one value per line.
    List {
        item: Scalar,
        takes_none: bool,
    },
    /// The only allowed value.
    Constant(Value),
    /// An object with members.
    Group(Vec<Node>),
    /// Any other value: entered as JSON; has the text of its schema.
    Json(String),
}

enum Scalar {
    Text {
        input: TextInput,
        takes_empty: bool,
    },
    Integer {
        minimum: Option<i64>,
        maximum: Option<i64>,
    },
    Number,
    Boolean,
    /// A choice among these values.
    Choice(Vec<Value>),
}

/// Input element for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextInput {
    /// A single line, with the `type` of the input element.
    Line(&'static str),
    Lines,
}

impl Node {
    /// Name of the form field, derived only from the position of the argument: a form that was opened before
    /// a new version went live does not put values into other arguments.
    fn field(&self) -> String {
        utf8_percent_encode(&self.pointer, ENCODED).to_string()
    }

    /// Name of the checkbox for an empty, as opposed to absent, value.
    fn empty_field(&self) -> String {
        format!("empty:{}", self.field())
    }

    /// Label of the empty value; `None` if the schema has none.
    fn empty_value(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Scalar(Scalar::Text { takes_empty: true, .. }) => Some("empty text"),
            Kind::List { takes_none: true, .. } => Some("empty list"),
            _ => None,
        }
    }
}

/// Whether a text has line ends, which a browser would change.
fn has_line_end(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// Formats a value for people: texts without quotes.
fn label(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
