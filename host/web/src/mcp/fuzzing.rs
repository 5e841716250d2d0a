//! Entry points for `fuzz/`.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use futures::FutureExt;
use kitbag_manifest::json::measure;
use rmcp::model::RequestId;
use serde_json::Value;
use url::Url;

use super::message::{MAX_VALUES, Message};
use super::origin::OriginCheck;
use crate::body::Unread;

/// Result of parsing a message.
#[derive(Debug)]
pub enum Reading {
    /// Valid; passed on to its method.
    Message {
        /// Id of a request or a response.
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
    let in_json = |id| serde_json::to_value::<RequestId>(id).expect("an id is a number or a string");
    let values = measure(body, MAX_VALUES).values;
    let counted = if values > MAX_VALUES { Err(Unread::TooManyValues(MAX_VALUES)) } else { Ok(()) };
    match Message::read(body, counted) {
        Ok(message) => {
            let (id, cancels) = match message {
                Message::Request(request) => (Some(request.id), None),
                Message::Notification(notification) => (None, notification.cancels),
                Message::Response(response) => (response.id, None),
            };
            Reading::Message { id: id.map(in_json), cancels: cancels.map(in_json) }
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
