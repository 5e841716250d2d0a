//! What a call goes to: a tool of a toolkit, or one of the server's own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_manifest::schema::Schema;
use kitbag_manifest::{ToolDefinition, ToolkitDefinition};
use serde_json::Value;
use thiserror::Error;
use tokio::time::timeout;

use crate::code_runner::{CodeRun, NoCodeRunner};
use crate::knowledge_tools::KnowledgeTool;
use crate::observations::{Transcript, UsageSnapshot};
use crate::sandbox::{Ended, Fault, Loaded, Report};
use crate::toolkits::{NotReady, Ready, Tool};
use crate::vault::UserSecrets;

/// How long a tool of the server's own may take.
const MAX_TIME: Duration = Duration::from_secs(30);

/// A tool that can be called.
#[derive(Clone)]
pub enum Callee {
    /// A toolkit's, which runs in the sandbox.
    Toolkit(Tool),
    /// The server's own.
    Own(KnowledgeTool),
    /// Code of a model, which runs in the sandbox.
    Code(CodeRun),
}

/// Why a tool cannot be called now. The text is for the log.
#[derive(Debug, Error)]
pub(super) enum NotPrepared {
    #[error(transparent)]
    Toolkit(#[from] NotReady),
    #[error(transparent)]
    Code(#[from] NoCodeRunner),
}

/// A tool that is ready to be called.
pub(super) enum Prepared<'a> {
    Toolkit(&'a Tool, &'a Ready),
    Own(&'a KnowledgeTool),
    Code(&'a CodeRun, Loaded),
}

impl Callee {
    /// The declaration of all tools that belong together.
    pub fn toolkit(&self) -> &ToolkitDefinition {
        match self {
            Self::Toolkit(tool) => &tool.toolkit.definition,
            Self::Own(tool) => tool.tools.definition(),
            Self::Code(run) => run.runner.definition(),
        }
    }

    /// The tool's declaration.
    pub fn definition(&self) -> &ToolDefinition {
        match self {
            Self::Toolkit(tool) => tool.definition(),
            Self::Own(tool) => tool.definition(),
            Self::Code(run) => &run.runner.definition().tools[0],
        }
    }

    pub(super) async fn prepare(&self) -> Result<Prepared<'_>, NotPrepared> {
        Ok(match self {
            Self::Toolkit(tool) => Prepared::Toolkit(tool, tool.toolkit.ready().await?),
            Self::Own(tool) => Prepared::Own(tool),
            Self::Code(run) => Prepared::Code(run, run.runner.ready().await?),
        })
    }
}

impl Prepared<'_> {
    /// The schema of the tool's arguments.
    pub(super) fn input(&self) -> &Arc<Schema> {
        match self {
            Self::Toolkit(tool, ready) => ready.schemas.input(tool.index),
            Self::Own(tool) => tool.tools.schemas().input(tool.index),
            Self::Code(run, _) => run.runner.schemas().input(0),
        }
    }

    /// The schema of the tool's structured result, if it declares one.
    pub(super) fn output(&self) -> Option<&Arc<Schema>> {
        match self {
            Self::Toolkit(tool, ready) => ready.schemas.output(tool.index),
            Self::Own(tool) => tool.tools.schemas().output(tool.index),
            Self::Code(run, _) => run.runner.schemas().output(0),
        }
    }
}

/// Calls a tool of the server's own. The report is as one of the sandbox.
pub(super) async fn call_own(
    tool: &KnowledgeTool,
    user_id: &str,
    secrets: &UserSecrets,
    arguments: Value,
) -> Report {
    let started = Instant::now();
    let ended = match timeout(MAX_TIME, tool.call(user_id, secrets.redactor(), arguments)).await {
        Ok(Ok(result)) => Ended::Returned(result),
        Ok(Err(refusal)) => Ended::Refused(refusal),
        Err(_elapsed) => Ended::Faulted(Fault::Deadline(MAX_TIME)),
    };
    let (log, usage, duration) = (Transcript::default(), UsageSnapshot::default(), started.elapsed());
    Report { ended, log, usage, duration, stages: None, held: None, instance: None }
}
