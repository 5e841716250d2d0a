//! `Content-Type` and `Accept` of MCP requests.

use axum::http::{HeaderMap, StatusCode, header};
use kitbag_manifest::media_type::essence;
use rmcp::model::RequestId;

use super::answer::TransportError;
use crate::media_type::{self, JSON};

pub(super) const STREAM: &str = "text/event-stream";

/// Response types that a client accepts; any without `Accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    /// An event stream (`text/event-stream`).
    pub(super) stream: bool,
}

impl Accepts {
    /// Reads `Accept` (RFC 9110, section 12.5.1).
    pub(super) fn of(headers: &HeaderMap) -> Self {
        if !headers.contains_key(header::ACCEPT) {
            return Self { json: true, stream: true };
        }
        let any = |wanted: &[&str]| {
            ranges(headers).any(|range| wanted.iter().any(|wanted| range.eq_ignore_ascii_case(wanted)))
        };
        Self { json: any(&[JSON, "application/*", "*/*"]), stream: any(&[STREAM, "text/*", "*/*"]) }
    }

    /// Whether the client names `text/event-stream` explicitly, not by a wildcard.
    pub(super) fn names_stream(headers: &HeaderMap) -> bool {
        ranges(headers).any(|range| range.eq_ignore_ascii_case(STREAM))
    }
}

/// Fails if the client accepts neither JSON nor a stream, or if its message is not JSON.
pub(super) fn check(headers: &HeaderMap) -> Result<(), TransportError> {
    if Accepts::of(headers) == (Accepts { json: false, stream: false }) {
        return Err(not_acceptable(None, JSON));
    }
    if media_type::is(headers, JSON) {
        return Ok(());
    }
    let why = format!("the Content-Type of a message is {JSON}");
    Err(TransportError::invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, why))
}

/// Media ranges of `Accept`, without parameters and without those excluded by a weight of zero.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).filter_map(|range| {
        let excluded = range.split(';').skip(1).any(|parameter| {
            let weight = parameter.trim().strip_prefix("q=");
            weight.and_then(|weight| weight.parse::<f32>().ok()).is_some_and(|weight| weight <= 0.0)
        });
        (!excluded).then(|| essence(range))
    })
}

/// Error for a response type that the client does not accept.
pub(super) fn not_acceptable(id: Option<RequestId>, kind: &str) -> TransportError {
    let why = format!("the answer is {kind}, which Accept leaves out");
    TransportError::invalid(StatusCode::NOT_ACCEPTABLE, id, why)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn accepts(accept: &'static str) -> (bool, bool) {
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        let Accepts { json, stream } = Accepts::of(&headers);
        (json, stream)
    }

    #[test]
    fn a_client_takes_what_it_says_and_everything_when_it_says_nothing() {
        assert_eq!(Accepts::of(&HeaderMap::new()), Accepts { json: true, stream: true });
        for (accept, expected) in [
            ("application/json, text/event-stream", (true, true)),
            ("*/*", (true, true)),
            ("application/*", (true, false)),
            ("Application/JSON; charset=utf-8", (true, false)),
            ("text/event-stream", (false, true)),
            ("application/json, text/event-stream;q=0", (true, false)),
            ("text/html", (false, false)),
        ] {
            assert_eq!(accepts(accept), expected, "{accept}");
        }
    }
}
