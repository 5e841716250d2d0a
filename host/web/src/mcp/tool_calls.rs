//! Calls of tools: directly, through rmcp, or as a conversation in which the user is asked.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use kitbag_access::values::dispatch::{Answers, Callee, Failure, Reply, Success};
use kitbag_access::values::toolkits::toolkit_of;
use kitbag_access::{Asked, CallError, ResumedCall, User};
use kitbag_base::bounded_json::compact;
use kitbag_base::tasks::off_thread;
use kitbag_manifest::reply::{self, ErrorCode};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ContentBlock, ErrorData,
    JsonObject, RequestId, ServerJsonRpcMessage, ServerResult,
};
use tokio::sync::mpsc;

use super::catalogue::{self, Shape};
use super::conversation::{self, Conversation};
use super::direct::{self, DirectMethod, DirectRequest};
use super::elicitation::{ElicitationMode, ElicitationResponse, Missing};
use super::handler::{ClientContext, Handler, abandoned};
use super::modes::{self, ModeCall, Wanted};
use super::progress::{MAX_WAITING_REPORTS, ProgressRequest, ProgressSink};
use super::{Endpoint, answer, asking, content};
use crate::json;

/// Maximum bytes of the arguments of a call that waits for its user.
const MAX_WAITING_ARGUMENTS: usize = 64 << 10;

/// Client of a request, by its revision of the protocol.
pub(super) enum RequestClient {
    /// 2026-07-28 or later, with the capabilities that the request declares.
    Current(Option<ClientCapabilities>),
    /// Before 2026-07-28, with capabilities in the client's label. Has the stream of the call if the user can
    /// be asked there.
    Older(Option<Conversation>),
}

impl Handler {
    /// Answers a request directly; `None` if rmcp must answer it. Dropping the future cancels a call.
    pub(super) async fn answer_directly(&self, request: DirectRequest) -> Option<Response> {
        let DirectRequest { id, method, capabilities } = request;
        match method {
            DirectMethod::Call(call) if self.context.chosen.mode().has(&call.name) => {
                Some(self.call_directly(call, id, capabilities).await)
            }
            DirectMethod::Call(call) => {
                let callee = self.callee(&call.name)?;
                // Only rmcp checks the headers that carry parameters.
                if callee.tool().is_some_and(catalogue::has_header_parameters) {
                    return None;
                }
                Some(self.call_directly(call, id, capabilities).await)
            }
            DirectMethod::List { cursor } => {
                let shape = if capabilities.is_some() { Shape::Current } else { Shape::Older };
                let ClientContext { user, share, chosen, .. } = &self.context;
                let page =
                    self.endpoint.catalogue.encoded_page((user, chosen), cursor.as_deref(), shape, share);
                Some(answer::with_encoded_result(id, &page.await?))
            }
        }
    }

    async fn call_directly(
        &self,
        call: CallToolRequestParams,
        id: RequestId,
        capabilities: Option<ClientCapabilities>,
    ) -> Response {
        let client = match capabilities {
            Some(capabilities) => RequestClient::Current(Some(capabilities)),
            None => RequestClient::Older(None),
        };
        let is_older = matches!(client, RequestClient::Older(_));
        let answered = self.answer(call, id.clone(), client, None).await;
        json::of_size(self.context.share.expected_answer(), move || message(answered, id, is_older))
    }

    /// Whether a call of this client may be a conversation, in whose stream the user can be asked.
    pub(super) fn may_converse(&self, headers: &HeaderMap) -> bool {
        let shows_forms = self.context.client.as_ref().is_some_and(|client| client.abilities().shows_forms);
        shows_forms
            && self.context.takes_stream
            && direct::is_older(headers)
            && !direct::contradicts(headers, "tools/call")
    }

    /// Whether the called tool may ask its user.
    pub(super) fn asks(&self, call: &conversation::Call) -> bool {
        let Ok(ModeCall::Call(request)) = self.in_mode(call.params.clone()) else { return false };
        self.callee(&request.name).is_some_and(|callee| {
            User::may_be_asked(&callee) && !callee.tool().is_some_and(catalogue::has_header_parameters)
        })
    }

    /// Answers a call with a stream in which its user can be asked. `held` reserves the request's resources
    /// until the call ends.
    pub(super) fn converse<T: Send + 'static>(self, call: conversation::Call, held: T) -> Response {
        let conversation::Call { id, params, progress } = call;
        let Some(client) = self.context.client.clone() else { unreachable!("it can be asked") };
        let user = self.context.user.clone();
        Conversation::stream((self.endpoint.questions.clone(), user, client), |conversation| async move {
            let progress = progress
                .map(|token| ProgressRequest::new(token, ProgressSink::Conversation(conversation.clone())));
            let client = RequestClient::Older(Some(conversation));
            let answered = self.answer(params, id.clone(), client, progress).await;
            drop(held);
            let share = &self.context.share;
            let encode = move || conversation::text(&message(answered, id, true));
            share.work(share.expected_answer(), encode).await
        })
    }

    /// Performs a call in the client's mode (of a tool, or a search, description or code), unless its client
    /// cancels it.
    pub(super) async fn answer(
        &self,
        request: CallToolRequestParams,
        id: RequestId,
        client: RequestClient,
        progress: Option<ProgressRequest>,
    ) -> Result<CallToolResponse, ErrorData> {
        let running = self.cancellable(id, matches!(client, RequestClient::Older(_)));
        let cancelled = async {
            match &running {
                Some(running) => running.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let answered = async {
            match self.in_mode(request) {
                Ok(ModeCall::Call(request)) => self.answer_call(request, &client, progress.as_ref()).await,
                Ok(ModeCall::Find(wanted)) => Ok(self.find(wanted).await.into()),
                Ok(ModeCall::Describe(names)) => Ok(self.describe(names).await.into()),
                Ok(ModeCall::Run(arguments)) => self.run_code(arguments).await,
                Err(failure) => Ok(failed(&failure).into()),
            }
        };
        tokio::select! {
            answered = answered => answered,
            () = cancelled => Err(abandoned()),
        }
    }

    /// Performs a call of a tool; one that continues with an answer of its user runs to its end once.
    async fn answer_call(
        &self,
        mut request: CallToolRequestParams,
        client: &RequestClient,
        progress: Option<&ProgressRequest>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = self.asked(client, &mut request)?;
        let resumed = match asked.as_ref().filter(|asked| !asked.is_empty()) {
            Some(asked) => match self.resume(&request, asked).await? {
                ControlFlow::Continue(resumed) => Some(resumed),
                ControlFlow::Break(result) => return Ok(result.into()),
            },
            None => None,
        };
        let ended = self.run_call(request, client, progress, asked).await;
        if let Some(resumed) = resumed {
            asking::end(resumed, &ended).await;
        }
        ended.map(CallEnd::into_response)
    }

    /// Calls a tool again after each answer of the user, and encodes the reply or the question.
    async fn run_call(
        &self,
        mut request: CallToolRequestParams,
        client: &RequestClient,
        progress: Option<&ProgressRequest>,
        mut asked: Option<Asked>,
    ) -> Result<CallEnd, ErrorData> {
        let mode = match client {
            RequestClient::Current(capabilities) => ElicitationMode::of_capabilities(capabilities.as_ref()),
            RequestClient::Older(_) => ElicitationMode::of_label(self.context.client.as_ref()),
        };
        let response = match mode {
            Some(ElicitationMode::InputRequired) => ElicitationResponse::of(request.input_responses.as_ref()),
            Some(ElicitationMode::Error) | None => ElicitationResponse::Nothing,
        };
        let (tool, mut cannot_be_asked) = (request.name.clone(), false);
        loop {
            let answers = asked.as_ref().filter(|_| !cannot_be_asked).map(Asked::answers);
            // The arguments stay available: a call that may ask may be run again.
            let arguments =
                if asked.is_some() { request.arguments.clone() } else { request.arguments.take() };
            let call = (&*tool, arguments.unwrap_or_default());
            let code = self.code_of(&tool);
            let mut failure = match self.call(call, progress, &response, answers).await {
                Ok(Reply::Success(success)) => {
                    return Ok(CallEnd::Final(self.encode_success(success).await));
                }
                Ok(Reply::Failure(failure)) => failure,
                Err(error @ (CallError::UnknownTool(_) | CallError::Hidden(_))) => {
                    return Err(ErrorData::invalid_params(error.to_string(), None));
                }
                Err(error @ CallError::Unavailable(_)) => {
                    return Err(ErrorData::internal_error(error.to_string(), None));
                }
            };
            let (Some(question), Some(asked)) = (failure.question.take(), &mut asked) else {
                let declined = response == ElicitationResponse::Declined;
                return self
                    .answer_failure(failure, mode.filter(|_| !declined), &request, asked.as_ref())
                    .await;
            };
            if self.code_of(&tool) != code {
                // Another version or owner would get the answer.
                *asked = Asked::default();
                continue;
            }
            let (id, question) = *question;
            let form = asking::form(toolkit_of(&tool).unwrap_or_default(), &question)?;
            asked.ask(id);
            let RequestClient::Older(Some(conversation)) = client else {
                let state = self.seal(&request, asked)?;
                return Ok(CallEnd::Open(asking::input_required(form, (question.key, state)).into()));
            };
            let Ok(_place) = self.endpoint.asked.take(self.context.user.id(), 1) else {
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
                // Earlier answers were given to another version or owner of the toolkit.
                _ if self.code_of(&tool) != code => *asked = Asked::default(),
                Some(response) => asked.answer(response),
                None => cannot_be_asked = true,
            }
        }
    }

    /// Reports a failure, or asks for missing requirements if the client supports links.
    async fn answer_failure(
        &self,
        mut failure: Failure,
        mode: Option<ElicitationMode>,
        request: &CallToolRequestParams,
        asked: Option<&Asked>,
    ) -> Result<CallEnd, ErrorData> {
        let (toolkit, elicitation) =
            (toolkit_of(&request.name).unwrap_or_default(), &self.endpoint.elicitation);
        let missing = self.missing(&request.name, &failure);
        if missing.is_empty() {
            let may_run_again =
                failure.envelope.retryable || failure.envelope.code == ErrorCode::InvalidParams;
            let result = self.encode_failure(failure).await;
            return Ok(if may_run_again { CallEnd::Open(result.into()) } else { CallEnd::Final(result) });
        }
        let Some(mode) = mode else {
            let page = elicitation.page_of(toolkit, &missing);
            // Writing to a string cannot fail.
            let _ = write!(failure.envelope.error, "\nOr on this page: {page}");
            return Ok(CallEnd::Open(self.encode_failure(failure).await.into()));
        };
        let state = match asked {
            Some(asked) if !asked.is_empty() => Some(self.seal(request, asked)?),
            Some(_) | None => None,
        };
        elicitation.ask(mode, &self.context.user, (toolkit, state), &missing).await.map(CallEnd::Open)
    }

    /// Encodes a result.
    async fn encode_success(&self, success: Success) -> CallToolResult {
        let share = &self.context.share;
        share.expect_answer(success.bytes);
        // Only binary data takes time here: its base64.
        let binary = success.content.iter().map(kitbag_manifest::content::ContentBlock::size).sum();
        share.work(binary, move || succeeded(success)).await
    }

    /// Encodes a failure.
    async fn encode_failure(&self, failure: Failure) -> CallToolResult {
        let (share, bytes) = (&self.context.share, failure.envelope.error.len());
        share.expect_answer(bytes);
        share.work(bytes, move || failed(&failure)).await
    }

    /// Returns the earlier questions of a call; `None` if its user cannot be asked.
    fn asked(
        &self,
        client: &RequestClient,
        request: &mut CallToolRequestParams,
    ) -> Result<Option<Asked>, ErrorData> {
        let Some(callee) = self.callee(&request.name).filter(User::may_be_asked) else { return Ok(None) };
        match client {
            RequestClient::Older(conversation) => Ok(conversation.is_some().then(Asked::default)),
            RequestClient::Current(capabilities) if asking::shows_forms(capabilities.as_ref()) => {
                let before = (request.request_state.as_deref(), request.input_responses.as_mut());
                let none = JsonObject::new();
                let arguments = request.arguments.as_ref().unwrap_or(&none);
                asking::asked_before(&self.context.user, &callee, arguments, before).map(Some)
            }
            RequestClient::Current(_) => Ok(None),
        }
    }

    /// Returns the owner and the digest of a tool's toolkit.
    fn code_of(&self, tool: &str) -> Option<(String, String)> {
        let callee = self.callee(tool)?;
        Some((callee.owner().to_owned(), callee.digest().to_owned()))
    }

    /// Claims a call that continues with answers, or returns the result with which it has ended.
    async fn resume(
        &self,
        request: &CallToolRequestParams,
        asked: &Asked,
    ) -> Result<ControlFlow<CallToolResult, ResumedCall>, ErrorData> {
        let callee = self.asked_callee(request)?;
        let none = JsonObject::new();
        let arguments = request.arguments.as_ref().unwrap_or(&none);
        asking::resumed(self.context.user.resume(&callee, arguments, asked).await)
    }

    /// Seals the questions of a call into a state that the client returns.
    fn seal(&self, request: &CallToolRequestParams, asked: &Asked) -> Result<String, ErrorData> {
        let callee = self.asked_callee(request)?;
        let none = JsonObject::new();
        let arguments = request.arguments.as_ref().unwrap_or(&none);
        Ok(self.context.user.seal_asked(&callee, arguments, asked))
    }

    fn asked_callee(&self, request: &CallToolRequestParams) -> Result<Callee, ErrorData> {
        let gone =
            || ErrorData::invalid_params(CallError::UnknownTool(request.name.to_string()).to_string(), None);
        self.callee(&request.name).ok_or_else(gone)
    }

    /// Interprets a call in the client's mode.
    fn in_mode(&self, request: CallToolRequestParams) -> Result<ModeCall, Failure> {
        ModeCall::of(self.context.chosen.mode(), request)
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
        let ClientContext { user, chosen, .. } = &self.context;
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
        let ClientContext { user, chosen, .. } = &self.context;
        let answer = self.endpoint.catalogue.find(user, chosen, wanted).await;
        CallToolResult::success(vec![ContentBlock::text(answer)])
    }

    /// Missing requirements that the user can supply; only a consent for a key that may just call tools.
    pub(super) fn missing(&self, tool: &str, failure: &Failure) -> Missing {
        let user = &self.context.user;
        let consent = failure.needs_consent;
        if user.is_limited() {
            return Missing { secrets: Vec::new(), account: false, consent };
        }
        let toolkit = toolkit_of(tool).unwrap_or_default();
        let secrets = failure.missing_secrets.iter().filter_map(|name| user.secret(toolkit, name).ok());
        Missing { secrets: secrets.collect(), account: failure.needs_account, consent }
    }

    async fn call(
        &self,
        (name, arguments): (&str, JsonObject),
        progress: Option<&ProgressRequest>,
        response: &ElicitationResponse,
        answers: Option<Arc<Answers>>,
    ) -> Result<Reply, CallError> {
        let Endpoint { elicitation, stopping, .. } = &*self.endpoint;
        let ClientContext { user, chosen, .. } = &self.context;
        if !chosen.has(name) {
            let is_hidden = chosen.hides_chosen(name) && user.callee(name).is_some();
            let refusal = if is_hidden { CallError::Hidden } else { CallError::UnknownTool };
            return Err(refusal(name.to_owned()));
        }
        if let (ElicitationResponse::Opened(secrets), Some(toolkit)) = (response, toolkit_of(name)) {
            tokio::select! {
                () = elicitation.wait(user, toolkit, secrets) => {}
                () = stopping.cancelled() => {}
            }
        }
        // Boxed, because rmcp moves the future of a request several times, and this one is large.
        let call = |listener| Box::pin(user.call_with_answers(name, arguments, listener, answers));
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

/// JSON-RPC message with the answer to a call.
fn message(
    answered: Result<CallToolResponse, ErrorData>,
    id: RequestId,
    is_older: bool,
) -> ServerJsonRpcMessage {
    match answered {
        Ok(response) => {
            let mut result = ServerResult::from(response);
            if is_older {
                result.strip_result_type_for_legacy_peer();
            }
            ServerJsonRpcMessage::response(result, id)
        }
        Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
    }
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
