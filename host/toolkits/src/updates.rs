//! Finds newer versions, in registries, of toolkits that came from there, and stores them for review.
//!
//! Invariants:
//! - a registry is asked only if the settings name it, without credentials, and once an hour for each
//!   toolkit, by the first process that gets to it;
//! - a newer version waits like any upload, after the same checks and if it is a later version, and only an
//!   operator makes it live;
//! - the same artifact is not pulled completely twice within the time that uploads wait, and not again once
//!   it was discarded or deployed;
//! - neither a registry nor an answer prevents the others from being asked.

#[cfg(test)]
mod tests;
mod tracked;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use kitbag_base::sha256::Sha256;
use kitbag_database::audit::Actor;
use kitbag_net::egress::Egress;
use kitbag_net::oci::{PinnedReference, Pulled, Reference, Registry, RegistryError};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::components::{Components, Incoming};
use super::error::ToolkitError;
use super::provenance::Origin;
use super::reviews::Reviews;
use super::store::{FoundNewer, TrackedRow, UpdateStore, UploadStore};
use super::successor::Successor;
pub use tracked::{NewerState, NewerVersion, Tracked};

/// Interval in which due registries are looked for.
const INTERVAL: Duration = Duration::from_mins(1);
/// Maximum number of registries that are asked concurrently; each is asked for one toolkit at a time.
const AT_A_TIME: usize = 4;
/// Maximum time for a registry to name a newer version, and again to send it.
const PATIENCE: Duration = Duration::from_mins(10);
/// Maximum length of a recorded error, in characters.
const MAX_PROBLEM_CHARS: usize = 500;

/// Newer versions, in registries, of toolkits that came from there.
pub struct Updates {
    pub(super) components: Components,
    pub(super) egress: Egress,
    pub(super) followed: Followed,
    pub(super) reviews: Arc<Reviews>,
    pub(super) store: UpdateStore,
    pub(super) uploads: UploadStore,
}

/// The registries to ask.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) registries: Vec<String>,
    /// Maximum size of a pulled component, in bytes.
    pub(super) limit: u64,
}

/// Reason why a newer version cannot wait for review.
enum Hindrance {
    /// A temporary problem of the network, the registry or the server. Retried after an hour, or a day after
    /// the pull if the component was pulled completely.
    Passing(String),
    /// The artifact in the registry does not fit this toolkit.
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
            RegistryError::NotComponent { .. }
            | RegistryError::Index { .. }
            | RegistryError::TooLarge { .. } => Self::Lasting(clipped(&error)),
            error => Self::Passing(clipped(&error)),
        }
    }
}

impl Updates {
    /// Returns the toolkits whose live version came from a registry by a tag, with the newer version if there
    /// is one, by id.
    pub async fn tracked(&self) -> Result<Vec<Tracked>, ToolkitError> {
        let rows = self.store.tracked().await?.into_iter();
        Ok(rows
            .filter_map(|row| Some((row.followable()?, row)))
            .map(|(reference, row)| {
                let tracked = Tracked { followed: self.followed.includes(&reference), ..Tracked::from(row) };
                // Results from the time when the registry was followed are outdated.
                if tracked.followed { tracked } else { tracked.unasked() }
            })
            .collect())
    }

    /// Asks registries, now and regularly, until the server stops; never if the settings name none.
    pub fn keep_asking_registries(self: &Arc<Self>, stopping: CancellationToken) {
        if self.followed.registries.is_empty() {
            return;
        }
        let updates = Arc::downgrade(self);
        let asking = async move {
            while let Some(updates) = updates.upgrade() {
                if let Err(error) = updates.ask_registries().await {
                    warn!(%error, "registries could not be asked for newer versions");
                }
                drop(updates);
                sleep(INTERVAL).await;
            }
        };
        tokio::spawn(async move { stopping.run_until_cancelled(asking).await });
    }

    /// Asks for all toolkits that are due. A failure with one toolkit does not prevent the others from being
    /// asked for.
    pub(super) async fn ask_registries(&self) -> Result<(), ToolkitError> {
        let mut due = BTreeMap::<String, Vec<_>>::new();
        for row in self.store.tracked().await? {
            let reference = row.followable().filter(|it| row.is_due() && self.followed.includes(it));
            if let Some(reference) = reference {
                due.entry(reference.registry().to_owned()).or_default().push((row, reference));
            }
        }
        let asking = stream::iter(due.into_values()).for_each_concurrent(AT_A_TIME, async |due| {
            for (row, reference) in due {
                if let Err(error) = self.ask_if_nobody_has(&row, reference).await {
                    warn!(toolkit.id = %row.id, %error, "it could not be kept what is newer in a registry");
                }
            }
        });
        asking.await;
        self.store.forget_questions().await
    }

    async fn ask_if_nobody_has(&self, row: &TrackedRow, reference: Reference) -> Result<(), ToolkitError> {
        if self.store.take_question(row).await? { self.ask(row, reference).await } else { Ok(()) }
    }

    /// Asks the registry for one toolkit.
    async fn ask(&self, row: &TrackedRow, reference: Reference) -> Result<(), ToolkitError> {
        let newest = match patiently(Registry::of(&self.egress, reference).anonymous().newest()).await {
            Ok(newest) => newest,
            Err(Hindrance::Passing(problem) | Hindrance::Lasting(problem)) => {
                warn!(toolkit.id = %row.id, %problem, "a registry did not say what is newer");
                return self.store.keep_problem(row, &problem).await;
            }
        };
        // Recorded before the pull: an operator may discard the version as soon as it waits.
        self.store.keep_seen(row, &newest).await?;
        if !self.store.is_wanted(row, newest.digest().as_str()).await? {
            return Ok(());
        }
        let mut found = FoundNewer { newest: &newest, component: None, refusal: None, problem: None };
        match self.fetch(row, &newest, &mut found.component).await {
            Ok(()) => {}
            Err(Hindrance::Passing(problem)) => {
                warn!(toolkit.id = %row.id, %newest, %problem, "a newer version was not kept");
                if found.component.is_none() {
                    return self.store.keep_problem(row, &problem).await;
                }
                found.problem = Some(problem);
            }
            Err(Hindrance::Lasting(refusal)) => {
                warn!(toolkit.id = %row.id, %newest, %refusal, "a newer version is refused");
                found.refusal = Some(refusal);
            }
        }
        self.store.keep_found(row, found).await
    }

    /// Pulls a newer version and stores it for review, unless the component waits already or was deployed
    /// before. Sets `component` to its SHA-256 once it is pulled completely.
    async fn fetch(
        &self,
        row: &TrackedRow,
        newest: &PinnedReference,
        component: &mut Option<String>,
    ) -> Result<(), Hindrance> {
        self.uploads.has_place_for_newer().await?;
        let registry = Registry::of(&self.egress, newest.by_digest()).anonymous();
        let Pulled { component: bytes, signature, .. } =
            patiently(registry.pull(self.followed.limit)).await?;
        let digest = component.insert(hex::encode(Sha256::digest(&bytes)));
        if self.store.has_component(&row.id, digest).await.map_err(ToolkitError::from)? {
            return Ok(());
        }
        let signature = signature.map(|text| text.read()).transpose();
        let signature = signature.map_err(|error| Hindrance::Lasting(clipped(&error)))?;
        let incoming = Incoming {
            length: Some(bytes.len() as u64),
            bytes: stream::iter([Ok::<Bytes, String>(bytes)]),
            limit: self.followed.limit,
            origin: Origin { source: Some(newest.clone()), pulled: true, signature },
        };
        let (upload, origin) = self.components.receive(incoming).await?;
        let tagged = newest.reference().tagged_version();
        let successor = Successor { id: &row.id, live: &row.version, tagged };
        self.reviews.keep_waiting(&upload, Some(&successor), &Actor::server(), &origin).await?;
        info!(toolkit.id = %row.id, %newest, "a newer version waits for its review");
        Ok(())
    }
}

/// Waits for a registry, at most [`PATIENCE`].
async fn patiently<T>(answer: impl Future<Output = Result<T, RegistryError>>) -> Result<T, Hindrance> {
    let late = || format!("the registry has taken longer than {} minutes", PATIENCE.as_secs() / 60);
    Ok(timeout(PATIENCE, answer).await.map_err(|_| Hindrance::Passing(late()))??)
}

impl Followed {
    fn includes(&self, reference: &Reference) -> bool {
        self.registries.iter().any(|registry| registry == reference.registry())
    }
}

impl TrackedRow {
    /// Returns the reference, if newer versions can be found by it.
    fn followable(&self) -> Option<Reference> {
        self.reference.parse().ok().filter(Reference::can_be_followed)
    }
}

fn clipped(error: &impl ToString) -> String {
    error.to_string().chars().take(MAX_PROBLEM_CHARS).collect()
}
