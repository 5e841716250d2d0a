//! Newer versions of toolkits in registries, for operators.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::TrackedRow;

/// A toolkit whose live version came from a registry, by a tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tracked {
    /// Id of the toolkit.
    pub id: String,
    /// The live version.
    pub version: String,
    /// Reference that the live version came from, without the digest.
    pub reference: String,
    /// Digest of the live version's manifest in the registry.
    pub digest: String,
    /// Whether the server follows the registry.
    pub followed: bool,
    /// Time of the last request: RFC 3339, UTC; `None` if there was none, or if the server does not follow
    /// the registry now.
    pub asked_at: Option<String>,
    /// Reason why the request failed, or why the newer version does not wait for review.
    pub problem: Option<String>,
    /// The newer version, if one is known.
    pub newer: Option<NewerVersion>,
}

/// The version that a reference points to now, or the version after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewerVersion {
    /// Reference of the newer version, without the digest.
    pub reference: String,
    /// Digest of the manifest in the registry.
    pub digest: String,
    /// State of the newer version on this server.
    pub state: NewerState,
    /// SHA-256 of the component, hexadecimal, if it waits as an upload.
    pub upload: Option<String>,
    /// The declared version number, if it waits or was deployed.
    pub version: Option<String>,
}

/// State of a newer version on this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NewerState {
    /// Found in the registry, but not waiting for review: not yet, or not any more.
    Seen,
    /// Waiting for review.
    Waiting,
    /// Rejected by the rules of this server.
    Refused,
    /// Discarded by an operator while it waited.
    Discarded,
    /// Live in the past.
    Deployed,
}

impl Tracked {
    /// Removes the registry's answers.
    pub(super) fn unasked(self) -> Self {
        Self { asked_at: None, problem: None, newer: None, ..self }
    }
}

impl From<TrackedRow> for Tracked {
    fn from(row: TrackedRow) -> Self {
        let deployed = row.deployed.filter(|version| *version != row.version);
        let state = match () {
            // Checked first: an operator may have uploaded it by hand after it was discarded.
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
