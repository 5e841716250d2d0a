//! (caller, tool call) → tool result: validation in, redaction and validation out.
//!
//! Invariant: nothing about the inside of a failure reaches the reply. The whole story goes to the
//! toolkit's log, once, here.

mod admission;
mod invocation_log;
mod redact;
mod reply;

use std::fmt::Display;
use std::sync::Arc;

use kitbag_manifest::config;
use serde_json::{Map, Value};
use thiserror::Error;
use tracing::error;

use crate::identity::Caller;
use crate::sandbox::Invocation;
use crate::toolkits::{Tool, Toolkits};
use crate::vault::{UserSecrets, Vault};
use admission::Admission;
pub use admission::AdmissionLimits;
pub use reply::{ErrorCode, Failure, Reply, Success};

/// Routes tool calls to toolkits.
pub struct Dispatch {
    toolkits: Arc<Toolkits>,
    vault: Arc<Vault>,
    admission: Admission,
}

/// Why there is no reply of a tool at all.
#[derive(Debug, Error)]
pub enum DispatchError {
    /// The caller can see no such tool.
    #[error("unknown tool: {0}")]
    UnknownTool(String),
    /// Our fault; the log says more.
    #[error("the toolkit cannot run at the moment")]
    Unavailable,
}

impl Dispatch {
    /// Routes to the live versions in `toolkits`, each call with its caller's secrets from `vault`.
    pub fn new(toolkits: Arc<Toolkits>, vault: Arc<Vault>, limits: AdmissionLimits) -> Self {
        Self { toolkits, vault, admission: Admission::new(limits) }
    }

    /// Calls `{toolkitId}__{tool}` for `caller`. Dropping the future ends the call.
    pub async fn call(
        &self,
        caller: &Caller,
        listed_name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Reply, DispatchError> {
        let tool = self
            .toolkits
            .registry()
            .find(listed_name, &caller.user_id)
            .ok_or_else(|| DispatchError::UnknownTool(listed_name.to_owned()))?;
        let toolkit = &tool.toolkit;
        let Some(_admitted) = self.admission.enter(&caller.user_id, &toolkit.definition.id) else {
            return Ok(Reply::Failure(Failure::busy()));
        };
        let unavailable = |cause: &dyn Display| {
            error!(toolkit.id = %toolkit.definition.id, %cause, "toolkit cannot run");
            DispatchError::Unavailable
        };
        let ready = toolkit.ready().await.map_err(|cause| unavailable(&cause))?;
        // What cannot be read cannot be redacted: without the caller's secrets there is no call.
        let secrets = self.vault.of_user(&caller.user_id).await.map_err(|cause| unavailable(&cause))?;

        let arguments = Value::Object(arguments);
        let violations = ready.input(tool.index).violations(&arguments);
        if !violations.is_empty() {
            return Ok(Reply::Failure(Failure::invalid_params(&violations)));
        }
        let report = ready.code.call(invocation(&tool, caller, &arguments, secrets.clone())).await;
        let report = redact::report(secrets.redactor(), report);
        let reply = reply::from(&report.ended, ready.output(tool.index));
        invocation_log::write(&tool, caller, &report, &reply);
        Ok(reply)
    }
}

fn invocation(tool: &Tool, caller: &Caller, arguments: &Value, secrets: Arc<UserSecrets>) -> Invocation {
    let config = config::effective(&tool.toolkit.definition.config, &Map::new());
    Invocation {
        tool: tool.definition().name.clone(),
        arguments: arguments.to_string(),
        toolkit_id: tool.toolkit.definition.id.clone(),
        user_id: caller.user_id.clone(),
        config: Value::Object(config).to_string(),
        secrets,
    }
}
