//! `kitbag config set | unset | get`

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use http::Method;
use kitbag_manifest::{ConfigField, ConfigKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::client::{Client, Connection};
use super::error::CliError;
use super::output::report;
use super::terminal::{Text, say};

/// Show and change your own settings of a toolkit.
#[derive(Debug, Subcommand)]
pub(super) enum Config {
    /// Set a value.
    Set(Set),
    /// Go back to the default.
    Unset(Unset),
    /// Print the settings and their values.
    Get(Get),
}

/// Set a value.
#[derive(Args, Debug)]
pub(super) struct Set {
    /// The toolkit's id.
    toolkit: String,
    /// The setting's key.
    key: String,
    /// The value: text, a number, `true` or `false`, or one of the options.
    #[arg(allow_hyphen_values = true)]
    value: String,
    #[command(flatten)]
    connection: Connection,
}

/// Go back to the default.
#[derive(Args, Debug)]
pub(super) struct Unset {
    /// The toolkit's id.
    toolkit: String,
    /// The setting's key.
    key: String,
    #[command(flatten)]
    connection: Connection,
}

/// Print the settings and their values.
#[derive(Args, Debug)]
pub(super) struct Get {
    /// The toolkit's id.
    toolkit: String,
    /// Only this setting's value.
    key: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Longest label in a list, in characters.
const MAX_LABEL_CHARS: usize = 200;

/// Declared configuration field with its stored and its effective value.
#[derive(Deserialize, Serialize)]
pub(super) struct Field {
    definition: ConfigField,
    value: Option<Value>,
    effective: Option<Value>,
    missing: bool,
}

pub(super) type Fields = BTreeMap<String, Field>;

impl Config {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Set(command) => command.run().await,
            Self::Unset(command) => command.run().await,
            Self::Get(command) => command.run().await,
        }
    }
}

impl Set {
    async fn run(self) -> Result<(), CliError> {
        let fields = set(&self.connection.open().await?, &self.toolkit, &self.key, &self.value).await?;
        let now = find(&fields, &self.toolkit, &self.key)?;
        report(now, || say!("{} is set for your calls of {}.", self.key, self.toolkit))
    }
}

impl Unset {
    async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let fields = change(&client, &self.toolkit, &self.key, Value::Null).await?;
        let now = find(&fields, &self.toolkit, &self.key)?;
        report(now, || say!("{} is unset for your calls of {}: {}", self.key, self.toolkit, shown(now)))
    }
}

impl Get {
    async fn run(self) -> Result<(), CliError> {
        let fields = fetch(&self.connection.open().await?, &self.toolkit).await?;
        if let Some(key) = &self.key {
            let field = find(&fields, &self.toolkit, key)?;
            return report(field, || say!("{}", field.effective.as_ref().map(text).unwrap_or_default()));
        }
        report(&fields, || {
            if fields.is_empty() {
                say!("{} has no settings.", self.toolkit);
            }
            for (key, field) in &fields {
                say!(
                    "{:<24} {:<32} {}",
                    key,
                    shown(field),
                    Text::clipped_prose(&field.definition.label, MAX_LABEL_CHARS)
                );
            }
        })
    }
}

/// Formats the effective value and its source.
fn shown(field: &Field) -> String {
    match &field.effective {
        // A stored value that no longer matches its declaration is ignored.
        Some(value) if field.value.as_ref() == Some(value) => text(value),
        Some(value) => format!("{} (default)", text(value)),
        None if field.missing => "(missing: required)".to_owned(),
        None => "(not set)".to_owned(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Parses a value of the field's kind; the error says what was expected.
fn parse(kind: ConfigKind, text: &str) -> Result<Value, &'static str> {
    match kind {
        ConfigKind::String | ConfigKind::Select => Ok(Value::from(text)),
        ConfigKind::Number => text.parse::<Number>().map(Value::Number).map_err(|_| "a number"),
        ConfigKind::Boolean => text.parse::<bool>().map(Value::Bool).map_err(|_| "true or false"),
    }
}

fn find<'a>(fields: &'a Fields, toolkit: &str, key: &str) -> Result<&'a Field, CliError> {
    fields.get(key).ok_or_else(|| {
        let known: Vec<_> = fields.keys().map(String::as_str).collect();
        let error = CliError::new(format!("{toolkit} has no setting {key:?}"));
        if known.is_empty() {
            return error.hint("it has no settings at all");
        }
        error.hint(format!("its settings are: {}", known.join(", ")))
    })
}

/// Parses `text` for the field's kind, sets the field, and returns all fields.
pub(super) async fn set(client: &Client, toolkit: &str, key: &str, text: &str) -> Result<Fields, CliError> {
    let fields = fetch(client, toolkit).await?;
    let field = find(&fields, toolkit, key)?;
    let value = parse(field.definition.kind, text)
        .map_err(|expected| CliError::new(format!("{key}: must be {expected}")))?;
    change(client, toolkit, key, value).await
}

async fn fetch(client: &Client, toolkit: &str) -> Result<Fields, CliError> {
    client.send(Method::GET, &path(toolkit), "application/json", "").await
}

async fn change(client: &Client, toolkit: &str, key: &str, value: Value) -> Result<Fields, CliError> {
    let changes = Value::Object(Map::from_iter([(key.to_owned(), value)]));
    client.send(Method::PATCH, &path(toolkit), "application/json", changes.to_string()).await
}

fn path(toolkit: &str) -> String {
    format!("/toolkits/{toolkit}/config")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_read_as_its_kind_has_it() {
        for (kind, text, expected) in [
            (ConfigKind::String, "7", Ok(json!("7"))),
            (ConfigKind::Select, "newest", Ok(json!("newest"))),
            (ConfigKind::Number, "7", Ok(json!(7))),
            (ConfigKind::Number, "-0.5", Ok(json!(-0.5))),
            (ConfigKind::Number, "seven", Err("a number")),
            (ConfigKind::Boolean, "true", Ok(json!(true))),
            (ConfigKind::Boolean, "yes", Err("true or false")),
        ] {
            assert_eq!(parse(kind, text), expected, "{text}");
        }
    }
}
