//! The reply to a call: the result, or the error envelope of the specification.

use std::mem::take;

use kitbag_base::memory::Shortage;
use kitbag_manifest::content::{self, ContentBlock, PromptMessage};
use kitbag_manifest::question::Question;
pub use kitbag_manifest::reply::ErrorCode;
use kitbag_manifest::{ToolkitDefinition, offers, reply};
use kitbag_sandbox::contract::{CallError, ToolError, ToolResult};
use kitbag_sandbox::observations::{MissingSecrets, QuestionId, Reason, RefusedHosts, SignInFailure};
use kitbag_sandbox::{Ended, Fault};
use serde::Serialize;
use serde_json::Value;

use super::inspection::Refusal;
use crate::limited_calls::OverLimit;
use crate::reach::ReachItem;

/// How errors name the egress policy.
const POLICY_SETTING: &str = "(setting egress-policy)";
/// Maximum number of parts of a reach that an error names.
const MAX_NAMED: usize = 5;

/// The reply to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The handler's result.
    Success(Success),
    /// The error envelope.
    Failure(Failure),
}

impl Reply {
    /// Size of what the caller gets, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Success(success) => success.bytes,
            Self::Failure(failure) => failure.envelope.error.len(),
        }
    }

    /// Cuts the text to `max_bytes` bytes.
    pub(super) fn cut_to(&mut self, max_bytes: usize) {
        let text = match self {
            Self::Success(success) => &mut success.text,
            Self::Failure(failure) => &mut failure.envelope.error,
        };
        text.truncate(text.floor_char_boundary(max_bytes));
    }

    /// Returns a completion's values that the declaration itself defines.
    pub fn proposing(values: Value) -> Self {
        Self::Success(Success { structured: Some(values), ..Success::default() })
    }

    /// Converts relative URIs of a toolkit's own resources to absolute ones.
    pub(super) fn complete_links(&mut self, toolkit: &ToolkitDefinition) {
        if let Self::Success(success) = self {
            offers::complete_links(toolkit, &mut success.content);
            offers::complete_message_links(toolkit, &mut success.messages);
        }
    }
}

/// A handler's validated result, with the parts of a [`ToolResult`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Success {
    /// The text for the model.
    pub text: String,
    /// Structured result; only if the tool declares `output`.
    pub structured: Option<Value>,
    /// Content besides the text.
    pub content: Vec<ContentBlock>,
    /// Messages of a prompt.
    pub messages: Vec<PromptMessage>,
    /// Size of the handler's result in bytes, with the structured value as JSON.
    pub bytes: usize,
}

/// The error envelope that clients and both SDKs use, with additional information for the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Failure {
    /// The envelope.
    pub envelope: reply::Failure,
    /// Violations of the input schema, each as `pointer: message`. The envelope's text lists them too.
    #[serde(skip)]
    pub violations: Vec<String>,
    /// Missing secrets that caused the failure. Not part of the envelope.
    #[serde(skip)]
    pub missing_secrets: Vec<String>,
    /// Whether the user can fix it by connecting an account. Not part of the envelope.
    #[serde(skip)]
    pub needs_account: bool,
    /// Seconds until the call is possible again, if a limit of calls was reached. Not part of the envelope.
    #[serde(skip)]
    pub retry_after: Option<u64>,
    /// Whether the user has to agree to the toolkit's current reach. Not part of the envelope.
    #[serde(skip)]
    pub needs_consent: bool,
    /// The question that the user has to answer first. Not part of the envelope.
    #[serde(skip)]
    pub question: Option<Box<(QuestionId, Question)>>,
}

impl From<reply::Failure> for Failure {
    fn from(envelope: reply::Failure) -> Self {
        Self {
            envelope,
            violations: Vec::new(),
            missing_secrets: Vec::new(),
            needs_account: false,
            retry_after: None,
            needs_consent: false,
            question: None,
        }
    }
}

impl Failure {
    pub(super) fn busy() -> Self {
        reply::Failure::busy().into()
    }

    /// Failure of a call that exceeds a call limit.
    pub(super) fn over_limit(toolkit: &str, over: &OverLimit) -> Self {
        let failure: Self = reply::Failure::tool_error(over.message(toolkit)).retryable(true).into();
        Self { retry_after: Some(over.seconds()), ..failure }
    }

    /// Failure of code that cannot run because the component is not installed.
    pub(super) fn no_code() -> Self {
        let error = "Code cannot be run on this server: its operator has not installed code.wasm (setting extractors). Call tools \
                     with call_tool.";
        reply::Failure::tool_error(error).into()
    }

    /// Failure of a call whose toolkit is being compiled.
    pub(super) fn not_ready() -> Self {
        let error = "The toolkit is being prepared for this version of the server. Try again in a moment.";
        reply::Failure::tool_error(error).retryable(true).into()
    }

    /// Failure of a call whose toolkit reaches further than the user has agreed to. `beyond` has at least one
    /// part.
    pub(super) fn needs_consent(toolkit: &ToolkitDefinition, beyond: &[ReachItem]) -> Self {
        let named = beyond.iter().take(MAX_NAMED).map(|it| format!("{} {}", it.kind.to_lowercase(), it.name));
        let more = beyond.len().saturating_sub(MAX_NAMED);
        let more = (more > 0).then(|| format!("{more} more"));
        let error = format!(
            "{id} {version} reaches further than its user has agreed to ({}). Nothing of theirs was given to it. Its user can \
             look at the difference and agree with: kitbag toolkit agree {id}",
            named.chain(more).collect::<Vec<_>>().join(", "),
            id = toolkit.id,
            version = toolkit.version,
        );
        Self { needs_consent: true, ..reply::Failure::tool_error(error).into() }
    }

    /// Explains that the operator does not permit hosts that the call asked for, unless the handler has said so.
    pub(super) fn explain_refused_hosts(&mut self, refused: String) {
        let envelope = &mut self.envelope;
        envelope.retryable = false;
        if *envelope == reply::Failure::of_handler() {
            envelope.error = refused;
        } else if !envelope.error.contains(POLICY_SETTING) {
            envelope.error = format!("{refused} The tool said: {}", envelope.error);
        }
    }

    /// Failure of a call that asks its user a question which has no answer yet.
    fn asks(id: QuestionId, question: Question) -> Self {
        let error = format!("The tool asks its user, and nobody has answered: {}", question.message);
        Self { question: Some(Box::new((id, question))), ..reply::Failure::tool_error(error).into() }
    }

    /// Failure of a call whose arguments the operator's service has not allowed.
    pub(super) fn arguments_refused(refusal: &Refusal) -> Self {
        let error = match refusal {
            Refusal::ByService(reason) => format!(
                "The service that inspects calls here has refused the arguments, and the tool did not run{}. Your operator has set \
                 it up (setting dlp-url): ask them.",
                told(reason.as_deref())
            ),
            Refusal::Unavailable => "The service that inspects calls here does not answer, so the tool did not run. Try again in \
                                     a moment, or ask your operator (setting dlp-url)."
                .to_owned(),
            Refusal::TooLarge => "The arguments are too large for the service that inspects calls here, so the tool did not run. \
                                  Your operator has set it up (setting dlp-url)."
                .to_owned(),
        };
        reply::Failure::tool_error(error).retryable(*refusal == Refusal::Unavailable).into()
    }

    /// Failure of a call whose result the operator's service has not allowed. Not retryable, because the tool has run.
    pub(super) fn result_refused(refusal: &Refusal) -> Self {
        let error = match refusal {
            Refusal::ByService(reason) => format!(
                "The tool has run, and the service that inspects calls here has refused its result{}. Your operator has set it up \
                 (setting dlp-url): ask them.",
                told(reason.as_deref())
            ),
            Refusal::Unavailable => "The tool has run, but the service that inspects calls here does not answer, so its result is \
                                     withheld. Ask your operator (setting dlp-url)."
                .to_owned(),
            Refusal::TooLarge => "The tool has run, but its result is too large for the service that inspects calls here. Ask for \
                                  less; your operator has set it up (setting dlp-url)."
                .to_owned(),
        };
        reply::Failure::tool_error(error).into()
    }

    /// Failure of a call whose arguments could not be checked in time.
    pub(super) fn unchecked_arguments() -> Self {
        let error = "The server had no time to check the arguments. Try again in a moment.";
        reply::Failure::tool_error(error).retryable(true).into()
    }

    /// Failure of a call whose result could not be checked in time. Not retryable, because the tool has run.
    pub(super) fn unchecked_result() -> Self {
        let error = "The tool has run, but the server had no time to check its result.";
        reply::Failure::tool_error(error).into()
    }

    /// Failure of a call whose structured value does not match `output`.
    pub(super) fn output_mismatch(violations: &[String]) -> Self {
        reply::Failure::output_mismatch(violations).into()
    }

    pub(super) fn invalid_params(violations: Vec<String>) -> Self {
        let envelope = reply::Failure::invalid_params(&violations);
        Self { violations, ..envelope.into() }
    }
}

/// Returns a reason as the end of a sentence.
fn told(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

/// A result's structured value, checked against `output`.
#[derive(Debug, PartialEq)]
pub(super) enum Structured {
    /// There is no value, or the tool declares no `output` and the value is dropped.
    Absent,
    /// The value matches `output`.
    Valid(Value),
    /// The call fails because of the value.
    Refused(Failure),
}

/// Converts the outcome of a call to the reply for the caller. Moves the result out of it.
pub(super) fn from(ended: &mut Ended, structured: Structured) -> Reply {
    match ended {
        Ended::Returned(result) => returned(result, structured),
        Ended::Refused(CallError::Tool(error)) => Reply::Failure(
            reply::Failure::tool_error(error.message.clone()).retryable(error.retryable).into(),
        ),
        Ended::Refused(CallError::InvalidParams(message)) => {
            Reply::Failure(Failure::invalid_params(vec![message.clone()]))
        }
        Ended::Refused(CallError::Failure(_)) => Reply::Failure(reply::Failure::of_handler().into()),
        Ended::Asked(id, question) => Reply::Failure(Failure::asks(id.clone(), question.clone())),
        Ended::Faulted(fault) => Reply::Failure(stopped(fault).into()),
    }
}

/// Returns the missing secrets that caused a failure; none if the call was stopped, or its arguments were
/// invalid.
pub(super) fn missing_secrets(ended: &Ended, missing: &MissingSecrets) -> Vec<String> {
    match ended {
        Ended::Refused(CallError::Tool(ToolError { message, .. }) | CallError::Failure(message)) => {
            missing.causing(message)
        }
        Ended::Returned(_)
        | Ended::Refused(CallError::InvalidParams(_))
        | Ended::Asked(..)
        | Ended::Faulted(_) => Vec::new(),
    }
}

/// Returns the failure that replaces the handler's error if the host could not sign in for the call: the
/// handler received only a network error.
pub(super) fn sign_in_failure(ended: &Ended, failure: &SignInFailure) -> Option<Reason> {
    let is_handlers = matches!(ended, Ended::Refused(CallError::Tool(_) | CallError::Failure(_)));
    if is_handlers { failure.get() } else { None }
}

/// Returns the sentence about hosts that the operator does not permit to toolkits, for a handler's error: the handler
/// received only a network error.
pub(super) fn refused_hosts(ended: &Ended, refused: &RefusedHosts) -> Option<String> {
    let is_handlers = matches!(ended, Ended::Refused(CallError::Tool(_) | CallError::Failure(_)));
    if is_handlers { refused.in_words() } else { None }
}

/// Whether the reply has anything that comes from the handler: texts of faults are the host's own.
pub(super) fn has_content(ended: &Ended) -> bool {
    match ended {
        Ended::Returned(_)
        | Ended::Refused(CallError::Tool(_) | CallError::InvalidParams(_))
        | Ended::Asked(..) => true,
        Ended::Refused(CallError::Failure(_)) | Ended::Faulted(_) => false,
    }
}

fn returned(result: &mut ToolResult, structured: Structured) -> Reply {
    let structured = match structured {
        Structured::Absent => None,
        Structured::Valid(value) => Some(value),
        Structured::Refused(failure) => return Reply::Failure(failure),
    };
    let problem = content::problem(&result.content);
    if let Some(problem) = problem.or_else(|| content::messages_problem(&result.messages)) {
        return Reply::Failure(reply::Failure::invalid_content(&problem).into());
    }
    let ToolResult { text, content, messages, .. } = take(result);
    Reply::Success(Success { text, structured, content, messages, ..Success::default() })
}

fn stopped(fault: &Fault) -> reply::Failure {
    match fault {
        Fault::Deadline(limit) => reply::Failure::deadline(*limit),
        Fault::Limit(limit) => reply::Failure::limit(limit),
        Fault::OutOfMemory(shortage) | Fault::NoRoom(shortage) => {
            let is_retryable = !matches!(shortage, Shortage::TooLarge { .. });
            reply::Failure::tool_error(out_of_memory(*shortage)).retryable(is_retryable)
        }
        Fault::ResultTooLarge => reply::Failure::result_too_large(),
        Fault::Trap(_) => reply::Failure::of_handler(),
    }
}

/// Returns the text for a shortage of memory. Except for `TooLarge`, the same call can succeed once other
/// calls have ended.
fn out_of_memory(shortage: Shortage) -> String {
    match shortage {
        Shortage::User => "Your calls under way take all the memory that one user's calls may take. \
             Try again when some of them have ended."
            .to_owned(),
        Shortage::Server => {
            "The server has no memory left for calls at the moment. Try again in a moment.".to_owned()
        }
        Shortage::TooLarge { needed } => format!(
            "The tool needs {} MiB of memory, more than the calls of one user may take (settings memory-for-calls and \
             call-memory).",
            needed.div_ceil(1 << 20)
        ),
    }
}

#[cfg(test)]
mod tests {
    use kitbag_manifest::content::Content;
    use serde_json::json;

    use super::*;

    fn failure(mut ended: Ended) -> Failure {
        match from(&mut ended, Structured::Absent) {
            Reply::Failure(failure) => failure,
            Reply::Success(success) => panic!("expected a failure, not {success:?}"),
        }
    }

    #[test]
    fn where_the_host_could_not_sign_in_a_call_that_fails_is_told_why() {
        let noted = SignInFailure::default();
        let failure = reply::Failure::missing_credentials("books", &["ID".to_owned()]);
        let missing = || Reason { failure: failure.clone(), is_about_account: false };
        let error = ToolError { message: "api.example gave no answer".into(), retryable: true, data: None };
        let failed =
            [Ended::Refused(CallError::Tool(error)), Ended::Refused(CallError::Failure("at".into()))];
        let others = [
            Ended::Refused(CallError::InvalidParams("/a: is odd".into())),
            Ended::Faulted(Fault::ResultTooLarge),
            Ended::Returned(ToolResult { text: "t".into(), ..ToolResult::default() }),
        ];

        assert!(failed.iter().all(|ended| sign_in_failure(ended, &noted).is_none()));
        noted.record(missing().failure, false);

        assert!(failed.iter().all(|ended| sign_in_failure(ended, &noted) == Some(missing())));
        assert!(others.iter().all(|ended| sign_in_failure(ended, &noted).is_none()));
    }

    #[test]
    fn a_handler_that_fails_for_the_egress_policy_is_told_from_one_that_fails_by_itself() {
        let refused = RefusedHosts::default();
        let error = |message: &str| ToolError { message: message.into(), retryable: true, data: None };
        let failed = [
            Ended::Refused(CallError::Tool(error("No answer."))),
            Ended::Refused(CallError::Failure("at /src/lib.rs".into())),
            Ended::Refused(CallError::Tool(error("a.example: refused (setting egress-policy)"))),
        ];
        let others = [
            Ended::Refused(CallError::InvalidParams("/a: is odd".into())),
            Ended::Returned(ToolResult::default()),
        ];
        assert!(failed.iter().all(|ended| refused_hosts(ended, &refused).is_none()));

        refused.record("a.example");

        assert!(others.iter().all(|ended| refused_hosts(ended, &refused).is_none()));
        let said = failed.map(|ended| {
            let refused = refused_hosts(&ended, &refused).expect("a sentence");
            let mut failure = failure(ended);
            failure.explain_refused_hosts(refused);
            assert!(!failure.envelope.retryable);
            failure.envelope.error
        });
        let sentence = refused.in_words().expect("a sentence");
        assert_eq!(said[0], format!("{sentence} The tool said: No answer."));
        assert_eq!(said[1..], [sentence, "a.example: refused (setting egress-policy)".to_owned()]);
    }

    #[test]
    fn a_hint_that_would_make_clients_refuse_the_result_fails_the_call() {
        let content = |priority| vec![ContentBlock::new(Content::image([1], "image/png")).priority(priority)];
        let reply = |content| {
            let result = ToolResult { text: "t".into(), content, ..ToolResult::default() };
            from(&mut Ended::Returned(result), Structured::Absent)
        };

        let Reply::Success(success) = reply(content(0.5)) else { panic!("its hints are valid") };
        assert_eq!(success.content, content(0.5));
        let Reply::Failure(failure) = reply(content(2.0)) else { panic!("its priority is too large") };
        assert_eq!(
            failure.envelope.error,
            "The tool's result is not valid: content[0].annotations.priority: must be a number from 0 to 1"
        );
    }

    #[test]
    fn only_a_tool_error_speaks_to_the_model() {
        let error =
            ToolError { message: "No book.".into(), retryable: true, data: Some("\"hidden\"".into()) };
        assert_eq!(
            serde_json::to_value(failure(Ended::Refused(CallError::Tool(error)))).expect("it serialises"),
            json!({ "ok": false, "code": "TOOL_ERROR", "error": "No book.", "retryable": true })
        );

        for hidden in [
            Ended::Refused(CallError::Failure("at /src/lib.rs".into())),
            Ended::Faulted(Fault::Trap("wasm backtrace".into())),
        ] {
            assert_eq!(failure(hidden).envelope, reply::Failure::of_handler());
        }
    }
}
