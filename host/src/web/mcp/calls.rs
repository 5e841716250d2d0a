//! Calls that clients of the older revisions may cancel by name.
//!
//! Such a client sends `notifications/cancelled` with the id of its request, in a request of its own.
//! Ids are unique within a client only, and one user may have several. So each client gets a label
//! with its handshake, in the header that the protocol has for sessions. It is no session: nothing
//! is kept under it but the calls that run at the moment, and a server that never saw it takes it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

/// The header that carries the label.
pub(super) const LABEL: HeaderName = HeaderName::from_static("mcp-session-id");

/// Tells the clients of one user apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClientLabel(String);

/// Running calls, by who may cancel them.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(Arc<Mutex<HashMap<Key, CancellationToken>>>);

/// A call as its client names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) user: String,
    pub(super) client: ClientLabel,
    pub(super) request: RequestId,
}

/// A running call; dropped, it can no longer be cancelled.
#[derive(Debug)]
pub(super) struct Running {
    calls: Calls,
    key: Key,
    token: CancellationToken,
}

/// Of a label, in bytes; in hexadecimal it is twice as long.
const LABEL_SIZE: usize = 16;

impl ClientLabel {
    /// Makes one that no other client has.
    pub(super) fn new() -> Self {
        let mut bytes = [0; LABEL_SIZE];
        aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
        Self(hex::encode(bytes))
    }

    /// Reads the label of a client; what could not be one of ours is none.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let label = headers.get(LABEL)?.to_str().ok()?;
        (label.len() == 2 * LABEL_SIZE).then(|| Self(label.to_owned()))
    }
}

impl From<ClientLabel> for HeaderValue {
    fn from(ClientLabel(label): ClientLabel) -> Self {
        Self::try_from(label).expect("hexadecimal digits")
    }
}

impl Calls {
    /// Makes a call cancellable until what is returned is dropped.
    pub(super) fn begin(&self, key: Key) -> Running {
        let token = CancellationToken::new();
        self.lock().insert(key.clone(), token.clone());
        Running { calls: self.clone(), key, token }
    }

    /// Cancels a call, if it runs.
    pub(super) fn cancel(&self, key: &Key) {
        if let Some(token) = self.lock().get(key) {
            token.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Waits until the client cancels the call.
    pub(super) async fn cancelled(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(user: &str, client: &ClientLabel, request: i64) -> Key {
        Key { user: user.to_owned(), client: client.clone(), request: RequestId::Number(request) }
    }

    #[test]
    fn a_call_is_cancelled_by_its_own_client_alone() {
        let calls = Calls::default();
        let (one, other) = (ClientLabel::new(), ClientLabel::new());
        let running = calls.begin(key("ana", &one, 1));

        for stranger in [key("ana", &other, 1), key("ben", &one, 1), key("ana", &one, 2)] {
            calls.cancel(&stranger);
            assert!(!running.token.is_cancelled(), "{stranger:?}");
        }

        calls.cancel(&key("ana", &one, 1));
        assert!(running.token.is_cancelled());
    }

    #[test]
    fn nothing_is_kept_of_a_call_that_has_ended() {
        let calls = Calls::default();

        drop(calls.begin(key("ana", &ClientLabel::new(), 1)));

        assert!(calls.lock().is_empty());
    }
}
