//! Calls of clients of the older revisions that support elicitation: the response is a stream, in which the
//! server sends requests of its own. The client's responses arrive as separate requests and are matched to
//! the call by user, client and id.

use std::borrow::Cow;
use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use kitbag_access::User;
use kitbag_access::values::dispatch;
use kitbag_base::json_object::JsonObject;
use kitbag_manifest::question::MAX_ANSWER_BYTES;
use rmcp::model::{
    CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ElicitRequest,
    ElicitRequestParams, ErrorData, JsonRpcRequest, JsonRpcVersion2_0, ProgressToken, RequestId,
    RequestMetaObject, ServerJsonRpcMessage,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::asking;
use super::calls::ClientLabel;
use super::events::KEEP_ALIVE_INTERVAL;
use super::questions::Questions;

/// Maximum number of messages queued for a slow client.
const MAX_WAITING_MESSAGES: usize = 16;
/// Maximum bytes of a response that is read: an answer, and members that clients may send beside it.
const MAX_RESULT_BYTES: usize = MAX_ANSWER_BYTES + (8 << 10);
/// Maximum time for a user's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);

/// The stream of one call.
#[derive(Clone)]
pub(super) struct Conversation {
    out: mpsc::Sender<String>,
    questions: Questions,
    user: User,
    client: ClientLabel,
}

/// The parts of a `tools/call` request that a conversation needs.
pub(super) struct Call {
    pub(super) id: RequestId,
    pub(super) params: CallToolRequestParams,
    pub(super) progress: Option<ProgressToken>,
}

impl Call {
    /// Parses the request; `None` if it is a different one.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Request<'a> {
            #[serde(borrow)]
            jsonrpc: Cow<'a, str>,
            id: RequestId,
            #[serde(borrow)]
            method: Cow<'a, str>,
            params: CallToolRequestParams,
        }

        let JsonObject::<Request>(Request { jsonrpc, id, method, params }) =
            serde_json::from_slice(body).ok()?;
        let progress = params.meta.as_ref().and_then(RequestMetaObject::get_progress_token);
        (jsonrpc == "2.0" && method == "tools/call").then_some(Self { id, params, progress })
    }
}

impl Conversation {
    /// Answers a call with a stream. The result of `answer` is the last message, encoded; dropping the response
    /// cancels it.
    pub(super) fn stream<F>(
        (questions, user, client): (Questions, User, ClientLabel),
        answer: impl FnOnce(Self) -> F,
    ) -> Response
    where
        F: Future<Output = String> + Send + 'static,
    {
        let (out, mut messages) = mpsc::channel(MAX_WAITING_MESSAGES);
        let conversation = Self { out, questions, user, client };
        let last = conversation.out.clone();
        let answer = answer(conversation);
        let answer = async move {
            // Queued behind all earlier messages. Fails only if the client has disconnected.
            let _ = last.send(answer.await).await;
            None
        };
        let answered = futures::stream::once(answer).filter_map(std::future::ready);
        let messages = futures::stream::poll_fn(move |context| messages.poll_recv(context));
        let messages = futures::stream::select(messages, answered);
        let events =
            messages.map(|message| Ok::<_, Infallible>(Event::default().event("message").data(message)));
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response()
    }

    /// Sends a notification, unless the client reads slowly.
    pub(super) fn notify(&self, notification: &impl Serialize) {
        let _ = self.out.try_send(text(notification));
    }

    /// Asks the user. A timeout counts as cancelled; `None` if the client responds with an error.
    pub(super) async fn ask(
        &self,
        request: ElicitRequestParams,
    ) -> Result<Option<dispatch::Response>, ErrorData> {
        let answer = self.questions.expect(&self.user, &self.client);
        let id = RequestId::String(answer.id.as_str().into());
        let request = ElicitRequest::new(request);
        let request = JsonRpcRequest { jsonrpc: JsonRpcVersion2_0, id: id.clone(), request };
        if self.out.send(text(&request)).await.is_err() {
            return Ok(Some(dispatch::Response::Cancelled));
        }
        match timeout(ANSWER_TIMEOUT, answer.received()).await {
            Ok(response) if response == NO_RESULT => Ok(None),
            Ok(response) => {
                let response = serde_json::from_str(&response).map_err(|_| asking::too_large())?;
                asking::read(&response).map(Some)
            }
            Err(_elapsed) => {
                let params =
                    CancelledNotificationParam::new(Some(id), Some("there was no answer in time".to_owned()));
                self.notify(&ServerJsonRpcMessage::notification(CancelledNotification::new(params).into()));
                Ok(Some(dispatch::Response::Cancelled))
            }
        }
    }
}

/// Encodes a message.
pub(super) fn text(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("messages always serialise")
}

/// Stands for the response of a client that could not ask.
const NO_RESULT: &str = "null";

/// The result in a client's response, as JSON text: `null` for an error. A result that is larger than any
/// answer is truncated, and therefore no longer valid JSON.
pub(super) fn result(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Response<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
    }

    let response = serde_json::from_slice(body).ok();
    let result = response.and_then(|Response { result }| result.map(RawValue::get)).unwrap_or(NO_RESULT);
    result[..result.floor_char_boundary(MAX_RESULT_BYTES)].to_owned()
}
