//! MCP at `/mcp`, with the types of `rmcp`: a request arrives, its message is read once, and goes with the client
//! that sent it to its method, which answers.
//!
//! `docs/mcp.md` documents how results and errors are encoded; keep the two together.
//!
//! Invariant: the only state between requests is the calls in progress and the rate limits.

mod answer;
mod asking;
mod calls;
mod catalogue;
mod changes;
pub(super) mod content;
mod conversation;
mod elicitation;
mod events;
pub(super) mod fuzzing;
mod handler;
mod headers;
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

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_access::{Access, User};
use kitbag_base::rate::RateLimit;
use kitbag_base::shares::{Share, Shares};
use rmcp::model::{ErrorData, RequestId};
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowHeaders, CorsLayer};
use tracing::error;

use crate::authenticate::{Admitted, Authentication, LimitedKeys};
use crate::body::Unread;
use crate::share::RequestShare;
use crate::state::Shared;
use answer::TransportError;
use calls::{Calls, ClientLabel, Key};
use catalogue::Catalogue;
use changes::Changes;
use elicitation::Elicitation;
use events::{Outbox, Patience, Pending};
use handler::Handler;
use headers::{Client, PROTOCOL_VERSION, Revision, check_notification};
use media::Accepts;
use message::{ClientResponse, MAX_VALUES, Message};
use origin::OriginCheck;
use questions::Questions;
use selection::Selection;

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
        let handler = async {
            let answered = match *request.method() {
                Method::POST => Ok(self.endpoint.clone().post(user, share.clone(), request).await),
                Method::GET | Method::HEAD => {
                    self.endpoint.listen(user, request.uri().query(), request.headers()).await
                }
                _ => Err(method_not_allowed("GET, POST")),
            };
            share.answer(answered.into_response()).await
        };
        self.authentication.while_admitted(&caller, handler).await
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
        }
    }

    /// `POST /mcp`: one message of a client.
    async fn post(self: Arc<Self>, user: User, share: RequestShare, request: Request) -> Response {
        let accepts = Accepts::of(request.headers());
        let patience = Patience::of(request.headers());
        let pending = Pending::new(|outbox| {
            let outbox = accepts.stream.then_some(outbox);
            Box::pin(async move {
                let response = self.receive(user, share.clone(), request, outbox).await.into_response();
                share.encoded(response).await
            })
        });
        let response = pending.respond(patience).await;
        if accepts.json { events::unbuffered(response) } else { events::one_event(response) }
    }

    async fn receive(
        self: Arc<Self>,
        user: User,
        share: RequestShare,
        request: Request,
        outbox: Option<Outbox>,
    ) -> Result<Response, TransportError> {
        self.rate.admit(user.id())?;
        media::check(request.headers())?;
        let (Parts { uri, headers, .. }, body) = request.into_parts();
        let chosen = selection(&user, uri.query()).await?;
        let user = chosen.narrow(user);
        // Reserved during the call, as long as its arguments are in memory.
        let (message, _parsed) = self.read(&share, body).await?;
        match message {
            Message::Request(request) => {
                let client = Client::of(&headers, &request)
                    .map_err(|error| TransportError::refused(Some(request.id.clone()), error))?;
                let handler = Handler { endpoint: self, user, share, headers, client, chosen, outbox };
                handler.answer(request).await
            }
            Message::Notification(notification) => {
                check_notification(&headers, &notification)
                    .map_err(|error| TransportError::refused(None, error))?;
                if let (Some(request), Some(client)) = (notification.cancels, ClientLabel::of(&headers)) {
                    self.calls.cancel(&Key { user: user.id().to_owned(), client, request });
                }
                Ok(StatusCode::ACCEPTED.into_response())
            }
            Message::Response(response) => self.pass_on(&user, &headers, response).await,
        }
    }

    /// Reads the message of a request, with a reservation for its memory.
    async fn read(
        &self,
        share: &RequestShare,
        body: Body,
    ) -> Result<(Message, Option<Share>), TransportError> {
        let unread = |why| answer::unread(why, self.request_size);
        let body = share.read(body, self.request_size).await.map_err(unread)?;
        // The answer has the id of the request, which may be most of it.
        share.expect_answer(body.bytes.len());
        let parsed = share.parsing(&body.bytes, MAX_VALUES).await;
        if let Err(why @ Unread::NoRoom) = parsed {
            return Err(unread(why));
        }
        let counted = parsed.as_ref().map(|_| ()).map_err(|why| *why);
        let message = share.work(body.bytes.len(), move || Message::read(&body.bytes, counted)).await?;
        Ok((message, parsed.ok().flatten()))
    }

    /// Passes the response to a question on to the call that asked.
    async fn pass_on(
        &self,
        user: &User,
        headers: &HeaderMap,
        ClientResponse { id, result }: ClientResponse,
    ) -> Result<Response, TransportError> {
        let client = ClientLabel::of(headers).filter(|client| client.abilities().shows_forms);
        let (Some(id), Some(client)) = (id, client) else {
            let why = "this server has not asked this client anything";
            return Err(TransportError::invalid(StatusCode::BAD_REQUEST, None, why));
        };
        if let RequestId::String(id) = id {
            self.questions.respond(user, &client, &id, result).await.map_err(|cause| {
                error!(%cause, "an answer cannot be passed on");
                let error =
                    ErrorData::internal_error("the database cannot be reached now; send it again", None);
                TransportError::new(StatusCode::SERVICE_UNAVAILABLE, None, error)
            })?;
        }
        Ok(StatusCode::ACCEPTED.into_response())
    }

    /// `GET /mcp`: stream of change notifications for clients of the older revisions.
    async fn listen(
        &self,
        user: User,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Response, TransportError> {
        self.rate.admit(user.id())?;
        // Later revisions send a POST of `subscriptions/listen` instead.
        if headers::known_revision(headers) != Ok(Revision::Older) || !Accepts::names_stream(headers) {
            return Err(method_not_allowed("POST"));
        }
        let chosen = selection(&user, query).await?;
        let user = chosen.narrow(user);
        let changes = self.changes(user, chosen, None).await?;
        Ok(events::unbuffered(changes::event_stream(changes, None, self.stopping.clone())))
    }

    async fn changes(
        &self,
        user: User,
        chosen: Selection,
        id: Option<&RequestId>,
    ) -> Result<Changes, TransportError> {
        let share = self.streams.take(user.id(), 1).map_err(|_exceeded| changes::too_many(id))?;
        Ok(Changes::new(self.catalogue.clone(), user, chosen, share).await)
    }
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
