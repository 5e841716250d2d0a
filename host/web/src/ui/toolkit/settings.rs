//! Form for the user's settings of a toolkit.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use kitbag_access::values::user_config::UserConfigError;
use kitbag_access::{AccessError, Setting, User};
use kitbag_manifest::{ConfigField, ConfigKind, Problem};
use serde_json::{Map, Number, Value};

use super::{Done, Refused, Seen, back_to, page};
use crate::authenticate::By;
use crate::error::WebError;
use crate::state::Shared;
use crate::ui::form::Form;
use crate::ui::frame::Frame;

/// Prefix of a setting's key in its field name, so that no key collides with other fields.
pub(super) const FIELD_PREFIX: &str = "setting:";

/// View model of a setting.
pub(super) struct Field {
    pub(super) key: String,
    pub(super) label: String,
    pub(super) description: Option<String>,
    pub(super) is_required: bool,
    pub(super) problem: Option<String>,
    pub(super) input: Input,
}

/// Input element.
pub(super) enum Input {
    /// Free text, or a number.
    Text {
        value: String,
        /// Default, used without a value.
        default: Option<String>,
        is_number: bool,
    },
    /// A choice from a list; the first option stands for no value.
    Choice { none: String, choices: Vec<Choice> },
}

pub(super) struct Choice {
    pub(super) value: String,
    pub(super) is_selected: bool,
}

/// Returns the fields with their stored values.
pub(super) fn fields(settings: BTreeMap<String, Setting>) -> Vec<Field> {
    let field = |(key, Setting { definition, value, .. })| {
        let typed = value.as_ref().map(text_of).unwrap_or_default();
        field(key, &definition, typed, None)
    };
    settings.into_iter().map(field).collect()
}

/// Returns the text of a setting's field, with its original line ends (forms send CRLF, RFC 7578).
fn typed(form: &Form, key: &str) -> Option<String> {
    Some(form.find(&format!("{FIELD_PREFIX}{key}"))?.replace("\r\n", "\n"))
}

/// `POST /ui/toolkits/{id}/settings`: one field for each setting; an empty one unsets it.
pub(in crate::ui) async fn change(
    State(shared): State<Shared>,
    By(user): By<User>,
    frame: Frame,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, WebError> {
    let toolkit = user.toolkit(&id)?;
    let form = Form::read(body).await?;
    if !Seen::of(&toolkit).is_in(&form) {
        return page(&shared.base_url, &user, frame, &toolkit, None, Some(Refused::Changed)).await;
    }
    let declared = &toolkit.definition().config;
    let stored = toolkit.settings().await?;
    let changes: Map<String, Value> = stored
        .iter()
        .filter_map(|(key, setting)| {
            let text = typed(&form, key)?;
            let shown = setting.value.as_ref().map(text_of).unwrap_or_default();
            // Skips unchanged fields: an empty form value means both 'unset' and 'empty', and forms change
            // line ends.
            (text != shown.replace("\r\n", "\n")).then(|| (key.clone(), value_of(&setting.definition, &text)))
        })
        .collect();
    match toolkit.change_settings(&changes).await {
        Ok(()) => Ok(back_to(&id, Done::SettingsSaved).into_response()),
        Err(AccessError::Settings(UserConfigError::Refused(problems))) => {
            let problem = |key: &str| {
                let of_key = |problem: &&Problem| problem.path == key;
                problems.0.iter().find(of_key).map(|problem| problem.message.clone())
            };
            let typed = declared.iter().map(|(key, definition)| {
                field(key.clone(), definition, typed(&form, key).unwrap_or_default(), problem(key))
            });
            page(&shared.base_url, &user, frame, &toolkit, None, Some(Refused::Settings(typed.collect())))
                .await
        }
        Err(error) => Err(error.into()),
    }
}

fn field(key: String, definition: &ConfigField, typed: String, problem: Option<String>) -> Field {
    let default = definition.default.as_ref().map(text_of);
    let choices = match definition.kind {
        ConfigKind::Select => Some(definition.options.clone()),
        ConfigKind::Boolean => Some(vec!["true".to_owned(), "false".to_owned()]),
        ConfigKind::String | ConfigKind::Number => None,
    };
    let input = match choices {
        Some(values) => Input::Choice {
            none: default.map_or_else(|| "not set".to_owned(), |default| format!("default ({default})")),
            choices: values.into_iter().map(|value| Choice { is_selected: value == typed, value }).collect(),
        },
        None => Input::Text { value: typed, default, is_number: definition.kind == ConfigKind::Number },
    };
    Field {
        key,
        label: definition.label.clone(),
        description: definition.description.clone(),
        is_required: definition.required,
        problem,
        input,
    }
}

/// Converts typed text to a value. Text that is not a number stays text, and is refused together with other
/// errors.
fn value_of(field: &ConfigField, text: &str) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    match field.kind {
        ConfigKind::Boolean if text == "true" => true.into(),
        ConfigKind::Boolean if text == "false" => false.into(),
        ConfigKind::Number => text.trim().parse::<Number>().map_or_else(|_| text.into(), Value::Number),
        _ => text.into(),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: ConfigKind) -> ConfigField {
        ConfigField { kind, options: vec!["a".to_owned()], ..ConfigField::default() }
    }

    #[test]
    fn typed_text_becomes_a_value_of_the_fields_type() {
        for (kind, text, expected) in [
            (ConfigKind::String, "1", Value::from("1")),
            (ConfigKind::String, "", Value::Null),
            (ConfigKind::Number, " 12.5 ", serde_json::json!(12.5)),
            (ConfigKind::Number, "9007199254740993", serde_json::json!(9_007_199_254_740_993_u64)),
            (ConfigKind::Number, "many", Value::from("many")),
            (ConfigKind::Boolean, "true", true.into()),
            (ConfigKind::Boolean, "yes", Value::from("yes")),
            (ConfigKind::Select, "a", Value::from("a")),
        ] {
            assert_eq!(value_of(&of(kind), text), expected, "{text:?}");
        }
    }
}
