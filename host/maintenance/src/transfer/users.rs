//! User ids at another issuer.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::{self, Formatter};

use kitbag_database::EVERYONE;
use kitbag_identity::MAX_SUBJECT_BYTES;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use thiserror::Error;

/// Maximum number of users that errors list.
const MAX_EXAMPLES: usize = 20;

/// Map from user ids of the source to those of the target. No two users get the same id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserIds(HashMap<String, String>);

/// Reason why the new user ids cannot be used.
#[derive(Debug, Error)]
pub enum UserIdsError {
    /// The text is not a map of ids.
    #[error("the new user ids are not a JSON object such as {{\"old id\": \"new id\"}}: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// Users have no new id.
    #[error("users have no new id: {count}")]
    Missing {
        /// Number of users.
        count: usize,
        /// Examples of their ids.
        examples: Vec<String>,
    },
}

impl UserIds {
    /// Parses a JSON object with old ids as keys and new ids as values.
    pub fn parse(json: &str) -> Result<Self, UserIdsError> {
        Ok(serde_json::from_str(json)?)
    }

    /// Fails if one of the users has no new id.
    pub(super) fn expect_all(&self, users: &BTreeSet<String>) -> Result<(), UserIdsError> {
        let missing: Vec<_> = users.iter().filter(|user| !self.0.contains_key(*user)).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing_users(&missing)) }
    }

    /// Returns the new id of a user; the id that stands for everyone stays the same.
    pub(super) fn of(&self, user: &str) -> Result<&str, UserIdsError> {
        if user == EVERYONE {
            return Ok(EVERYONE);
        }
        self.0.get(user).map(String::as_str).ok_or_else(|| missing_users(&[&user.to_owned()]))
    }
}

fn missing_users(users: &[&String]) -> UserIdsError {
    let examples = users.iter().take(MAX_EXAMPLES).map(ToString::to_string).collect();
    UserIdsError::Missing { count: users.len(), examples }
}

impl<'de> Deserialize<'de> for UserIds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(IdsVisitor)
    }
}

/// Rejects duplicate keys, of which a `HashMap` would silently use the last.
struct IdsVisitor;

impl<'de> Visitor<'de> for IdsVisitor {
    type Value = UserIds;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<UserIds, A::Error> {
        let mut ids = HashMap::new();
        let mut new_ids = HashSet::new();
        while let Some((old, new)) = entries.next_entry::<String, String>()? {
            if new.is_empty() || new.len() > MAX_SUBJECT_BYTES || new.contains('\0') {
                return Err(A::Error::custom(format!(
                    "an id has 1 to {MAX_SUBJECT_BYTES} bytes and no NUL, which that of {old} has not"
                )));
            }
            if !new_ids.insert(new.clone()) {
                return Err(A::Error::custom(format!("two users would become {new}")));
            }
            if ids.contains_key(&old) {
                return Err(A::Error::custom(format!("{old} is there twice")));
            }
            ids.insert(old, new);
        }
        Ok(UserIds(ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_one_new_id_and_no_two_have_the_same() {
        let ids = UserIds::parse(r#"{"local": "auth0|1", "ben": "auth0|2"}"#).expect("ids");
        assert_eq!(ids.of("local").expect("a user"), "auth0|1");
        assert!(ids.expect_all(&["ben".to_owned()].into()).is_ok());
        let missing = ids.expect_all(&["ben".to_owned(), "cy".to_owned()].into());
        assert!(matches!(missing, Err(UserIdsError::Missing { count: 1, examples }) if examples == ["cy"]));

        let long = format!(r#"{{"a": "{}"}}"#, "x".repeat(256));
        for (wrong, words) in [
            (r#"{"a": "x", "b": "x"}"#, "two users would become x"),
            (r#"{"a": "x", "a": "y"}"#, "a is there twice"),
            (r#"{"a": ""}"#, "1 to 255 bytes"),
            (r#"{"a": "b\u0000"}"#, "no NUL"),
            (long.as_str(), "1 to 255 bytes"),
            (r#"[["a", "b"]]"#, "a JSON object"),
            (r#"{"a": 1}"#, "invalid type"),
            ("", "EOF"),
        ] {
            let refused = UserIds::parse(wrong).expect_err(wrong).to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
