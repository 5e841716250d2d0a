//! Check of requests to pages, and headers of their responses.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::WebError;
use crate::pages::origin::{OwnOrigin, Sender, comes_from_own_page, opens_window};

/// Allows resources of this server only and nothing inline; forms submit only to it, and scripts cannot
/// insert text as markup. The image sources come last, so that more can be appended.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                                       form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                                       require-trusted-types-for 'script'; trusted-types 'none'; img-src 'self'";

/// Response extension: the page embeds images (`data:` URLs).
#[derive(Clone, Copy)]
pub(super) struct InlineImages;

/// Passes top-level navigations, requests from pages of this server, and submissions of their forms.
pub(super) async fn refuse_other_pages(
    State(own): State<OwnOrigin>,
    request: Request,
    next: Next,
) -> Response {
    let is_allowed = if matches!(*request.method(), Method::GET | Method::HEAD) {
        opens_window(&request) || comes_from_own_page(request.headers())
    } else {
        own.sender(request.headers()) == Sender::Own
    };
    if is_allowed {
        return next.run(request).await;
    }
    let detail = "Another page has tried to open or to use this one. Nothing was changed.";
    WebError::new(StatusCode::FORBIDDEN, detail).into_response()
}

/// Adds the headers of every response below `/ui`, without replacing existing ones: assets are cacheable, and
/// downloads have a sandbox policy.
pub(super) async fn add_headers(mut response: Response) -> Response {
    const HEADERS: [(HeaderName, &str); 6] = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let inline_images =
        response.extensions_mut().remove::<InlineImages>().map_or("", |InlineImages| " data:");
    let policy = format!("{CONTENT_SECURITY_POLICY}{inline_images}");
    let headers = response.headers_mut();
    let policy = HeaderValue::from_str(&policy).expect("it is ASCII");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
