//! Writes the record of a call with the guest's log, and a line without any content to the server's log.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kitbag_base::memory::Shortage;
use kitbag_base::metrics::Metrics;
use kitbag_base::workers::Workers;
use kitbag_net::traces::Span;
use kitbag_sandbox::contract::{CallError, ToolError};
use kitbag_sandbox::observations::{Observations, json_or_string, json_string};
use kitbag_sandbox::{Ended, Fault, Report};
use kitbag_vault::UserSecrets;
use tokio::runtime::Handle;
use tracing::{debug, info};

use super::call::{Call, CallServices};
use super::callee::Callee;
use super::redact;
use super::reply::{self, Reply, Structured};
use crate::invocations::{AtMost, BegunCall, Conclusion, Invocations, Lost, Outcome, Record, Through};

/// Tracing target of the log line about a call.
const TARGET: &str = "kitbag::toolkit";
/// Maximum size of a failure's text in a record, in bytes.
const MAX_DETAIL_BYTES: usize = 16 << 10;
/// Maximum size of a `ToolError`'s data in a record, in bytes.
const MAX_DATA_BYTES: usize = 64 << 10;

/// Records a running call. If it is dropped before [`end`](Self::end), the call is recorded as cancelled.
pub(super) struct Recording<'a> {
    invocations: &'a Arc<Invocations>,
    metrics: &'a Metrics,
    workers: &'a Workers,
    call: Arc<BegunCall>,
    started: Instant,
    argument_size: Option<usize>,
    watched: Option<(Observations, Arc<UserSecrets>)>,
    /// Time that the call spent in the sandbox; `None` if it did not reach the sandbox.
    in_sandbox: Option<Duration>,
    /// Trace span of the whole call.
    span: Span,
    is_recorded: bool,
}

impl<'a> Recording<'a> {
    /// Starts to record `call`, whose trace is `span`.
    pub(super) fn start(services: &'a CallServices, call: &Call<'a>, span: Span) -> Self {
        Self {
            invocations: &services.invocations,
            metrics: &services.metrics,
            workers: &services.workers,
            call: Arc::new(begun(services.invocations.new_call_id(), call)),
            started: Instant::now(),
            argument_size: None,
            watched: None,
            in_sandbox: None,
            span,
            is_recorded: false,
        }
    }

    /// The call, as its record will say it.
    pub(super) fn call(&self) -> &BegunCall {
        &self.call
    }

    /// Notes that the call runs, with the provider's name for the account that it can use: should the process be killed
    /// meanwhile, it is recorded as interrupted.
    pub(super) fn begin(&mut self, account: Option<String>) {
        Arc::make_mut(&mut self.call).account = account;
        self.invocations.begin(self.call.clone());
    }

    /// Sets the size of the arguments in bytes.
    pub(super) fn got_arguments(&mut self, size: usize) {
        self.argument_size = Some(size);
    }

    /// Sets the time of the call in the sandbox.
    pub(super) fn ran_for(&mut self, time: Duration) {
        self.in_sandbox = Some(time);
    }

    /// Stores the observations of the call, and the secrets to redact, for the record of a cancelled call.
    pub(super) fn watch(&mut self, observations: &Observations, secrets: &Arc<UserSecrets>) {
        self.watched = Some((observations.clone(), secrets.clone()));
    }

    pub(super) fn end(mut self, conclusion: Conclusion) {
        self.is_recorded = true;
        write(self.invocations, self.record(conclusion));
    }

    /// Counts the call, ends its trace, and creates its record.
    fn record(&mut self, conclusion: Conclusion) -> Record {
        let duration = self.started.elapsed();
        self.metrics.call(&self.call.toolkit, conclusion.outcome.as_str(), duration, self.in_sandbox);
        let mut span = mem::take(&mut self.span);
        span.ended(
            conclusion.outcome.as_str(),
            matches!(conclusion.outcome, Outcome::Succeeded | Outcome::Asked),
        );
        drop(span);
        Record { call: self.call.clone(), duration, argument_size: self.argument_size, conclusion }
    }
}

fn begun(id: String, call: &Call<'_>) -> BegunCall {
    let Call { tool, caller, run, .. } = call;
    let definition = tool.toolkit();
    BegunCall {
        id,
        toolkit: definition.id.clone(),
        version: definition.version.clone(),
        tool: tool.record_name().into_owned(),
        user: caller.user_id.clone(),
        through: Through::of(caller),
        account: None,
        run: match tool {
            Callee::Code(run) => Some(run.id.clone()),
            Callee::Toolkit(_) | Callee::Offer(_) | Callee::Own(_) => run.clone(),
        },
        started_at: Timestamp::now(),
        lost: Lost::default(),
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if self.is_recorded {
            return;
        }
        let outcome = if std::thread::panicking() { Outcome::Failed } else { Outcome::Cancelled };
        let mut record = self.record(outcome.into());
        let Some((observations, secrets)) = self.watched.take() else {
            return write(self.invocations, record);
        };
        record.conclusion.usage = observations.usage.snapshot();
        let mut written = observations.log.take();
        let is_large = redact::is_large(&written);
        let invocations = self.invocations.clone();
        let in_log = tracing::Span::current();
        let finish = move || {
            redact::cancelled_log(&mut written, &secrets, &observations.tokens);
            record.conclusion.transcript = written;
            in_log.in_scope(|| write(&invocations, record));
        };
        match Handle::try_current() {
            Ok(runtime) if is_large => {
                let workers = self.workers.clone();
                let user = self.call.user.clone();
                drop(runtime.spawn(async move { workers.run_in_turn(&user, finish).await }));
            }
            _ => finish(),
        }
    }
}

fn write(invocations: &Invocations, record: Record) {
    write_line(&record);
    invocations.record(record);
}

/// Size of the handler's result, in bytes.
pub(super) fn result_size(ended: &Ended) -> usize {
    match ended {
        Ended::Returned(result) => result.size(),
        Ended::Refused(_) | Ended::Asked(..) | Ended::Faulted(_) => 0,
    }
}

/// Converts a call's report to the reply for the caller and the conclusion for the record.
pub(super) fn conclude(
    mut report: Report,
    result_size: usize,
    structured: Structured,
) -> (Reply, Conclusion) {
    let mut reply = reply::from(&mut report.ended, structured);
    if let Reply::Success(success) = &mut reply {
        success.bytes = result_size;
    }
    let (outcome, limit) = outcome(&report.ended, &reply);
    let (detail, data) = log_detail(&report.ended, &reply);
    let Report { log: transcript, usage, .. } = report;
    (reply, Conclusion { outcome, limit, detail, data, transcript, usage, result_size })
}

fn outcome(ended: &Ended, reply: &Reply) -> (Outcome, Option<String>) {
    let (outcome, limit) = match ended {
        Ended::Returned(_) if matches!(reply, Reply::Failure(_)) => (Outcome::ToolError, None),
        Ended::Returned(_) => (Outcome::Succeeded, None),
        Ended::Refused(CallError::Tool(_)) => (Outcome::ToolError, None),
        Ended::Refused(CallError::InvalidParams(_)) => (Outcome::InvalidParams, None),
        Ended::Refused(CallError::Failure(_)) | Ended::Faulted(Fault::Trap(_)) => (Outcome::Failed, None),
        Ended::Asked(..) => (Outcome::Asked, None),
        Ended::Faulted(Fault::Deadline(limit)) => {
            (Outcome::Deadline, Some(format!("{} s", limit.as_secs_f64())))
        }
        Ended::Faulted(Fault::Limit(limit)) => (Outcome::Limit, Some((*limit).to_owned())),
        Ended::Faulted(Fault::OutOfMemory(_) | Fault::NoRoom(Shortage::TooLarge { .. })) => {
            (Outcome::Limit, Some("memory for calls".to_owned()))
        }
        Ended::Faulted(Fault::NoRoom(_)) => (Outcome::Busy, Some("memory for calls".to_owned())),
        Ended::Faulted(Fault::ResultTooLarge) => (Outcome::Limit, Some("result size".to_owned())),
    };
    (outcome, limit)
}

/// Returns the text and the data for the author, most of which is not in the reply.
fn log_detail(ended: &Ended, reply: &Reply) -> (Option<String>, Option<Box<serde_json::value::RawValue>>) {
    match (ended, reply) {
        (Ended::Refused(CallError::Tool(ToolError { message, data, .. })), _) => (
            Some(truncated(message, MAX_DETAIL_BYTES)),
            data.as_deref().map(|data| {
                if data.len() <= MAX_DATA_BYTES {
                    json_or_string(data)
                } else {
                    json_string(&truncated(data, MAX_DATA_BYTES))
                }
            }),
        ),
        (
            Ended::Refused(CallError::InvalidParams(text) | CallError::Failure(text))
            | Ended::Faulted(Fault::Trap(text)),
            _,
        ) => (Some(truncated(text, MAX_DETAIL_BYTES)), None),
        (Ended::Returned(_), Reply::Failure(failure)) => {
            (Some(truncated(&failure.envelope.error, MAX_DETAIL_BYTES)), None)
        }
        (Ended::Asked(_, question), _) => (Some(truncated(&question.message, MAX_DETAIL_BYTES)), None),
        (Ended::Returned(_), Reply::Success(_)) | (Ended::Faulted(_), _) => (None, None),
    }
}

/// Truncates `text` to `max_bytes`, and adds an ellipsis if it was longer.
fn truncated(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        text.to_owned()
    } else {
        format!("{}…", &text[..text.floor_char_boundary(max_bytes)])
    }
}

/// Logs one line for the operator. It contains no text from the guest or the caller, and no exact number that
/// the guest could choose.
fn write_line(record: &Record) {
    let BegunCall { toolkit, version, tool, user, .. } = &*record.call;
    let outcome = record.conclusion.outcome.as_str();
    let duration_ms_at_most = AtMost::milliseconds(record.duration).get();
    if record.conclusion.outcome == Outcome::Succeeded {
        debug!(target: TARGET, tool, toolkit.id = toolkit, toolkit.version = version, user, duration_ms_at_most, outcome, "call");
    } else {
        info!(target: TARGET, tool, toolkit.id = toolkit, toolkit.version = version, user, duration_ms_at_most, outcome, "call");
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use kitbag_base::tasks::take_a_share;
    use kitbag_database::peers::Hints;
    use kitbag_identity::{Caller, TokenProfile};
    use kitbag_net::traces::Traces;
    use kitbag_vault::{KeySource, Vault};

    use super::*;
    use crate::invocations::{Auditing, RetentionLimits};
    use crate::testing;
    use crate::tests::books;
    use crate::user_config::UserConfig;

    #[tokio::test]
    async fn a_call_that_panics_has_failed_and_one_that_is_dropped_was_cancelled() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let (database, toolkits, _) = books(folder.path()).await;
        let limits = RetentionLimits { age: Duration::from_hours(1), records: 100, bytes: 1 << 20 };
        let process = testing::process(&database).await;
        let invocations =
            Invocations::open(database.clone(), Hints::off(), &process, limits, Auditing::off());
        let invocations = invocations.await.expect("they open");
        let invocations = Arc::new(invocations);
        let tool = Callee::Toolkit(toolkits.registry.load().find("books__find").expect("it is live"));
        let caller = Caller {
            user_id: "ana".to_owned(),
            profile: TokenProfile::Access,
            client_id: None,
            key: None,
            issued_at: i64::MAX,
            scopes: Vec::new(),
            toolkits: None,
            groups: kitbag_identity::Groups::default(),
        };

        let key = KeySource::File(folder.path().join("master-key"));
        let services = CallServices {
            toolkits,
            vault: Arc::new(Vault::open(database.clone(), key).await.expect("the vault opens")),
            user_config: Arc::new(UserConfig::new(database.clone())),
            invocations: invocations.clone(),
            inspection: None,
            workers: Workers::start("worker", take_a_share).expect("there are threads"),
            metrics: Metrics::default(),
            traces: Traces::default(),
        };
        let call = Call {
            groups: kitbag_identity::Groups::default(),
            readable: Arc::default(),
            caller: &caller,
            arrival: None,
            tool: &tool,
            limits: Vec::new(),
            run: None,
            answers: None,
        };
        drop(Recording::start(&services, &call, Span::default()));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _recording = Recording::start(&services, &call, Span::default());
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        invocations.close().await;

        let outcomes: Vec<String> = database.column("SELECT outcome FROM invocations ORDER BY id").await;
        assert_eq!(outcomes, ["cancelled", "failed"]);
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        assert_eq!(truncated("ab", 2), "ab");
        assert_eq!(truncated("aé", 2), "a…");
    }
}
