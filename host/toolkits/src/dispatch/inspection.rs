//! The operator's service that inspects calls (settings `dlp-…`): it sees the arguments of a call before the handler
//! runs, and the result before it leaves, and may refuse either (docs/dlp.md).
//!
//! Invariants:
//! - with a service, no handler gets arguments, and no client a result, a question or an error text of a handler, that
//!   the service has not allowed; unless it cannot be asked, and the operator lets calls pass then;
//! - it gets no secret: arguments are redacted as results are;
//! - neither content nor what the service says about it is logged or recorded;
//! - checks are bounded in time, number and memory, and users take turns.

mod message;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use kitbag_base::json_object::JsonObject;
use kitbag_base::metrics::Metrics;
use kitbag_base::shares::Shares;
use kitbag_base::turns::Turns;
use kitbag_base::visible;
use kitbag_net::egress::{Egress, EgressError, Policy};
use kitbag_sandbox::capabilities::ask::Answers;
use kitbag_vault::UserSecrets;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use thiserror::Error;
use tokio::time::timeout;
use tracing::{info, warn};

use super::redact::WorkersOf;
use super::reply::{Failure, Reply};
use crate::invocations::{Conclusion, Outcome};
pub(super) use message::CallHead;
use message::Phase;

/// Maximum size of what is sent to the service, in bytes. What is larger is refused.
const MAX_MESSAGE_BYTES: usize = 32 << 20;
/// Maximum size of an answer of the service, in bytes.
const MAX_ANSWER_BYTES: usize = 16 << 10;
/// Maximum length of the service's reason, in characters.
const MAX_REASON_CHARS: usize = 300;
/// Maximum number of checks at a time, of all users and of one. Others wait, within the time of their check.
const MAX_CHECKS: usize = 64;
const MAX_CHECKS_OF_USER: usize = 16;
/// Maximum memory of the messages of these checks, of all users and of one, in bytes.
const MAX_MEMORY: usize = 192 << 20;
const MAX_MEMORY_OF_USER: usize = 96 << 20;
/// Memory that a message takes for each byte of content, with its copy; and at least, in bytes.
const MEMORY_PER_BYTE: usize = 3;
const LEAST_MEMORY: usize = 4 << 10;

/// The service and how it is asked.
#[derive(Clone, Debug)]
pub struct InspectionSettings {
    /// URL to which messages are sent.
    pub url: Uri,
    /// Bearer token for the service.
    pub key: Option<SecretString>,
    /// Time limit of a check, with the wait for its turn.
    pub timeout: Duration,
    /// What happens to calls while the service cannot be asked.
    pub when_unavailable: WhenUnavailable,
}

/// What happens to calls while the service cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenUnavailable {
    /// They are refused.
    Refuse,
    /// They go on.
    Pass,
}

/// The key of the service is not valid in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the key of the inspecting service is not valid in a header")]
pub struct InvalidKey;

/// Inspects calls. Clones share its state.
#[derive(Clone)]
pub struct Inspection(Arc<Parts>);

struct Parts {
    url: Uri,
    authorization: Option<HeaderValue>,
    timeout: Duration,
    when_unavailable: WhenUnavailable,
    egress: Egress,
    metrics: Metrics,
    turns: Turns,
    memory: Shares,
    /// Whether the last check could not be made, which is logged once.
    is_failing: AtomicBool,
}

/// The inspection of one call.
pub(super) struct CallInspection {
    inspection: Inspection,
    head: Arc<CallHead>,
}

/// Reason why a part of a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The service has refused it, perhaps with a reason.
    ByService(Option<String>),
    /// The service could not be asked.
    Unavailable,
    /// It is too large to be sent.
    TooLarge,
}

/// Reason why a check could not be made. The text is for the log and has no content of the call.
#[derive(Debug, Error)]
enum Unanswered {
    #[error(transparent)]
    Request(#[from] EgressError),
    #[error("the service has answered {0}")]
    Status(StatusCode),
    #[error(r#"the answer is not {{"allow": true}}, or false with a reason"#)]
    Answer,
    #[error("the check took longer than dlp-timeout, perhaps waiting for others")]
    TooSlow,
    #[error("there is no memory left for checks")]
    NoMemory,
}

/// The answer of the service.
#[derive(Deserialize)]
struct Answer {
    allow: bool,
    #[serde(default)]
    reason: Option<String>,
}

impl Inspection {
    /// Maximum memory of messages to the service, in bytes.
    pub const MAX_MEMORY: usize = MAX_MEMORY;

    /// Creates an inspection, which sends its requests through `egress`. Fails if the key is not valid in a header.
    pub fn new(settings: InspectionSettings, egress: Egress, metrics: Metrics) -> Result<Self, InvalidKey> {
        let InspectionSettings { url, key, timeout, when_unavailable } = settings;
        let authorization = key.map(|key| {
            let value = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()));
            let mut value = value.map_err(|_| InvalidKey)?;
            value.set_sensitive(true);
            Ok(value)
        });
        Ok(Self(Arc::new(Parts {
            url,
            authorization: authorization.transpose()?,
            timeout,
            when_unavailable,
            egress,
            metrics,
            turns: Turns::new(MAX_CHECKS, MAX_CHECKS_OF_USER),
            memory: Shares::new(MAX_MEMORY, MAX_MEMORY_OF_USER),
            is_failing: AtomicBool::new(false),
        })))
    }

    /// Begins the inspection of a call.
    pub(super) fn of_call(&self, head: CallHead) -> CallInspection {
        CallInspection { inspection: self.clone(), head: Arc::new(head) }
    }
}

impl CallInspection {
    /// Checks the arguments of a call, as JSON, and the answers of its user to questions so far.
    pub(super) async fn arguments(
        &self,
        workers: WorkersOf<'_>,
        arguments: String,
        answers: Option<&Arc<Answers>>,
        secrets: &Arc<UserSecrets>,
    ) -> Result<(), Refusal> {
        let answers = answers.filter(|answers| !answers.is_empty()).cloned();
        let size = arguments.len();
        let head = self.head.clone();
        let secrets = secrets.clone();
        let encode = move || {
            let redactor = secrets.redactor();
            let arguments = redactor.redact_json_text(&arguments);
            let answers = answers.map(|it| serde_json::to_string(&*it).expect("answers are valid in JSON"));
            let answers = answers.as_deref().map(|it| redactor.redact_json_text(it));
            message::of_arguments(&head, &arguments, answers.as_deref(), MAX_MESSAGE_BYTES)
        };
        self.check(workers, Phase::Arguments, size, encode).await
    }

    /// Checks what the caller is going to get, and returns it.
    pub(super) async fn reply(&self, workers: WorkersOf<'_>, reply: Reply) -> (Reply, Result<(), Refusal>) {
        let size = reply.size();
        let reply = Arc::new(reply);
        let encode = {
            let head = self.head.clone();
            let reply = reply.clone();
            move || message::of_reply(&head, &reply, MAX_MESSAGE_BYTES)
        };
        let checked = self.check(workers, Phase::Result, size, encode).await;
        // A worker may still have it if the check has timed out.
        (Arc::unwrap_or_clone(reply), checked)
    }

    /// Sends a message about `size` bytes of content, and decides by the answer.
    async fn check(
        &self,
        workers: WorkersOf<'_>,
        phase: Phase,
        size: usize,
        encode: impl FnOnce() -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<(), Refusal> {
        let parts = &*self.inspection.0;
        let asked = timeout(parts.timeout, parts.ask_about(workers, size, encode)).await;
        let refusal = match asked.unwrap_or(Err(Unanswered::TooSlow)) {
            Ok(Asked::Answered(Answer { allow: true, .. })) => None,
            Ok(Asked::Answered(Answer { reason, .. })) => {
                Some(Refusal::ByService(reason.and_then(|reason| in_one_line(&reason))))
            }
            Ok(Asked::TooLarge) => Some(Refusal::TooLarge),
            Err(cause) => {
                parts.failed(&cause);
                parts.metrics.dlp_check(phase.as_str(), "unavailable");
                return match parts.when_unavailable {
                    WhenUnavailable::Refuse => Err(Refusal::Unavailable),
                    WhenUnavailable::Pass => Ok(()),
                };
            }
        };
        if refusal != Some(Refusal::TooLarge) && parts.is_failing.swap(false, Ordering::Relaxed) {
            info!("the service that inspects calls answers again (setting dlp-url)");
        }
        let result = if refusal.is_none() { "allowed" } else { "refused" };
        parts.metrics.dlp_check(phase.as_str(), result);
        refusal.map_or(Ok(()), Err)
    }
}

/// Outcome of a question to the service.
enum Asked {
    Answered(Answer),
    TooLarge,
}

impl Parts {
    async fn ask_about(
        &self,
        WorkersOf { workers, user }: WorkersOf<'_>,
        size: usize,
        encode: impl FnOnce() -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<Asked, Unanswered> {
        let _turn = self.turns.take(user).await;
        let memory = size.saturating_mul(MEMORY_PER_BYTE).saturating_add(LEAST_MEMORY);
        if self.memory.always_exceeds(memory) {
            return Ok(Asked::TooLarge);
        }
        let _held = self.memory.wait(user, memory, self.timeout).await.map_err(|_| Unanswered::NoMemory)?;
        let Some(message) = workers.run(user, size, encode).await else { return Ok(Asked::TooLarge) };
        Ok(Asked::Answered(self.ask(message.into()).await?))
    }

    /// Sends a message. A connection that breaks is no answer, and a check has no effect, so it is sent once more.
    async fn ask(&self, message: Bytes) -> Result<Answer, Unanswered> {
        let send = || {
            let request = self.request(message.clone());
            self.egress.exchange_slow(request, &Policy::Operator, MAX_ANSWER_BYTES, self.timeout)
        };
        let answer = match send().await {
            Err(EgressError::Protocol { .. }) => send().await?,
            answer => answer?,
        };
        if answer.status() != StatusCode::OK {
            return Err(Unanswered::Status(answer.status()));
        }
        let JsonObject(answer) = serde_json::from_slice(answer.body()).map_err(|_| Unanswered::Answer)?;
        Ok(answer)
    }

    fn request(&self, message: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::from(message));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.extend(self.authorization.clone().map(|value| (AUTHORIZATION, value)));
        request
    }

    fn failed(&self, cause: &Unanswered) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            let calls = match self.when_unavailable {
                WhenUnavailable::Refuse => "are refused",
                WhenUnavailable::Pass => "pass without a check",
            };
            warn!(%cause, calls, "the service that inspects calls cannot be asked (setting dlp-url)");
        }
    }
}

impl Refusal {
    /// Returns the outcome of a call whose arguments are refused: its handler does not run.
    pub(super) fn of_arguments(self) -> (Reply, Conclusion) {
        let detail = self.in_record("arguments");
        let conclusion = Conclusion { detail: Some(detail), ..Outcome::ArgumentsRefused.into() };
        (Reply::Failure(Failure::arguments_refused(&self)), conclusion)
    }

    /// Returns the outcome of a call whose result is refused. Its log is removed too: the user could read the result there.
    pub(super) fn of_result(self, conclusion: Conclusion) -> (Reply, Conclusion) {
        let detail = self.in_record("result");
        let mut transcript = conclusion.transcript;
        transcript.dropped += transcript.entries.len();
        transcript.entries.clear();
        let conclusion = Conclusion {
            outcome: Outcome::ResultRefused,
            limit: None,
            detail: Some(detail),
            data: None,
            transcript,
            ..conclusion
        };
        (Reply::Failure(Failure::result_refused(&self)), conclusion)
    }

    /// Returns the text for the record, without what the service said.
    fn in_record(&self, part: &str) -> String {
        match self {
            Self::ByService(_) => format!("the service that inspects calls (dlp-url) refused the {part}"),
            Self::Unavailable => {
                format!("the service that inspects calls (dlp-url) could not be asked about the {part}")
            }
            Self::TooLarge => {
                format!("the {part} were too large for the service that inspects calls (dlp-url)")
            }
        }
    }
}

/// Returns a reason on one line, without hidden characters, and cut to its maximum length; `None` if it is empty.
fn in_one_line(reason: &str) -> Option<String> {
    let words = reason.split_whitespace().take(MAX_REASON_CHARS).collect::<Vec<_>>().join(" ");
    let cut: String = words.chars().take(MAX_REASON_CHARS).collect();
    let more = if cut.len() < words.len() { "…" } else { "" };
    let shown = visible::line(cut.trim_end_matches(['.', ' ']));
    (!shown.is_empty()).then(|| format!("{shown}{more}"))
}
