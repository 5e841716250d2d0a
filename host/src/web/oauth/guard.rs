//! Who may reach the sign-in: browsers and clients that meant this server.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use url::Url;

use super::page;
use crate::web::error::WebError;

/// Under which name this server is reached.
#[derive(Clone)]
pub(super) struct Own {
    /// Host, and port unless it is the scheme's.
    authority: Arc<str>,
    origin: Arc<str>,
}

impl Own {
    pub(super) fn of(base_url: &Url) -> Self {
        Self {
            authority: base_url.authority().into(),
            origin: base_url.origin().ascii_serialization().into(),
        }
    }
}

/// Lets requests pass whose `Host` is the server's own.
pub(super) async fn refuse_other_hosts(State(own): State<Own>, request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let named =
        hosts.next().is_some_and(|host| host.as_bytes().eq_ignore_ascii_case(own.authority.as_bytes()));
    if named && hosts.next().is_none() {
        return next.run(request).await;
    }
    let detail = format!("Sign-in is at {} only.", own.authority);
    WebError::new(StatusCode::MISDIRECTED_REQUEST, detail).into_response()
}

/// Keeps other pages from fetching or framing the consent page, and from answering it.
///
/// The answer's `request_id`, which only the consent page has, is the defence; this one does not wait
/// for a page that has found it out.
pub(super) async fn refuse_other_pages(State(own): State<Own>, request: Request, next: Next) -> Response {
    let acceptable = match *request.method() {
        Method::POST => is_from_own_page(request.headers(), &own.origin),
        _ => text(request.headers(), "sec-fetch-dest").is_none_or(|destination| destination == "document"),
    };
    if acceptable {
        next.run(request).await
    } else {
        page::failure(StatusCode::FORBIDDEN, "Another page has tried to sign in here. Nothing was granted.")
    }
}

/// Browsers say where a form comes from; programs say nothing, and have nobody to deceive.
///
/// `Origin: null` passes where `Sec-Fetch-Site` is absent: it is what an older browser sends for the
/// consent page, because of the page's `Referrer-Policy`.
fn is_from_own_page(headers: &HeaderMap, own_origin: &str) -> bool {
    match (text(headers, "sec-fetch-site"), text(headers, "origin")) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => origin == own_origin || origin == "null",
        (None, None) => true,
    }
}

/// The header's value; one that is no text is none that a browser sends.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}
