//! Pages for people: no script, no image, nothing from elsewhere.

pub(super) mod origin;

use std::fmt::{self, Write};
use std::sync::LazyLock;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("pages/page.css");

/// The page's own style and nothing else.
///
/// There is no `form-action`: browsers apply it to the redirect that answers a form, and to every
/// redirect after that one. So for the consent page it would have to name the client's address, which
/// may be of a scheme or form that it cannot express, and then wherever the client goes on to. It guards
/// against forms that somebody else brought into the page, and nobody can: everything in it is escaped.
static CONTENT_SECURITY_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy =
        format!("default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; frame-ancestors 'none'");
    HeaderValue::from_str(&policy).expect("base64 is ASCII")
});

/// Responses with something to keep from others (RFC 6749, section 5.1).
pub(super) const NOT_STORED: [(HeaderName, HeaderValue); 1] =
    [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];

/// Makes a page of `content`, which is HTML.
pub(super) fn page(status: StatusCode, title: &str, content: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n<main>\n{content}\n</main>\n</html>\n"
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY.clone()),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (status, NOT_STORED, headers, Html(html)).into_response()
}

/// Makes a page that says one thing; `heading` and `title` are ours, `message` may be anything.
pub(super) fn notice(status: StatusCode, title: &str, heading: &str, message: &str) -> Response {
    page(status, title, &format!("<h1>{heading}</h1>\n<p>{}</p>", Escaped(message)))
}

/// Text that is only text, in an element or in a quoted attribute.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => formatter.write_str("&amp;"),
                '<' => formatter.write_str("&lt;"),
                '>' => formatter.write_str("&gt;"),
                '"' => formatter.write_str("&quot;"),
                '\'' => formatter.write_str("&#39;"),
                other => formatter.write_char(other),
            }?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let script = Escaped("<script>alert('x')</script>\"&").to_string();

        assert_eq!(script, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;");
    }
}
