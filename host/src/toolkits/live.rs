//! One live toolkit. Its machine code is loaded when it is first needed.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use jiff::Timestamp;
use kitbag_manifest::ToolkitDefinition;
use serde::Serialize;
use tracing::warn;

use super::artifacts::Artifacts;
use super::audience::Audience;
use super::consents::Agreed;
use super::narrowed::Narrowed;
use super::reach::Reach;
use super::schemas::Schemas;
use super::vouch::Vouch;
use crate::capabilities::Grants;
use crate::compiler::{Compiler, Job};
use crate::sandbox::{LoadError, Loaded, Sandbox};
use crate::tasks::{off_thread, to_its_end};

/// A live version of a toolkit.
pub struct Live {
    /// Its declaration, with defaults filled in.
    pub definition: Arc<ToolkitDefinition>,
    /// For whom it is.
    pub audience: Audience,
    /// The declaration with some of the tools, for users who may call only these.
    narrowed: Narrowed,
    /// Who deployed its first version, or took it over last.
    pub owner: String,
    /// The former owner, if the toolkit was taken over.
    pub taken_over: Option<FormerOwner>,
    /// SHA-256 of its picture, hexadecimal, if it has one.
    pub picture: Option<String>,
    /// What it reaches.
    pub reach: Reach,
    /// The operator who vouches for it, if one does.
    pub vouch: Option<Vouch>,
    pub(super) agreed: Agreed,
    digest: String,
    sandbox: Sandbox,
    compiler: Compiler,
    artifacts: Artifacts,
    ready: OnceLock<Ready>,
    /// The load in progress, shared by all callers that wait for `ready`.
    loading: Mutex<Option<Loading>>,
}

type Loading = Shared<BoxFuture<'static, Result<(), NotReady>>>;

/// The owner of a toolkit before another operator took it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FormerOwner {
    /// The former owner.
    pub from: String,
    /// When it was taken over: RFC 3339, UTC.
    pub at: String,
}

/// What calls of a toolkit need: its code, and the compiled schemas of each tool.
pub struct Ready {
    /// The linked machine code.
    pub code: Loaded,
    /// Of all its tools.
    pub schemas: Schemas,
}

/// The toolkit could not be loaded. The text is for the log.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotReady(String);

impl Live {
    pub(super) fn new(
        (definition, audience): (Arc<ToolkitDefinition>, Audience),
        (owner, taken_over): (String, Option<FormerOwner>),
        (digest, picture): (String, Option<String>),
        (vouch, activation): (Option<Vouch>, i64),
        sandbox: Sandbox,
        compiler: Compiler,
        artifacts: Artifacts,
    ) -> Self {
        Self {
            reach: Reach::of(&definition, &owner),
            definition,
            audience,
            narrowed: Narrowed::default(),
            owner,
            taken_over,
            picture,
            vouch,
            agreed: Agreed::of(activation),
            digest,
            sandbox,
            compiler,
            artifacts,
            ready: OnceLock::new(),
            loading: Mutex::default(),
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.digest, &self.picture, &self.owner, &self.taken_over)
            == (&other.digest, &other.picture, &other.owner, &other.taken_over)
            && (&self.vouch, &self.audience) == (&other.vouch, &other.audience)
            && self.definition == other.definition
    }

    /// The declaration with these tools alone. The same object for the same tools, as long as it is in use.
    pub fn narrowed_to(&self, tools: &BTreeSet<String>) -> Arc<ToolkitDefinition> {
        self.narrowed.get(&self.definition, tools)
    }

    /// Whether anything that its user has given may come to it, or be attached for it.
    pub(super) fn takes_anything(&self) -> bool {
        self.reach.takes_anything() || !self.definition.config.is_empty()
    }

    /// Returns what a call needs, loading it once at the first call. Dropping the future does not stop the
    /// load.
    pub async fn ready(self: &Arc<Self>) -> Result<&Ready, NotReady> {
        if let Some(ready) = self.ready.get() {
            return Ok(ready);
        }
        self.loading().await?;
        self.ready.get().ok_or_else(|| NotReady("it was not loaded".to_owned()))
    }

    /// Returns the load in progress, or starts one.
    fn loading(self: &Arc<Self>) -> Loading {
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        // A load that has ended is not joined: after a failure the next call tries again.
        if let Some(under_way) = loading.as_ref().filter(|loading| loading.peek().is_none()) {
            return under_way.clone();
        }
        let toolkit = self.clone();
        let load = to_its_end(async move {
            let ready = toolkit.load().await?;
            drop(toolkit.ready.set(ready));
            Ok(())
        });
        let load = async { load.await.map_err(|interrupted| NotReady(interrupted.to_string()))? };
        loading.insert(load.boxed().shared()).clone()
    }

    async fn load(&self) -> Result<Ready, NotReady> {
        let definition = self.definition.clone();
        let schemas = off_thread(move || Schemas::compile(&definition.tools));
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
        let (sandbox, artifacts, digest) =
            (self.sandbox.clone(), self.artifacts.clone(), self.digest.clone());
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

    /// Compiles the component again, because its machine code is missing, damaged, or of another engine
    /// version.
    async fn recompile(&self) -> Result<Loaded, Box<dyn Error + Send + Sync>> {
        let component = self.artifacts.copy_component(&self.digest).await?;
        let artifacts = self.artifacts.clone();
        let code = off_thread(move || artifacts.new_code()).await?;
        let job = Job { component, code_version: self.sandbox.code_version(), code: code.as_file() };
        self.compiler.toolkit(job, &self.owner).await?;
        let (sandbox, artifacts, digest) =
            (self.sandbox.clone(), self.artifacts.clone(), self.digest.clone());
        let grants = Grants::of(&self.definition);
        off_thread(move || {
            artifacts.keep_code(&digest, code)?;
            Ok(sandbox.load(&artifacts.sealed_code(&digest)?.path(), &grants)?)
        })
        .await
    }
}

impl FormerOwner {
    /// `at` in milliseconds since 1970.
    pub(super) fn new(from: String, at: i64) -> Self {
        Self { from, at: Timestamp::from_millisecond(at).unwrap_or_default().to_string() }
    }
}
