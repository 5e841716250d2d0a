//! Sign-in with the external provider: redirect and callback.

use std::iter::once;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use kitbag_identity::{Arrival, Departure, ProviderError, ProviderSignIn};
use url::form_urlencoded;

use super::local::agent;
use crate::body::read_small;
use crate::connection_state::ConnectionState;
use crate::error::WebError;
use crate::sessions::{Sessions, SignInMode};
use crate::ui::frame::{self, Frame};
use crate::ui::text;

/// Maximum number of pending sign-ins of a browser, and their total size in bytes: it sends their cookies with
/// each request, and proxies accept about 8 KiB of headers.
const MAX_PENDING: usize = 8;
const MAX_PENDING_BYTES: usize = 4000;
/// Maximum size of the form with a logout token, in bytes.
const MAX_LOGOUT_BYTES: usize = 16 << 10;

/// Page for a failed sign-in, with a link to try again.
#[derive(Template)]
#[template(path = "ui/templates/sign_in_failed.html")]
struct SignInFailed<'a> {
    frame: Option<Frame>,
    problem: &'a str,
}

/// Redirects a browser to the provider. Uses GET requests only: the CSP's `form-action` would apply to the
/// redirect.
pub(super) async fn depart(
    sessions: &Sessions,
    provider: &ProviderSignIn,
    to: &str,
    headers: &HeaderMap,
) -> Result<Response, WebError> {
    let Departure { page, state, cookie } = provider.begin(to).await?;
    let pending = &sessions.pending_cookie;
    let new = pending.named(&state).set(&cookie, ProviderSignIn::PENDING_LIFETIME);
    let room = MAX_PENDING_BYTES.saturating_sub(new.len());
    let dropped = beyond(&pending.suffixes(headers, ProviderSignIn::is_state), room);
    let cookies = once(new).chain(dropped.iter().map(|state| pending.named(state).clear()));
    let cookies: Vec<_> = cookies.map(|cookie| (header::SET_COOKIE, cookie)).collect();
    Ok((AppendHeaders(cookies), Redirect::to(page.as_str())).into_response())
}

/// `POST /ui/signin/backchannel-logout`: the provider's word that a user has signed out there (`OpenID` Connect
/// Back-Channel Logout 1.0, section 2.5). The logout token is its credential.
pub(in crate::ui) async fn log_out(
    State(sessions): State<Sessions>,
    body: Body,
) -> Result<Response, WebError> {
    let SignInMode::Provider(provider) = &sessions.mode else { return Err(WebError::nothing_here()) };
    let body = read_small(body, MAX_LOGOUT_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_LOGOUT_BYTES))?;
    let token = form_urlencoded::parse(&body).find(|(name, _)| name == "logout_token");
    let (_, token) = token.ok_or_else(|| {
        WebError::new(StatusCode::BAD_REQUEST, "The body is a form with the field logout_token.")
    })?;
    match provider.end_by(&token).await {
        Ok(()) => Ok(([(header::CACHE_CONTROL, "no-store")], StatusCode::OK).into_response()),
        Err(ProviderError::Refused(why)) => Err(WebError::new(StatusCode::BAD_REQUEST, why)),
        Err(error) => Err(error.into()),
    }
}

/// Returns the cookies of pending sign-ins, given by state with their sizes in bytes, that exceed `room` or
/// [`MAX_PENDING`]. Browsers send the cookie first that they got first, so the newest are kept.
fn beyond<'a>(pending: &[(&'a str, usize)], room: usize) -> Vec<&'a str> {
    let mut kept = 0;
    let mut bytes = 0;
    let newest = pending.iter().rev().take_while(|(_, size)| {
        kept += 1;
        bytes += size;
        kept < MAX_PENDING && bytes <= room
    });
    let newest = newest.count();
    pending[..pending.len() - newest].iter().map(|(state, _)| *state).collect()
}

/// `GET /ui/signin/callback`: the provider's response. Always begins a new session, whatever cookie the
/// browser has.
pub(in crate::ui) async fn arrive(
    State(sessions): State<Sessions>,
    RawQuery(query): RawQuery,
    connection: Option<Extension<ConnectionState>>,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let SignInMode::Provider(provider) = &sessions.mode else { return Err(WebError::nothing_here()) };
    let query = query.unwrap_or_default();
    let pending = ProviderSignIn::state_of(&query).map(|state| sessions.pending_cookie.named(&state));
    let sealed = pending.as_ref().and_then(|cookie| cookie.read(&headers));
    let address = connection.and_then(|Extension(connection)| connection.address());
    let outcome = provider.finish(sealed, &query, agent(&headers), address).await;
    let over = pending.map(|cookie| (header::SET_COOKIE, cookie.clear()));
    match outcome {
        Ok(Arrival { user, token, to }) => {
            match sessions.find_stored(&headers).await? {
                Some(before) if before.user == user => provider.end_followed(&before).await?,
                Some(before) => sessions.end(&before).await?,
                None => {}
            }
            let cookie = sessions.cookie.set(&token, sessions.stored.lifetime());
            let cookies: Vec<_> = once((header::SET_COOKIE, cookie)).chain(over).collect();
            Ok((AppendHeaders(cookies), Redirect::to(&to)).into_response())
        }
        // Another tab may have completed the sign-in.
        Err(ProviderError::NotPending) if sessions.find(&headers).await?.is_some() => {
            Ok(Redirect::to("/ui/").into_response())
        }
        Err(ProviderError::NotPending) => {
            let problem = "This browser has not asked for this sign-in, or too long ago.";
            Ok(frame::page(StatusCode::BAD_REQUEST, &SignInFailed { frame: None, problem }))
        }
        Err(ProviderError::Refused(problem)) => {
            let cookies: Vec<_> = over.into_iter().collect();
            let page = SignInFailed { frame: None, problem: &problem };
            Ok((AppendHeaders(cookies), frame::page(StatusCode::FORBIDDEN, &page)).into_response())
        }
        Err(error) => Err(error.into()),
    }
}
