//! What is known of newer versions, for operators.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::TrackedRow;

/// A toolkit whose live version came from a registry, by a tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tracked {
    /// The toolkit.
    pub id: String,
    /// Its live version.
    pub version: String,
    /// The reference that it came from, without the digest.
    pub reference: String,
    /// Digest of the manifest there.
    pub digest: String,
    /// Whether the server asks the registry by itself.
    pub followed: bool,
    /// When the server last asked: RFC 3339, UTC; `None` if it has not, or if it does not follow the registry now.
    pub asked_at: Option<String>,
    /// Why asking has failed, or why what is newer does not wait for a review.
    pub problem: Option<String>,
    /// What is newer, as far as is known.
    pub newer: Option<NewerVersion>,
}

/// What a reference leads to now, or the version after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewerVersion {
    /// The reference, without the digest.
    pub reference: String,
    /// Digest of the manifest.
    pub digest: String,
    /// What has become of it.
    pub state: NewerState,
    /// SHA-256 of the component, hexadecimal, where it waits as an upload.
    pub upload: Option<String>,
    /// The version that it declares, where it waits or was deployed.
    pub version: Option<String>,
}

/// What has become of what is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NewerState {
    /// It was seen, and does not wait: not yet, or not any more.
    Seen,
    /// It waits for its review.
    Waiting,
    /// It does not become live, by the rules of this server.
    Refused,
    /// It has waited, and was discarded.
    Discarded,
    /// It was live before.
    Deployed,
}

impl Tracked {
    /// The same without what a registry has said.
    pub(super) fn unasked(self) -> Self {
        Self { asked_at: None, problem: None, newer: None, ..self }
    }
}

impl From<TrackedRow> for Tracked {
    fn from(row: TrackedRow) -> Self {
        let deployed = row.deployed.filter(|version| *version != row.version);
        let state = match () {
            // Also by hand, after it was discarded.
            () if row.waiting.is_some() => NewerState::Waiting,
            () if deployed.is_some() => NewerState::Deployed,
            () if row.discarded == Some(true) => NewerState::Discarded,
            () if row.refusal.is_some() => NewerState::Refused,
            () => NewerState::Seen,
        };
        let upload = row.component.filter(|_| state == NewerState::Waiting);
        let version = match state {
            NewerState::Waiting => row.waiting,
            NewerState::Deployed => deployed,
            _ => None,
        };
        let newer = row.newer.zip(row.newer_digest).filter(|(_, digest)| *digest != row.digest);
        let newer = newer.filter(|_| !row.is_live);
        let newer =
            newer.map(|(reference, digest)| NewerVersion { reference, digest, state, upload, version });
        let time = |at: i64| Timestamp::from_millisecond(at).unwrap_or_default().to_string();
        Self {
            id: row.id,
            version: row.version,
            reference: row.reference,
            digest: row.digest,
            followed: false,
            asked_at: row.asked_at.map(time),
            problem: row.problem.or(row.refusal.filter(|_| newer.is_some())),
            newer,
        }
    }
}
