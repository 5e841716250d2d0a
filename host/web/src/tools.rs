//! HTTP API for calls of tools without MCP: with the limits of MCP, sharing its rate limit.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_access::User;
use kitbag_access::values::dispatch::{Failure, Reply, Success};
use kitbag_base::rate::RateLimit;
use kitbag_manifest::schema::MAX_VALUES;
use rmcp::model::ContentBlock;
use serde::Serialize;
use serde_json::{Map, Value};

use super::consents;
use super::error::WebError;
use super::json::{self, Json};
use super::mcp::content;
use super::media_type::require_json;
use super::pages::NOT_STORED;
use super::share::RequestShare;
use super::state::Shared;
use crate::authenticate::By;

/// Limits of a user's calls.
pub(super) struct CallLimits {
    pub(super) rate: Arc<RateLimit>,
    /// Maximum bytes of a body.
    body_size: usize,
}

/// Reply to a call; `ok` distinguishes the two forms.
#[derive(Serialize)]
#[serde(untagged)]
enum CallAnswer {
    #[serde(rename_all = "camelCase")]
    Success {
        ok: bool,
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        structured_content: Option<Value>,
        /// Content besides the text, as blocks of MCP.
        content: Vec<ContentBlock>,
    },
    /// Error envelope, with `ok: false`.
    Failure(Failure),
}

/// Response to a call beyond a limit: the error envelope, which is also a problem document (RFC 9457).
#[derive(Serialize)]
struct OverLimit {
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(flatten)]
    envelope: kitbag_manifest::reply::Failure,
}

impl From<kitbag_manifest::reply::Failure> for OverLimit {
    fn from(envelope: kitbag_manifest::reply::Failure) -> Self {
        let detail = envelope.error.clone();
        Self { title: "Too Many Requests", status: StatusCode::TOO_MANY_REQUESTS.as_u16(), detail, envelope }
    }
}

impl CallLimits {
    /// Creates the limits of `shared`; `rate` is shared with MCP.
    pub(super) fn new(shared: &Shared, rate: Arc<RateLimit>) -> Self {
        Self { rate, body_size: shared.mcp_request_size }
    }

    /// Counts an operation that costs as much as a call.
    pub(super) fn admit(&self, user: &User) -> Result<(), WebError> {
        Ok(self.rate.admit(user.id())?)
    }
}

/// `POST /toolkits/{id}/tools/{tool}`: the arguments as a JSON object. Responds 200 with the reply, even if
/// the tool failed: `{ok: true, text, structuredContent?, content}` or `{ok: false, code, error, retryable}`;
/// 429 with `Retry-After` and the failure if a limit of calls is reached. Closing the connection cancels the
/// call.
pub(super) async fn call(
    State(shared): State<Shared>,
    By(user): By<User>,
    share: RequestShare,
    Extension(limits): Extension<Arc<CallLimits>>,
    Path((id, tool)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, WebError> {
    limits.admit(&user)?;
    let listed_name = user.listed_name(&id, &tool)?;
    // A form of a foreign page cannot send this type without a CORS preflight.
    require_json(&headers)?;
    let unread = |why| WebError::unread(why, limits.body_size);
    let body = share.read(body, limits.body_size).await.map_err(unread)?;
    // Reserved during the call, as long as its arguments are in memory.
    let _parsed = share.parsing(&body.bytes, MAX_VALUES).await.map_err(unread)?;
    let arguments = share.work(body.bytes.len(), move || arguments(&body.bytes)).await?;
    let reply = Box::pin(user.call(&listed_name, arguments, None)).await?;
    Ok(match consents::with_page(reply, &shared.base_url, &id) {
        Reply::Failure(Failure { retry_after: Some(seconds), envelope, .. }) => {
            let headers = [(header::RETRY_AFTER, seconds.to_string())];
            (StatusCode::TOO_MANY_REQUESTS, NOT_STORED, headers, Json(OverLimit::from(envelope)))
                .into_response()
        }
        reply => (NOT_STORED, json::of_size(reply.size(), || CallAnswer::from(reply))).into_response(),
    })
}

/// Parses the arguments of a call, whose number of values has been limited.
pub(super) fn arguments(json: &[u8]) -> Result<Map<String, Value>, WebError> {
    serde_json::from_slice(json).map_err(|error| {
        // The parser's own message could quote the values sent.
        let place = if error.is_data() {
            String::new()
        } else {
            format!(" It is not JSON at line {}, column {}.", error.line(), error.column())
        };
        let detail = format!("The arguments must be a JSON object.{place}");
        WebError::new(StatusCode::BAD_REQUEST, detail)
    })
}

impl From<Reply> for CallAnswer {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Success(Success { text, structured, content, .. }) => Self::Success {
                ok: true,
                text,
                structured_content: structured,
                content: content.into_iter().map(content::block).collect(),
            },
            Reply::Failure(failure) => Self::Failure(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_one_object() {
        let refused = |text: &str| {
            let (status, detail, _) = arguments(text.as_bytes()).expect_err("it is refused").into_parts();
            (status.as_u16(), detail)
        };

        assert_eq!(arguments(br#" {"a": [1]} "#).expect("an object")["a"], json!([1]));
        for no_object in ["[]", "null", "\"canary\"", "7"] {
            assert_eq!(refused(no_object), (400, "The arguments must be a JSON object.".to_owned()));
        }
        for no_json in ["", "{", "{} {}", "{\"a\": canary}"] {
            let (status, detail) = refused(no_json);
            assert!(status == 400 && detail.contains("not JSON at line 1"), "{no_json}: {detail}");
            assert!(!detail.contains("canary"), "{detail}");
        }
    }

    #[test]
    fn a_reply_says_whether_the_call_succeeded() {
        let success =
            Success { text: "done".to_owned(), structured: Some(json!({ "a": 1 })), ..Success::default() };
        let failure = kitbag_manifest::reply::Failure::busy();

        let shown = |reply: Reply| serde_json::to_value(CallAnswer::from(reply)).expect("it serialises");

        assert_eq!(
            shown(Reply::Success(success)),
            json!({ "ok": true, "text": "done", "structuredContent": { "a": 1 }, "content": [] })
        );
        let failed = shown(Reply::Failure(failure.into()));
        assert_eq!((&failed["ok"], &failed["retryable"]), (&json!(false), &json!(true)));
    }
}
