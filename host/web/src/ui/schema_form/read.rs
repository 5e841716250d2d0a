//! Conversion of a submitted form to arguments.

use std::collections::BTreeMap;

use kitbag_manifest::json::measure;
use kitbag_manifest::schema::MAX_VALUES;
use serde_json::{Map, Value};

use super::{Kind, Node, Scalar, SchemaForm, label, number};
use crate::ui::form::Form;

/// Error messages by the JSON Pointer of the argument.
pub(in crate::ui) type Mistakes = BTreeMap<String, String>;

/// State of a submitted field.
enum Given {
    /// The argument is absent.
    Nothing,
    /// A value that nobody typed (constant, `null` or object); sent only if the object around it is sent.
    Implied(Value),
    Typed(Value),
}

/// Parser of a form's fields.
struct Reader<'a> {
    form: &'a Form,
    mistakes: Mistakes,
    /// Remaining number of values in JSON fields.
    json_values: usize,
}

impl SchemaForm {
    /// Returns the arguments, or the mistakes in the form. An empty field omits its argument.
    pub(in crate::ui) fn arguments(&self, form: &Form) -> Result<Map<String, Value>, Mistakes> {
        let mut reader = Reader { form, mistakes: Mistakes::new(), json_values: MAX_VALUES };
        let (arguments, _) = reader.members(&self.nodes);
        if reader.mistakes.is_empty() { Ok(arguments) } else { Err(reader.mistakes) }
    }
}

impl Reader<'_> {
    /// Returns the members of an object, and whether any of them was typed.
    fn members(&mut self, nodes: &[Node]) -> (Map<String, Value>, bool) {
        let (mut object, mut is_typed) = (Map::new(), false);
        for node in nodes {
            match self.given(node) {
                Given::Nothing => {}
                Given::Implied(value) => {
                    object.insert(node.key.clone(), value);
                }
                Given::Typed(value) => {
                    is_typed = true;
                    object.insert(node.key.clone(), value);
                }
            }
        }
        (object, is_typed)
    }

    fn given(&mut self, node: &Node) -> Given {
        let absent = match &node.kind {
            Kind::Constant(value) => Given::Implied(value.clone()),
            _ if node.is_required && node.is_nullable => Given::Implied(Value::Null),
            _ => Given::Nothing,
        };
        if let Kind::Group(nodes) = &node.kind {
            let (object, is_typed) = self.members(nodes);
            return match absent {
                _ if is_typed => Given::Typed(object.into()),
                Given::Nothing if node.is_required => Given::Implied(object.into()),
                absent => absent,
            };
        }
        match self.typed(node) {
            None => absent,
            Some(Ok(value)) => Given::Typed(value),
            Some(Err(mistake)) => {
                self.mistakes.insert(node.pointer.clone(), mistake);
                absent
            }
        }
    }

    /// Returns the value of a field; `None` if it is empty.
    fn typed(&mut self, node: &Node) -> Option<Result<Value, String>> {
        // Browsers send line ends of texts as CRLF.
        let text = self.form.get(&node.field()).replace("\r\n", "\n");
        let is_empty = node.empty_value().is_some() && self.form.find(&node.empty_field()).is_some();
        match &node.kind {
            Kind::Constant(_) | Kind::Group(_) => None,
            Kind::Scalar(Scalar::Text { .. }) if text.is_empty() => is_empty.then(|| Ok("".into())),
            Kind::Scalar(Scalar::Text { .. }) => Some(Ok(text.into())),
            Kind::Scalar(scalar) => (!text.trim().is_empty()).then(|| scalar.read(&text)),
            Kind::List { item, .. } => {
                list(item, &text).or_else(|| is_empty.then(|| Ok(Vec::<Value>::new().into())))
            }
            Kind::Json(_) => (!text.trim().is_empty()).then(|| self.json(&text)),
        }
    }

    fn json(&mut self, text: &str) -> Result<Value, String> {
        // Counted before any value is built, as in `tools::arguments`.
        let values = measure(text.as_bytes(), self.json_values).values;
        let Some(left) = self.json_values.checked_sub(values) else {
            return Err(format!("The JSON in this form has more than {MAX_VALUES} values in it."));
        };
        self.json_values = left;
        serde_json::from_str(text)
            .map_err(|error| format!("This is not JSON at line {}, column {}.", error.line(), error.column()))
    }
}

/// Parses a list with one value per line; `None` if there are none.
fn list(item: &Scalar, text: &str) -> Option<Result<Value, String>> {
    // A line of white space is a value only for texts.
    let is_item = |line: &&str| match item {
        Scalar::Text { .. } => !line.is_empty(),
        _ => !line.trim().is_empty(),
    };
    let mut lines = text.lines().filter(is_item).peekable();
    lines.peek()?;
    let Scalar::Choice(choices) = item else { return Some(lines.map(|line| item.read(line)).collect()) };
    let labelled: BTreeMap<_, _> = choices.iter().map(|choice| (label(choice), choice)).collect();
    let read = |line: &str| labelled.get(line.trim()).copied().cloned().ok_or_else(not_a_choice);
    Some(lines.map(read).collect())
}

impl Scalar {
    /// Parses a value from its own field or from a line.
    pub(super) fn read(&self, text: &str) -> Result<Value, String> {
        match self {
            Self::Text { .. } => Ok(text.into()),
            Self::Integer { .. } => number::integer(text.trim()).map_err(str::to_owned),
            Self::Number => number::number(text.trim()).map_err(str::to_owned),
            Self::Boolean => match text.trim() {
                "true" => Ok(true.into()),
                "false" => Ok(false.into()),
                _ => Err("This must be true or false.".to_owned()),
            },
            // The submitted text is the JSON of one of the values.
            Self::Choice(values) => {
                let chosen = values.iter().find(|value| *value.to_string() == *text);
                chosen.cloned().ok_or_else(not_a_choice)
            }
        }
    }
}

fn not_a_choice() -> String {
    "This is not one of the choices.".to_owned()
}
