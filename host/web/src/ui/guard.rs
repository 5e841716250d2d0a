//! Which requests reach a page, and the headers of its answer.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::WebError;
use crate::pages::origin::{OwnOrigin, Sender, comes_from_own_page, opens_window};

/// Everything from this server, nothing inline. Forms go nowhere else; scripts cannot put text into a page as markup.
/// What follows are the sources of images.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                                       form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                                       require-trusted-types-for 'script'; trusted-types 'none'; img-src 'self'";

/// In the extensions of a response: the page has images in itself (`data:`).
#[derive(Clone, Copy)]
pub(super) struct InlineImages;

/// Lets a request pass that opens a page, comes from a page of this server, or sends a form of one.
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

/// Adds the headers that every answer below `/ui` has, but for those that it has already: an asset is kept, a download is
/// in a sandbox.
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
