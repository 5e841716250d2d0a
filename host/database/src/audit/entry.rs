//! What an entry says.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::act::Act;

/// Longest text of an entry, in bytes. Longer ones are cut.
pub(super) const MAX_TEXT_BYTES: usize = 512;

/// Who acts: a user, by which OAuth client or key of a program; or the server itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor {
    /// Empty for the server.
    user: String,
    client: Option<String>,
    key: Option<String>,
}

impl Actor {
    /// The server itself.
    pub fn server() -> Self {
        Self::user_only("")
    }

    /// A user, without a client: in a browser, or by a link.
    pub fn user_only(id: &str) -> Self {
        Self { user: id.to_owned(), client: None, key: None }
    }

    /// A user, for whom an OAuth client or the key of a program with this id acts.
    pub fn with(user: &str, client: Option<&str>, key: Option<&str>) -> Self {
        Self { user: user.to_owned(), client: client.map(str::to_owned), key: key.map(str::to_owned) }
    }

    /// The id of the user; empty for the server.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The OAuth client.
    pub fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// The id of the key of a program.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// The outcome of an act. An act that failed has no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was refused.
    Refused,
}

impl Outcome {
    /// The name in an entry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
        }
    }
}

/// An entry that is to be appended.
#[must_use = "an entry counts once it is appended"]
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    pub(super) act: Act,
    pub(super) outcome: Outcome,
    pub(super) by: &'a Actor,
    pub(super) toolkit: Option<&'a str>,
    pub(super) version: Option<&'a str>,
    pub(super) digest: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) affected: Option<&'a str>,
}

impl<'a> Entry<'a> {
    /// An entry about an act, and who did it.
    pub fn new(act: Act, by: &'a Actor) -> Self {
        let outcome = Outcome::Done;
        Self { act, outcome, by, toolkit: None, version: None, digest: None, name: None, affected: None }
    }

    pub(super) fn refused(self) -> Self {
        Self { outcome: Outcome::Refused, ..self }
    }

    /// The toolkit that the act was about.
    pub fn toolkit(self, id: impl Into<Option<&'a str>>) -> Self {
        Self { toolkit: id.into(), ..self }
    }

    /// The version that the act was about.
    pub fn version(self, version: &'a str) -> Self {
        Self { version: Some(version), ..self }
    }

    /// SHA-256 of the component, hexadecimal.
    pub fn digest(self, digest: &'a str) -> Self {
        Self { digest: Some(digest), ..self }
    }

    /// The name of a secret, never its value; the id of a key or a session; the reason of who vouches; where a component
    /// comes from and who signed it; a publisher with the fingerprint of its key.
    pub fn name(self, name: &'a str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// The user whom the act concerns, where it is not who acts.
    pub fn affects(self, user: &'a str) -> Self {
        Self { affected: Some(user), ..self }
    }
}

/// An entry as it was recorded, as JSON for other systems ([shape](../../docs/audit.md)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// Greater than that of each earlier entry of the same chain.
    pub id: i64,
    /// RFC 3339, UTC, with milliseconds.
    pub at: String,
    /// Such as `toolkit.deployed`.
    pub act: String,
    /// `done` or `refused`.
    pub outcome: String,
    /// Who acted; absent for the server itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The OAuth client that acted for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The id of the key that acted for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Id of the toolkit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of its component, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The name of a secret; the id of a key, a session or a master key; the reason of who vouches; where a component comes
    /// from and who signed it; a publisher with the fingerprint of its key; what was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The user whom the act concerns, where it is not who acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected_user: Option<String>,
    /// The chain of the entry.
    pub chain: String,
    /// The number of the entry in its chain, from 1.
    pub sequence: i64,
    /// SHA-256 over the entry and the hash of the one before it, hexadecimal.
    pub hash: String,
}

/// A time of an entry: RFC 3339, UTC, always with milliseconds.
pub(super) fn shown_time(milliseconds: i64) -> String {
    format!("{:.3}", Timestamp::from_millisecond(milliseconds).unwrap_or_default())
}

/// Cuts a text that is too long, and replaces what a database server does not store.
pub(super) fn bounded(text: &str) -> Cow<'_, str> {
    let is_short = text.len() <= MAX_TEXT_BYTES;
    if is_short && !text.contains('\0') {
        return Cow::Borrowed(text);
    }
    let end = if is_short { text.len() } else { text.floor_char_boundary(MAX_TEXT_BYTES - '…'.len_utf8()) };
    let mark = if is_short { "" } else { "…" };
    Cow::Owned(format!("{}{mark}", text[..end].replace('\0', "?")))
}
