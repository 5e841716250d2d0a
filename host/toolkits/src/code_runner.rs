//! The component that runs code written by models, and its tool `run_code`. The component is a built-in
//! toolkit in a sandbox like any other, and can reach only the tools that its calls go to
//! (`capabilities/fetch/inner_calls`).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kitbag_base::tasks::to_its_end;
use kitbag_manifest::{ToolAnnotations, ToolDefinition, ToolkitDefinition};
use kitbag_sandbox::capabilities::Grants;
use kitbag_sandbox::capabilities::fetch::inner_calls::{HOST, InnerCalls};
use kitbag_sandbox::compiler::Compiler;
use kitbag_sandbox::installed::{InstalledComponents, NotLoaded, Role};
use kitbag_sandbox::{Loaded, Sandbox};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::sync::OnceCell;
use tracing::{info, warn};

use crate::knowledge_tools;
use crate::schemas::Schemas;

/// The tool's name.
pub const RUN_CODE: &str = "run_code";
/// Maximum number of tool calls per run.
pub const MAX_CALLS: u32 = 50;
/// Maximum number of concurrent tool calls per run; further ones wait.
pub const MAX_CALLS_AT_ONCE: usize = 8;

/// Maximum size of a run's result in bytes, at which it is cut: more than the component returns, in
/// characters of four bytes.
pub const MAX_ANSWER: usize = 4 * 70_000;

/// File name of the component in the folder of the setting `extractors`.
const FILE: &str = "code.wasm";
/// Subfolder of the data directory for its machine code.
const CODE_FOLDER: &str = "code-runner";
/// Maximum length of the code, in characters.
const MAX_CODE: usize = 100_000;

/// Runs code of models.
pub struct CodeRunner {
    component: Arc<Component>,
    /// Whether the component was installed when the server started.
    is_installed: bool,
    definition: ToolkitDefinition,
    schemas: Schemas,
}

/// The component, loaded when first needed.
struct Component {
    sandbox: Sandbox,
    installed: InstalledComponents,
    loaded: OnceCell<Loaded>,
}

/// One run of code.
#[derive(Clone)]
pub struct CodeRun {
    /// The component that runs the code.
    pub runner: Arc<CodeRunner>,
    /// Handler of the code's tool calls.
    pub calls: Arc<dyn InnerCalls>,
    /// Id of the run, in its record and in the records of its calls.
    pub id: Arc<str>,
}

/// Code cannot be run. The cause is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoCodeRunner {
    /// The component is not installed.
    #[error("the folder of the setting extractors has no code.wasm")]
    NotInstalled,
    /// The component cannot be used.
    #[error("the component that runs code cannot be used")]
    Unusable,
}

impl CodeRunner {
    /// Opens the folder of machine code in the data directory. `folder` contains the component.
    pub async fn open(
        data: &Path,
        folder: PathBuf,
        sandbox: Sandbox,
        compiler: Compiler,
    ) -> io::Result<Self> {
        let version = sandbox.code_version();
        let installed =
            InstalledComponents::open(data, CODE_FOLDER, folder, Role::Toolkit, version, compiler).await?;
        let definition = definition();
        let schemas = Schemas::compile(&definition.tools).map_err(io::Error::other)?;
        let is_installed = installed.has(FILE);
        if !is_installed {
            info!(
                "{FILE} is not among the extractors: clients in the mode `code` find and call tools, and run no code"
            );
        }
        let component = Arc::new(Component { sandbox, installed, loaded: OnceCell::new() });
        Ok(Self { component, is_installed, definition, schemas })
    }

    /// Whether the component was installed when the server started: otherwise clients are not offered to run
    /// code.
    pub fn is_installed(&self) -> bool {
        self.is_installed
    }

    /// Returns the declaration with the tool.
    pub fn definition(&self) -> &ToolkitDefinition {
        &self.definition
    }

    /// Returns the compiled schemas of the tool.
    pub fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// Returns the loaded component. The first time it may have to be compiled, which takes seconds. Dropping
    /// the future does not stop that.
    pub async fn ready(&self) -> Result<Loaded, NoCodeRunner> {
        if let Some(loaded) = self.component.loaded.get() {
            return Ok(loaded.clone());
        }
        let component = self.component.clone();
        let load = async move { component.loaded.get_or_try_init(|| component.load()).await.cloned() };
        to_its_end(load).await.unwrap_or(Err(NoCodeRunner::Unusable))
    }
}

impl Component {
    async fn load(&self) -> Result<Loaded, NoCodeRunner> {
        let sandbox = self.sandbox.clone();
        let reach = ToolkitDefinition { egress: vec![HOST.to_owned()], ..ToolkitDefinition::default() };
        let grants = Grants::of(&reach);
        let loaded = self.installed.load(FILE, move |code| sandbox.load(code, &grants)).await;
        loaded.map_err(|error| {
            let NotLoaded::Unusable(error) = error else { return NoCodeRunner::NotInstalled };
            warn!(%error, component = FILE, "code cannot be run");
            NoCodeRunner::Unusable
        })
    }
}

/// Converts the arguments of `run_code` to those of the component, as JSON.
pub fn arguments(mut arguments: Value) -> Value {
    json!({ "code": arguments["code"].take(), "calls": MAX_CALLS })
}

/// Returns the declaration of `run_code`.
pub fn tool() -> ToolDefinition {
    ToolDefinition {
        name: RUN_CODE.to_owned(),
        title: Some("Run code".to_owned()),
        description: format!(
            "Runs JavaScript, the body of an async function, and answers with what it returns. It calls tools: \
             `const {{ temperature }} = await tools.weather.forecast({{ city: \"Oslo\" }})` calls weather__forecast. Names are those \
             that find_tools finds; a dash in the name of a toolkit becomes an underscore. describe_tools has their types. A call \
             that fails throws an Error with message, code and retryable. At most {MAX_CALLS} calls, {MAX_CALLS_AT_ONCE} at once. A \
             tool that changes something is refused unless the user allows it in code: call it with call_tool then. console.log is \
             shown. There are no files and no network. Filter and count here, and return only what is needed."
        ),
        input_schema: json!({
            "type": "object",
            "properties": {
                "code": {
                    "type": "string", "minLength": 1, "maxLength": MAX_CODE,
                    "description": "The body of an async function, such as: return (await tools.notes.list({})).length",
                },
            },
            "required": ["code"],
            "additionalProperties": false,
        }),
        annotations: ToolAnnotations {
            read_only_hint: Some(false),
            destructive_hint: Some(false),
            idempotent_hint: Some(false),
            open_world_hint: Some(true),
        },
        always_on: true,
        ..ToolDefinition::default()
    }
}

fn definition() -> ToolkitDefinition {
    ToolkitDefinition {
        id: knowledge_tools::ID.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tools: vec![tool()],
        ..ToolkitDefinition::default()
    }
}
