//! `GraphiQL`, to try queries on, in local mode. The page asks for no token: its user writes one into it.
//!
//! Its scripts come from a public mirror of the npm registry. They are pinned by version and by hash, and
//! the page may talk to this server alone.

use std::sync::LazyLock;

use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::sha256::Sha256;

const PAGE: &str = include_str!("graphiql.html");
const START: &str = include_str!("graphiql.js");

static HTML: LazyLock<String> = LazyLock::new(|| PAGE.replace("{{ start }}", START));

/// Styles are set by scripts as well; nothing else is taken from anywhere but the mirror.
static CONTENT_SECURITY_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let start = STANDARD.encode(Sha256::digest(START));
    let policy = format!(
        "default-src 'none'; script-src https://unpkg.com 'sha256-{start}'; \
         style-src https://unpkg.com 'unsafe-inline'; img-src data:; font-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).expect("base64 is ASCII")
});

/// `GET /graphql`, in local mode.
pub(in crate::web) async fn page() -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY.clone()),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Html(HTML.as_str())).into_response()
}
