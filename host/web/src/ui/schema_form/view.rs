//! View model of the fields for the template: rows in order, with markers for the start and end of objects.

use serde_json::Value;

use super::{Kind, Mistakes, Node, Scalar, SchemaForm, TextInput, label};
use crate::ui::form::Form;

/// A row of a form.
#[expect(clippy::large_enum_variant, reason = "most rows are fields")]
pub(in crate::ui) enum Row {
    /// Start of an object's members.
    Open {
        title: String,
        description: Option<String>,
        is_required: bool,
    },
    /// End of an object's members.
    Close,
    Field(Field),
}

impl Row {
    /// Whether the value is entered as JSON.
    pub(in crate::ui) fn is_json(&self) -> bool {
        matches!(self, Self::Field(Field { widget: Widget::Json { .. }, .. }))
    }
}

pub(in crate::ui) struct Field {
    /// Id that is unique on the page; letters and digits.
    pub(in crate::ui) id: String,
    pub(in crate::ui) name: String,
    /// Name of the argument, if its title differs.
    pub(in crate::ui) key: Option<String>,
    pub(in crate::ui) title: String,
    pub(in crate::ui) description: Option<String>,
    pub(in crate::ui) rules: String,
    pub(in crate::ui) is_required: bool,
    /// Whether the browser may require a value (attribute `required`).
    pub(in crate::ui) must_be_filled: bool,
    pub(in crate::ui) mistake: Option<String>,
    pub(in crate::ui) widget: Widget,
    pub(in crate::ui) empty: Option<Empty>,
}

/// Checkbox for an empty, as opposed to absent, value.
pub(in crate::ui) struct Empty {
    pub(in crate::ui) name: String,
    pub(in crate::ui) label: &'static str,
    pub(in crate::ui) is_checked: bool,
}

/// Input element.
pub(in crate::ui) enum Widget {
    /// Single line, with the attributes `type`, `step`, `min` and `max`.
    Line {
        kind: &'static str,
        value: String,
        step: Option<&'static str>,
        minimum: Option<i64>,
        maximum: Option<i64>,
    },
    Lines {
        value: String,
    },
    Choice {
        none: &'static str,
        choices: Vec<Choice>,
    },
    Constant {
        value: String,
    },
    Json {
        value: String,
        schema: String,
    },
}

pub(in crate::ui) struct Choice {
    pub(in crate::ui) value: String,
    pub(in crate::ui) label: String,
    pub(in crate::ui) is_selected: bool,
}

impl SchemaForm {
    /// Returns the rows, with the typed values and their mistakes.
    pub(in crate::ui) fn rows(&self, typed: &Form, mistakes: &Mistakes) -> Vec<Row> {
        let mut view = View { typed, mistakes, rows: Vec::new() };
        view.add(&self.nodes, Surrounding::Required);
        view.rows
    }
}

/// Whether all objects around a field are required.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Surrounding {
    Required,
    Optional,
}

struct View<'a> {
    typed: &'a Form,
    mistakes: &'a Mistakes,
    rows: Vec<Row>,
}

impl View<'_> {
    fn add(&mut self, nodes: &[Node], surrounding: Surrounding) {
        for node in nodes {
            let Kind::Group(members) = &node.kind else {
                let field = self.field(node, surrounding);
                self.rows.push(Row::Field(field));
                continue;
            };
            let (title, description) = (node.title.clone(), node.description.clone());
            self.rows.push(Row::Open { title, description, is_required: node.is_required });
            let is_sent = node.is_required && !node.is_nullable && surrounding == Surrounding::Required;
            self.add(members, if is_sent { Surrounding::Required } else { Surrounding::Optional });
            self.rows.push(Row::Close);
        }
    }

    fn field(&self, node: &Node, surrounding: Surrounding) -> Field {
        let empty = node.empty_value().map(|label| {
            let name = node.empty_field();
            Empty { label, is_checked: self.typed.find(&name).is_some(), name }
        });
        let is_needed = node.is_required && !node.is_nullable && surrounding == Surrounding::Required;
        Field {
            id: format!("f{}", self.rows.len()),
            name: node.field(),
            key: (node.title != node.key).then(|| node.key.clone()),
            title: node.title.clone(),
            description: node.description.clone(),
            rules: node.rules.join("; "),
            is_required: node.is_required,
            must_be_filled: is_needed && empty.is_none(),
            mistake: self.mistake(&node.pointer),
            widget: widget(node, self.typed.get(&node.field()).to_owned()),
            empty,
        }
    }
}

impl View<'_> {
    /// Returns the error of an argument, or of a value inside it.
    fn mistake(&self, pointer: &str) -> Option<String> {
        let within = format!("{pointer}/");
        let (_, mistake) =
            self.mistakes.iter().find(|(place, _)| *place == pointer || place.starts_with(&within))?;
        Some(mistake.clone())
    }
}

fn widget(node: &Node, value: String) -> Widget {
    let line = |kind, value, step| Widget::Line { kind, value, step, minimum: None, maximum: None };
    let unset = if node.is_nullable { "no value" } else { "not set" };
    match &node.kind {
        Kind::Scalar(Scalar::Text { input: TextInput::Line(kind), .. }) => line(*kind, value, None),
        Kind::Scalar(Scalar::Text { input: TextInput::Lines, .. }) | Kind::List { .. } => {
            Widget::Lines { value }
        }
        Kind::Scalar(Scalar::Integer { minimum, maximum }) => {
            Widget::Line { kind: "number", value, step: Some("1"), minimum: *minimum, maximum: *maximum }
        }
        Kind::Scalar(Scalar::Number) => line("number", value, Some("any")),
        Kind::Scalar(Scalar::Boolean) => {
            let choices = [("true", "yes"), ("false", "no")].map(|(json, label)| Choice {
                is_selected: json == value,
                value: json.to_owned(),
                label: label.to_owned(),
            });
            Widget::Choice { none: unset, choices: choices.into() }
        }
        Kind::Scalar(Scalar::Choice(values)) => {
            Widget::Choice { none: unset, choices: values.iter().map(|it| choice(it, &value)).collect() }
        }
        Kind::Constant(constant) => Widget::Constant { value: label(constant) },
        Kind::Json(schema) => Widget::Json { value, schema: schema.clone() },
        Kind::Group(_) => unreachable!("the members of an object have rows of their own"),
    }
}

fn choice(value: &Value, typed: &str) -> Choice {
    let json = value.to_string();
    Choice { is_selected: json == typed, label: label(value), value: json }
}
