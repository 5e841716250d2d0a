//! A base URL with a path, such as `https://host.example/kitbag`. The proxy in front may strip the path or
//! not.
//!
//! Internally, every route, link and redirect is without the path. This module strips it from requests that
//! still have it, and prepends it in responses to browsers: to the targets of redirects, and to links of
//! pages.
//!
//! Invariant: foreign text on a page is never changed. Quotation marks in it are escaped, so it cannot
//! contain the prefixes that are searched for. Files of users pass unchanged, also if they are HTML pages.

use std::sync::{Arc, LazyLock};

use aho_corasick::AhoCorasick;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tracing::error;

use super::pages::OwnPage;

/// Prefixes of attributes in pages that hold a path on this server.
static LINKS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::new([" href=\"/", " action=\"/", " src=\"/", " data-live=\"/"]).expect("they are short")
});
/// Paths of well-known metadata; clients append the path of the resource.
const WELL_KNOWN: [&str; 2] =
    ["/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"];

/// Serves `router` below a path, such as `/kitbag`.
pub(super) fn serve_below(path: &str, router: Router) -> Router {
    if path.is_empty() {
        return router;
    }
    // A layer of the router itself would run after routing.
    let path: Arc<str> = path.into();
    Router::new().fallback_service(router).layer(from_fn_with_state(path, translate))
}

async fn translate(State(path): State<Arc<str>>, mut request: Request, next: Next) -> Response {
    if let Some(inside) = inside(&path, request.uri()) {
        *request.uri_mut() = inside;
    }
    outside(&path, next.run(request).await).await
}

/// Returns the URI without the path; `None` if it does not begin with it.
fn inside(path: &str, uri: &Uri) -> Option<Uri> {
    let asked = uri.path();
    let rest = match WELL_KNOWN.iter().find_map(|known| Some((known, asked.strip_prefix(known)?))) {
        // In well-known URIs the path comes after the well-known prefix.
        Some((known, rest)) => format!("{known}{}", strip(path, rest)?),
        None => match strip(path, asked)? {
            "" => "/".to_owned(),
            rest => rest.to_owned(),
        },
    };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{rest}{query}")).ok()?);
    Uri::from_parts(parts).ok()
}

/// Returns the rest after a path prefix that ends at a segment boundary.
fn strip<'a>(path: &str, asked: &'a str) -> Option<&'a str> {
    asked.strip_prefix(path).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

async fn outside(path: &str, mut response: Response) -> Response {
    if let Some(location) = response.headers().get(header::LOCATION)
        && let Some(place) = location.to_str().ok().filter(|place| is_path(place))
        && let Ok(place) = HeaderValue::try_from(format!("{path}{place}"))
    {
        response.headers_mut().insert(header::LOCATION, place);
    }
    if response.extensions().get::<OwnPage>().is_none() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // No limit needed: a page is already in memory.
    let page = match to_bytes(body, usize::MAX).await {
        Ok(page) => page,
        Err(cause) => {
            error!(%cause, "a page was not made");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
    };
    let page = with_links(path, &String::from_utf8_lossy(&page));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(page))
}

/// Returns the page with the path prepended to its links.
fn with_links(path: &str, page: &str) -> String {
    let mut linked = String::with_capacity(page.len() + page.len() / 32);
    let mut done = 0;
    // `//` begins the name of another host.
    for found in LINKS.find_iter(page).filter(|found| !page[found.end()..].starts_with('/')) {
        let slash = found.end() - 1;
        linked.push_str(&page[done..slash]);
        linked.push_str(path);
        done = slash;
    }
    linked.push_str(&page[done..]);
    linked
}

fn is_path(place: &str) -> bool {
    place.starts_with('/') && !place.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_taken_off_where_it_is_one() {
        let inside = |uri: &str| inside("/kitbag", &uri.parse().expect("a URI")).map(|uri| uri.to_string());

        for (asked, expected) in [
            ("/kitbag/mcp?toolkits=a", "/mcp?toolkits=a"),
            ("/kitbag", "/"),
            ("/kitbag/", "/"),
            ("/kitbag/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource"),
            ("/.well-known/oauth-protected-resource/kitbag/mcp", "/.well-known/oauth-protected-resource/mcp"),
            ("/.well-known/oauth-authorization-server/kitbag", "/.well-known/oauth-authorization-server"),
        ] {
            assert_eq!(inside(asked).as_deref(), Some(expected), "{asked}");
        }
        for other in
            ["/mcp", "/", "/kitbagel/mcp", "/.well-known/oauth-protected-resource/mcp", "/x/kitbag/mcp"]
        {
            assert_eq!(inside(other), None, "{other}");
        }
    }

    #[test]
    fn links_get_the_path_and_nothing_else_does() {
        let page = concat!(
            r#"<a href="/ui/">a</a><form action="/ui/x"><img src="/ui/icons/1"><ol data-live="/ui/l">"#,
            r#"<a href="https://a.example/ui/">b</a><a href="//a.example/">c</a><a href="?x">d</a>"#,
            r#"<input value="/etc/hosts"> href=&#34;/ui/&#34; <p>/ui/</p>"#,
        );
        let linked = concat!(
            r#"<a href="/k/ui/">a</a><form action="/k/ui/x"><img src="/k/ui/icons/1"><ol data-live="/k/ui/l">"#,
            r#"<a href="https://a.example/ui/">b</a><a href="//a.example/">c</a><a href="?x">d</a>"#,
            r#"<input value="/etc/hosts"> href=&#34;/ui/&#34; <p>/ui/</p>"#,
        );

        assert_eq!(with_links("/k", page), linked);
    }
}
