//! MCP at `/mcp`: the protocol is rmcp's; callers, tools and the edges of HTTP are ours.
//!
//! How results and errors are spelled is in `docs/mcp.md`; keep the two together.
//!
//! Invariant: nothing is kept between requests but who is calling now, how often of late, and the links
//! that people were given to set secrets ([`super::elicitation`]).

mod answer;
mod calls;
mod catalogue;
mod changes;
mod content;
mod elicitation;
mod envelope;
pub(super) mod fuzzing;
mod gate;
mod handler;
mod media;
mod rate;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router, middleware};
use rmcp::model::{ProtocolVersion, RequestId};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::cors::{AllowHeaders, CorsLayer};

use super::Shared;
use super::body::Bodies;
use super::elicitation::Links;
use crate::dispatch::Dispatch;
use crate::identity::Caller;
use answer::Refusal;
use calls::{Calls, ClientLabel};
use catalogue::Catalogue;
use changes::{Changes, Streams};
use elicitation::Elicitation;
use envelope::{Envelope, Message};
use gate::Gate;
use handler::{Asker, Handler};
use media::Accepts;
use rate::RateLimit;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The endpoint. Stateless: every request stands alone, so any process can answer it.
struct Endpoint {
    dispatch: Arc<Dispatch>,
    catalogue: Arc<Catalogue>,
    calls: Calls,
    elicitation: Elicitation,
    streams: Streams,
    rate: RateLimit,
    bodies: Bodies,
    /// Largest request, in bytes.
    request_size: usize,
    /// Ends the streams that wait for changes once the server stops.
    stopping: CancellationToken,
    transport: StreamableHttpServerConfig,
    sessions: Arc<NeverSessionManager>,
}

/// The route for callers who have a token; [`guard`] belongs around it. `links` lead to the page on
/// which a person sets a secret.
pub(super) fn routes(shared: &Shared, links: Arc<Links>, bodies: Bodies) -> Router<Shared> {
    let endpoint = Arc::new(Endpoint {
        dispatch: shared.dispatch.clone(),
        catalogue: Arc::new(Catalogue::new(shared.toolkits.clone())),
        calls: Calls::default(),
        elicitation: Elicitation::new(links, shared.base_url.clone()),
        streams: Streams::default(),
        rate: RateLimit::new(shared.mcp_requests_per_minute),
        bodies,
        request_size: shared.mcp_request_size,
        stopping: shared.stopping.clone(),
        transport: StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(shared.mcp_request_size)
            // The gate checks both, more strictly.
            .disable_allowed_hosts()
            .disable_allowed_origins(),
        sessions: Arc::new(NeverSessionManager::default()),
    });
    let methods = post(receive).get(listen).fallback(no_such_method).with_state(endpoint);
    Router::new().route("/mcp", methods)
}

/// What stands before everything else, even before the token: pages of other origins, and names
/// that are not this server's (DNS rebinding), get no further.
pub(super) fn guard(routes: Router<Shared>, shared: &Shared) -> Router<Shared> {
    let gate = Gate::new(&shared.base_url, &shared.allowed_origins);
    let pages = CorsLayer::new()
        .allow_origin(gate.pages())
        .allow_credentials(true)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([header::WWW_AUTHENTICATE, header::RETRY_AFTER, calls::LABEL, PROTOCOL_VERSION]);
    routes.layer(middleware::from_fn_with_state(Arc::new(gate), gate::check)).layer(pages)
}

/// `POST`: one message of a client.
async fn receive(
    State(endpoint): State<Arc<Endpoint>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    endpoint.receive(caller, request).await
}

/// `GET`: clients of the older revisions wait here for changes of what they see.
async fn listen(
    State(endpoint): State<Arc<Endpoint>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    endpoint.listen(&caller, &headers)
}

async fn no_such_method() -> Refusal {
    method_not_allowed("GET, POST")
}

impl Endpoint {
    async fn receive(self: &Arc<Self>, caller: Caller, request: Request) -> Result<Response, Refusal> {
        self.rate.admit(&caller.user_id)?;
        let accepts = Accepts::of(request.headers());
        accepts.check()?;
        media::check_content_type(request.headers())?;
        let (mut parts, body) = request.into_parts();
        let held = self.bodies.read(&caller.user_id, body, self.request_size).await;
        let held = held.map_err(|why| answer::unread(why, self.request_size))?;
        let Envelope { id, message } = Envelope::parse(&held.bytes)?;
        let client = ClientLabel::of(&parts.headers);
        let mut changes = None;
        match (&message, &client) {
            (Message::Cancelled(request), Some(client)) => {
                let (user, request) = (caller.user_id.clone(), request.clone());
                self.calls.cancel(&calls::Key { user, client: client.clone(), request });
            }
            (Message::Listen, _) => {
                accepts.check_stream(id.clone())?;
                changes = Some(self.changes(&caller, id.clone())?);
            }
            _ => {}
        }
        media::normalise(&mut parts.headers);
        let asker = Asker { caller, client, takes_stream: accepts.stream, changes };
        let handler = Handler::new(self.clone(), asker);
        let mut response =
            self.serve(handler, Request::from_parts(parts, Body::from(held.bytes.clone()))).await;
        if !is_presentable(&response) {
            return Err(answer::from_plain_text(id, response).await);
        }
        if let Message::Initialize(client) = message
            && response.status().is_success()
        {
            response.headers_mut().insert(calls::LABEL, ClientLabel::new(client).into());
        }
        Ok(response)
    }

    /// Has rmcp answer. A service of its own for each request knows the caller from the start.
    async fn serve(&self, handler: Handler, request: Request) -> Response {
        let handler = move || Ok(handler.clone());
        let service = StreamableHttpService::new(handler, self.sessions.clone(), self.transport.clone());
        let response = service.oneshot(request).await.expect("the service cannot fail");
        response.map(Body::new)
    }

    fn listen(&self, caller: &Caller, headers: &HeaderMap) -> Result<Response, Refusal> {
        self.rate.admit(&caller.user_id)?;
        let version = headers.get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
        // Later revisions ask with a POST of `subscriptions/listen`.
        let is_current = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str());
        if is_current || !Accepts::names_stream(headers) {
            return Err(method_not_allowed("POST"));
        }
        let changes = self.changes(caller, None)?;
        Ok(changes::event_stream(changes, self.stopping.clone()).into_response())
    }

    fn changes(&self, caller: &Caller, id: Option<RequestId>) -> Result<Changes, Refusal> {
        let place = self.streams.enter(&caller.user_id).ok_or_else(|| changes::too_many(id))?;
        Ok(Changes::new(self.catalogue.clone(), &caller.user_id, place))
    }
}

fn method_not_allowed(allowed: &'static str) -> Refusal {
    let why = "this endpoint takes JSON-RPC messages by POST";
    Refusal::invalid(StatusCode::METHOD_NOT_ALLOWED, None, why)
        .with_header(header::ALLOW, HeaderValue::from_static(allowed))
}

/// Whether an answer of rmcp is one that a client can read: JSON, a stream, or nothing at all.
fn is_presentable(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    response.status().is_success()
        || kind
            .is_some_and(|kind| kind.starts_with("application/json") || kind.starts_with("text/event-stream"))
}
