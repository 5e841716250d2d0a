//! Toolkits: deployment of uploaded components, calls, and the records of calls.
//!
//! Invariant: components are stored before the database refers to them, and a version becomes live in one
//! transaction. After a crash at any point, the next start finds either the old or the new version live,
//! complete.
//!
//! # Modules
//!
//! - `registry`, `live`: the live toolkits, and the code of each version
//! - `store`: all SQL about toolkits; `store/ownership` decides who may change which toolkit
//! - `dispatch`: (caller, call of a tool, a prompt, a resource or a completion) → reply: admission,
//!   validation of arguments and results, one record per call
//! - `code_runner`: the component that runs code of models, and its tool `run_code` (docs/decisions/0073);
//!   `capabilities/fetch/inner_calls` receives its tool calls, `access/code` runs them
//! - `knowledge_tools`: the server's own tools `search` and `fetch`, which clients call like those of
//!   toolkits (docs/decisions/0062)
//! - `invocations`: the records of calls: written in the background, stored for a limited time, listed,
//!   filtered and followed; `invocations/usage` counts calls and failures of the last day,
//!   `invocations/counts` the calls of the last thirty days (docs/decisions/0071)
//! - `user_config`: users' values for the settings that toolkits declare; refuses values that look like a
//!   secret
//! - `icons`: pictures of toolkits whose icon is a URL: fetched at deploy, their type verified from their
//!   bytes
//! - `audience`, `limited_calls`: the users who may use toolkits and tools, and limits of their calls
//!   (docs/decisions/0069)
//! - `reach`, `consents`: the hosts, secrets and documents that a toolkit reaches, and the part of them that
//!   a user has not agreed to; `dispatch` checks it before it reads any data of the user
//!   (docs/decisions/0070)
//! - `hidden`: toolkits and tools that users hide from models, read once per user and state of the registry
//! - `updates`, `successor`: asks the registries in the settings for newer versions, once an hour in one
//!   process, and stores later versions for review (docs/decisions/0076)
//! - `provenance`, `store/publishers`: the source and the signer of each version, and which versions may
//!   follow a signed one (docs/decisions/0075)
//! - `uploads`, `difference`: uploads that wait for review (docs/decisions/0025), and the differences between
//!   two versions: capabilities, imports, and texts line by line

mod artifacts;
pub mod audience;
mod code;
pub mod code_runner;
mod code_tools;
mod consents;
mod deploy;
pub mod difference;
pub mod dispatch;
mod error;
mod freshness;
pub mod invocations;
pub mod knowledge_tools;
mod limited_calls;
#[doc(hidden)]
pub mod fuzzing {
    //! Entry points for `fuzz/`.
    pub use super::icons::fuzzing::picture;
}
mod hidden;
mod icons;
mod inspect;
mod live;
mod narrowed;
mod offers;
mod provenance;
mod reach;
mod registry;
mod schemas;
mod store;
mod successor;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod updates;
mod uploads;
pub mod user_config;
mod vouch;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use kitbag_base::disk::Disk;
use kitbag_base::tasks::to_its_end;
use kitbag_database::Database;
use kitbag_database::audit::Actor;
use kitbag_files::objects::Files;
use kitbag_manifest::schema;
use kitbag_net::egress::Egress;
use kitbag_sandbox::Sandbox;
use kitbag_sandbox::compiler::Compiler;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, watch};
use tracing::{info, warn};

use artifacts::Artifacts;
pub use code::{NotReady, Ready};
pub use consents::{Consent, ConsentBy, FirstAct};
pub use deploy::Deployed;
pub use difference::{Changes, Difference, Side, capabilities};
pub use error::ToolkitError;
pub use hidden::Hidden;
pub use icons::Picture;
pub use inspect::{Inspected, inspect};
pub use limited_calls::{LimitUsage, LimitedCalls, OverLimit};
pub use live::{FormerOwner, Live};
pub use offers::{Offer, OfferKind, record_names};
pub use provenance::{Origin, Provenance, Publisher, SignatureRule, SignedBy, Source};
pub use reach::{Reach, ReachItem};
pub use registry::{Registry, Tool, listed_name, names_of, toolkit_of};
pub use schemas::Schemas;
use store::Store;
pub use store::{
    AskedCall, AskedCalls, Claim, Expected, LiveVersion, OwnershipRecord, Rollback, TakenOver, ToolkitRecord,
    Version, VersionRecord,
};
use updates::Followed;
pub use updates::{NewerState, NewerVersion, Tracked};
pub use uploads::{Review, Reviewed, UploadRecord};
pub use vouch::{Vouch, VouchReason};

/// All deployed toolkits.
pub struct Toolkits {
    sandbox: Sandbox,
    compiler: Compiler,
    artifacts: Artifacts,
    disk: Disk,
    egress: Egress,
    store: Store,
    limited_calls: LimitedCalls,
    asked_calls: AskedCalls,
    registry: ArcSwap<Registry>,
    /// Signals each replacement of `registry`, whatever its cause.
    published: watch::Sender<()>,
    /// Signals each replacement of `registry` that this process has caused.
    changed: watch::Sender<()>,
    /// Locked while the database and the registry are changed together.
    changing: Mutex<()>,
    /// Locked while the registry is read and replaced: an older one must not replace a newer one.
    publishing: Mutex<()>,
    /// Called after users' secrets for a toolkit were deleted, because the toolkit was removed or its owner
    /// changed.
    removed: Box<dyn Fn() + Send + Sync>,
    consent_by: ConsentBy,
    signature_rule: SignatureRule,
    followed: Followed,
}

/// The result of a rollback.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    /// Id of the toolkit.
    pub id: String,
    /// The version that is live now.
    pub version: String,
    /// The former owner, if the rollback took the toolkit over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<TakenOver>,
}

impl Toolkits {
    /// Reads the deployed toolkits, whose components are in `components`. Machine code is loaded at the first
    /// call of each toolkit, so that start-up time does not grow with the number of toolkits.
    pub async fn open(
        directory: &Path,
        components: Files,
        database: Database,
        sandbox: Sandbox,
        compiler: Compiler,
        disk: Disk,
        egress: Egress,
    ) -> Result<Self, ToolkitError> {
        let artifacts = Artifacts::open(directory, &sandbox.code_version(), components).await?;
        let limited_calls = LimitedCalls::new(database.clone());
        let asked_calls = AskedCalls::new(database.clone());
        let store = Store::new(database);
        artifacts.sweep_code(store.digests().await?).await;
        let toolkits = Self {
            sandbox,
            compiler,
            artifacts,
            disk,
            egress,
            store,
            limited_calls,
            asked_calls,
            registry: ArcSwap::default(),
            published: watch::Sender::new(()),
            changed: watch::Sender::new(()),
            changing: Mutex::new(()),
            publishing: Mutex::new(()),
            removed: Box::new(|| ()),
            consent_by: ConsentBy::default(),
            signature_rule: SignatureRule::default(),
            followed: Followed::default(),
        };
        toolkits.publish().await?;
        // In the background: the first call uses the result, or waits for the rest.
        tokio::task::spawn_blocking(schema::prepare);
        Ok(toolkits)
    }

    /// Calls `removed` after a toolkit was removed or its owner changed.
    #[must_use]
    pub fn on_removal(self, removed: impl Fn() + Send + Sync + 'static) -> Self {
        Self { removed: Box::new(removed), ..self }
    }

    /// Returns the current registry. A call uses the snapshot with which it started.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Returns the counters of limited calls.
    pub fn limited_calls(&self) -> &LimitedCalls {
        &self.limited_calls
    }

    /// Returns the calls that continue with an answer of their user.
    pub fn asked_calls(&self) -> &AskedCalls {
        &self.asked_calls
    }

    /// Returns a receiver that is notified of each replacement of the registry.
    pub fn published(&self) -> watch::Receiver<()> {
        self.published.subscribe()
    }

    /// Notifies receivers that users may see other toolkits or tools, although the registry is the same.
    pub fn announce(&self) {
        self.published.send_replace(());
    }

    /// Whether anyone listens to [`published`](Self::published).
    pub fn is_followed(&self) -> bool {
        self.published.receiver_count() > 0
    }

    /// Returns a receiver that is notified of each change of the live toolkits by this process.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Makes an earlier version live again.
    pub async fn roll_back(
        self: &Arc<Self>,
        id: &str,
        wanted: Rollback,
        by: &Actor,
    ) -> Result<RolledBack, ToolkitError> {
        let (toolkits, id, by) = (self.clone(), id.to_owned(), by.clone());
        to_its_end(async move { toolkits.roll_back_now(&id, &wanted, &by).await }).await?
    }

    async fn roll_back_now(
        &self,
        id: &str,
        wanted: &Rollback,
        by: &Actor,
    ) -> Result<RolledBack, ToolkitError> {
        let _changing = self.changing.lock().await;
        let (version, taken_over) = self.store.activate(id, wanted, self.signature_rule, by).await?;
        self.owner_changed(id, by.user(), taken_over.as_ref());
        self.publish().await?;
        info!(toolkit.id = %id, toolkit.version = %version, by = %by.user(), "rolled toolkit back");
        Ok(RolledBack { id: id.to_owned(), version, taken_over })
    }

    /// Removes a toolkit with all its versions.
    pub async fn remove(self: &Arc<Self>, id: &str, by: &Actor) -> Result<(), ToolkitError> {
        let (toolkits, id, by) = (self.clone(), id.to_owned(), by.clone());
        to_its_end(async move { toolkits.remove_now(&id, &by).await }).await?
    }

    async fn remove_now(&self, id: &str, by: &Actor) -> Result<(), ToolkitError> {
        let _changing = self.changing.lock().await;
        let digests = self.store.remove(id, by).await?;
        (self.removed)();
        self.publish().await?;
        self.end_components(&digests).await?;
        info!(toolkit.id = %id, by = %by.user(), "removed toolkit");
        Ok(())
    }

    /// Deletes those of these components, with their machine code, that nothing refers to any more. The
    /// caller has locked `changing`.
    async fn end_components(&self, digests: &[String]) -> Result<(), ToolkitError> {
        self.artifacts.components().end(digests).await;
        self.sweep_code().await
    }

    /// Releases a toolkit of `by`: the next operator who needs to own it becomes its owner.
    pub async fn release(&self, id: &str, by: &Actor) -> Result<(), ToolkitError> {
        self.store.release(id, by).await?;
        info!(toolkit.id = %id, by = %by.user(), "released toolkit");
        Ok(())
    }

    /// Makes `by` the owner of another operator's toolkit. Users' secrets and settings for it are deleted.
    pub async fn take_over(self: &Arc<Self>, id: &str, by: &Actor) -> Result<TakenOver, ToolkitError> {
        let (toolkits, id, by) = (self.clone(), id.to_owned(), by.clone());
        let change = async move {
            let _changing = toolkits.changing.lock().await;
            let taken_over = toolkits.store.take_over(&id, &by).await?;
            toolkits.owner_changed(&id, by.user(), Some(&taken_over));
            toolkits.publish().await?;
            Ok(taken_over)
        };
        to_its_end(change).await?
    }

    /// Reports and logs a change of owner, if there was one.
    fn owner_changed(&self, id: &str, by: &str, taken_over: Option<&TakenOver>) {
        let Some(TakenOver { from, .. }) = taken_over else { return };
        (self.removed)();
        warn!(toolkit.id = %id, %from, to = %by, "a toolkit has got another owner");
    }

    /// Returns one toolkit with all its versions, newest deploy first.
    pub async fn record(&self, id: &str) -> Result<ToolkitRecord, ToolkitError> {
        let mut record = self.store.toolkit(id).await?;
        let known = self.store.known_keys().await?;
        for version in &mut record.versions {
            version.provenance.mark_removed(&known);
        }
        if let Some(publisher) = &mut record.publisher {
            publisher.removed = !known.contains(&publisher.key);
        }
        Ok(record)
    }

    /// Returns the hosts listed by the version that was live at this time; none if there was no version.
    pub async fn hosts_at(&self, id: &str, time: Timestamp) -> Result<Vec<String>, ToolkitError> {
        let live = self.store.manifest_at(id, time.as_millisecond()).await?;
        Ok(live.map(|definition| definition.egress).unwrap_or_default())
    }

    /// Returns a version of a toolkit, with its declaration.
    pub async fn version(&self, id: &str, version: &str) -> Result<Version, ToolkitError> {
        self.store.version(id, version).await
    }

    /// Returns the picture of a version of a toolkit, if it has one.
    pub async fn picture(&self, id: &str, version: &str) -> Result<Option<Picture>, ToolkitError> {
        Ok(self.store.picture(id, version).await?)
    }

    /// Returns the sizes of the live components in bytes, by toolkit id.
    pub async fn component_sizes(&self) -> Result<HashMap<String, u64>, ToolkitError> {
        let sizes = self.store.component_sizes().await?.into_iter();
        Ok(sizes.map(|(id, size)| (id, u64::try_from(size).unwrap_or_default())).collect())
    }

    /// Fails if the deployed toolkits cannot be read.
    pub async fn check(&self) -> Result<(), ToolkitError> {
        Ok(self.store.check().await?)
    }
}
