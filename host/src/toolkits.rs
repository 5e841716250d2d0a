//! Toolkits: from uploaded bytes to live tools.
//!
//! Invariant: files are written before the database refers to them, and a version becomes live in one
//! transaction. After a crash at any point, the next start finds either the old version live or the new
//! one, complete.

mod artifacts;
mod inspect;
mod live;
mod registry;
mod store;
#[cfg(test)]
pub(crate) mod tests;

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures::Stream;
use kitbag_manifest::{Problem, Problems, schema};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use tracing::{info, warn};

use crate::compiler::{CompileError, Compiler};
use crate::database::{Database, DatabaseError};
use crate::disk::{Disk, DiskFull};
use crate::sandbox::Sandbox;
use crate::tasks::{Interrupted, to_its_end};
use artifacts::Artifacts;
pub use inspect::{Inspected, inspect};
pub use live::{FormerOwner, Live, NotReady, Ready};
pub use registry::{Registry, Tool, listed_name, toolkit_of};
pub use store::{Changes, Claim, OwnershipRecord, TakenOver, ToolkitRecord, VersionRecord, capabilities};
use store::{NewVersion, Store};

/// All deployed toolkits.
pub struct Toolkits {
    sandbox: Sandbox,
    compiler: Compiler,
    artifacts: Artifacts,
    disk: Disk,
    store: Store,
    registry: ArcSwap<Registry>,
    /// Signals each replacement of `registry`.
    published: watch::Sender<()>,
    /// Held while the database and the registry are changed together.
    changing: Mutex<()>,
    /// Called after secrets of a toolkit were deleted: with the toolkit, or because its owner changed.
    removed: Box<dyn Fn() + Send + Sync>,
}

/// The result of a deploy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deployed {
    /// The toolkit.
    pub id: String,
    /// Its live version.
    pub version: String,
    /// SHA-256 of the component, hexadecimal.
    pub digest: String,
    /// Listed names of its tools.
    pub tools: Vec<String>,
    /// Its capabilities: `egress api.example.com`, `secret API_KEY`, `scope svc:search`.
    pub capabilities: Vec<String>,
    /// Their changes since the version that was live before.
    pub changes: Changes,
    /// The former owner, if this deploy took the toolkit over.
    #[serde(rename = "takenOver", default, skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<TakenOver>,
}

/// Why an upload was not deployed, or a version not activated.
#[derive(Debug, Error)]
pub enum ToolkitError {
    /// The upload was interrupted.
    #[error("the upload broke off after {received} bytes: {cause}")]
    Interrupted {
        /// Bytes received so far.
        received: u64,
        /// The cause.
        cause: String,
    },
    /// The upload is larger than a component may be.
    #[error("the component is larger than {limit} bytes, the limit of this server")]
    TooLarge {
        /// In bytes.
        limit: u64,
    },
    /// The component was refused for these reasons.
    #[error("the toolkit was refused:\n{0}")]
    Refused(Problems),
    /// The version is already deployed with other bytes.
    #[error("version {version} of {id} is already deployed with other contents; raise the version")]
    VersionTaken {
        /// The toolkit.
        id: String,
        /// Its declared version.
        version: String,
    },
    /// There is no such toolkit.
    #[error("there is no toolkit {0:?}")]
    Unknown(String),
    /// The toolkit belongs to another operator, and is private or would become private.
    #[error(
        "{id} belongs to {owner}: only its owner changes a private toolkit, or makes a shared one private. Ask {owner} \
         to release it (`kitbag toolkit release {id}`), or take it over (`kitbag toolkit take-over {id}`), which is \
         recorded and removes the secrets and settings that were set for it"
    )]
    NotOwner {
        /// The toolkit.
        id: String,
        /// Its owner.
        owner: String,
    },
    /// The removed toolkit of this id belonged to another operator, and the new one would be private.
    #[error(
        "{id} belonged to {owner} until it was removed: a private toolkit of this id is deployed by {owner}, or by \
         whoever takes it over (`kitbag toolkit deploy --take-over`), which is recorded"
    )]
    RemovedOfOther {
        /// The toolkit.
        id: String,
        /// The owner when it was removed.
        owner: String,
    },
    /// A take-over of one's own toolkit.
    #[error("{0} belongs to you already")]
    AlreadyOwner(String),
    /// There is no such version to roll back to.
    #[error("{0}")]
    NoSuchVersion(String),
    /// A temporary failure. The text says when to try again.
    #[error("{0}")]
    Unavailable(String),
    /// A server error; the text is for the log.
    #[error("the compiler failed: {0}")]
    Compiler(String),
    /// The disk is full.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// A server error; the text is for the log.
    #[error("storage failed: {0}")]
    Storage(String),
}

impl From<CompileError> for ToolkitError {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Refused(problems) => problems.into(),
            CompileError::Limit(limit) => {
                vec![Problem { path: "component".to_owned(), message: limit.to_string() }].into()
            }
            CompileError::Busy => Self::Unavailable(format!("{error}; try again in a minute")),
            CompileError::Stopping => Self::Unavailable(format!("{error}; try again once it is back")),
            CompileError::DiskFull(full) => Self::DiskFull(full),
            CompileError::Failed(reason) => Self::Compiler(reason),
        }
    }
}

impl From<DatabaseError> for ToolkitError {
    fn from(error: DatabaseError) -> Self {
        if error.is_disk_full() { Self::DiskFull(DiskFull) } else { Self::Storage(error.to_string()) }
    }
}

impl From<Interrupted> for ToolkitError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Storage(interrupted.to_string())
    }
}

impl From<std::io::Error> for ToolkitError {
    fn from(error: std::io::Error) -> Self {
        if DiskFull::caused(&error) { Self::DiskFull(DiskFull) } else { Self::Storage(error.to_string()) }
    }
}

impl From<Vec<Problem>> for ToolkitError {
    /// Truncates the list: a hostile component could cause any number of problems.
    fn from(mut problems: Vec<Problem>) -> Self {
        const MAX_PROBLEMS: usize = 200;

        let more = problems.len().saturating_sub(MAX_PROBLEMS);
        if more > 0 {
            problems.truncate(MAX_PROBLEMS);
            problems.push(Problem { path: "…".to_owned(), message: format!("and {more} more") });
        }
        Self::Refused(Problems(problems))
    }
}

impl Toolkits {
    /// Reads the deployed toolkits from the data directory. Machine code is loaded at the first call of
    /// each toolkit, so that start-up time does not grow with the number of toolkits. `removed` is called
    /// after a toolkit was removed or its owner changed.
    pub async fn open(
        directory: &Path,
        database: Database,
        sandbox: Sandbox,
        compiler: Compiler,
        disk: Disk,
        removed: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, ToolkitError> {
        let artifacts = Artifacts::open(directory, &sandbox.code_version()).await?;
        let store = Store::new(database);
        let known = store.digests().await?;
        // If the database has no components it may have been lost, so the files must be kept.
        if !known.is_empty() {
            artifacts.sweep(&known).await;
        }
        let toolkits = Self {
            sandbox,
            compiler,
            artifacts,
            disk,
            store,
            registry: ArcSwap::default(),
            published: watch::Sender::new(()),
            changing: Mutex::new(()),
            removed: Box::new(removed),
        };
        let registry = Registry::new(toolkits.live_from_store().await?);
        toolkits.registry.store(Arc::new(registry));
        // In the background: the first call finds it done, or waits for the rest.
        tokio::task::spawn_blocking(schema::prepare);
        Ok(toolkits)
    }

    /// The current registry. A call keeps the snapshot that it started with.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Signals each replacement of the registry.
    pub fn published(&self) -> watch::Receiver<()> {
        self.published.subscribe()
    }

    /// Deploys an upload and makes it live. `by` is the deploying user, `length` the size in bytes that the
    /// sender declared, `limit` the maximum.
    ///
    /// The same version with the same bytes is made live again; with other bytes it is refused.
    pub async fn deploy<E: std::fmt::Display>(
        &self,
        upload: impl Stream<Item = Result<Bytes, E>>,
        length: Option<u64>,
        limit: u64,
        by: &str,
        claim: Claim,
    ) -> Result<Deployed, ToolkitError> {
        // Without a declared length, the maximum is reserved.
        let room = self.disk.reserve(length.unwrap_or(u64::MAX).min(limit))?;
        let upload = self.disk.while_there_is_room(self.artifacts.receive(upload, limit)).await??;
        drop(room);
        let folder = self.artifacts.uploads();
        let inspected = inspect(&self.sandbox, &self.compiler, upload.open()?, folder, by).await?;

        let _changing = self.changing.lock().await;
        let digest = upload.digest().to_owned();
        let size = upload.size();
        self.artifacts.keep(upload, inspected.code).await?;
        let definition = inspected.definition;
        let recorded =
            self.store.record(NewVersion { definition: &definition, digest: &digest, size, by, claim }).await;
        if recorded.is_err() {
            // A refused version must not leave its files behind.
            self.artifacts.sweep(&self.store.digests().await?).await;
        }
        let (changes, taken_over) = recorded?;
        self.owner_changed(&definition.id, by, taken_over.as_ref());
        self.publish().await?;

        info!(toolkit.id = %definition.id, toolkit.version = %definition.version, %digest, %by, "deployed toolkit");
        Ok(Deployed {
            tools: definition.tools.iter().map(|tool| listed_name(&definition.id, &tool.name)).collect(),
            capabilities: capabilities(&definition),
            id: definition.id.clone(),
            version: definition.version.clone(),
            digest,
            changes,
            taken_over,
        })
    }

    /// Makes an earlier version live again: `version`, or by default the one that was live before.
    pub async fn roll_back(
        self: &Arc<Self>,
        id: &str,
        version: Option<&str>,
        by: &str,
    ) -> Result<String, ToolkitError> {
        let (toolkits, version) = (self.clone(), version.map(str::to_owned));
        let [id, by] = [id, by].map(str::to_owned);
        to_its_end(async move { toolkits.roll_back_now(&id, version.as_deref(), &by).await }).await?
    }

    async fn roll_back_now(&self, id: &str, version: Option<&str>, by: &str) -> Result<String, ToolkitError> {
        let _changing = self.changing.lock().await;
        let (version, taken_over) = self.store.activate(id, version, by).await?;
        self.owner_changed(id, by, taken_over.as_ref());
        self.publish().await?;
        info!(toolkit.id = %id, toolkit.version = %version, %by, "rolled toolkit back");
        Ok(version)
    }

    /// Removes a toolkit with all its versions.
    pub async fn remove(self: &Arc<Self>, id: &str, by: &str) -> Result<(), ToolkitError> {
        let toolkits = self.clone();
        let [id, by] = [id, by].map(str::to_owned);
        to_its_end(async move { toolkits.remove_now(&id, &by).await }).await?
    }

    async fn remove_now(&self, id: &str, by: &str) -> Result<(), ToolkitError> {
        let _changing = self.changing.lock().await;
        self.store.remove(id, by).await?;
        (self.removed)();
        self.publish().await?;
        // Files last: while the database refers to a version, its files must exist.
        self.artifacts.sweep(&self.store.digests().await?).await;
        info!(toolkit.id = %id, %by, "removed toolkit");
        Ok(())
    }

    /// Releases a toolkit of `by`: the next operator who needs to own it becomes its owner.
    pub async fn release(&self, id: &str, by: &str) -> Result<(), ToolkitError> {
        self.store.release(id, by).await?;
        info!(toolkit.id = %id, %by, "released toolkit");
        Ok(())
    }

    /// Makes `by` the owner of another operator's toolkit. Users' secrets and settings for it are deleted.
    pub async fn take_over(self: &Arc<Self>, id: &str, by: &str) -> Result<TakenOver, ToolkitError> {
        let toolkits = self.clone();
        let [id, by] = [id, by].map(str::to_owned);
        let change = async move {
            let _changing = toolkits.changing.lock().await;
            let taken_over = toolkits.store.take_over(&id, &by).await?;
            toolkits.owner_changed(&id, &by, Some(&taken_over));
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

    /// One toolkit with all its versions, newest deploy first.
    pub async fn record(&self, id: &str) -> Result<ToolkitRecord, ToolkitError> {
        self.store.toolkit(id).await
    }

    /// Fails if the deployed toolkits cannot be read.
    pub async fn check(&self) -> Result<(), ToolkitError> {
        Ok(self.store.check().await?)
    }

    /// Replaces the registry by what is live in the database. Running calls keep their snapshot.
    async fn publish(&self) -> Result<(), ToolkitError> {
        let registry = Registry::succeeding(&self.registry(), self.live_from_store().await?);
        self.registry.store(Arc::new(registry));
        self.published.send_replace(());
        Ok(())
    }

    async fn live_from_store(&self) -> Result<Vec<Live>, ToolkitError> {
        let rows = self.store.live().await?;
        let live = rows.into_iter().filter_map(|row| match serde_json::from_str(&row.manifest) {
            Ok(definition) => {
                let former = row.taken_from.zip(row.taken_at).map(|(from, at)| FormerOwner::new(from, at));
                let (sandbox, compiler) = (self.sandbox.clone(), self.compiler.clone());
                let owner = (row.owner, former);
                Some(Live::new(definition, owner, row.digest, sandbox, compiler, self.artifacts.clone()))
            }
            Err(error) => {
                warn!(toolkit.id = %row.id, %error, "the stored manifest cannot be read; the toolkit stays off");
                None
            }
        });
        Ok(live.collect())
    }
}
