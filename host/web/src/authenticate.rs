//! Authentication of requests: a request without a valid token reaches no handler.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use kitbag_access::{Access, NotAdmitted, Operator, User};
use kitbag_base::base_url::{below, path_of, well_known};
use kitbag_base::metrics::Metrics;
use kitbag_identity::{AuthError, Caller, Identity};
use kitbag_net::traces::{Arrival, Traces};
use tracing::{debug, error, info};
use url::Url;

use super::admission::{Ended, while_admitted};
use super::connection_state::ConnectionState;
use super::error::WebError;
use super::names::{addressed, base_urls};
use super::share::{Purpose, RequestShare, RequestShares};
use super::state::Shared;

/// Authentication of requests: token verification, and the challenges of 401 responses.
pub(super) struct Authentication {
    identity: Arc<Identity>,
    access: Access,
    metrics: Metrics,
    traces: Traces,
    shares: RequestShares,
    base_urls: Vec<Url>,
    /// Scopes to request, as a parameter of challenges.
    scope: String,
    refusals: Refusals,
}

/// Rate-limited log of refused tokens: helps an operator to set up a provider, and clients cannot flood it.
#[derive(Default)]
struct Refusals(Mutex<Option<Instant>>);

impl Refusals {
    /// Minimum interval between two log lines.
    const INTERVAL: Duration = Duration::from_secs(5);

    fn log(&self, cause: &AuthError) {
        if matches!(cause, AuthError::Missing) {
            debug!("request without a token");
            return;
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() >= Self::INTERVAL) {
            *last = Some(Instant::now());
            info!(%cause, "refused a token");
        } else {
            debug!(%cause, "refused a token");
        }
    }
}

/// A request whose token was verified.
pub(super) struct Admitted {
    pub(super) caller: Arc<Caller>,
    /// Resources of the request.
    pub(super) share: RequestShare,
    /// When it arrived, if calls are traced.
    pub(super) arrival: Option<Arrival>,
}

/// Whether a route is also for keys that are limited to some toolkits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitedKeys {
    Accepted,
    Refused,
}

impl Authentication {
    /// Builds the state in an [`Arc`]: axum clones a layer's state for each request.
    pub(super) fn of(shared: &Shared) -> Arc<Self> {
        Arc::new(Self {
            identity: shared.identity.clone(),
            access: shared.access.clone(),
            metrics: shared.metrics.clone(),
            traces: shared.traces.clone(),
            shares: shared.request_shares.clone(),
            refusals: Refusals::default(),
            base_urls: base_urls(shared),
            scope: shared
                .identity
                .known_scopes()
                .map(|scopes| format!(", scope=\"{}\"", scopes.join(" ")))
                .unwrap_or_default(),
        })
    }

    /// `WWW-Authenticate` of a 401: URL of the resource metadata (RFC 9728, section 5.1), scopes to request,
    /// and for a wrong token `error` (RFC 6750, section 3.1).
    fn challenge(&self, headers: &HeaderMap, cause: &AuthError) -> HeaderValue {
        let base_url = addressed(&self.base_urls, headers);
        // Without a path in the base URL, clients get the metadata document of the whole host, as they always
        // have.
        let metadata = match path_of(base_url) {
            "" => below(base_url, "/.well-known/oauth-protected-resource"),
            _ => well_known(base_url, "oauth-protected-resource", "/mcp").into(),
        };
        let error = if matches!(cause, AuthError::Missing) { "" } else { ", error=\"invalid_token\"" };
        let challenge = format!("Bearer resource_metadata=\"{metadata}\"{}{error}", self.scope);
        HeaderValue::try_from(challenge).expect("a parsed URL is visible ASCII")
    }

    /// Answers the request of an admitted caller by `handler`, until the caller's access is ended.
    pub(super) async fn while_admitted(
        &self,
        caller: &Arc<Caller>,
        handler: impl Future<Output = Response>,
    ) -> Response {
        let answer = while_admitted(&self.access, caller, handler).await;
        // The request, with the name that it was sent to, is gone.
        answer.unwrap_or_else(|Ended| self.ended(&HeaderMap::new()).into_response())
    }

    /// The answer to a user whose access was ended: that of an invalid token.
    fn ended(&self, headers: &HeaderMap) -> WebError {
        let cause = AuthError::Invalid("issued before the access of its user was ended");
        WebError::unauthenticated(&cause, self.challenge(headers, &cause))
    }

    /// Verifies the token of a request and begins its share. Also updates the cached state, so that the request
    /// sees what is in the database.
    pub(super) async fn admit(
        &self,
        request: &mut Request,
        limited: LimitedKeys,
    ) -> Result<Admitted, WebError> {
        let Self { identity, access, metrics, traces, shares, refusals, .. } = self;
        let arrival = traces.arrival(request.headers());
        let outcome = identity.authenticate(request.headers()).await;
        metrics.sign_in_check(outcome.as_ref().map_or_else(AuthError::kind, |_| "accepted"));
        let caller = outcome.map_err(|cause| {
            refusals.log(&cause);
            WebError::unauthenticated(&cause, self.challenge(request.headers(), &cause))
        })?;
        if caller.toolkits.is_some() && limited == LimitedKeys::Refused {
            let why = "This key is for calls of some toolkits' tools alone: over MCP, or POST /toolkits/{id}/tools/{tool}.";
            return Err(WebError::new(StatusCode::FORBIDDEN, why));
        }
        let share = shares.begin(Purpose::Api, &caller.user_id)?;
        access.admit(&caller).await.map_err(|refusal| match refusal {
            NotAdmitted::NoAnswer(no_answer) => no_answer.into(),
            NotAdmitted::Ended => {
                debug!(user.id = caller.user_id, "refused a user whose access was ended");
                self.ended(request.headers())
            }
        })?;
        // Handlers never see the token.
        request.headers_mut().remove(header::AUTHORIZATION);
        request.headers_mut().remove(header::COOKIE);
        if let Some(connection_state) = request.extensions().get::<ConnectionState>() {
            connection_state.sign_in(&caller.user_id);
        }
        Ok(Admitted { caller, share, arrival: arrival.map(Arrival::signed_in) })
    }
}

/// Admits the request, and puts its [`Caller`] and its share into its extensions.
pub(super) async fn require_caller(
    State(authentication): State<Arc<Authentication>>,
    mut request: Request,
    next: Next,
) -> Result<Response, WebError> {
    let limited = limited_keys(request.extensions());
    let Admitted { caller, share, arrival } = authentication.admit(&mut request, limited).await?;
    request.extensions_mut().insert(caller.clone());
    request.extensions_mut().insert(share.clone());
    if let Some(arrival) = arrival {
        request.extensions_mut().insert(arrival);
    }
    let handler = async { share.answer(next.run(request).await).await };
    Ok(authentication.while_admitted(&caller, handler).await)
}

/// Of the routes behind [`require_caller`], one is also for limited keys; MCP is not behind it.
fn limited_keys(request: &Extensions) -> LimitedKeys {
    match request.get::<MatchedPath>().map(MatchedPath::as_str) {
        Some("/toolkits/{id}/tools/{tool}") => LimitedKeys::Accepted,
        _ => LimitedKeys::Refused,
    }
}

/// The authenticated caller, as a parameter of a handler: `By<User>` is any signed-in user, `By<Operator>` an
/// operator.
pub(super) struct By<T>(pub(super) T);

/// State of routes whose handlers take [`By`].
pub(super) trait Authorizes: Sync {
    /// Authorization service.
    fn access(&self) -> &Access;
}

impl Authorizes for Shared {
    fn access(&self) -> &Access {
        &self.access
    }
}

impl<S: Authorizes> FromRequestParts<S> for By<User> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        RequestShare::from_request_parts(parts, state).await?;
        let Some(caller) = parts.extensions.get::<Arc<Caller>>() else {
            error!(path = parts.uri.path(), "this route needs a user, and is not behind require_caller");
            let failure = WebError::new(StatusCode::INTERNAL_SERVER_ERROR, "The server failed.");
            return Err(failure.into_response());
        };
        let arrival = parts.extensions.get::<Arrival>().copied();
        Ok(Self(state.access().of(caller).arrived(arrival)))
    }
}

/// Non-operators are refused before the body of their request is read.
impl<S: Authorizes> FromRequestParts<S> for By<Operator> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let By(user) = By::<User>::from_request_parts(parts, state).await?;
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let what = format!("{} {route}", parts.method);
        let operator = user.expect_operator(&what, None).await;
        operator.map(Self).map_err(|error| WebError::from(error).into_response())
    }
}
