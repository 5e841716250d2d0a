//! The callee of a call: a part of a toolkit, or a built-in tool of the server.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use kitbag_manifest::schema::Schema;
use kitbag_manifest::{ToolDefinition, ToolkitDefinition};
use kitbag_sandbox::contract::{CompletionSubject, Target};
use kitbag_sandbox::observations::{Transcript, UsageSnapshot};
use kitbag_sandbox::{Ended, Fault, Loaded, Report};
use kitbag_vault::UserSecrets;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::timeout;

use crate::code::{NotReady, Ready};
use crate::code_runner::{CodeRun, NoCodeRunner};
use crate::knowledge_tools::{KnowledgeTool, Reader};
use crate::offers::{Offer, OfferKind};
use crate::registry::Tool;

/// Maximum time of a call of the server's own tools.
const MAX_TIME: Duration = Duration::from_secs(30);

/// Schema of the arguments of completions, and of their structured results.
static COMPLETION: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let text = json!({ "type": "string", "maxLength": 10_000 });
    compiled(&json!({
        "type": "object",
        "required": ["value", "others"],
        "additionalProperties": false,
        "properties": {
            "value": text,
            "others": { "type": "object", "maxProperties": 100, "additionalProperties": text },
        },
    }))
});
static COMPLETED: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    compiled(&json!({
        "type": "object", "properties": { "values": { "type": "array", "items": { "type": "string" } } },
    }))
});
/// Schema of a resource's variables, which were checked when the path was parsed.
static VARIABLES: LazyLock<Arc<Schema>> = LazyLock::new(|| compiled(&json!({ "type": "object" })));

fn compiled(schema: &Value) -> Arc<Schema> {
    Arc::new(Schema::compile(schema).expect("it is a schema"))
}

/// Anything that can be called.
#[derive(Clone)]
pub enum Callee {
    /// A tool of a toolkit, which runs in the sandbox.
    Toolkit(Tool),
    /// A prompt, a resource or a completion of a toolkit, which runs in the sandbox too.
    Offer(Offer),
    /// A built-in tool of the server.
    Own(KnowledgeTool),
    /// Code of a model, which runs in the sandbox.
    Code(CodeRun),
}

/// Reason why something cannot be called now. The text is for the log.
#[derive(Debug, Error)]
pub(super) enum NotPrepared {
    #[error(transparent)]
    Toolkit(#[from] NotReady),
    #[error(transparent)]
    Code(#[from] NoCodeRunner),
}

/// A callee with its loaded code and schemas.
pub(super) enum Prepared<'a> {
    Toolkit(&'a Tool, &'a Ready),
    Offer(&'a Offer, &'a Ready),
    Own(&'a KnowledgeTool),
    Code(&'a CodeRun, Loaded),
}

impl Callee {
    /// Returns the declaration that the callee belongs to.
    pub fn toolkit(&self) -> &ToolkitDefinition {
        match self {
            Self::Toolkit(Tool { toolkit, .. }) | Self::Offer(Offer { toolkit, .. }) => &toolkit.definition,
            Self::Own(tool) => tool.tools.definition(),
            Self::Code(run) => run.runner.definition(),
        }
    }

    /// Returns the declaration of a tool; `None` if the callee is not a tool.
    pub fn tool(&self) -> Option<&ToolDefinition> {
        match self {
            Self::Toolkit(tool) => Some(tool.definition()),
            Self::Offer(_) => None,
            Self::Own(tool) => Some(tool.definition()),
            Self::Code(run) => run.runner.definition().tools.first(),
        }
    }

    /// Returns the owner of the callee's toolkit; empty if there is no owner.
    pub fn owner(&self) -> &str {
        match self {
            Self::Toolkit(Tool { toolkit, .. }) | Self::Offer(Offer { toolkit, .. }) => &toolkit.owner,
            Self::Own(_) | Self::Code(_) => "",
        }
    }

    /// Returns the SHA-256 of the toolkit's component; empty for the server's own tools.
    pub fn digest(&self) -> &str {
        match self {
            Self::Toolkit(Tool { toolkit, .. }) | Self::Offer(Offer { toolkit, .. }) => toolkit.digest(),
            Self::Own(_) | Self::Code(_) => "",
        }
    }

    /// Returns the callee's name in records; for a tool, the tool's name.
    pub fn record_name(&self) -> Cow<'_, str> {
        match self {
            Self::Offer(offer) => offer.record_name().into(),
            Self::Toolkit(_) | Self::Own(_) | Self::Code(_) => {
                self.tool().map(|tool| tool.name.as_str()).unwrap_or_default().into()
            }
        }
    }

    /// Returns the declared media type of a resource.
    pub fn media_type(&self) -> Option<String> {
        let Self::Offer(Offer { toolkit, kind: OfferKind::Resource(found) }) = self else { return None };
        toolkit.definition.resources.get(found.index)?.media_type.clone()
    }

    /// Returns the MCP method of the call.
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Offer(offer) => match offer.kind {
                OfferKind::Prompt(_) => "prompts/get",
                OfferKind::Resource(_) => "resources/read",
                OfferKind::PromptCompletion(..) | OfferKind::ResourceCompletion(..) => "completion/complete",
            },
            Self::Toolkit(_) | Self::Own(_) | Self::Code(_) => "tools/call",
        }
    }

    pub(super) async fn prepare(&self) -> Result<Prepared<'_>, NotPrepared> {
        Ok(match self {
            Self::Toolkit(tool) => Prepared::Toolkit(tool, tool.toolkit.ready().await?),
            Self::Offer(offer) => Prepared::Offer(offer, offer.toolkit.ready().await?),
            Self::Own(tool) => Prepared::Own(tool),
            Self::Code(run) => Prepared::Code(run, run.runner.ready().await?),
        })
    }
}

impl Prepared<'_> {
    /// Returns the schema of the arguments.
    pub(super) fn input(&self) -> &Arc<Schema> {
        match self {
            Self::Toolkit(tool, ready) => ready.schemas.input(tool.index),
            Self::Offer(offer, ready) => match offer.kind {
                OfferKind::Prompt(index) => ready.schemas.prompt(index),
                OfferKind::Resource(_) => &VARIABLES,
                OfferKind::PromptCompletion(..) | OfferKind::ResourceCompletion(..) => &COMPLETION,
            },
            Self::Own(tool) => tool.tools.schemas().input(tool.index),
            Self::Code(run, _) => run.runner.schemas().input(0),
        }
    }

    /// Returns the schema of the structured result, if there is one.
    pub(super) fn output(&self) -> Option<&Arc<Schema>> {
        match self {
            Self::Toolkit(tool, ready) => ready.schemas.output(tool.index),
            Self::Offer(offer, _) => match offer.kind {
                OfferKind::Prompt(_) | OfferKind::Resource(_) => None,
                OfferKind::PromptCompletion(..) | OfferKind::ResourceCompletion(..) => Some(&COMPLETED),
            },
            Self::Own(tool) => tool.tools.schemas().output(tool.index),
            Self::Code(run, _) => run.runner.schemas().output(0),
        }
    }
}

/// Converts a call to the guest's parameters: the target, and the arguments, an object.
pub(super) fn target(offer: &Offer, mut arguments: Value) -> (Target, Value) {
    let name = offer.name().to_owned();
    let target = match &offer.kind {
        OfferKind::Prompt(_) => Target::Prompt(name),
        OfferKind::Resource(found) => Target::Resource { name, uri: found.path.clone() },
        OfferKind::PromptCompletion(_, argument) | OfferKind::ResourceCompletion(_, argument) => {
            let subject = match offer.kind {
                OfferKind::ResourceCompletion(..) => CompletionSubject::Resource(name),
                _ => CompletionSubject::Prompt(name),
            };
            let value = arguments["value"].as_str().unwrap_or_default().to_owned();
            arguments = arguments["others"].take();
            Target::Completion { subject, argument: argument.clone(), value }
        }
    };
    (target, arguments)
}

/// Calls a built-in tool of the server. The report is like one of the sandbox.
pub(super) async fn call_own(
    tool: &KnowledgeTool,
    reader: &Reader<'_>,
    secrets: &UserSecrets,
    arguments: Value,
) -> Report {
    let started = Instant::now();
    let ended = match timeout(MAX_TIME, tool.call(reader, secrets.redactor(), arguments)).await {
        Ok(Ok(result)) => Ended::Returned(result),
        Ok(Err(refusal)) => Ended::Refused(refusal),
        Err(_elapsed) => Ended::Faulted(Fault::Deadline(MAX_TIME)),
    };
    let log = Transcript::default();
    let usage = UsageSnapshot::default();
    let duration = started.elapsed();
    Report { ended, log, usage, duration, stages: None, held: None, instance: None }
}
