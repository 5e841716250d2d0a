//! Groups of a user, from a claim of the verified token.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::warn;

/// Maximum number of groups per user. Longer lists are ignored entirely: providers truncate them.
pub(super) const MAX_GROUPS: usize = 256;
/// Maximum length of a group's name, in bytes.
pub(super) const MAX_GROUP_BYTES: usize = 256;

/// Set of group names; cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups(Arc<BTreeSet<String>>);

impl Groups {
    /// Whether the user is a member of the group `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Returns the set of names itself; cheap.
    pub fn names(&self) -> Arc<BTreeSet<String>> {
        self.0.clone()
    }

    /// Returns the group names, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl FromIterator<String> for Groups {
    fn from_iter<T: IntoIterator<Item = String>>(names: T) -> Self {
        Self(Arc::new(names.into_iter().collect()))
    }
}

/// Claim with the user's groups: a name, such as `groups` or `https://example.com/groups`, or a dotted path,
/// such as `realm_access.roles`.
#[derive(Debug)]
pub(super) struct GroupsClaim {
    name: String,
    /// Whether an unusable claim has been logged; only the first one is.
    has_warned: AtomicBool,
}

impl GroupsClaim {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), has_warned: AtomicBool::new(false) }
    }

    /// Reads the groups from verified claims: an array of strings, or one string separated by spaces. Returns
    /// no groups and logs a warning if the claim has another type, is too long, or was left out by the
    /// provider for its length.
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

    /// Whether the claim is a distributed claim (`OpenID` Connect Core, section 5.6.2), as Entra's is for
    /// users with many groups.
    fn is_elsewhere(&self, claims: &Map<String, Value>) -> bool {
        let first = self.name.split('.').next().unwrap_or_default();
        let elsewhere = claims.get("_claim_names");
        [self.name.as_str(), first].iter().any(|name| elsewhere.is_some_and(|it| it.get(name).is_some()))
    }
}

/// Returns the group names in a claim, or the reason why it is unusable.
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
    // PostgreSQL text cannot contain NUL.
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
        // A claim's name may be a URL with dots.
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
