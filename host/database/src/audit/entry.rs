//! Entries of the audit log.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::act::Act;

/// Maximum length of a text of an entry, in bytes. Longer ones are truncated.
pub(super) const MAX_TEXT_BYTES: usize = 512;

/// Author of an act: a user, optionally through an OAuth client or an API key; or the server itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor {
    /// User id; empty for the server.
    user: String,
    client: Option<String>,
    key: Option<String>,
}

impl Actor {
    /// Creates the actor for the server itself.
    pub fn server() -> Self {
        Self::user_only("")
    }

    /// Creates the actor for a user without a client: in a browser, or by a link.
    pub fn user_only(id: &str) -> Self {
        Self { user: id.to_owned(), client: None, key: None }
    }

    /// Creates the actor for a user represented by an OAuth client or by the API key with this id.
    pub fn with(user: &str, client: Option<&str>, key: Option<&str>) -> Self {
        Self { user: user.to_owned(), client: client.map(str::to_owned), key: key.map(str::to_owned) }
    }

    /// Returns the user id; empty for the server.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the id of the OAuth client, if any.
    pub fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// Returns the id of the API key, if any.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

/// Outcome of an act. Failed acts are not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The act was done.
    Done,
    /// The act was refused.
    Refused,
}

impl Outcome {
    /// Returns the name stored in an entry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
        }
    }
}

/// A new entry, to be appended.
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
    /// Creates an entry about an act that was done.
    pub fn new(act: Act, by: &'a Actor) -> Self {
        let outcome = Outcome::Done;
        Self { act, outcome, by, toolkit: None, version: None, digest: None, name: None, affected: None }
    }

    /// Returns who did it.
    pub fn actor(&self) -> &'a Actor {
        self.by
    }

    pub(super) fn refused(self) -> Self {
        Self { outcome: Outcome::Refused, ..self }
    }

    /// Sets the toolkit concerned.
    pub fn toolkit(self, id: impl Into<Option<&'a str>>) -> Self {
        Self { toolkit: id.into(), ..self }
    }

    /// Sets the version concerned.
    pub fn version(self, version: &'a str) -> Self {
        Self { version: Some(version), ..self }
    }

    /// Sets the SHA-256 digest of the component, hexadecimal.
    pub fn digest(self, digest: &'a str) -> Self {
        Self { digest: Some(digest), ..self }
    }

    /// Sets the name. Depends on the act: name of a secret (never its value); id of a key or a session;
    /// reason given for vouching; origin and signer of a component; publisher with the fingerprint of its
    /// key.
    pub fn name(self, name: &'a str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Sets the affected user, if not the actor.
    pub fn affects(self, user: &'a str) -> Self {
        Self { affected: Some(user), ..self }
    }
}

/// An entry as it was recorded, as JSON for other systems ([shape](../../docs/audit.md)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// Id; increases along each chain.
    pub id: i64,
    /// Time: RFC 3339, UTC, with milliseconds.
    pub at: String,
    /// Name of the act, such as `toolkit.deployed`.
    pub act: String,
    /// Outcome: `done` or `refused`.
    pub outcome: String,
    /// Id of the acting user; absent for the server itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Id of the OAuth client that acted for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Id of the API key that acted for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Toolkit id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
    /// Version of the toolkit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of the component, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Depends on the act: name of a secret; id of a key, a session or a master key; reason given for
    /// vouching; origin and signer of a component; publisher with the fingerprint of its key; refused act or
    /// route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Affected user, if not the actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected_user: Option<String>,
    /// Name of the entry's chain.
    pub chain: String,
    /// Sequence number in the chain, from 1.
    pub sequence: i64,
    /// SHA-256 over the entry and the hash of the previous one, hexadecimal.
    pub hash: String,
}

/// Formats a time: RFC 3339, UTC, always with milliseconds.
pub(super) fn shown_time(milliseconds: i64) -> String {
    format!("{:.3}", Timestamp::from_millisecond(milliseconds).unwrap_or_default())
}

/// Truncates a text to [`MAX_TEXT_BYTES`], and replaces NUL, which PostgreSQL does not store.
pub(super) fn bounded(text: &str) -> Cow<'_, str> {
    let is_short = text.len() <= MAX_TEXT_BYTES;
    if is_short && !text.contains('\0') {
        return Cow::Borrowed(text);
    }
    let end = if is_short { text.len() } else { text.floor_char_boundary(MAX_TEXT_BYTES - '…'.len_utf8()) };
    let mark = if is_short { "" } else { "…" };
    Cow::Owned(format!("{}{mark}", text[..end].replace('\0', "?")))
}
