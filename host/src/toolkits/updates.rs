//! Newer versions, in registries, of toolkits that came from there: found, and kept waiting for their review.
//!
//! Invariants:
//! - a registry is asked if the settings name it, by nobody's credentials, and once an hour for each reference, by whichever
//!   process is first;
//! - what is newer waits as any upload does, after the same checks, and becomes live by an operator alone;
//! - the same artifact is not pulled twice within the time that uploads wait, and not again once it was discarded or deployed.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::store::{FoundNewer, TrackedRow};
use super::{Origin, ToolkitError, Toolkits};
use crate::audit::Actor;
use crate::oci::{PinnedReference, Pulled, Reference, Registry, RegistryError};

/// How often it is looked whether a registry is to be asked.
const INTERVAL: Duration = Duration::from_mins(1);
/// What is kept of an error, in characters.
const MAX_PROBLEM_CHARS: usize = 500;

/// The registries that are asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    registries: Vec<String>,
    /// Largest component that is pulled, in bytes.
    limit: u64,
}

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
    /// When the server last asked: RFC 3339, UTC; `None` if it has not.
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

/// What keeps a newer version from waiting.
enum Hindrance {
    /// It is tried again in an hour.
    Passing(String),
    /// It is the component's, or its registry's.
    Lasting(String),
}

impl From<ToolkitError> for Hindrance {
    fn from(error: ToolkitError) -> Self {
        match error {
            ToolkitError::Refused(_)
            | ToolkitError::UnknownSignature
            | ToolkitError::PublisherRemoved { .. }
            | ToolkitError::OtherPublisher { .. }
            | ToolkitError::SignatureRequired(_)
            | ToolkitError::VersionTaken { .. } => Self::Lasting(clipped(&error)),
            // The text is for the log.
            ToolkitError::Storage(_) | ToolkitError::Compiler(_) => {
                warn!(%error, "a newer version could not be kept");
                Self::Passing("the server could not keep it; its log says why".to_owned())
            }
            error => Self::Passing(clipped(&error)),
        }
    }
}

impl From<RegistryError> for Hindrance {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Egress(_) | RegistryError::TooSlow { .. } | RegistryError::Status { .. } => {
                Self::Passing(clipped(&error))
            }
            error => Self::Lasting(clipped(&error)),
        }
    }
}

impl Toolkits {
    /// Asks these registries for newer versions, and pulls components of at most `limit` bytes.
    #[must_use]
    pub fn following(self, registries: Vec<String>, limit: u64) -> Self {
        Self { followed: Followed { registries, limit }, ..self }
    }

    /// The toolkits whose live version came from a registry by a tag, with what is newer, by id.
    pub async fn tracked(&self) -> Result<Vec<Tracked>, ToolkitError> {
        let rows = self.store.tracked().await?.into_iter();
        Ok(rows
            .filter_map(|row| Some((row.followable()?, row)))
            .map(|(reference, row)| {
                let followed = self.followed.includes(&reference);
                Tracked { followed, ..Tracked::from(row) }
            })
            .collect())
    }

    /// Asks registries, now and regularly, until the server stops; not at all if the settings name none.
    pub fn keep_asking_registries(self: &Arc<Self>, stopping: CancellationToken) {
        if self.followed.registries.is_empty() {
            return;
        }
        let toolkits = Arc::downgrade(self);
        let asking = async move {
            while let Some(toolkits) = toolkits.upgrade() {
                if let Err(error) = toolkits.ask_registries().await {
                    warn!(%error, "registries could not be asked for newer versions");
                }
                drop(toolkits);
                sleep(INTERVAL).await;
            }
        };
        tokio::spawn(async move { stopping.run_until_cancelled(asking).await });
    }

    /// Asks for what is due.
    pub(super) async fn ask_registries(&self) -> Result<(), ToolkitError> {
        for row in self.store.tracked().await? {
            let Some(reference) = row.followable().filter(|it| self.followed.includes(it)) else { continue };
            if self.store.take_question(&row.reference).await? {
                self.ask(&row, reference).await?;
            }
        }
        self.store.forget_questions().await
    }

    /// Asks for one toolkit.
    async fn ask(&self, row: &TrackedRow, reference: Reference) -> Result<(), ToolkitError> {
        let newest = Registry::of(&self.egress, reference).anonymous().newest().await;
        let newest = match newest {
            Ok(newest) => newest,
            Err(error) => {
                warn!(toolkit.id = %row.id, %error, "a registry did not say what is newer");
                return self.store.keep_problem(&row.reference, &clipped(&error)).await;
            }
        };
        if !self.store.is_wanted(row, newest.digest().as_str()).await? {
            return self.store.keep_seen(row, &newest, None).await;
        }
        let mut found = FoundNewer { newest: &newest, component: None, refusal: None };
        match self.fetch(&row.id, &newest, &mut found.component).await {
            Ok(()) => info!(toolkit.id = %row.id, %newest, "a newer version waits for its review"),
            Err(Hindrance::Passing(problem)) => {
                return self.store.keep_seen(row, &newest, Some(&problem)).await;
            }
            Err(Hindrance::Lasting(refusal)) => {
                warn!(toolkit.id = %row.id, %newest, %refusal, "a newer version is refused");
                found.refusal = Some(refusal);
            }
        }
        self.store.keep_found(row, found).await
    }

    /// Pulls a newer version and keeps it waiting, unless it is a component that was deployed before. `component` becomes its
    /// SHA-256.
    async fn fetch(
        &self,
        id: &str,
        newest: &PinnedReference,
        component: &mut Option<String>,
    ) -> Result<(), Hindrance> {
        self.store.has_place_for_newer().await?;
        let by_digest = newest.to_string().parse().expect("a pinned reference is one");
        let pulled = Registry::of(&self.egress, by_digest).anonymous().pull(self.followed.limit).await?;
        let Pulled { component: bytes, reference, signature } = pulled;
        let signature = signature.map(|text| text.read()).transpose()?;
        let origin = Origin { source: Some(reference), pulled: true, signature };
        let (length, whole) = (bytes.len() as u64, stream::iter([Ok::<Bytes, String>(bytes)]));
        let upload = self.receive(whole, Some(length), self.followed.limit).await?;
        *component = Some(upload.digest().to_owned());
        if !self.store.was_deployed(id, upload.digest()).await.map_err(ToolkitError::from)? {
            self.keep_waiting(&upload, Some(id), &Actor::server(), &origin).await?;
        }
        Ok(())
    }
}

impl Followed {
    fn includes(&self, reference: &Reference) -> bool {
        self.registries.iter().any(|registry| registry == reference.registry())
    }
}

impl TrackedRow {
    /// The reference, if something newer can be found by it.
    fn followable(&self) -> Option<Reference> {
        self.reference.parse().ok().filter(Reference::can_be_followed)
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

fn clipped(error: &impl ToString) -> String {
    error.to_string().chars().take(MAX_PROBLEM_CHARS).collect()
}
