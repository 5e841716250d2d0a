//! One live toolkit, and its machine code once it is needed.

use std::fmt::Display;

use jiff::Timestamp;
use kitbag_manifest::schema::Schema;
use kitbag_manifest::{ToolDefinition, ToolkitDefinition, Visibility};
use serde::Serialize;
use thiserror::Error;
use tokio::sync::OnceCell;
use tracing::warn;

use super::artifacts::Artifacts;
use super::compiler::Compiler;
use crate::capabilities::Grants;
use crate::sandbox::{LoadError, Loaded, Sandbox};
use crate::tasks::Interrupted;

/// A version that is live.
pub struct Live {
    /// Its declaration, defaults made explicit.
    pub definition: ToolkitDefinition,
    /// Who deployed its first version, or took it over last.
    pub owner: String,
    /// From whom the owner has taken it over.
    pub taken_over: Option<FormerOwner>,
    digest: String,
    sandbox: Sandbox,
    artifacts: Artifacts,
    ready: OnceCell<Ready>,
}

/// Whose a toolkit was until another operator took it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FormerOwner {
    /// The owner then.
    pub from: String,
    /// When it was taken over: RFC 3339, UTC.
    pub at: String,
}

/// What calls of a toolkit need: its code and its compiled schemas, tool by tool.
pub struct Ready {
    /// The linked machine code.
    pub code: Loaded,
    tools: Vec<Schemas>,
}

struct Schemas {
    input: Schema,
    output: Option<Schema>,
}

/// The toolkit cannot run; the text is for the log.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct NotReady(String);

impl Live {
    pub(super) fn new(
        definition: ToolkitDefinition,
        (owner, taken_over): (String, Option<FormerOwner>),
        digest: String,
        sandbox: Sandbox,
        artifacts: Artifacts,
    ) -> Self {
        Self { definition, owner, taken_over, digest, sandbox, artifacts, ready: OnceCell::new() }
    }

    /// Whether `user` sees the toolkit and may call it.
    pub fn is_visible_to(&self, user: &str) -> bool {
        match self.definition.visibility {
            Visibility::Shared => true,
            Visibility::Private => self.owner == user,
        }
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.digest, &self.owner, &self.taken_over, &self.definition)
            == (&other.digest, &other.owner, &other.taken_over, &other.definition)
    }

    /// Returns what a call needs; loads it at the first call, once.
    pub async fn ready(&self) -> Result<&Ready, NotReady> {
        self.ready.get_or_try_init(|| self.load()).await
    }

    async fn load(&self) -> Result<Ready, NotReady> {
        let sandbox = self.sandbox.clone();
        let artifacts = self.artifacts.clone();
        let digest = self.digest.clone();
        let definition = self.definition.clone();
        let load = move || {
            let grants = Grants::of(&definition);
            let code = load_or_recompile(&sandbox, &artifacts, &digest, &grants)?;
            let tools = definition.tools.iter().map(schemas).collect::<Result<_, _>>().map_err(NotReady)?;
            Ok(Ready { code, tools })
        };
        let loaded = tokio::task::spawn_blocking(load).await;
        loaded.map_err(|error| NotReady(Interrupted::from(error).to_string()))?
    }
}

impl FormerOwner {
    /// `at` in milliseconds since 1970.
    pub(super) fn new(from: String, at: i64) -> Self {
        Self { from, at: Timestamp::from_millisecond(at).unwrap_or_default().to_string() }
    }
}

impl Ready {
    /// The schema of a tool's arguments.
    pub fn input(&self, tool: usize) -> &Schema {
        &self.tools[tool].input
    }

    /// The schema of a tool's structured result, where it declares one.
    pub fn output(&self, tool: usize) -> Option<&Schema> {
        self.tools[tool].output.as_ref()
    }
}

fn schemas(tool: &ToolDefinition) -> Result<Schemas, String> {
    Ok(Schemas {
        input: Schema::compile(&tool.input_schema)?,
        output: tool.output_schema.as_ref().map(Schema::compile).transpose()?,
    })
}

/// Machine code of another engine version, or code that was lost or damaged, is made again from the
/// component.
fn load_or_recompile(
    sandbox: &Sandbox,
    artifacts: &Artifacts,
    digest: &str,
    grants: &Grants,
) -> Result<Loaded, NotReady> {
    match artifacts.sealed_code(digest).map(|code| sandbox.load(&code.path(), grants)) {
        Ok(Ok(loaded)) => return Ok(loaded),
        Ok(Err(error @ LoadError::Link(_))) => return Err(NotReady(error.to_string())),
        Ok(Err(error @ LoadError::Code(_))) => warn!(%digest, %error, "compiling the component again"),
        Err(error) => warn!(%digest, %error, "no usable machine code: compiling the component again"),
    }
    let lost = |error: &dyn Display| NotReady(format!("component {digest} cannot be loaded: {error}"));
    let component = artifacts.read_component(digest).map_err(|error| lost(&error))?;
    let compiler = Compiler::new(sandbox.clone(), artifacts.machine_code());
    let code = compiler.compile(&component).map_err(|error| lost(&error))?;
    artifacts.keep_code(digest, &code).map_err(|error| lost(&error))?;
    let code = artifacts.sealed_code(digest).map_err(|error| lost(&error))?;
    sandbox.load(&code.path(), grants).map_err(|error| lost(&error))
}
