//! The methods of MCP.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use kitbag_access::User;
use kitbag_access::values::dispatch::Callee;
use kitbag_access::values::knowledge_tools::FETCH;
use rmcp::model::{
    DiscoverResult, ErrorCode, ErrorData, Implementation, InitializeRequestParams, InitializeResult,
    ProtocolVersion, RequestId, ServerCapabilities, ServerResult, SubscriptionFilter,
};
use serde_json::json;

use super::answer::{self, TransportError};
use super::calls::{Abilities, ClientLabel, Key, LABEL, Running};
use super::changes::{self, Subscription};
use super::events::Outbox;
use super::headers::{Client, Revision};
use super::message::{Method, Request};
use super::selection::Selection;
use super::{Endpoint, media};
use crate::json;
use crate::share::RequestShare;

/// Handles a single request.
pub(super) struct Handler {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) user: User,
    /// Resources of the request.
    pub(super) share: RequestShare,
    pub(super) headers: HeaderMap,
    pub(super) client: Client,
    /// Tools selected by the client.
    pub(super) chosen: Selection,
    /// Sends messages before the answer; `None` if the client does not accept a stream.
    pub(super) outbox: Option<Outbox>,
}

impl Handler {
    /// Answers a request. Dropping the future cancels it.
    pub(super) async fn answer(self, request: Request) -> Result<Response, TransportError> {
        let Request { id, name, method, meta } = request;
        let answered = match method {
            Method::Listen(params) if self.client.revision == Revision::Current => {
                return self.subscribe(id, &params.notifications).await;
            }
            Method::Initialize(params) => return Ok(self.greet(id, *params)),
            Method::ListTools(page) => return Ok(self.list_tools(id, page.cursor.as_deref()).await),
            Method::CallTool(call) => {
                let progress = self.progress(&meta);
                self.until_cancelled(&id, self.call_tool(call, progress.as_ref())).await.map(Into::into)
            }
            // The current revision has no handshake.
            Method::Misfit if name != "initialize" || self.client.revision == Revision::Older => {
                Err(ErrorData::invalid_params(format!("the parameters are not those of {name}"), None))
            }
            method => self.until_cancelled(&id, self.perform(method, name)).await,
        };
        Ok(self.respond(id, answered))
    }

    async fn perform(&self, method: Method, name: String) -> Result<ServerResult, ErrorData> {
        Ok(match method {
            Method::Ping if self.client.revision == Revision::Older => ServerResult::empty(()),
            Method::Discover => discovered().into(),
            Method::ListPrompts(page) => self.list_prompts(page.cursor.as_deref())?.into(),
            // Boxed, as calls of tools are: else every request would reserve room for these.
            Method::GetPrompt(params) => Box::pin(self.get_prompt(params)).await?.into(),
            Method::ListResources(page) => self.list_resources(page.cursor.as_deref()).await?.into(),
            Method::ListTemplates(page) => self.list_templates(page.cursor.as_deref())?.into(),
            Method::ReadResource(params) => Box::pin(self.read_resource(&params.uri)).await?.into(),
            Method::Complete(params) => Box::pin(self.complete(params)).await?.into(),
            _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, name, None)),
        })
    }

    /// Creates the response with the answer to a method.
    fn respond(&self, id: RequestId, answered: Result<ServerResult, ErrorData>) -> Response {
        let revision = self.client.revision;
        let status = answer::status(&answered, revision);
        let encode = move || answer::message(answered, id, revision);
        let mut response = json::of_size(self.share.expected_answer(), encode);
        *response.status_mut() = status;
        response
    }

    /// `initialize`: agrees on a version, and gives the client its label.
    fn greet(&self, id: RequestId, params: InitializeRequestParams) -> Response {
        let abilities = Abilities::of(&params.capabilities);
        let mut response = self.respond(id, Ok(welcome(params.protocol_version).into()));
        response.headers_mut().insert(LABEL, ClientLabel::new(abilities).into());
        response
    }

    async fn list_tools(&self, id: RequestId, cursor: Option<&str>) -> Response {
        let Self { endpoint, user, chosen, share, client, .. } = self;
        match endpoint.catalogue.page((user, chosen), cursor, client.revision, share).await {
            Ok(page) => answer::with_encoded_result(id, &page),
            Err(error) => self.respond(id, Err(ErrorData::invalid_params(error.to_string(), None))),
        }
    }

    /// `subscriptions/listen`: a stream of changes, as far as the client wants to hear of them.
    async fn subscribe(
        &self,
        id: RequestId,
        wanted: &SubscriptionFilter,
    ) -> Result<Response, TransportError> {
        let Self { endpoint, user, chosen, .. } = self;
        if self.outbox.is_none() {
            return Err(media::not_acceptable(Some(id), media::STREAM));
        }
        let changes = endpoint.changes(user.clone(), chosen.clone(), Some(&id)).await?;
        let accepted = wanted.supported_by(&capabilities());
        let subscription = Subscription { id, accepted, server: implementation() };
        Ok(changes::event_stream(changes, Some(subscription), endpoint.stopping.clone()))
    }

    /// Returns a tool that the client can see.
    pub(super) fn callee(&self, name: &str) -> Option<Callee> {
        self.user.callee(name).filter(|_| self.chosen.has(name))
    }

    /// Whether the client sees documents as resources: if it may call `fetch`.
    pub(super) fn sees_documents(&self) -> bool {
        self.callee(FETCH).is_some()
    }

    /// Does the work for a request, unless its client cancels it: one of the older revisions does so by id, later
    /// ones close the request.
    async fn until_cancelled<T>(
        &self,
        id: &RequestId,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        let Some(running) = self.cancellable(id) else { return work.await };
        tokio::select! {
            done = work => done,
            // This response is not sent.
            () = running.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    fn cancellable(&self, request: &RequestId) -> Option<Running> {
        let client = self.client.label.clone()?;
        let key = Key { user: self.user.id().to_owned(), client, request: request.clone() };
        Some(self.endpoint.calls.begin(&key))
    }
}

/// Answer to `initialize`: the client's version, or the latest one that has a handshake.
fn welcome(asked: ProtocolVersion) -> InitializeResult {
    let is_known = asked.has_initialize() && ProtocolVersion::KNOWN_VERSIONS.contains(&asked);
    InitializeResult::new(capabilities())
        .with_server_info(implementation())
        .with_protocol_version(if is_known { asked } else { ProtocolVersion::LATEST_WITH_INITIALIZE })
}

fn discovered() -> DiscoverResult {
    DiscoverResult::new(ProtocolVersion::KNOWN_VERSIONS.to_vec(), capabilities())
        .with_server_info(implementation())
}

fn implementation() -> Implementation {
    Implementation::new("kitbag", env!("CARGO_PKG_VERSION")).with_title("Kitbag")
}

fn capabilities() -> ServerCapabilities {
    let changes = json!({ "listChanged": true });
    let capabilities =
        json!({ "tools": changes, "prompts": changes, "resources": changes, "completions": {} });
    serde_json::from_value(capabilities).expect("they are capabilities of the protocol")
}
