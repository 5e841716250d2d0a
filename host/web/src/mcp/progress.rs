//! Progress of a call, as its client asked for it.

use std::sync::{Mutex, PoisonError};

use kitbag_access::values::dispatch::ProgressReport;
use rmcp::RoleServer;
use rmcp::model::{ProgressNotification, ProgressNotificationParam, ProgressToken, ServerJsonRpcMessage};
use rmcp::service::Peer;
use tokio::sync::mpsc;

use super::conversation::Conversation;

/// Progress reports that are queued for a slow client; further ones are dropped.
pub(super) const MAX_WAITING_REPORTS: usize = 16;

/// A client that asked how far its call has come.
pub(super) struct ProgressRequest {
    token: ProgressToken,
    sink: ProgressSink,
    /// The largest that the client was told: a handler that runs again begins anew, and what a client is told only grows.
    told: Mutex<Option<f64>>,
}

impl ProgressRequest {
    /// Tells `sink` of progress, under this token.
    pub(super) fn new(token: ProgressToken, sink: ProgressSink) -> Self {
        Self { token, sink, told: Mutex::default() }
    }

    /// Whether this is more than the client was told before.
    fn grows(&self, progress: f64) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let grows = told.is_none_or(|told| progress > told);
        if grows {
            *told = Some(progress);
        }
        grows
    }
}

/// Where progress is told.
pub(super) enum ProgressSink {
    /// In the stream that rmcp makes.
    Peer(Peer<RoleServer>),
    /// In that of a conversation.
    Conversation(Conversation),
}

impl ProgressRequest {
    /// Tells the client, until the call has ended.
    pub(super) async fn pass_on(&self, mut reports: mpsc::Receiver<ProgressReport>) {
        while let Some(ProgressReport { progress, total, message }) = reports.recv().await {
            if !self.grows(progress) {
                continue;
            }
            let mut params = ProgressNotificationParam::new(self.token.clone(), progress);
            params.total = total;
            params.message = message;
            match &self.sink {
                // A client that is gone ends the call elsewhere.
                ProgressSink::Peer(peer) => drop(peer.notify_progress(params).await),
                ProgressSink::Conversation(conversation) => {
                    conversation.notify(&ServerJsonRpcMessage::notification(
                        ProgressNotification::new(params).into(),
                    ));
                }
            }
        }
    }
}
