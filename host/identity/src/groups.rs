//! The groups of a user, as a claim of their verified token names them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::warn;

/// Groups of one user. With more, none counts: a provider that names so many leaves some out, too.
const MAX_GROUPS: usize = 256;
/// Length of a group's name in bytes.
const MAX_GROUP_BYTES: usize = 256;

/// Names of groups. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups(Arc<BTreeSet<String>>);

impl Groups {
    /// Whether the user is in the group of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The names, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl FromIterator<String> for Groups {
    fn from_iter<T: IntoIterator<Item = String>>(names: T) -> Self {
        Self(Arc::new(names.into_iter().collect()))
    }
}

/// The claim that holds groups: its own name, such as `groups` or `https://example.com/groups`, or a path of names with dots
/// between them, such as `realm_access.roles`.
#[derive(Debug)]
pub(super) struct GroupsClaim {
    name: String,
    /// Whether the log has said that a claim was of no use.
    has_warned: AtomicBool,
}

impl GroupsClaim {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), has_warned: AtomicBool::new(false) }
    }

    /// The groups that verified claims name: a list of strings, or one string with spaces between them. None, and a
    /// warning, where the claim is something else, too long, or left out by the provider for its length.
    pub(super) fn read(&self, claims: &Map<String, Value>) -> Groups {
        let groups = match self.find(claims) {
            Some(claim) => names_of(claim),
            None if self.is_elsewhere(claims) => Err("it is too long for a token (`_claim_names`)"),
            None => Ok(Groups::default()),
        };
        groups.unwrap_or_else(|reason| {
            if !self.has_warned.swap(true, Ordering::Relaxed) {
                let user = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
                warn!(
                    claim = self.name,
                    user.id = user,
                    reason,
                    "the groups of a user are ignored; other users of whom this is so are not reported"
                );
            }
            Groups::default()
        })
    }

    fn find<'a>(&self, claims: &'a Map<String, Value>) -> Option<&'a Value> {
        if let Some(claim) = claims.get(&self.name) {
            return Some(claim);
        }
        let (first, rest) = self.name.split_once('.')?;
        rest.split('.').try_fold(claims.get(first)?, |value, name| value.get(name))
    }

    /// Whether the provider says that the claim is to be fetched elsewhere (`OpenID` Connect Core, section 5.6.2), as Entra
    /// does for users with many groups.
    fn is_elsewhere(&self, claims: &Map<String, Value>) -> bool {
        let first = self.name.split('.').next().unwrap_or_default();
        let elsewhere = claims.get("_claim_names");
        [self.name.as_str(), first].iter().any(|name| elsewhere.is_some_and(|it| it.get(name).is_some()))
    }
}

/// The names in a claim, or why it has none.
fn names_of(claim: &Value) -> Result<Groups, &'static str> {
    let names: Vec<&str> = match claim {
        Value::Null => Vec::new(),
        Value::String(text) => text.split_ascii_whitespace().collect(),
        Value::Array(items) => {
            let names: Option<_> = items.iter().map(Value::as_str).collect();
            names.ok_or("it lists something else than strings")?
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("it is neither a list of strings nor a string");
        }
    };
    if names.len() > MAX_GROUPS {
        return Err("it names more than 256 groups");
    }
    // PostgreSQL has no NUL in texts.
    if names.iter().any(|name| name.is_empty() || name.len() > MAX_GROUP_BYTES || name.contains('\0')) {
        return Err("a name is empty, longer than 256 bytes, or has a NUL");
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(claim: &str, claims: Value) -> Vec<String> {
        let Value::Object(claims) = claims else { panic!("claims are an object") };
        GroupsClaim::new(claim).read(&claims).iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_claim_is_found_by_its_name_or_by_a_path() {
        assert_eq!(read("groups", json!({ "groups": ["sales", "support", "sales"] })), ["sales", "support"]);
        assert_eq!(read("groups", json!({ "groups": "sales  support" })), ["sales", "support"]);
        assert_eq!(read("realm_access.roles", json!({ "realm_access": { "roles": ["sales"] } })), ["sales"]);
        // The name of a claim may be a URL, with dots.
        assert_eq!(
            read("https://a.example/groups", json!({ "https://a.example/groups": ["sales"] })),
            ["sales"]
        );
        assert_eq!(read("a.b", json!({ "a.b": ["one"], "a": { "b": ["other"] } })), ["one"]);

        for absent in
            [json!({}), json!({ "groups": null }), json!({ "groups": [] }), json!({ "roles": ["x"] })]
        {
            assert_eq!(read("groups", absent.clone()), [""; 0], "{absent}");
        }
        for absent in [json!({ "a": ["b"] }), json!({ "a": { "c": ["x"] } }), json!({ "a": "b" })] {
            assert_eq!(read("a.b", absent.clone()), [""; 0], "{absent}");
        }
    }

    #[test]
    fn of_a_claim_that_cannot_be_taken_as_it_is_no_group_counts() {
        let many: Vec<_> = (0..10_000).map(|number| format!("group-{number}")).collect();
        for malformed in [
            json!({ "groups": 7 }),
            json!({ "groups": true }),
            json!({ "groups": { "sales": true } }),
            json!({ "groups": ["sales", 7] }),
            json!({ "groups": ["sales", ["support"]] }),
            json!({ "groups": ["sales", ""] }),
            json!({ "groups": ["sales", "a\0b"] }),
            json!({ "groups": ["sales", "x".repeat(MAX_GROUP_BYTES + 1)] }),
            json!({ "groups": many }),
            json!({ "groups": many.join(" ") }),
            json!({ "_claim_names": { "groups": "src1" }, "_claim_sources": {} }),
        ] {
            assert_eq!(read("groups", malformed.clone()), [""; 0], "{malformed}");
        }
        let most: Vec<_> = (0..MAX_GROUPS).map(|number| format!("{number:0>256}")).collect();
        assert_eq!(read("groups", json!({ "groups": most })).len(), MAX_GROUPS);
    }
}
