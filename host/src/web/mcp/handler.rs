//! The MCP methods.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse, Response};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CompleteRequestParams,
    CompleteResult, ContentBlock, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, RequestId, ServerCapabilities,
    ServerConfig, ServerJsonRpcMessage, ServerResult, SubscriptionFilter, Tool,
};
use rmcp::service::{Peer, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::mpsc;

use super::calls::{ClientLabel, Key, Running};
use super::catalogue::{self, Shape};
use super::changes::{Change, Changes};
use super::direct::{DirectMethod, DirectRequest};
use super::elicitation::{ElicitationMode, ElicitationResponse, Missing};
use super::modes::{self, ModeCall, Wanted};
use super::selection::Selection;
use super::{Endpoint, answer, content};
use crate::access::{CallError, User};
use crate::dispatch::{Callee, Failure, ProgressReport, Reply, Success};
use crate::knowledge_tools::FETCH;
use crate::tasks::off_thread;
use crate::toolkits::toolkit_of;

/// Progress reports that are queued for a slow client; further ones are dropped.
const MAX_WAITING_REPORTS: usize = 16;

/// Methods that rmcp reports as unknown when their parameters are invalid.
const KNOWN_METHODS: [&str; 8] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "tools/call",
    "tools/list",
];

/// Answers one request.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) context: ClientContext,
}

/// Who makes the request, and which responses their client accepts.
#[derive(Clone)]
pub(super) struct ClientContext {
    pub(super) user: User,
    /// Sent by clients of the older revisions alone.
    pub(super) client: Option<ClientLabel>,
    /// The tools that the client has chosen.
    pub(super) chosen: Selection,
    /// Whether the answer may be a stream.
    pub(super) takes_stream: bool,
    /// Of `subscriptions/listen`; observed since before the acknowledgement, so that no change is missed.
    pub(super) changes: Option<Changes>,
}

/// The client of one request, by its revision of the protocol.
enum RequestClient {
    /// 2026-07-28 or later, with the capabilities that the request declares.
    Current(Option<ClientCapabilities>),
    /// Before 2026-07-28: capabilities are in the client's label.
    Older,
}

impl Handler {
    pub(super) fn new(endpoint: Arc<Endpoint>, context: ClientContext) -> Self {
        Self { endpoint, context }
    }

    /// Answers a request directly; `None` if rmcp must answer it. Dropping the future ends a call.
    pub(super) async fn answer_directly(&self, request: DirectRequest) -> Option<Response> {
        let DirectRequest { id, method, capabilities } = request;
        let user = &self.context.user;
        match method {
            DirectMethod::Call(call) if self.context.chosen.mode().has(&call.name) => {
                Some(Json(self.call_directly(call, id, capabilities).await).into_response())
            }
            DirectMethod::Call(call) => {
                let callee = self.callee(&call.name)?;
                // rmcp checks the headers that carry parameters.
                if callee.tool().is_some_and(catalogue::has_header_parameters) {
                    return None;
                }
                Some(Json(self.call_directly(call, id, capabilities).await).into_response())
            }
            DirectMethod::List { cursor } => {
                let shape = if capabilities.is_some() { Shape::Current } else { Shape::Older };
                let page = self.endpoint.catalogue.encoded_page(
                    (user, &self.context.chosen),
                    cursor.as_deref(),
                    shape,
                )?;
                Some(answer::with_encoded_result(id, &page))
            }
        }
    }

    async fn call_directly(
        &self,
        call: CallToolRequestParams,
        id: RequestId,
        capabilities: Option<ClientCapabilities>,
    ) -> ServerJsonRpcMessage {
        let client = match capabilities {
            Some(capabilities) => RequestClient::Current(Some(capabilities)),
            None => RequestClient::Older,
        };
        let is_older = matches!(client, RequestClient::Older);
        match self.answer(call, id.clone(), client, None).await {
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

    /// Calls a tool and encodes the reply.
    async fn answer(
        &self,
        request: CallToolRequestParams,
        id: RequestId,
        client: RequestClient,
        progress: Option<ProgressRequest>,
    ) -> Result<CallToolResponse, ErrorData> {
        let running = self.cancellable(id, &client);
        let cancelled = async {
            match &running {
                Some(running) => running.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let mode = match &client {
            RequestClient::Current(capabilities) => ElicitationMode::of_capabilities(capabilities.as_ref()),
            RequestClient::Older => ElicitationMode::of_label(self.context.client.as_ref()),
        };
        let request = match self.in_mode(request) {
            Ok(ModeCall::Call(request)) => request,
            Ok(ModeCall::Find(wanted)) => {
                return tokio::select! {
                    found = self.find(wanted) => Ok(found.into()),
                    () = cancelled => Err(abandoned()),
                };
            }
            Ok(ModeCall::Describe(names)) => return Ok(self.describe(names).await.into()),
            Ok(ModeCall::Run(arguments)) => {
                return tokio::select! {
                    reply = self.run_code(arguments) => reply,
                    () = cancelled => Err(abandoned()),
                };
            }
            Err(failure) => return Ok(failed(&failure).into()),
        };
        let tool = request.name.clone();
        let response = match mode {
            Some(ElicitationMode::InputRequired) => ElicitationResponse::of(request.input_responses.as_ref()),
            Some(ElicitationMode::Error) | None => ElicitationResponse::Nothing,
        };
        let reply = tokio::select! {
            reply = self.call(request, progress, &response) => reply,
            () = cancelled => return Err(abandoned()),
        };
        match reply {
            Ok(Reply::Success(success)) => Ok(succeeded(success).into()),
            Ok(Reply::Failure(mut failure)) => {
                let missing = self.missing(&tool, &failure);
                let (toolkit, elicitation) =
                    (toolkit_of(&tool).unwrap_or_default(), &self.endpoint.elicitation);
                match mode {
                    Some(mode) if response != ElicitationResponse::Declined && !missing.is_empty() => {
                        elicitation.ask(mode, &self.context.user, toolkit, &missing).await
                    }
                    _ => {
                        if !missing.is_empty() {
                            let page = elicitation.page_of(toolkit, &missing);
                            // Writing to a string cannot fail.
                            let _ = write!(failure.error, "\nOr on this page: {page}");
                        }
                        Ok(failed(&failure).into())
                    }
                }
            }
            Err(error @ (CallError::UnknownTool(_) | CallError::Hidden(_))) => {
                Err(ErrorData::invalid_params(error.to_string(), None))
            }
            Err(error @ CallError::Unavailable(_)) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }

    /// What a call means in the client's mode.
    fn in_mode(&self, request: CallToolRequestParams) -> Result<ModeCall, Failure> {
        ModeCall::of(self.context.chosen.mode(), request)
    }

    /// Says what tools take and return that the client sees.
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

    /// Runs code, which calls tools that the client sees.
    async fn run_code(&self, arguments: JsonObject) -> Result<CallToolResponse, ErrorData> {
        let ClientContext { user, chosen, .. } = &self.context;
        let chosen = chosen.clone();
        // Boxed as other calls are.
        let sees = Box::new(move |name: &str| chosen.has(name));
        match Box::pin(user.run_code(arguments, sees, self.endpoint.rate.clone())).await {
            Ok(Reply::Success(success)) => Ok(succeeded(success).into()),
            Ok(Reply::Failure(failure)) => Ok(failed(&failure).into()),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }

    /// Finds tools that the client sees.
    async fn find(&self, wanted: Wanted) -> CallToolResult {
        let ClientContext { user, chosen, .. } = &self.context;
        let answer = self.endpoint.catalogue.find(user, chosen, wanted).await;
        CallToolResult::success(vec![ContentBlock::text(answer)])
    }

    /// A tool that the client sees.
    fn callee(&self, name: &str) -> Option<Callee> {
        self.context.user.callee(name).filter(|_| self.context.chosen.has(name))
    }

    /// Whether the client sees documents as resources: where it may fetch them.
    pub(super) fn sees_documents(&self) -> bool {
        self.callee(FETCH).is_some()
    }

    /// Does what a request asks for, unless its client cancels it or goes away: then the guest stops.
    async fn until_cancelled<T>(
        &self,
        context: &RequestContext<RoleServer>,
        answer: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        let client = if is_current(context) { RequestClient::Current(None) } else { RequestClient::Older };
        let running = self.cancellable(context.id.clone(), &client);
        let cancelled = async {
            match &running {
                Some(running) => running.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            answer = answer => answer,
            () = cancelled => Err(abandoned()),
            () = context.ct.cancelled() => Err(abandoned()),
        }
    }

    /// What a client of the older revisions may cancel by name. Later ones close the request.
    fn cancellable(&self, request: RequestId, client: &RequestClient) -> Option<Running> {
        let RequestClient::Older = client else { return None };
        Some(self.endpoint.calls.begin(&self.key(request)?))
    }

    /// Cancels a call of the same client, if it runs.
    pub(super) fn cancel(&self, request: RequestId) {
        if let Some(key) = self.key(request) {
            self.endpoint.calls.cancel(&key);
        }
    }

    fn key(&self, request: RequestId) -> Option<Key> {
        let client = self.context.client.clone()?;
        Some(Key { user: self.context.user.id().to_owned(), client, request })
    }

    /// What the user may do so that the call does not fail again; no more than agree where a key may call tools alone.
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
        request: CallToolRequestParams,
        progress: Option<ProgressRequest>,
        response: &ElicitationResponse,
    ) -> Result<Reply, CallError> {
        let CallToolRequestParams { name, arguments, .. } = request;
        let Endpoint { elicitation, stopping, .. } = &*self.endpoint;
        let ClientContext { user, chosen, .. } = &self.context;
        if !chosen.has(&name) {
            let is_hidden = chosen.hides_chosen(&name) && user.callee(&name).is_some();
            let refusal = if is_hidden { CallError::Hidden } else { CallError::UnknownTool };
            return Err(refusal(name.into_owned()));
        }
        if let (ElicitationResponse::Opened(secrets), Some(toolkit)) = (response, toolkit_of(&name)) {
            tokio::select! {
                () = elicitation.wait(user, toolkit, secrets) => {}
                () = stopping.cancelled() => {}
            }
        }
        // Boxed, because rmcp moves the future of a request several times, and this one is large.
        let call = |listener| Box::pin(user.call(&name, arguments.unwrap_or_default(), listener));
        match progress {
            None => call(None).await,
            Some(progress) => {
                let (listener, reports) = mpsc::channel(MAX_WAITING_REPORTS);
                tokio::join!(call(Some(listener)), progress.pass_on(reports)).0
            }
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_completions()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("kitbag", env!("CARGO_PKG_VERSION")).with_title("Kitbag");
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let page = self
            .endpoint
            .catalogue
            .page((&self.context.user, &self.context.chosen), cursor.as_deref())
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        Ok(page.into())
    }

    /// rmcp checks the `Mcp-Param-*` headers of a call against the tool's schema.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let callee = self.callee(name)?;
        let definition = callee.tool()?;
        catalogue::has_header_parameters(definition).then(|| catalogue::listed(name.to_owned(), definition))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let token = context.meta.get_progress_token().filter(|_| self.context.takes_stream);
        let progress = token.map(|token| ProgressRequest { token, peer: context.peer.clone() });
        let client = if is_current(&context) {
            RequestClient::Current(context.client_capabilities())
        } else {
            RequestClient::Older
        };
        // A client that goes away takes its call with it: the guest stops.
        tokio::select! {
            response = self.answer(request, context.id.clone(), client, progress) => response,
            () = context.ct.cancelled() => Err(abandoned()),
        }
    }

    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(
            SubscriptionFilter::builder()
                .tools_list_changed()
                .prompts_list_changed()
                .resources_list_changed()
                .build(),
        )
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Some(mut seen) = self.context.changes.clone() else {
            return Err(ErrorData::internal_error("the request has no place", None));
        };
        loop {
            tokio::select! {
                changed = seen.next(&self.endpoint.stopping) => match changed {
                    // Refused where the client did not ask for this kind.
                    Some(Change::Tools) => drop(context.sink().notify_tool_list_changed().await),
                    Some(Change::Prompts) => drop(context.sink().notify_prompt_list_changed().await),
                    Some(Change::Resources) => drop(context.sink().notify_resource_list_changed().await),
                    None => return Ok(()),
                },
                () = context.cancelled() => return Ok(()),
            }
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.list_offered_prompts(request.and_then(|request| request.cursor).as_deref())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.until_cancelled(&context, Box::pin(self.get_offered_prompt(request))).await.map(Into::into)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.list_all_resources(request.and_then(|request| request.cursor).as_deref()).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.list_all_templates(request.and_then(|request| request.cursor).as_deref())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.until_cancelled(&context, Box::pin(self.read_any_resource(&request.uri))).await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.until_cancelled(&context, Box::pin(self.complete_argument(request))).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        if KNOWN_METHODS.contains(&method) || (method == "initialize" && !is_current(&context)) {
            let message = format!("the parameters are not those of {}", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }
}

/// Whether the request keeps to 2026-07-28 or later.
fn is_current(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// A client that asked how far its call has come.
struct ProgressRequest {
    token: ProgressToken,
    peer: Peer<RoleServer>,
}

impl ProgressRequest {
    /// Tells the client, until the call has ended.
    async fn pass_on(self, mut reports: mpsc::Receiver<ProgressReport>) {
        while let Some(ProgressReport { progress, total, message }) = reports.recv().await {
            let mut params = ProgressNotificationParam::new(self.token.clone(), progress);
            params.total = total;
            params.message = message;
            // A client that is gone ends the call elsewhere.
            let _ = self.peer.notify_progress(params).await;
        }
    }
}

/// The response to a cancelled request, which is not sent.
fn abandoned() -> ErrorData {
    ErrorData::internal_error("cancelled", None)
}

fn succeeded(success: Success) -> CallToolResult {
    // The APIs of models refuse an empty text, and with it the rest of the conversation.
    let is_left_out = success.text.is_empty() && !success.content.is_empty();
    let text = (!is_left_out).then(|| ContentBlock::text(success.text));
    let blocks = text.into_iter().chain(success.content.into_iter().map(content::block));
    let mut result = CallToolResult::success(blocks.collect());
    result.structured_content = success.structured;
    result
}

/// The envelope is the text of the result: it is what the model reads, code and all.
fn failed(failure: &Failure) -> CallToolResult {
    let envelope = serde_json::to_string(failure).expect("strings and booleans always serialise");
    CallToolResult::error(vec![ContentBlock::text(envelope)])
}
