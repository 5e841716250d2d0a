//! Sign-in with the external provider: redirect and callback.

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use kitbag_identity::{Arrival, Departure, ProviderError, ProviderSignIn};

use super::local::agent;
use crate::connection_state::ConnectionState;
use crate::error::WebError;
use crate::sessions::{Sessions, SignInMode};
use crate::ui::frame::{self, Frame};
use crate::ui::text;

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
) -> Result<Response, WebError> {
    let Departure { page, cookie } = provider.begin(to).await?;
    let cookie = sessions.pending_cookie.set(&cookie, ProviderSignIn::PENDING_LIFETIME);
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Redirect::to(page.as_str())).into_response())
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
    let pending = sessions.pending_cookie.read(&headers);
    let address = connection.and_then(|Extension(connection)| connection.address());
    let outcome = provider.finish(pending, &query.unwrap_or_default(), agent(&headers), address).await;
    match outcome {
        Ok(Arrival { token, to }) => {
            if let Some(before) = sessions.find_stored(&headers).await? {
                sessions.end(&before).await?;
            }
            let cookie = sessions.cookie.set(&token, sessions.stored.lifetime());
            let cookies = [cookie, sessions.pending_cookie.clear()].map(|it| (header::SET_COOKIE, it));
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
            let cookie = AppendHeaders([(header::SET_COOKIE, sessions.pending_cookie.clear())]);
            let page = SignInFailed { frame: None, problem: &problem };
            Ok((cookie, frame::page(StatusCode::FORBIDDEN, &page)).into_response())
        }
        Err(error) => Err(error.into()),
    }
}
