//! Refusals of the transport, as JSON-RPC errors.

use axum::Json;
use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use rmcp::model::{ErrorData, JsonRpcError, RequestId};
use tracing::error;

/// Answers with an error; `id` is that of the request, where it could be read.
pub(super) fn refused(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Response {
    (status, Json(JsonRpcError::new(id, error))).into_response()
}

/// Answers to a body that did not arrive whole; `limit` is in bytes.
pub(super) fn unreadable(cause: &axum::Error, limit: usize) -> Response {
    let mut causes = std::iter::successors(std::error::Error::source(cause), |cause| cause.source());
    if causes.any(|cause| cause.is::<LengthLimitError>()) {
        let message = format!("the request is larger than {limit} bytes, the limit of this server");
        return refused(StatusCode::PAYLOAD_TOO_LARGE, None, ErrorData::invalid_request(message, None));
    }
    let error = ErrorData::parse_error("the request broke off", None);
    refused(StatusCode::BAD_REQUEST, None, error)
}

/// Says as JSON-RPC what rmcp says as plain text.
pub(super) async fn from_plain_text(id: Option<RequestId>, response: Response) -> Response {
    const LONGEST: usize = 16 << 10;

    let status = response.status();
    let text = to_bytes(response.into_body(), LONGEST).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    if status.is_server_error() {
        error!(cause = %text, "MCP failed");
        return refused(status, id, ErrorData::internal_error("the server failed", None));
    }
    // The body is JSON-RPC, as the envelope has shown; its members do not fit the method.
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        let error = ErrorData::invalid_request("this is no message of the protocol", None);
        return refused(StatusCode::BAD_REQUEST, id, error);
    }
    refused(status, id, ErrorData::invalid_request(text, None))
}
