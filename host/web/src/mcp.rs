//! MCP at `/mcp`: rmcp implements the protocol; authentication, tools and the HTTP transport's checks are
//! ours.
//!
//! `docs/mcp.md` documents how results and errors are encoded; keep the two together.
//!
//! Invariant: the only state between requests is the calls in progress and the rate limits.

mod answer;
mod aside;
mod asking;
mod calls;
mod catalogue;
mod changes;
pub(super) mod content;
mod conversation;
mod direct;
mod elicitation;
mod events;
pub(super) mod fuzzing;
mod handler;
mod media;
mod message;
mod modes;
mod offers;
mod origin;
mod progress;
mod questions;
mod resources;
mod selection;
mod tool_calls;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use kitbag_access::{Access, User};
use kitbag_base::rate::RateLimit;
use kitbag_base::shares::Shares;
use kitbag_base::workers::INLINE_BYTES;
use rmcp::model::{ErrorData, ProtocolVersion, RequestId};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::cors::{AllowHeaders, CorsLayer};
use tracing::error;

use super::Shared;
use super::body::Unread;
use super::media_type;
use super::share::RequestShare;
use crate::authenticate::{Admitted, Authentication, LimitedKeys};
use answer::TransportError;
use aside::Aside;
use calls::{Calls, ClientLabel};
use catalogue::Catalogue;
use changes::Changes;
use direct::DirectRequest;
use elicitation::Elicitation;
use events::Patience;
use handler::{ClientContext, Handler};
use media::Accepts;
use message::{Envelope, MAX_VALUES, Message};
use origin::OriginCheck;
use questions::Questions;
use selection::Selection;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// State of the endpoint. Stateless between requests, so any process can answer each of them.
pub(super) struct Endpoint {
    access: Access,
    catalogue: Arc<Catalogue>,
    calls: Calls,
    elicitation: Elicitation,
    questions: Questions,
    /// Calls that wait in a stream for an answer of their user.
    asked: Shares,
    streams: Shares,
    rate: Arc<RateLimit>,
    /// Largest request, in bytes.
    request_size: usize,
    /// Cancelled when the server stops: ends the streams that wait for changes.
    stopping: CancellationToken,
    transport: StreamableHttpServerConfig,
    sessions: Arc<NeverSessionManager>,
}

/// The endpoint with the checks in front of it.
pub(super) struct Service {
    origins: OriginCheck,
    authentication: Arc<Authentication>,
    endpoint: Arc<Endpoint>,
}

impl Service {
    /// Creates the service of a server.
    pub(super) fn new(shared: &Shared, rate: Arc<RateLimit>) -> Self {
        let endpoint = Arc::new(Endpoint::new(shared, rate));
        Self { origins: OriginCheck::of(shared), authentication: Authentication::of(shared), endpoint }
    }

    /// Refuses a request for another host or from another origin, before its token is read; then requires a
    /// token.
    pub(super) async fn answer(&self, mut request: Request) -> Response {
        if let Err(why) = self.origins.allows(&request) {
            return TransportError::invalid(StatusCode::FORBIDDEN, None, why).into_response();
        }
        let admitted = self.authentication.admit(&mut request, LimitedKeys::Accepted).await;
        let Admitted { caller, share, arrival } = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => return refusal.into_response(),
        };
        let user = self.endpoint.access.of(&caller).arrived(arrival);
        let answered = match *request.method() {
            Method::POST => self.endpoint.clone().post(user, share.clone(), request).await,
            Method::GET | Method::HEAD => {
                self.endpoint.listen(user, request.uri().query(), request.headers()).await
            }
            _ => Err(method_not_allowed("GET, POST")),
        };
        share.answer(answered.into_response()).await
    }
}

/// CORS for the origins that the operator allows; `None` if there are none.
pub(super) fn open_to_allowed_pages(shared: &Shared) -> Option<CorsLayer> {
    let origins = OriginCheck::of(shared).other_pages();
    let layer = CorsLayer::new()
        .allow_origin(origins.clone())
        .allow_credentials(true)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([header::WWW_AUTHENTICATE, header::RETRY_AFTER, calls::LABEL, PROTOCOL_VERSION]);
    (!origins.is_empty()).then_some(layer)
}

impl Endpoint {
    fn new(shared: &Shared, rate: Arc<RateLimit>) -> Self {
        Self {
            access: shared.access.clone(),
            catalogue: Arc::new(Catalogue::new(shared.access.clone())),
            calls: Calls::new(shared.access.hints().clone()),
            elicitation: Elicitation::new(shared.base_url.clone()),
            questions: Questions::new(),
            asked: asking::waiting_calls(),
            streams: changes::streams(),
            rate,
            request_size: shared.mcp_request_size,
            stopping: shared.stopping.clone(),
            transport: StreamableHttpServerConfig::default()
                .with_legacy_session_mode(false)
                .with_json_response(true)
                .with_max_request_body_bytes(shared.mcp_request_size)
                // `OriginCheck` checks hosts and origins, more strictly.
                .disable_allowed_hosts()
                .disable_allowed_origins(),
            sessions: Arc::new(NeverSessionManager::default()),
        }
    }

    /// `POST /mcp`: one message of a client.
    async fn post(
        self: Arc<Self>,
        user: User,
        share: RequestShare,
        request: Request,
    ) -> Result<Response, TransportError> {
        let accepts = Accepts::of(request.headers());
        let is_patient = Accepts::names_stream(request.headers());
        // Without its type: the compiler would prove that it is `Send` again and again.
        let answer: BoxFuture<'_, _> = Box::pin(async move {
            let response = self.receive(user, share.clone(), request).await.into_response();
            Ok(share.encoded(response).await)
        });
        let response =
            if is_patient { events::patiently(Patience::default(), answer).await? } else { answer.await? };
        Ok(if accepts.json { events::unbuffered(response) } else { events::one_event(response) })
    }

    async fn receive(
        self: Arc<Self>,
        user: User,
        share: RequestShare,
        request: Request,
    ) -> Result<Response, TransportError> {
        self.rate.admit(user.id())?;
        let accepts = Accepts::of(request.headers());
        accepts.check()?;
        media::check_content_type(request.headers())?;
        let (mut parts, body) = request.into_parts();
        let held = share.read(body, self.request_size).await;
        let held = held.map_err(|why| answer::unread(why, self.request_size))?;
        // The answer has the id of the request, which may be most of it.
        share.expect_answer(held.bytes.len());
        // Reserved during the call, as long as its arguments are in memory.
        let parsed = share.parsing(&held.bytes, MAX_VALUES).await;
        if let Err(why @ Unread::NoRoom) = parsed {
            return Err(answer::unread(why, self.request_size));
        }
        let client = ClientLabel::of(&parts.headers);
        let chosen = selection(&user, parts.uri.query()).await?;
        let takes_stream = accepts.stream;
        let context = ClientContext {
            user,
            share: share.clone(),
            client,
            chosen,
            takes_stream,
            changes: None,
            aside: None,
        };
        let mut handler = Handler::new(self.clone(), context);
        if parsed.is_ok()
            && handler.may_converse(&parts.headers)
            && let Some(call) = read(&share, &held.bytes, |body| conversation::Call::read(&body)).await
            && handler.asks(&call)
        {
            drop(held);
            return Ok(events::unbuffered(handler.converse(call, parsed.ok())));
        }
        if parsed.is_ok()
            && let Some(request) = read_direct(&share, &parts.headers, &held.bytes).await
            && let Some(response) = handler.answer_directly(request).await
        {
            return Ok(response);
        }
        let envelope = read(&share, &held.bytes, |body| Envelope::parse(&body)).await?;
        let Envelope { id, method, message } = envelope;
        if let Some(method) = method.filter(|method| direct::contradicts(&parts.headers, method)) {
            let why = format!("the header Mcp-Method names another method than the message, {method:?}");
            let error = ErrorData::header_mismatch(why, None);
            return Err(TransportError::new(StatusCode::BAD_REQUEST, id, error));
        }
        match &message {
            Message::Cancelled(request) => handler.cancel(request.clone()),
            Message::Response(request) => {
                if let Some(taken) = handler.respond(request, &held.bytes).await {
                    return taken.map(|()| StatusCode::ACCEPTED.into_response());
                }
            }
            Message::Listen => {
                accepts.check_stream(id.clone())?;
                handler.context.changes = Some(
                    self.changes(handler.context.user.clone(), handler.context.chosen.clone(), id.clone())
                        .await?,
                );
            }
            Message::Initialize(_) | Message::Other => {}
        }
        media::normalise(&mut parts.headers);
        // rmcp's task keeps the extensions, and may outlive the request.
        parts.extensions.insert(share.clone());
        let (aside, bytes) = (Aside::new(share), held.bytes.len());
        handler.context.aside = Some(aside.clone());
        let request = Request::from_parts(parts, Body::from(held.bytes.clone()));
        let mut response =
            aside.serve(bytes, Box::pin(async move { self.serve(handler, request).await })).await;
        if !is_presentable(&response) {
            return Err(answer::from_plain_text(id, response).await);
        }
        if let Message::Initialize(client) = message
            && response.status().is_success()
        {
            response.headers_mut().insert(calls::LABEL, ClientLabel::new(client).into());
        }
        if media_type::is(response.headers(), media::STREAM) && !matches!(message, Message::Listen) {
            response = aside.streamed(response);
        }
        Ok(response)
    }

    /// Passes the request to rmcp, with a service of its own for its caller.
    async fn serve(&self, handler: Handler, request: Request) -> Response {
        let handler = move || Ok(handler.clone());
        let service = StreamableHttpService::new(handler, self.sessions.clone(), self.transport.clone());
        let response = service.oneshot(request).await.expect("the service cannot fail");
        response.map(Body::new)
    }

    /// `GET /mcp`: stream of change notifications for clients of the older revisions.
    async fn listen(
        &self,
        user: User,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Response, TransportError> {
        self.rate.admit(user.id())?;
        let version = headers.get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
        // Later revisions send a POST of `subscriptions/listen` instead.
        let is_current = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str());
        if is_current || !Accepts::names_stream(headers) {
            return Err(method_not_allowed("POST"));
        }
        let chosen = selection(&user, query).await?;
        let changes = self.changes(user, chosen, None).await?;
        Ok(events::unbuffered(changes::event_stream(changes, self.stopping.clone()).into_response()))
    }

    async fn changes(
        &self,
        user: User,
        chosen: Selection,
        id: Option<RequestId>,
    ) -> Result<Changes, TransportError> {
        let share = self.streams.take(user.id(), 1).map_err(|_exceeded| changes::too_many(id))?;
        Ok(Changes::new(self.catalogue.clone(), user, chosen, share).await)
    }
}

/// Parses the body of a request.
async fn read<T: Send + 'static>(
    share: &RequestShare,
    body: &Bytes,
    parse: impl FnOnce(Bytes) -> T + Send + 'static,
) -> T {
    let body = body.clone();
    share.work(body.len(), move || parse(body)).await
}

async fn read_direct(share: &RequestShare, headers: &HeaderMap, body: &Bytes) -> Option<DirectRequest> {
    if body.len() <= INLINE_BYTES {
        return DirectRequest::read(headers, body);
    }
    let headers = headers.clone();
    read(share, body, move |body| DirectRequest::read(&headers, &body)).await
}

/// Toolkits and tools selected by the query string of the client's URL, without those that the user hides.
async fn selection(user: &User, query: Option<&str>) -> Result<Selection, TransportError> {
    let chosen = Selection::of(query)
        .map_err(|error| TransportError::invalid(StatusCode::BAD_REQUEST, None, error.to_string()))?;
    chosen.shown_to(user).await.map_err(|cause| {
        error!(%cause, "what a user hides cannot be read");
        let error = ErrorData::internal_error("the database cannot be reached now; try again", None);
        TransportError::new(StatusCode::SERVICE_UNAVAILABLE, None, error)
    })
}

fn method_not_allowed(allowed: &'static str) -> TransportError {
    let why = "this endpoint takes JSON-RPC messages by POST";
    TransportError::invalid(StatusCode::METHOD_NOT_ALLOWED, None, why)
        .with_header(header::ALLOW, HeaderValue::from_static(allowed))
}

/// Whether a client can read the response of rmcp: JSON, an event stream, or an empty body.
fn is_presentable(response: &Response) -> bool {
    let is_of_type = |expected| media_type::is(response.headers(), expected);
    response.status().is_success() || is_of_type(media_type::JSON) || is_of_type(media::STREAM)
}
