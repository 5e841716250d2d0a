//! The code of a live toolkit, loaded when first needed, and not reloaded when the toolkit's audience
//! changes.

use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use kitbag_base::tasks::{off_thread, to_its_end};
use kitbag_manifest::ToolkitDefinition;
use kitbag_sandbox::capabilities::Grants;
use kitbag_sandbox::compiler::{Compiler, Job};
use kitbag_sandbox::{LoadError, Loaded, Sandbox};
use tracing::warn;

use super::artifacts::Artifacts;
use super::schemas::Schemas;
use super::store::LiveRow;

/// Compiles and loads the code of components.
#[derive(Clone)]
pub(super) struct CodeLoader {
    pub(super) sandbox: Sandbox,
    pub(super) compiler: Compiler,
    pub(super) artifacts: Artifacts,
}

/// A component with its declaration, and the loaded code and schemas once the first call needs them.
pub(super) struct Code {
    definition: Arc<ToolkitDefinition>,
    /// Owner of the toolkit, under whom it is queued for the compiler.
    owner: String,
    digest: String,
    loader: CodeLoader,
    ready: OnceLock<Ready>,
    /// The load in progress, shared by all callers that wait for `ready`.
    loading: Mutex<Option<Loading>>,
}

type Loading = Shared<BoxFuture<'static, Result<(), NotReady>>>;

/// Everything that calls of a toolkit need: its code, and the compiled schemas of its tools and prompts.
pub struct Ready {
    /// The linked machine code.
    pub code: Loaded,
    /// Compiled schemas of all tools and prompts.
    pub schemas: Schemas,
}

/// The toolkit could not be loaded. The text is for the log.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotReady(String);

impl Code {
    pub(super) fn new(row: &LiveRow, definition: Arc<ToolkitDefinition>, loader: CodeLoader) -> Self {
        Self {
            definition,
            owner: row.owner.clone(),
            digest: row.digest.clone(),
            loader,
            ready: OnceLock::new(),
            loading: Mutex::default(),
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.digest, &self.owner) == (&other.digest, &other.owner) && self.definition == other.definition
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether the code is loaded.
    pub(super) fn is_ready(&self) -> bool {
        self.ready.get().is_some()
    }

    /// Returns the code and schemas, loading them once at the first call. Dropping the future does not stop
    /// the load.
    pub(super) async fn ready(self: &Arc<Self>) -> Result<&Ready, NotReady> {
        if let Some(ready) = self.ready.get() {
            return Ok(ready);
        }
        self.loading().await?;
        self.ready.get().ok_or_else(|| NotReady("it was not loaded".to_owned()))
    }

    /// Returns the load in progress, or starts one.
    fn loading(self: &Arc<Self>) -> Loading {
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        // A load that has ended is not reused: after a failure the next call retries.
        if let Some(under_way) = loading.as_ref().filter(|loading| loading.peek().is_none()) {
            return under_way.clone();
        }
        let code = self.clone();
        let load = to_its_end(async move {
            let ready = code.load().await?;
            drop(code.ready.set(ready));
            Ok(())
        });
        let load = async { load.await.map_err(|interrupted| NotReady(interrupted.to_string()))? };
        loading.insert(load.boxed().shared()).clone()
    }

    async fn load(&self) -> Result<Ready, NotReady> {
        let definition = self.definition.clone();
        let schemas = off_thread(move || Schemas::of(&definition));
        let (code, schemas) = tokio::join!(self.load_code(), schemas);
        Ok(Ready { code: code?, schemas: schemas.map_err(|error| NotReady(error.to_string()))? })
    }

    async fn load_code(&self) -> Result<Loaded, NotReady> {
        if let Some(code) = self.load_kept().await? {
            return Ok(code);
        }
        let code = self.recompile().await;
        code.map_err(|error| NotReady(format!("component {} cannot be loaded: {error}", self.digest)))
    }

    /// Loads the stored machine code; `None` if it is missing or unusable.
    async fn load_kept(&self) -> Result<Option<Loaded>, NotReady> {
        let CodeLoader { sandbox, artifacts, .. } = self.loader.clone();
        let digest = self.digest.clone();
        let grants = Grants::of(&self.definition);
        off_thread(move || {
            match artifacts.sealed_code(&digest).map(|code| sandbox.load(&code.path(), &grants)) {
                Ok(Ok(loaded)) => Ok(Some(loaded)),
                Ok(Err(error @ LoadError::Link(_))) => Err(NotReady(error.to_string())),
                Ok(Err(error @ LoadError::Code(_))) => {
                    warn!(%digest, %error, "compiling the component again");
                    Ok(None)
                }
                Err(error) => {
                    warn!(%digest, %error, "no usable machine code: compiling the component again");
                    Ok(None)
                }
            }
        })
        .await
    }

    /// Compiles the component again, because its machine code is missing, damaged, or was compiled for
    /// another engine version.
    async fn recompile(&self) -> Result<Loaded, Box<dyn Error + Send + Sync>> {
        let CodeLoader { sandbox, compiler, artifacts } = &self.loader;
        let component = artifacts.copy_component(&self.digest).await?;
        let new_code = artifacts.clone();
        let code = off_thread(move || new_code.new_code()).await?;
        let job = Job { component, code_version: sandbox.code_version(), code: code.as_file() };
        compiler.toolkit(job, &self.owner).await?;
        let CodeLoader { sandbox, artifacts, .. } = self.loader.clone();
        let digest = self.digest.clone();
        let grants = Grants::of(&self.definition);
        off_thread(move || {
            artifacts.keep_code(&digest, code)?;
            Ok(sandbox.load(&artifacts.sealed_code(&digest)?.path(), &grants)?)
        })
        .await
    }
}
