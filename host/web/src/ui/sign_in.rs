//! Sign-in and sign-out of a browser.

pub(super) mod local;
pub(super) mod provider;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use super::frame::{self, Frame};
use super::text;
use crate::error::WebError;
use crate::sessions::{Sessions, SignInMode};

/// Query string of the sign-in page: the path to return to.
#[derive(Deserialize)]
pub(super) struct Destination {
    #[serde(default)]
    to: String,
}

/// Page that links to the applications where users sign in.
#[derive(Template)]
#[template(path = "ui/templates/sign_in_elsewhere.html")]
struct SignInElsewhere<'a> {
    frame: Option<Frame>,
    applications: &'a [String],
    to: &'a str,
}

/// Page shown after the session has ended.
#[derive(Template)]
#[template(path = "ui/templates/signed_out.html")]
struct SignedOut<'a> {
    frame: Option<Frame>,
    issuer: &'a str,
    /// The provider's logout page, which ends its own session.
    end_session: Option<String>,
}

/// `GET /ui/signin?to=…`
pub(super) async fn show(
    State(sessions): State<Sessions>,
    Query(Destination { to }): Query<Destination>,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let to = own_path(&to);
    if sessions.caller(&Method::GET, &headers).await?.is_some() {
        return Ok(Redirect::to(to).into_response());
    }
    match &sessions.mode {
        SignInMode::Local(_) => Ok(local::page(to)),
        SignInMode::Provider(provider) => provider::depart(&sessions, provider, to, &headers).await,
        SignInMode::ProviderCookie { applications, .. } => {
            let page = SignInElsewhere { frame: None, applications, to };
            Ok(frame::page(StatusCode::UNAUTHORIZED, &page))
        }
    }
}

/// `POST /ui/signout`: ends this browser's session.
pub(super) async fn sign_out(
    State(sessions): State<Sessions>,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    if let Some(session) = sessions.find_stored(&headers).await? {
        sessions.end(&session).await?;
    }
    Ok(signed_out(&sessions))
}

/// Clears the cookie of an ended session. With a provider, the next page must not start a sign-in by itself.
pub(super) fn signed_out(sessions: &Sessions) -> Response {
    let page = if matches!(sessions.mode, SignInMode::Local(_)) { "/ui/signin" } else { "/ui/signedout" };
    let cookie = AppendHeaders([(header::SET_COOKIE, sessions.cookie.clear())]);
    (cookie, Redirect::to(page)).into_response()
}

/// `GET /ui/signedout`
pub(super) async fn after(State(sessions): State<Sessions>) -> Response {
    let SignInMode::Provider(provider) = &sessions.mode else {
        return Redirect::to("/ui/signin").into_response();
    };
    let end_session = provider.end_session_page().await.map(String::from);
    let page = SignedOut { frame: None, issuer: provider.issuer(), end_session };
    frame::page(StatusCode::OK, &page)
}

/// Returns the path if it leads to a page of this server, otherwise the path of the first page. Browsers
/// interpret `//` and `\` as the start of another host, drop control characters before parsing, and resolve
/// `..`, even with encoded dots.
fn own_path(to: &str) -> &str {
    let is_page = to.starts_with("/ui/") || is_secret_page(to);
    let is_own = is_page
        && is_normalised(to)
        && !to.contains("//")
        && !to.contains('\\')
        && to.bytes().all(|byte| byte.is_ascii_graphic());
    if is_own { to } else { "/ui/" }
}

/// Whether everyone interprets the path alike, including a proxy that decodes it: no segment begins with a
/// dot, and no separator, percent sign or control character is encoded. No page's path needs one.
fn is_normalised(to: &str) -> bool {
    let path = to.split(['?', '#']).next().unwrap_or_default();
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    let separators = |bytes: &[u8]| bytes.split(|byte| *byte == b'/').count();
    separators(&decoded) == separators(path.as_bytes())
        && !decoded.iter().any(|byte| matches!(byte, b'\\' | b'%') || byte.is_ascii_control())
        && !decoded.split(|byte| *byte == b'/').any(|segment| segment.starts_with(b"."))
}

/// Whether the path is that of a page to set a secret.
fn is_secret_page(to: &str) -> bool {
    let path = to.split(['?', '#']).next().unwrap_or_default();
    let parts: Vec<_> = path.split('/').collect();
    matches!(parts.as_slice(), ["", "toolkits", id, "secrets", name, "page"] if !id.is_empty() && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_leads_to_pages_of_this_server_alone() {
        for path in [
            "/ui/",
            "/ui/toolkits/a?b=c#d",
            "/ui/search?q=..%2F100%25&to=/ui/../a",
            "/ui/documents/caf%C3%A9",
            "/toolkits/needy/secrets/API_KEY/page?link=abc",
        ] {
            assert_eq!(own_path(path), path);
        }
        for path in [
            "",
            "/",
            "/ui",
            "//evil.example",
            "/ui//evil.example",
            "https://evil.example/ui/",
            "/ui/\\evil.example",
            "/ui/\n/evil.example",
            "/ui/\u{e9}",
            "ui/",
            "/toolkits/needy",
            "/toolkits/needy/secrets/API_KEY",
            "/toolkits//secrets//page",
            "//toolkits/needy/secrets/API_KEY/page",
            "/oauth/authorize?client_id=a",
            "/ui/../oauth/authorize?client_id=a",
            "/ui/..",
            "/ui/./",
            "/ui/toolkits/../../oauth/authorize",
            "/ui/%2e%2e/healthz",
            "/ui/.%2E/healthz",
            "/ui/%252e%252e/healthz",
            "/ui/..;/healthz",
            "/ui/..%2fhealthz",
            "/ui/a%5c..%5chealthz",
            "/ui/%2f%2fevil.example",
            "/ui/%0d%0aLocation:",
            "/ui/%00",
            "/ui/a%",
            "/toolkits/../secrets/API_KEY/page",
            "/toolkits/%2e%2e/secrets/%2e%2e/page",
        ] {
            assert_eq!(own_path(path), "/ui/", "{path:?}");
        }
    }
}
