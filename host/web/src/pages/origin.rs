//! Checks that a request comes from a page of this server: `Host`, `Origin`, `Sec-Fetch-*`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_base::base_url::below;
use kitbag_base::loopback::loopback_names;
use url::Url;

use crate::error::WebError;
use crate::names;

/// Host and origin of this server.
#[derive(Clone)]
pub(crate) struct OwnOrigin {
    /// Host, with the port unless it is the scheme's default.
    authority: Arc<str>,
    origin: Arc<str>,
    /// Base URLs with each name of this server; pages have the first.
    base_urls: Arc<[Url]>,
}

/// Origin of a form, as reported by the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A page of this server; or a non-browser client, which sends none of these headers.
    Own,
    /// `Origin: null`, from a browser without `Sec-Fetch-Site`.
    Unnamed,
    /// A foreign page.
    Other,
}

impl OwnOrigin {
    pub(crate) fn of(base_url: &Url) -> Self {
        Self {
            authority: base_url.authority().into(),
            origin: base_url.origin().ascii_serialization().into(),
            base_urls: loopback_names(base_url).into(),
        }
    }

    /// Returns the origin of a submitted form.
    pub(crate) fn sender(&self, headers: &HeaderMap) -> Sender {
        match (text(headers, "sec-fetch-site"), text(headers, "origin")) {
            (Some("same-origin"), _) | (None, None) => Sender::Own,
            (None, Some(origin)) if origin == &*self.origin => Sender::Own,
            (None, Some("null")) => Sender::Unnamed,
            _ => Sender::Other,
        }
    }
}

/// Whether the request is a top-level navigation: not in a frame, and not from a script.
pub(crate) fn opens_window(request: &Request) -> bool {
    *request.method() != Method::POST
        && text(request.headers(), "sec-fetch-dest").is_none_or(|destination| destination == "document")
}

/// Whether the request comes from a page of this server, or the user entered the address.
pub(crate) fn comes_from_own_page(headers: &HeaderMap) -> bool {
    text(headers, "sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"))
}

/// Passes only requests whose `Host` is the server's own. Another name of it on loopback leads there.
pub(crate) async fn refuse_other_hosts(
    State(own): State<OwnOrigin>,
    request: Request,
    next: Next,
) -> Response {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let named =
        hosts.next().is_some_and(|host| host.as_bytes().eq_ignore_ascii_case(own.authority.as_bytes()));
    if named && hosts.next().is_none() {
        return next.run(request).await;
    }
    if request.method() == Method::GET && names::named(&own.base_urls, request.headers()).is_some() {
        let place = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
        return Redirect::temporary(&below(&own.base_urls[0], place)).into_response();
    }
    let detail = format!("This is at {} only.", own.authority);
    WebError::new(StatusCode::MISDIRECTED_REQUEST, detail).into_response()
}

/// Returns a header's value; empty if it is not ASCII, which no browser sends.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_says_whose_page_has_sent_a_form() {
        let own = OwnOrigin::of(&"https://kb.example".parse().expect("a URL"));
        let sender = |sent: &[(&'static str, &'static str)]| {
            let headers = sent
                .iter()
                .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
            own.sender(&headers.collect())
        };

        for (sent, expected) in [
            (&[][..], Sender::Own),
            (&[("origin", "https://kb.example")], Sender::Own),
            (&[("origin", "null"), ("sec-fetch-site", "same-origin")], Sender::Own),
            (&[("origin", "null")], Sender::Unnamed),
            (&[("origin", "https://evil.example")], Sender::Other),
            (&[("origin", "https://kb.example"), ("sec-fetch-site", "same-site")], Sender::Other),
            (&[("sec-fetch-site", "cross-site")], Sender::Other),
            (&[("sec-fetch-site", "none")], Sender::Other),
        ] {
            assert_eq!(sender(sent), expected, "{sent:?}");
        }
    }
}
