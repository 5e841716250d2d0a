//! Pages for people: no scripts, no images, no external resources.

pub(super) mod origin;

use std::sync::LazyLock;

use askama::Template;
use axum::Extension;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kitbag_base::sha256::Sha256;

pub(super) const STYLE: &str = include_str!("pages/page.css");

/// Allows only the page's own style.
///
/// There is no `form-action`: browsers apply it to the redirect after a form, and to every further redirect.
/// So for the consent page it would have to name the client's address, which may have a scheme or form that
/// it cannot express, and every target after it. It protects against injected forms, which cannot occur: all
/// content is escaped.
static CONTENT_SECURITY_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy =
        format!("default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; frame-ancestors 'none'");
    HeaderValue::from_str(&policy).expect("base64 is ASCII")
});

/// Header for responses with confidential content (RFC 6749, section 5.1).
pub(super) const NOT_STORED: [(HeaderName, HeaderValue); 1] =
    [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];

/// A page with a single message.
#[derive(Template)]
#[template(path = "pages/notice.html")]
pub(super) struct Notice<'a> {
    pub(super) title: &'a str,
    pub(super) heading: &'a str,
    pub(super) message: &'a str,
}

/// Marks a response as a page made by this server, as opposed to a user's HTML file.
#[derive(Clone, Copy)]
pub(super) struct OwnPage;

/// Renders a template. Values are escaped unless the template says otherwise.
pub(super) fn html(template: &impl Template) -> (Extension<OwnPage>, Html<String>) {
    (Extension(OwnPage), Html(template.render().expect("a string takes everything")))
}

/// Responds with a page that is not in the frame of `ui`.
pub(super) fn page(status: StatusCode, template: &impl Template) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY.clone()),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (status, NOT_STORED, headers, html(template)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_and_only_the_style_is_not_escaped() {
        let hostile = "<script>alert('x')</script>\"&";
        let html = Notice { title: hostile, heading: hostile, message: hostile }.render().expect("a page");

        assert!(
            !html.contains("<script") && !html.contains('\'') && html.matches("&#38;").count() == 3,
            "{html}"
        );
        assert!(html.contains(&format!("<style>{STYLE}</style>")), "{html}");
    }
}
