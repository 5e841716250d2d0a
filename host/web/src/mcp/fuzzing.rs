//! Entry points for `fuzz/`.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use futures::FutureExt;
use serde_json::Value;
use url::Url;

use super::message::{Envelope, Message};
use super::origin::OriginCheck;

/// Result of parsing a message.
#[derive(Debug)]
pub enum Reading {
    /// Valid; passed on to its method.
    Message {
        /// Id of a request.
        id: Option<Value>,
        /// Id of the request that a notification cancels.
        cancels: Option<Value>,
    },
    /// Invalid; refused.
    Refusal {
        /// HTTP status.
        status: u16,
        /// JSON-RPC error.
        body: Vec<u8>,
    },
}

/// Parses a message in the way of `/mcp`.
pub fn message(body: &[u8]) -> Reading {
    let in_json = |id| serde_json::to_value(id).expect("an id is a number or a string");
    match Envelope::parse(body) {
        Ok(Envelope { id, message, .. }) => {
            let cancels =
                if let Message::Cancelled(request) = message { Some(in_json(request)) } else { None };
            Reading::Message { id: id.map(in_json), cancels }
        }
        Err(refusal) => {
            let response = refusal.into_response();
            let status = response.status().as_u16();
            let body = to_bytes(response.into_body(), usize::MAX).now_or_never();
            let body = body.and_then(Result::ok).expect("the body of a refusal is there at once");
            Reading::Refusal { status, body: body.into() }
        }
    }
}

/// Whether a request with these headers passes the check of `Host` and `Origin`.
pub fn is_allowed_origin(base_url: &Url, allowed_origins: &[String], headers: HeaderMap) -> bool {
    let mut request = Request::new(Body::empty());
    *request.headers_mut() = headers;
    OriginCheck::new(std::slice::from_ref(base_url), allowed_origins).allows(&request).is_ok()
}
