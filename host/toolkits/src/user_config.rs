//! Users' values for the settings that toolkits declare.
//!
//! Invariant: preferences only. A value that looks like a credential is refused: settings are shown
//! to the user, passed to every call, and not encrypted like the vault's values.

mod looks_secret;
mod store;

use std::collections::BTreeMap;

use kitbag_database::{Database, DatabaseError};
use kitbag_manifest::{ConfigField, Problems, config};
use serde_json::{Map, Value};
use thiserror::Error;

use looks_secret::looks_secret;
use store::Store;

/// Maximum length of a string, in bytes.
const MAX_STRING_BYTES: usize = 8 << 10;

/// The settings of all users.
pub struct UserConfig(Store);

/// A toolkit, and the owner whom the user was shown.
#[derive(Clone, Copy, Debug)]
pub struct OwnedToolkit<'a> {
    /// Id of the toolkit.
    pub id: &'a str,
    /// Id of its owner.
    pub owner: &'a str,
}

/// Reason why settings were not changed, or cannot be read.
#[derive(Debug, Error)]
pub enum UserConfigError {
    /// The settings were refused for these reasons.
    #[error("the settings were refused:\n{0}")]
    Refused(Problems),
    /// The toolkit was removed, or its owner is no longer the expected one.
    #[error(
        "the toolkit has another version, or was removed or taken over in the meantime; nothing is changed"
    )]
    ToolkitChanged,
    /// The database failed; the text is for the log.
    #[error("storage failed: {0}")]
    Storage(#[from] DatabaseError),
}

impl UserConfig {
    /// Stores settings in `database`.
    pub fn new(database: Database) -> Self {
        Self(Store::new(database))
    }

    /// Returns the values that `user` has set for a toolkit, declared or not.
    pub async fn values(&self, user: &str, toolkit: &str) -> Result<Map<String, Value>, UserConfigError> {
        let rows = self.0.values(user, toolkit).await?;
        rows.into_iter()
            .map(|(key, json)| match serde_json::from_str(&json) {
                Ok(value) => Ok((key, value)),
                Err(error) => Err(DatabaseError::unreadable(error).into()),
            })
            .collect()
    }

    /// Sets the values in `changes`, and unsets those that are `null`: all or none, and only if the toolkit
    /// has still this owner. A key that is no longer declared can only be unset.
    pub async fn change(
        &self,
        user: &str,
        toolkit: OwnedToolkit<'_>,
        fields: &BTreeMap<String, ConfigField>,
        changes: &Map<String, Value>,
    ) -> Result<(), UserConfigError> {
        self.0.change(user, toolkit, changes, |has| check(fields, changes, has)).await
    }
}

/// Reports all problems with `changes` of a user who `has` set these keys. Values are never quoted: they may
/// be secrets.
fn check(
    fields: &BTreeMap<String, ConfigField>,
    changes: &Map<String, Value>,
    has: &[String],
) -> Result<(), UserConfigError> {
    let mut problems = Problems::default();
    for (key, value) in changes {
        match fields.get(key) {
            None if value.is_null() && has.contains(key) => {}
            None => problems.add(key, unknown(fields)),
            Some(_) if value.is_null() => {}
            Some(field) => {
                if let Some(problem) = refusal(field, value) {
                    problems.add(key, problem);
                }
            }
        }
    }
    if problems.0.is_empty() { Ok(()) } else { Err(UserConfigError::Refused(problems)) }
}

fn unknown(fields: &BTreeMap<String, ConfigField>) -> String {
    let known: Vec<_> = fields.keys().map(String::as_str).collect();
    match known.as_slice() {
        [] => "is not a setting of this toolkit, which has none".to_owned(),
        known => format!("is not a setting of this toolkit; there are: {}", known.join(", ")),
    }
}

fn refusal(field: &ConfigField, value: &Value) -> Option<String> {
    if let Some(mismatch) = config::mismatch(field, value) {
        return Some(mismatch);
    }
    // The author of the toolkit chooses the options of a select, so they cannot be secrets.
    let text = value.as_str().filter(|_| field.options.is_empty())?;
    if text.len() > MAX_STRING_BYTES {
        return Some(format!("must have at most {MAX_STRING_BYTES} bytes"));
    }
    let reason = looks_secret(text)?;
    Some(format!("looks like a secret ({reason}); settings are no place for one: use `kitbag secret set`"))
}

#[cfg(test)]
mod tests {
    use kitbag_manifest::ConfigKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_is_wrong_is_said_at_once_and_no_value_is_quoted() {
        let field = |kind, options: &[&str]| ConfigField {
            kind,
            options: options.iter().map(ToString::to_string).collect(),
            ..ConfigField::default()
        };
        let fields = BTreeMap::from([
            ("language".to_owned(), field(ConfigKind::String, &[])),
            ("limit".to_owned(), field(ConfigKind::Number, &[])),
            ("order".to_owned(), field(ConfigKind::Select, &["newest"])),
            ("note".to_owned(), field(ConfigKind::String, &[])),
        ]);
        let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let changes = json!({
            "language": secret,
            "limit": "MANY",
            "order": "RANDOM",
            "note": "x".repeat(MAX_STRING_BYTES + 1),
            "gone": "AWAY",
            "never": null,
            "left": null,
        });
        let has = ["gone".to_owned(), "left".to_owned()];

        let refused = check(&fields, changes.as_object().expect("an object"), &has);

        let Err(UserConfigError::Refused(problems)) = refused else { panic!("it must be refused") };
        let paths: Vec<_> = problems.0.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, ["gone", "language", "limit", "never", "note", "order"]);
        let text = problems.to_string();
        assert!(
            text.contains("language, limit, note, order") && text.contains("kitbag secret set"),
            "{text}"
        );
        for value in [secret, "MANY", "RANDOM", "AWAY", "xxx"] {
            assert!(!text.contains(value), "{value} in {text}");
        }
    }
}
