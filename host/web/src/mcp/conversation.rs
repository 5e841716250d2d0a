//! Questions to the user of a client of the older revisions: requests of the server in the stream of the call. The
//! client's responses arrive as separate requests and are matched to the call by user, client and id.

use std::time::Duration;

use kitbag_access::User;
use kitbag_access::values::dispatch;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ElicitRequest, ElicitRequestParams, ErrorData,
    JsonRpcRequest, JsonRpcVersion2_0, RequestId, ServerJsonRpcMessage,
};
use tokio::time::timeout;

use super::asking;
use super::calls::ClientLabel;
use super::events::Outbox;
use super::questions::Questions;

/// Maximum time for a user's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);

/// The stream of one call, in which its user can be asked.
pub(super) struct Conversation<'a> {
    pub(super) outbox: &'a Outbox,
    pub(super) questions: &'a Questions,
    pub(super) user: &'a User,
    pub(super) client: &'a ClientLabel,
}

impl Conversation<'_> {
    /// Asks the user. A timeout counts as cancelled; `None` if the client responds with an error.
    pub(super) async fn ask(
        &self,
        request: ElicitRequestParams,
    ) -> Result<Option<dispatch::Response>, ErrorData> {
        let answer = self.questions.expect(self.user, self.client);
        let id = RequestId::String(answer.id.as_str().into());
        let request = ElicitRequest::new(request);
        let request = JsonRpcRequest { jsonrpc: JsonRpcVersion2_0, id: id.clone(), request };
        if self.outbox.request(&request).await.is_err() {
            return Ok(Some(dispatch::Response::Cancelled));
        }
        match timeout(ANSWER_TIMEOUT, answer.received()).await {
            Ok(response) if response == "null" => Ok(None),
            Ok(response) => {
                let response = serde_json::from_str(&response).map_err(|_| asking::too_large())?;
                asking::read(&response).map(Some)
            }
            Err(_elapsed) => {
                let params =
                    CancelledNotificationParam::new(Some(id), Some("there was no answer in time".to_owned()));
                let notification = CancelledNotification::new(params);
                self.outbox.notify(&ServerJsonRpcMessage::notification(notification.into()));
                Ok(Some(dispatch::Response::Cancelled))
            }
        }
    }
}
