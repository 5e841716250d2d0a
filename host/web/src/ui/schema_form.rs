//! A form for the arguments of a tool, made from their JSON Schema.
//!
//! The form is a convenience and decides nothing: arguments are checked against the schema itself when the tool is
//! called. What has no field of its own (unions, recursion, records) is typed as JSON; all arguments can be.
//!
//! Invariant: the size of a form is bounded, whatever its schema: see the constants of `build`.

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

/// Characters that are encoded in names of fields: browsers change line ends there.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

/// The fields of a form.
pub(super) struct SchemaForm {
    nodes: Vec<Node>,
    /// Whether there may be arguments that have no field.
    pub(super) has_more: bool,
}

/// One argument, or one member of an argument.
struct Node {
    /// Where it is in the arguments: a JSON Pointer (RFC 6901).
    pointer: String,
    /// Its name in the object that it is a member of.
    key: String,
    title: String,
    description: Option<String>,
    /// What the schema asks of a value, in words.
    rules: Vec<String>,
    is_required: bool,
    /// Whether `null` is a value.
    is_nullable: bool,
    default: Option<Value>,
    kind: Kind,
}

enum Kind {
    Scalar(Scalar),
    /// Values, one a line.
    List {
        item: Scalar,
        takes_none: bool,
    },
    /// The only value there is.
    Constant(Value),
    /// An object with members.
    Group(Vec<Node>),
    /// Anything else: JSON, with its schema.
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
    /// One of these values.
    Choice(Vec<Value>),
}

/// How a text is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextInput {
    /// On one line: the `type` of the element.
    Line(&'static str),
    Lines,
}

impl Node {
    /// The name of its field. It depends on nothing but the place of the argument: a form that was opened before a new
    /// version went live does not put values into other arguments.
    fn field(&self) -> String {
        utf8_percent_encode(&self.pointer, ENCODED).to_string()
    }

    /// The name of the box that says that the value is empty, and not absent.
    fn empty_field(&self) -> String {
        format!("empty:{}", self.field())
    }

    /// What an empty value is called; `None` where there is none.
    fn empty_value(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Scalar(Scalar::Text { takes_empty: true, .. }) => Some("empty text"),
            Kind::List { takes_none: true, .. } => Some("empty list"),
            _ => None,
        }
    }
}

/// Whether a text cannot be told from several lines once a browser has sent it.
fn has_line_end(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// A value as people read it: texts without quotes.
fn label(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
