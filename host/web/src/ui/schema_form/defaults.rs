//! Conversion of defaults to prefilled form fields.

use kitbag_base::bounded_json;
use serde_json::Value;

use super::{Kind, Node, Scalar, SchemaForm, TextInput, has_line_end, label, number};
use crate::ui::form::Form;

/// Maximum bytes of a default that is shown indented.
const MAX_INDENTED_BYTES: usize = 4 << 10;

impl SchemaForm {
    /// Returns a form with the defaults of required arguments. Omits a default that contradicts its own
    /// schema, since the field could not hold it.
    pub(in crate::ui) fn defaults(&self) -> Form {
        let mut fields = Vec::new();
        add_defaults(&self.nodes, &mut fields);
        Form::of(fields)
    }
}

fn add_defaults(nodes: &[Node], fields: &mut Vec<(String, String)>) {
    for node in nodes.iter().filter(|node| node.is_required) {
        if let Kind::Group(nodes) = &node.kind {
            add_defaults(nodes, fields);
        }
        let Some(default) = node.default.as_ref().filter(|default| node.kind.keeps(default)) else {
            continue;
        };
        if is_empty(default) && node.empty_value().is_some() {
            fields.push((node.empty_field(), "on".to_owned()));
        } else {
            fields.push((node.field(), node.kind.written(default)));
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value == "" || value.as_array().is_some_and(Vec::is_empty)
}

impl Kind {
    /// Whether the field takes this type of value, but the browser, or splitting into lines, would change
    /// this one.
    pub(super) fn would_change(&self, value: &Value) -> bool {
        let is_for = match self {
            Self::Scalar(Scalar::Text { .. }) => value.is_string(),
            Self::List { .. } => value.is_array(),
            _ => false,
        };
        is_for && !self.keeps(value)
    }

    /// Whether a prefilled value is submitted unchanged.
    fn keeps(&self, value: &Value) -> bool {
        match (self, value) {
            // Browsers normalise carriage returns in a text area, and drop line ends from a single line.
            (Self::Scalar(Scalar::Text { input: TextInput::Lines, .. }), Value::String(text)) => {
                !text.contains('\r')
            }
            (Self::Scalar(Scalar::Text { .. }), Value::String(text)) => !has_line_end(text),
            (Self::Scalar(scalar), value) => scalar.is_for(value),
            (Self::List { item, .. }, Value::Array(items)) => {
                items.iter().all(|value| item.is_for(value) && is_line(&item.written(value)))
            }
            (Self::Json(_), _) => true,
            _ => false,
        }
    }

    /// Formats a value as the field's text.
    fn written(&self, value: &Value) -> String {
        match (self, value) {
            (Self::Scalar(Scalar::Choice(_)), value) => value.to_string(),
            (Self::Scalar(scalar), value) => scalar.written(value),
            (Self::List { item, .. }, Value::Array(items)) => {
                items.iter().map(|value| item.written(value)).collect::<Vec<_>>().join("\n")
            }
            (_, value) => bounded_json::indented(value, MAX_INDENTED_BYTES),
        }
    }
}

impl Scalar {
    fn is_for(&self, value: &Value) -> bool {
        match self {
            Self::Text { .. } => value.is_string(),
            Self::Integer { .. } | Self::Number => {
                value.is_number() && self.read(&self.written(value)).is_ok()
            }
            Self::Boolean => value.is_boolean(),
            Self::Choice(choices) => choices.contains(value),
        }
    }

    /// Formats a value as a line.
    fn written(&self, value: &Value) -> String {
        match (self, value) {
            (Self::Integer { .. }, Value::Number(number)) => number::without_zeros(number),
            _ => label(value),
        }
    }
}

/// Whether a text can be a line of a list.
fn is_line(text: &str) -> bool {
    !text.is_empty() && !has_line_end(text)
}
