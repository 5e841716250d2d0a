//! Progress notifications of a call.

use std::sync::{Mutex, PoisonError};

use kitbag_access::values::dispatch::ProgressReport;
use rmcp::model::{ProgressNotification, ProgressNotificationParam, ProgressToken, ServerJsonRpcMessage};
use tokio::sync::mpsc;

use super::events::Outbox;

/// Maximum number of progress reports queued for a slow client; further ones are dropped.
pub(super) const MAX_WAITING_REPORTS: usize = 16;

/// A client's request for progress notifications of a call.
pub(super) struct ProgressRequest {
    token: ProgressToken,
    outbox: Outbox,
    /// Largest value sent so far: a handler that runs again starts from zero, but reported progress must only
    /// grow.
    told: Mutex<Option<f64>>,
}

impl ProgressRequest {
    /// Creates a request that reports to `outbox` under this token.
    pub(super) fn new(token: ProgressToken, outbox: Outbox) -> Self {
        Self { token, outbox, told: Mutex::default() }
    }

    /// Whether the value exceeds all that were sent before; records it.
    fn grows(&self, progress: f64) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let grows = told.is_none_or(|told| progress > told);
        if grows {
            *told = Some(progress);
        }
        grows
    }

    /// Forwards reports to the client until the call ends.
    pub(super) async fn pass_on(&self, mut reports: mpsc::Receiver<ProgressReport>) {
        while let Some(ProgressReport { progress, total, message }) = reports.recv().await {
            if !self.grows(progress) {
                continue;
            }
            let mut params = ProgressNotificationParam::new(self.token.clone(), progress);
            params.total = total;
            params.message = message;
            self.outbox.notify(&ServerJsonRpcMessage::notification(ProgressNotification::new(params).into()));
        }
    }
}
