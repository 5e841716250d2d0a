//! One line in the toolkit's log for each call, with what the guest wrote and how it ended.

use serde_json::json;
use tracing::info;

use super::reply::Reply;
use crate::capabilities::log::Transcript;
use crate::identity::Caller;
use crate::sandbox::{CallError, Ended, Fault, Report};
use crate::toolkits::Tool;

/// Writes the line. A call that succeeded and said nothing leaves none.
pub(super) fn write(tool: &Tool, caller: &Caller, report: &Report, reply: &Reply) {
    let failed = matches!(reply, Reply::Failure(_));
    if !failed && report.log == Transcript::default() {
        return;
    }
    let definition = &tool.toolkit.definition;
    info!(
        target: "kitbag::toolkit",
        tool = %tool.definition().name,
        toolkit.id = %definition.id,
        toolkit.version = %definition.version,
        user = %caller.user_id,
        duration_ms = report.duration.as_secs_f64() * 1e3,
        outcome = if failed { "failed" } else { "succeeded" },
        detail = detail(&report.ended),
        entries = %json!(report.log.entries),
        dropped = report.log.dropped,
        "call"
    );
}

/// What the caller is not told.
fn detail(ended: &Ended) -> Option<String> {
    match ended {
        Ended::Returned(_) => None,
        Ended::Refused(CallError::Tool(error)) => {
            Some(format!("{} {}", error.message, error.data.as_deref().unwrap_or_default()))
        }
        Ended::Refused(CallError::InvalidParams(message) | CallError::Failure(message)) => {
            Some(message.clone())
        }
        Ended::Faulted(Fault::Trap(detail)) => Some(detail.clone()),
        Ended::Faulted(fault) => Some(format!("{fault:?}")),
    }
}
