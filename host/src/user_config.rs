//! What users have set of the settings that toolkits declare.
//!
//! Invariant: preferences only. A value that looks like a credential is refused: settings are shown
//! again, handed to every call, and not sealed as the vault's values are.

mod looks_secret;

use std::collections::BTreeMap;

use kitbag_manifest::{ConfigField, Problems, config};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::database::Database;
use looks_secret::looks_secret;

/// Bytes that one string may have.
const LONGEST: usize = 8 << 10;

/// The settings of all users.
pub struct UserConfig(Database);

/// Why settings were not changed, or cannot be read.
#[derive(Debug, Error)]
pub enum UserConfigError {
    /// They were refused, for all of these reasons.
    #[error("the settings were refused:\n{0}")]
    Refused(Problems),
    /// The toolkit is gone, or is another owner's than the one whom the user knows.
    #[error("the toolkit was removed or taken over in the meantime; nothing is changed")]
    ToolkitChanged,
    /// Our fault; the text is for the log.
    #[error("storage failed: {0}")]
    Storage(#[from] sqlx::Error),
}

impl UserConfig {
    /// Keeps settings in `database`.
    pub fn new(database: Database) -> Self {
        Self(database)
    }

    /// What `user` has set for a toolkit, whether or not it is still declared.
    pub async fn values(&self, user: &str, toolkit: &str) -> Result<Map<String, Value>, UserConfigError> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT key, value FROM user_config WHERE user_id = ? AND toolkit_id = ?")
                .bind(user)
                .bind(toolkit)
                .fetch_all(&self.0.readers)
                .await?;
        rows.into_iter()
            .map(|(key, json)| match serde_json::from_str(&json) {
                Ok(value) => Ok((key, value)),
                Err(error) => Err(sqlx::Error::Decode(error.into()).into()),
            })
            .collect()
    }

    /// Sets what `changes` names, and unsets what it names with `null`: all of it or nothing, and only while the
    /// toolkit is `owner`'s. What the user has set of a key that is not declared any more can be unset.
    pub async fn change(
        &self,
        user: &str,
        (toolkit, owner): (&str, &str),
        fields: &BTreeMap<String, ConfigField>,
        changes: &Map<String, Value>,
    ) -> Result<(), UserConfigError> {
        let mut transaction = self.0.writer.begin_with("BEGIN IMMEDIATE").await?;
        let has: Vec<String> =
            sqlx::query_scalar("SELECT key FROM user_config WHERE user_id = ? AND toolkit_id = ?")
                .bind(user)
                .bind(toolkit)
                .fetch_all(&mut *transaction)
                .await?;
        check(fields, changes, &has)?;
        let known: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM toolkits WHERE id = ? AND owner = ?)")
                .bind(toolkit)
                .bind(owner)
                .fetch_one(&mut *transaction)
                .await?;
        if !known {
            return Err(UserConfigError::ToolkitChanged);
        }
        for (key, value) in changes {
            let change = if value.is_null() {
                sqlx::query("DELETE FROM user_config WHERE user_id = ? AND toolkit_id = ? AND key = ?")
                    .bind(user)
                    .bind(toolkit)
                    .bind(key)
            } else {
                sqlx::query(
                    "INSERT INTO user_config (user_id, toolkit_id, key, value) VALUES (?, ?, ?, ?)
                     ON CONFLICT (user_id, toolkit_id, key) DO UPDATE SET value = excluded.value",
                )
                .bind(user)
                .bind(toolkit)
                .bind(key)
                .bind(value.to_string())
            };
            change.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(())
    }
}

/// Names everything that is wrong with `changes` of a user who `has` set these keys, and never quotes a value: it may be a secret.
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
        [] => "is no setting of this toolkit, which has none".to_owned(),
        known => format!("is no setting of this toolkit; there are: {}", known.join(", ")),
    }
}

fn refusal(field: &ConfigField, value: &Value) -> Option<String> {
    if let Some(mismatch) = config::mismatch(field, value) {
        return Some(mismatch);
    }
    // What a select offers, its author has written.
    let text = value.as_str().filter(|_| field.options.is_empty())?;
    if text.len() > LONGEST {
        return Some(format!("must have at most {LONGEST} bytes"));
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
            "note": "x".repeat(LONGEST + 1),
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
