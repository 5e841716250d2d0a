//! The MCP methods.

use std::sync::Arc;

use axum::http::StatusCode;
use kitbag_access::User;
use kitbag_access::values::dispatch::Callee;
use kitbag_access::values::knowledge_tools::FETCH;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, RequestId,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use tracing::error;

use super::answer::TransportError;
use super::aside::Aside;
use super::calls::{ClientLabel, Key, Running};
use super::changes::{Change, Changes};
use super::progress::{ProgressRequest, ProgressSink};
use super::selection::Selection;
use super::tool_calls::RequestClient;
use super::{Endpoint, catalogue, conversation};
use crate::share::RequestShare;

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

/// Handles a single request.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) context: ClientContext,
}

/// User and client of a request, with the client's selection and capabilities.
#[derive(Clone)]
pub(super) struct ClientContext {
    pub(super) user: User,
    /// Resources of the request.
    pub(super) share: RequestShare,
    /// Label of the client; only older revisions send it.
    pub(super) client: Option<ClientLabel>,
    /// Tools selected by the client.
    pub(super) chosen: Selection,
    /// Whether the answer may be a stream.
    pub(super) takes_stream: bool,
    /// Changes for `subscriptions/listen`; observed since before the acknowledgement, so that no change is
    /// missed.
    pub(super) changes: Option<Changes>,
    /// Where rmcp's service is polled; `None` if rmcp does not answer the request.
    pub(super) aside: Option<Aside>,
}

impl Handler {
    pub(super) fn new(endpoint: Arc<Endpoint>, context: ClientContext) -> Self {
        Self { endpoint, context }
    }

    /// Forwards a client's response to a question; `None` if the client supports no forms.
    pub(super) async fn respond(
        &self,
        request: &RequestId,
        body: &[u8],
    ) -> Option<Result<(), TransportError>> {
        let ClientContext { user, client, .. } = &self.context;
        let client = client.as_ref().filter(|client| client.abilities().shows_forms)?;
        let RequestId::String(id) = request else { return Some(Ok(())) };
        let response = conversation::result(body);
        Some(self.endpoint.questions.respond(user, client, id, response).await.map_err(|cause| {
            error!(%cause, "an answer cannot be passed on");
            let error = ErrorData::internal_error("the database cannot be reached now; send it again", None);
            TransportError::new(StatusCode::SERVICE_UNAVAILABLE, None, error)
        }))
    }

    /// Returns a tool that the client can see.
    pub(super) fn callee(&self, name: &str) -> Option<Callee> {
        self.context.user.callee(name).filter(|_| self.context.chosen.has(name))
    }

    /// Whether the client sees documents as resources: if it may call `fetch`.
    pub(super) fn sees_documents(&self) -> bool {
        self.callee(FETCH).is_some()
    }

    /// Before rmcp encodes a result.
    async fn step_aside(&self) {
        if let Some(aside) = &self.context.aside {
            aside.step().await;
        }
    }

    /// Runs a request's work; cancellation or disconnection by its client also stops the guest.
    async fn until_cancelled<T>(
        &self,
        context: &RequestContext<RoleServer>,
        answer: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        let running = self.cancellable(context.id.clone(), !is_current(context));
        let cancelled = async {
            match &running {
                Some(running) => running.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let answer = async {
            let answer = answer.await;
            self.step_aside().await;
            answer
        };
        tokio::select! {
            answer = answer => answer,
            () = cancelled => Err(abandoned()),
            () = context.ct.cancelled() => Err(abandoned()),
        }
    }

    /// Registers a request of a client of the older revisions, which cancels by id. Clients of later
    /// revisions close the request.
    pub(super) fn cancellable(&self, request: RequestId, is_older: bool) -> Option<Running> {
        if !is_older {
            return None;
        }
        Some(self.endpoint.calls.begin(&self.key(request)?))
    }

    /// Cancels a call of the same client, if it is running.
    pub(super) fn cancel(&self, request: RequestId) {
        if let Some(key) = self.key(request) {
            self.endpoint.calls.cancel(&key);
        }
    }

    fn key(&self, request: RequestId) -> Option<Key> {
        let client = self.context.client.clone()?;
        Some(Key { user: self.context.user.id().to_owned(), client, request })
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
        self.context.share.expect_answer(page.bytes);
        self.step_aside().await;
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
        let progress =
            token.map(|token| ProgressRequest::new(token, ProgressSink::Peer(context.peer.clone())));
        let client = if is_current(&context) {
            RequestClient::Current(context.client_capabilities())
        } else {
            RequestClient::Older(None)
        };
        let answered = async {
            let answered = self.answer(request, context.id.clone(), client, progress).await;
            self.step_aside().await;
            answered
        };
        // A disconnect of the client ends its call and stops the guest.
        tokio::select! {
            response = answered => response,
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
                    // Fails if the client did not subscribe to this kind.
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
        let listed = self.list_offered_prompts(request.and_then(|request| request.cursor).as_deref());
        self.step_aside().await;
        listed
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
        let listed = self.list_all_resources(request.and_then(|request| request.cursor).as_deref()).await;
        self.step_aside().await;
        listed
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let listed = self.list_all_templates(request.and_then(|request| request.cursor).as_deref());
        self.step_aside().await;
        listed
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

/// Whether the request uses revision 2026-07-28 or later.
fn is_current(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// The response to a cancelled request, which is not sent.
pub(super) fn abandoned() -> ErrorData {
    ErrorData::internal_error("cancelled", None)
}
