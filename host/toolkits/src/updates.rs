//! Newer versions, in registries, of toolkits that came from there: found, and kept waiting for their review.
//!
//! Invariants:
//! - a registry is asked if the settings name it, by nobody's credentials, and once an hour for each toolkit, by whichever
//!   process is first;
//! - what is newer waits as any upload does, after the same checks and if it is a later version, and becomes live by an operator
//!   alone;
//! - the same artifact is not pulled whole twice within the time that uploads wait, and not again once it was discarded or
//!   deployed;
//! - neither a registry nor an answer keeps the others from being asked.

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
use kitbag_net::oci::{PinnedReference, Pulled, Reference, Registry, RegistryError};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::store::{FoundNewer, TrackedRow};
use super::successor::Successor;
use super::{Origin, ToolkitError, Toolkits};
pub use tracked::{NewerState, NewerVersion, Tracked};

/// How often it is looked whether a registry is to be asked.
const INTERVAL: Duration = Duration::from_mins(1);
/// Registries that are asked at the same time; each of them is asked one thing after the other.
const AT_A_TIME: usize = 4;
/// How long a registry may take to say what is newer, and again to send it.
const PATIENCE: Duration = Duration::from_mins(10);
/// What is kept of an error, in characters.
const MAX_PROBLEM_CHARS: usize = 500;

/// The registries that are asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Followed {
    registries: Vec<String>,
    /// Largest component that is pulled, in bytes.
    limit: u64,
}

/// What keeps a newer version from waiting.
enum Hindrance {
    /// The network's, the registry's or the server's. It is tried again in an hour; a day after the pull, if it was pulled whole.
    Passing(String),
    /// What the registry has is not for this toolkit.
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
                let tracked = Tracked { followed: self.followed.includes(&reference), ..Tracked::from(row) };
                // What it said while it was followed is of then.
                if tracked.followed { tracked } else { tracked.unasked() }
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

    /// Asks for what is due. What goes wrong with one toolkit keeps no other from being asked for.
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

    /// Asks for one toolkit.
    async fn ask(&self, row: &TrackedRow, reference: Reference) -> Result<(), ToolkitError> {
        let newest = match patiently(Registry::of(&self.egress, reference).anonymous().newest()).await {
            Ok(newest) => newest,
            Err(Hindrance::Passing(problem) | Hindrance::Lasting(problem)) => {
                warn!(toolkit.id = %row.id, %problem, "a registry did not say what is newer");
                return self.store.keep_problem(row, &problem).await;
            }
        };
        // Before it is pulled: somebody may discard it as soon as it waits.
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

    /// Pulls a newer version and keeps it waiting, unless it is a component that waits already or was deployed before. `component`
    /// becomes its SHA-256 once it was pulled whole.
    async fn fetch(
        &self,
        row: &TrackedRow,
        newest: &PinnedReference,
        component: &mut Option<String>,
    ) -> Result<(), Hindrance> {
        self.store.has_place_for_newer().await?;
        let registry = Registry::of(&self.egress, newest.by_digest()).anonymous();
        let Pulled { component: bytes, signature, .. } =
            patiently(registry.pull(self.followed.limit)).await?;
        let digest = component.insert(hex::encode(Sha256::digest(&bytes)));
        if self.store.has_component(&row.id, digest).await.map_err(ToolkitError::from)? {
            return Ok(());
        }
        let signature = signature.map(|text| text.read()).transpose();
        let signature = signature.map_err(|error| Hindrance::Lasting(clipped(&error)))?;
        let origin = Origin { source: Some(newest.clone()), pulled: true, signature };
        let (length, whole) = (bytes.len() as u64, stream::iter([Ok::<Bytes, String>(bytes)]));
        let upload = self.receive(whole, Some(length), self.followed.limit).await?;
        let tagged = newest.reference().tagged_version();
        let successor = Successor { id: &row.id, live: &row.version, tagged };
        self.keep_waiting(&upload, Some(&successor), &Actor::server(), &origin).await?;
        info!(toolkit.id = %row.id, %newest, "a newer version waits for its review");
        Ok(())
    }
}

/// Waits for a registry, within the time that it may take.
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
    /// The reference, if something newer can be found by it.
    fn followable(&self) -> Option<Reference> {
        self.reference.parse().ok().filter(Reference::can_be_followed)
    }
}

fn clipped(error: &impl ToString) -> String {
    error.to_string().chars().take(MAX_PROBLEM_CHARS).collect()
}
