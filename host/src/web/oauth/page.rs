//! The pages of the sign-in: no script, no image, nothing from elsewhere.

use std::fmt::{self, Write};
use std::sync::LazyLock;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::NOT_STORED;
use crate::identity::{Consent, Destination, paths};
use crate::local_mode;

const STYLE: &str = include_str!("page.css");

/// The page's own style and nothing else.
///
/// There is no `form-action`: browsers apply it to the redirect that answers a form, and to every
/// redirect after that one. So it would have to name the client's address, which may be of a scheme or
/// form that it cannot express, and then wherever the client goes on to. It guards against forms that
/// somebody else brought into the page, and nobody can: everything in it is escaped.
static CONTENT_SECURITY_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy =
        format!("default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; frame-ancestors 'none'");
    HeaderValue::from_str(&policy).expect("base64 is ASCII")
});

/// Asks a person whether the client may act for them.
pub(super) fn consent(question: &Consent) -> Response {
    let duration = if question.scopes.last_beyond_access_token() {
        "and renew its access by itself".to_owned()
    } else {
        format!("for {}", humantime::format_duration(question.lifetime))
    };
    let content = format!(
        include_str!("consent.html"),
        client = Escaped(question.client_name.as_deref().unwrap_or("an application without a name")),
        destination = Escaped(&describe(&question.redirect_uri.destination())),
        address = Escaped(question.redirect_uri.as_str()),
        duration = duration,
        action = paths::AUTHORIZE,
        request_id = Escaped(&question.request_id),
        user = Escaped(local_mode::USER),
    );
    page(StatusCode::OK, &content)
}

/// Says why the browser stays here.
pub(in crate::web) fn failure(status: StatusCode, message: &str) -> Response {
    page(status, &format!("<h1>Sign-in stopped</h1>\n<p>{}</p>", Escaped(message)))
}

fn describe(destination: &Destination) -> String {
    match destination {
        Destination::Site(host) => format!("the web site {host}"),
        Destination::Loopback(host) => format!("a program on this computer ({host})"),
        Destination::Application(scheme) => format!("the application for {scheme}: links"),
    }
}

fn page(status: StatusCode, content: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Sign in to Kitbag</title>\n<style>{STYLE}</style>\n<main>\n{content}\n</main>\n</html>\n"
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY.clone()),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (status, NOT_STORED, headers, Html(html)).into_response()
}

/// Text that is only text, in an element or in a quoted attribute.
struct Escaped<'a>(&'a str);

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
