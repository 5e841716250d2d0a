//! Answers as JSON-RPC: results and errors of methods, in the form of each revision, and errors of the
//! transport.

use std::borrow::Cow;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_base::rate::TooManyRequests;
use rmcp::model::{
    ErrorCode, ErrorData, JsonRpcError, JsonRpcResponse, JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use serde_json::json;
use serde_json::value::RawValue;

use super::headers::Revision;
use crate::body::Unread;
use crate::json::Json;
use crate::media_type::JSON;

/// Error codes from -32000 to -32019 are defined by servers; those beyond by the protocol (2026-07-28).
const TOO_MANY_REQUESTS: ErrorCode = ErrorCode(-32010);

/// Creates the message with the answer to a request.
pub(super) fn message(
    answered: Result<ServerResult, ErrorData>,
    id: RequestId,
    revision: Revision,
) -> ServerJsonRpcMessage {
    match answered {
        Ok(result) => ServerJsonRpcMessage::response(completed(result, revision), id),
        Err(mut error) => {
            if revision == Revision::Current && error.code == ErrorCode::RESOURCE_NOT_FOUND {
                error.code = ErrorCode::INVALID_PARAMS;
            }
            ServerJsonRpcMessage::error(error, Some(id))
        }
    }
}

/// Adds the members that every result has since 2026-07-28, or removes them.
pub(super) fn completed(mut result: ServerResult, revision: Revision) -> ServerResult {
    match revision {
        Revision::Current => result.fill_missing_cache_hints(),
        Revision::Older => result.strip_result_type_for_legacy_peer(),
    }
    result
}

/// HTTP status of an answer. In the older revisions all errors of methods have 200.
pub(super) fn status(answered: &Result<ServerResult, ErrorData>, revision: Revision) -> StatusCode {
    match (revision, answered) {
        (Revision::Current, Err(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        (Revision::Current, Err(error)) if error.code == ErrorCode::HEADER_MISMATCH => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

/// Error response to a request that does not reach its method.
pub(crate) struct TransportError(Box<Response>);

impl TransportError {
    /// Creates a JSON-RPC error response; `id` is that of the request, if it could be read.
    pub(super) fn new(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Self {
        Self(Box::new((status, Json(JsonRpcError::new(id, error))).into_response()))
    }

    /// Creates the response to a message that its headers contradict, or that lacks what its revision requires.
    pub(super) fn refused(id: Option<RequestId>, error: ErrorData) -> Self {
        Self::new(StatusCode::BAD_REQUEST, id, error)
    }

    /// Creates the response to a message that violates JSON-RPC or the transport.
    pub(super) fn invalid(
        status: StatusCode,
        id: Option<RequestId>,
        why: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(status, id, ErrorData::invalid_request(why, None))
    }

    /// Adds a header.
    pub(super) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers_mut().insert(name, value);
        self
    }
}

impl IntoResponse for TransportError {
    fn into_response(self) -> Response {
        *self.0
    }
}

impl From<TooManyRequests> for TransportError {
    fn from(refusal: TooManyRequests) -> Self {
        let seconds = refusal.seconds;
        let data = json!({ "retryAfterSeconds": seconds });
        let error = ErrorData::new(TOO_MANY_REQUESTS, refusal.to_string(), Some(data));
        Self::new(StatusCode::TOO_MANY_REQUESTS, None, error)
            .with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }
}

/// Creates a response with a result that is already encoded.
pub(super) fn with_encoded_result(id: RequestId, result: &RawValue) -> Response {
    /// Capacity for the members around the result.
    const ENVELOPE_BYTES: usize = 128;

    let mut body = Vec::with_capacity(ENVELOPE_BYTES + result.get().len());
    let response = JsonRpcResponse { jsonrpc: JsonRpcVersion2_0, id, result };
    serde_json::to_writer(&mut body, &response).expect("a string always takes more");
    ([(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// Converts [`Unread`] to an error response; `limit` is in bytes.
pub(super) fn unread(why: Unread, limit: usize) -> TransportError {
    match why {
        Unread::TooLarge => {
            let message = format!("the request is larger than {limit} bytes, the limit of this server");
            TransportError::invalid(StatusCode::PAYLOAD_TOO_LARGE, None, message)
        }
        Unread::TooManyValues(max) => {
            let message = format!("the request has more than {max} JSON values");
            TransportError::invalid(StatusCode::PAYLOAD_TOO_LARGE, None, message)
        }
        Unread::NoRoom => {
            let message = "too many large requests and answers at the moment; try again later";
            TransportError::invalid(StatusCode::TOO_MANY_REQUESTS, None, message)
        }
        Unread::BrokeOff => {
            let error = ErrorData::parse_error("the request broke off", None);
            TransportError::new(StatusCode::BAD_REQUEST, None, error)
        }
    }
}
