//! OAuth endpoints of the local issuer. With an external issuer these routes do not exist.
//!
//! | path | caller and purpose |
//! |---|---|
//! | `/oauth/register` | clients: registration (RFC 7591) |
//! | `/oauth/authorize` | browsers: the consent page, and its form |
//! | `/oauth/token` | clients: a code or a refresh token → tokens |
//! | `/oauth/revoke` | clients: revokes a refresh token |
//! | `/oauth/jwks` | anyone who verifies a token |
//!
//! All of them require the server's own `Host`: a site that resolves its name to this machine (DNS rebinding)
//! would otherwise share the origin of the consent page, and could press its button.

mod page;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use kitbag_identity::{AuthorizationServer, AuthorizeError, ErrorCode, OAuthError, Step};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::body::read_small;
use super::media_type;
use super::pages::NOT_STORED;
use super::pages::origin::{self, OwnOrigin, Sender};
use crate::error::{AuthorizeFailure, EndpointFailure};
use crate::json::Json;
pub(super) use page::{code_problem, failure};

/// Maximum bytes of a body or a query.
const MAX_REQUEST_BYTES: usize = 16 * 1024;

const NO_FORM: OAuthError = OAuthError {
    code: ErrorCode::InvalidRequest,
    description: "the body must be application/x-www-form-urlencoded of at most 16 KiB",
};

/// Stops other pages from fetching or framing the consent page, and from submitting its form.
///
/// The form's `request_id`, which only the consent page has, is the main defence; this is a second one.
/// `Origin: null` passes: older browsers send it for the consent page, because of its `Referrer-Policy`.
pub(super) async fn refuse_other_pages(
    State(own): State<OwnOrigin>,
    request: Request,
    next: Next,
) -> Response {
    let is_own_form = *request.method() == Method::POST && own.sender(request.headers()) != Sender::Other;
    if is_own_form || origin::opens_window(&request) {
        return next.run(request).await;
    }
    page::failure(StatusCode::FORBIDDEN, "Another page has tried to sign in here. Nothing was granted.")
}

pub(super) async fn register(
    State(server): State<Arc<AuthorizationServer>>,
    headers: HeaderMap,
    body: Body,
) -> Result<impl IntoResponse, EndpointFailure> {
    let refused = OAuthError {
        code: ErrorCode::InvalidClientMetadata,
        description: "the body must be application/json of at most 16 KiB",
    };
    let body = body_of_type(media_type::JSON, &headers, body).await.ok_or(refused)?;
    let registration = server.register(&body).await?;
    Ok((StatusCode::CREATED, NOT_STORED, Json(registration)))
}

pub(super) async fn authorize(
    State(server): State<Arc<AuthorizationServer>>,
    RawQuery(query): RawQuery,
) -> Result<Response, AuthorizeFailure> {
    let query = query.filter(|query| query.len() <= MAX_REQUEST_BYTES).ok_or(AuthorizeError::Malformed)?;
    Ok(respond(server.authorize(&query).await?))
}

pub(super) async fn decide(
    State(server): State<Arc<AuthorizationServer>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, AuthorizeFailure> {
    let form = form(&headers, body).await.ok_or(AuthorizeError::Malformed)?;
    Ok(respond(server.decide(&form).await?))
}

fn respond(step: Step) -> Response {
    match step {
        Step::Ask(consent) => page::consent(&consent),
        Step::Return(url) => back_to_client(&url),
    }
}

pub(super) async fn token(
    State(server): State<Arc<AuthorizationServer>>,
    headers: HeaderMap,
    body: Body,
) -> Result<impl IntoResponse, EndpointFailure> {
    let form = form(&headers, body).await.ok_or(NO_FORM)?;
    let tokens = server.token(&form).await?;
    let mut response = json!({
        "access_token": tokens.access_token.expose_secret(),
        "token_type": "Bearer",
        "expires_in": tokens.expires_in.as_secs(),
        "scope": tokens.scopes.to_string(),
    });
    if let Some(refresh_token) = tokens.refresh_token {
        response["refresh_token"] = refresh_token.expose_secret().into();
    }
    Ok((NOT_STORED, Json(response)))
}

pub(super) async fn revoke(
    State(server): State<Arc<AuthorizationServer>>,
    headers: HeaderMap,
    body: Body,
) -> Result<impl IntoResponse, EndpointFailure> {
    let form = form(&headers, body).await.ok_or(NO_FORM)?;
    server.revoke(&form).await?;
    Ok(NOT_STORED)
}

pub(super) async fn jwks(State(server): State<Arc<AuthorizationServer>>) -> Json<Value> {
    Json(server.issuer().jwks())
}

/// Redirects the browser with GET, without revealing the previous URL to the client.
fn back_to_client(url: &str) -> Response {
    let location = HeaderValue::from_str(url).expect("a redirect URI in normal form is ASCII");
    let headers =
        [(header::LOCATION, location), (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))];
    (StatusCode::SEE_OTHER, NOT_STORED, headers).into_response()
}

async fn form(headers: &HeaderMap, body: Body) -> Option<String> {
    let body = body_of_type("application/x-www-form-urlencoded", headers, body).await?;
    String::from_utf8(body.into()).ok()
}

/// Returns the body if it has this media type and is not too large. A body of another type is not read.
async fn body_of_type(expected: &str, headers: &HeaderMap, body: Body) -> Option<Bytes> {
    if media_type::is(headers, expected) { read_small(body, MAX_REQUEST_BYTES).await.ok() } else { None }
}
