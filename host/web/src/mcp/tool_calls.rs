//! Calls of tools, in the client's mode; in their middle, questions to the user.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use kitbag_access::values::dispatch::{Answers, Callee, Failure, Reply, Success};
use kitbag_access::{Asked, CallError, ResumedCall, User};
use kitbag_base::bounded_json::compact;
use kitbag_base::tasks::off_thread;
use kitbag_manifest::reply::{self, ErrorCode};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, JsonObject,
    RequestMetaObject,
};
use tokio::sync::mpsc;

use super::conversation::Conversation;
use super::elicitation::{ElicitationMode, ElicitationResponse, Missing};
use super::handler::Handler;
use super::headers::{Revision, check_parameters};
use super::modes::{self, ModeCall, Wanted};
use super::progress::{MAX_WAITING_REPORTS, ProgressRequest};
use super::{asking, content};

/// Maximum bytes of the arguments of a call that waits for its user.
const MAX_WAITING_ARGUMENTS: usize = 64 << 10;

impl Handler {
    /// Progress notifications that the client asks for.
    pub(super) fn progress(&self, meta: &RequestMetaObject) -> Option<ProgressRequest> {
        let outbox = self.outbox.as_ref()?;
        Some(ProgressRequest::new(meta.get_progress_token()?, outbox.clone()))
    }

    /// Performs a call in the client's mode: of a tool, or a search, description or code.
    pub(super) async fn call_tool(
        &self,
        request: CallToolRequestParams,
        progress: Option<&ProgressRequest>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mode = self.chosen.mode();
        let has_headers = self.client.revision == Revision::Current && !mode.has(&request.name);
        match ModeCall::of(mode, request) {
            Ok(ModeCall::Call(request)) => {
                let callee = self.called(&request.name)?;
                if let Some(tool) = callee.tool().filter(|_| has_headers) {
                    check_parameters(&self.headers, tool, request.arguments.as_ref())?;
                }
                self.call(callee, request, progress).await
            }
            Ok(ModeCall::Find(wanted)) => Ok(self.find(wanted).await.into()),
            Ok(ModeCall::Describe(names)) => Ok(self.describe(names).await.into()),
            Ok(ModeCall::Run(arguments)) => self.run_code(arguments).await,
            Err(failure) => Ok(failed(&failure).into()),
        }
    }

    /// Returns the tool that a call names.
    fn called(&self, name: &str) -> Result<Callee, ErrorData> {
        let refusal = match self.user.callee(name) {
            Some(callee) if self.chosen.has(name) => return Ok(callee),
            Some(_) if self.chosen.hides_chosen(name) => CallError::Hidden,
            _ => CallError::UnknownTool,
        };
        Err(ErrorData::invalid_params(refusal(name.to_owned()).to_string(), None))
    }

    /// Calls a tool; a call that continues with an answer of its user runs to its end once.
    async fn call(
        &self,
        callee: Callee,
        mut request: CallToolRequestParams,
        progress: Option<&ProgressRequest>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = self.asked(&callee, &mut request)?;
        let resumed = match asked.as_ref().filter(|asked| !asked.is_empty()) {
            Some(asked) => match self.resume(&callee, &request, asked).await? {
                ControlFlow::Continue(resumed) => Some(resumed),
                ControlFlow::Break(result) => return Ok(result.into()),
            },
            None => None,
        };
        let ended = self.run(callee, request, progress, asked).await;
        if let Some(resumed) = resumed {
            asking::end(resumed, &ended).await;
        }
        ended.map(CallEnd::into_response)
    }

    /// Runs a tool, again after each answer of the user, and encodes the reply or the question.
    async fn run(
        &self,
        mut callee: Callee,
        mut request: CallToolRequestParams,
        progress: Option<&ProgressRequest>,
        mut asked: Option<Asked>,
    ) -> Result<CallEnd, ErrorData> {
        if let ElicitationResponse::Opened(secrets) = self.opened(&request) {
            tokio::select! {
                () = self.endpoint.elicitation.wait(&self.user, &callee.toolkit().id, &secrets) => {}
                () = self.endpoint.stopping.cancelled() => {}
            }
            callee = self.called_again(&callee, &request.name, asked.as_mut())?;
        }
        let mut cannot_be_asked = false;
        loop {
            let answers = asked.as_ref().filter(|_| !cannot_be_asked).map(Asked::answers);
            // The arguments stay available: a call that may ask may be run again.
            let arguments =
                if asked.is_some() { request.arguments.clone() } else { request.arguments.take() };
            let reply = self.reply(&callee, arguments.unwrap_or_default(), progress, answers).await;
            let mut failure =
                match reply.map_err(|error| ErrorData::internal_error(error.to_string(), None))? {
                    Reply::Success(success) => return Ok(CallEnd::Final(self.encode_success(success).await)),
                    Reply::Failure(failure) => failure,
                };
            let (Some(question), Some(asked)) = (failure.question.take(), &mut asked) else {
                return self.answer_failure(failure, &callee, &request, asked.as_ref()).await;
            };
            let (id, question) = *question;
            let form = asking::form(&callee.toolkit().id, &question)?;
            asked.ask(id);
            let Some(conversation) = self.conversation() else {
                let state = self.seal(&callee, &request, asked);
                return Ok(CallEnd::Open(asking::input_required(form, (question.key, state)).into()));
            };
            let Ok(_place) = self.endpoint.asked.take(self.user.id(), 1) else {
                return Ok(CallEnd::Open(busy().into()));
            };
            if is_large(request.arguments.as_ref()) {
                let error = "A call with so large arguments cannot wait for its user.";
                return Ok(CallEnd::Open(failed(&reply::Failure::tool_error(error).into()).into()));
            }
            let response = tokio::select! {
                response = conversation.ask(form) => response?,
                () = self.endpoint.stopping.cancelled() => return Err(stopping()),
            };
            match response {
                Some(response) => asked.answer(response),
                None => cannot_be_asked = true,
            }
            callee = self.called_again(&callee, &request.name, Some(asked))?;
        }
    }

    /// Returns the tool as it is now, after a wait. Answers that were given to another version or owner of the
    /// toolkit are dropped.
    fn called_again(
        &self,
        before: &Callee,
        name: &str,
        asked: Option<&mut Asked>,
    ) -> Result<Callee, ErrorData> {
        let now = self.called(name)?;
        let is_same = before.owner() == now.owner() && before.digest() == now.digest();
        if let Some(asked) = asked.filter(|_| !is_same) {
            *asked = Asked::default();
        }
        Ok(now)
    }

    /// Pages that the user has opened for the call.
    fn opened(&self, request: &CallToolRequestParams) -> ElicitationResponse {
        match ElicitationMode::of(&self.client) {
            Some(ElicitationMode::InputRequired) => ElicitationResponse::of(request.input_responses.as_ref()),
            Some(ElicitationMode::Error) | None => ElicitationResponse::Nothing,
        }
    }

    /// The stream in which a client of the older revisions is asked.
    fn conversation(&self) -> Option<Conversation<'_>> {
        let client = self.client.label.as_ref()?;
        let outbox = self.outbox.as_ref()?;
        Some(Conversation { outbox, questions: &self.endpoint.questions, user: &self.user, client })
    }

    /// Reports a failure, or asks for missing requirements if the client supports links.
    async fn answer_failure(
        &self,
        mut failure: Failure,
        callee: &Callee,
        request: &CallToolRequestParams,
        asked: Option<&Asked>,
    ) -> Result<CallEnd, ErrorData> {
        let toolkit = callee.toolkit().id.as_str();
        let elicitation = &self.endpoint.elicitation;
        let missing = self.missing(toolkit, &failure);
        if missing.is_empty() {
            let may_run_again =
                failure.envelope.retryable || failure.envelope.code == ErrorCode::InvalidParams;
            let result = self.encode_failure(failure).await;
            return Ok(if may_run_again { CallEnd::Open(result.into()) } else { CallEnd::Final(result) });
        }
        let declined = self.opened(request) == ElicitationResponse::Declined;
        let Some(mode) = ElicitationMode::of(&self.client).filter(|_| !declined) else {
            let page = elicitation.page_of(toolkit, &missing);
            // Writing to a string cannot fail.
            let _ = write!(failure.envelope.error, "\nOr on this page: {page}");
            return Ok(CallEnd::Open(self.encode_failure(failure).await.into()));
        };
        let state = asked.filter(|asked| !asked.is_empty()).map(|asked| self.seal(callee, request, asked));
        elicitation.ask(mode, &self.user, (toolkit, state), &missing).await.map(CallEnd::Open)
    }

    /// Encodes a result.
    async fn encode_success(&self, success: Success) -> CallToolResult {
        let share = &self.share;
        share.expect_answer(success.bytes);
        // Only binary data takes time here: its base64.
        let binary = success.content.iter().map(kitbag_manifest::content::ContentBlock::size).sum();
        share.work(binary, move || succeeded(success)).await
    }

    /// Encodes a failure.
    async fn encode_failure(&self, failure: Failure) -> CallToolResult {
        let share = &self.share;
        let bytes = failure.envelope.error.len();
        share.expect_answer(bytes);
        share.work(bytes, move || failed(&failure)).await
    }

    /// Returns the earlier questions of a call; `None` if its user cannot be asked.
    fn asked(
        &self,
        callee: &Callee,
        request: &mut CallToolRequestParams,
    ) -> Result<Option<Asked>, ErrorData> {
        if !self.client.abilities.shows_forms || !User::may_be_asked(callee) {
            return Ok(None);
        }
        match self.client.revision {
            Revision::Older => Ok(self.conversation().map(|_| Asked::default())),
            Revision::Current => {
                let before = (request.request_state.as_deref(), request.input_responses.as_mut());
                let none = JsonObject::new();
                let arguments = request.arguments.as_ref().unwrap_or(&none);
                asking::asked_before(&self.user, callee, arguments, before).map(Some)
            }
        }
    }

    /// Claims a call that continues with answers, or returns the result with which it has ended.
    async fn resume(
        &self,
        callee: &Callee,
        request: &CallToolRequestParams,
        asked: &Asked,
    ) -> Result<ControlFlow<CallToolResult, ResumedCall>, ErrorData> {
        let none = JsonObject::new();
        let arguments = request.arguments.as_ref().unwrap_or(&none);
        asking::resumed(self.user.resume(callee, arguments, asked).await)
    }

    /// Seals the questions of a call into a state that the client returns.
    fn seal(&self, callee: &Callee, request: &CallToolRequestParams, asked: &Asked) -> String {
        let none = JsonObject::new();
        self.user.seal_asked(callee, request.arguments.as_ref().unwrap_or(&none), asked)
    }

    /// Describes tools that the client can see.
    async fn describe(&self, names: Vec<String>) -> CallToolResult {
        let found: Vec<_> = names.into_iter().map(|name| (self.callee(&name), name)).collect();
        let described = off_thread(move || {
            modes::described(found.iter().map(|(callee, name)| {
                let tool = callee.as_ref().and_then(|it| Some((it.toolkit().id.as_str(), it.tool()?)));
                (name.as_str(), tool)
            }))
        });
        CallToolResult::success(vec![ContentBlock::text(described.await)])
    }

    /// Runs code that can call tools visible to the client.
    async fn run_code(&self, arguments: JsonObject) -> Result<CallToolResponse, ErrorData> {
        let Self { user, chosen, .. } = self;
        let chosen = chosen.clone();
        // Boxed, like the futures of other calls.
        let sees = Box::new(move |name: &str| chosen.has(name));
        match Box::pin(user.run_code(arguments, sees, self.endpoint.rate.clone())).await {
            Ok(Reply::Success(success)) => Ok(self.encode_success(success).await.into()),
            Ok(Reply::Failure(failure)) => Ok(self.encode_failure(failure).await.into()),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }

    /// Searches the tools that the client can see.
    async fn find(&self, wanted: Wanted) -> CallToolResult {
        let Self { user, chosen, .. } = self;
        let answer = self.endpoint.catalogue.find(user, chosen, wanted).await;
        CallToolResult::success(vec![ContentBlock::text(answer)])
    }

    /// Missing requirements that the user can supply; only a consent for a key that may just call tools.
    pub(super) fn missing(&self, toolkit: &str, failure: &Failure) -> Missing {
        let user = &self.user;
        let consent = failure.needs_consent;
        if user.is_limited() {
            return Missing { secrets: Vec::new(), account: false, consent };
        }
        let secrets = failure.missing_secrets.iter().filter_map(|name| user.secret(toolkit, name).ok());
        Missing { secrets: secrets.collect(), account: failure.needs_account, consent }
    }

    /// Calls the tool once.
    async fn reply(
        &self,
        callee: &Callee,
        arguments: JsonObject,
        progress: Option<&ProgressRequest>,
        answers: Option<Arc<Answers>>,
    ) -> Result<Reply, CallError> {
        // Boxed: it is large, and the futures around it are moved.
        let call = |listener| Box::pin(self.user.call_with_answers(callee, arguments, listener, answers));
        match progress {
            None => call(None).await,
            Some(progress) => {
                let (listener, reports) = mpsc::channel(MAX_WAITING_REPORTS);
                tokio::join!(call(Some(listener)), progress.pass_on(reports)).0
            }
        }
    }
}

/// How a call ended.
pub(super) enum CallEnd {
    /// The tool has run to its end with this result. It does not run again with the same answers.
    Final(CallToolResult),
    /// The tool has asked its user, or the same call may be made again.
    Open(CallToolResponse),
}

impl CallEnd {
    fn into_response(self) -> CallToolResponse {
        match self {
            Self::Final(result) => result.into(),
            Self::Open(response) => response,
        }
    }
}

/// Whether arguments are too large for a call that waits for a person.
fn is_large(arguments: Option<&JsonObject>) -> bool {
    arguments.is_some_and(|arguments| compact(arguments, MAX_WAITING_ARGUMENTS).is_none())
}

/// Result of a call that was not made because its user has too many of its kind.
pub(super) fn busy() -> CallToolResult {
    failed(&reply::Failure::busy().into())
}

/// Error for a call that waits for its user when the server stops.
fn stopping() -> ErrorData {
    ErrorData::internal_error("the server stops; make the call again", None)
}

fn succeeded(success: Success) -> CallToolResult {
    // LLM APIs refuse empty texts, and with them the rest of the conversation.
    let is_left_out = success.text.is_empty() && !success.content.is_empty();
    let text = (!is_left_out).then(|| ContentBlock::text(success.text));
    let blocks = text.into_iter().chain(success.content.into_iter().map(content::block));
    let mut result = CallToolResult::success(blocks.collect());
    result.structured_content = success.structured;
    result
}

/// Encodes a failure: the error envelope, with its code, is the text of the result, which the model reads.
fn failed(failure: &Failure) -> CallToolResult {
    let envelope = serde_json::to_string(failure).expect("strings and booleans always serialise");
    CallToolResult::error(vec![ContentBlock::text(envelope)])
}
