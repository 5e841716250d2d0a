//! Calls that clients of the older revisions may cancel by name.
//!
//! Such a client sends `notifications/cancelled` with the id of its request, in a request of its own.
//! Ids are unique within a client only, and one user may have several. So each client gets a label
//! with its handshake, in the header that the protocol has for sessions. It is no session: nothing
//! is kept under it but the calls that run at the moment, and a server that did not issue it accepts it.
//!
//! Such a client says in its handshake, and never again, what it can do. What the server has to know of
//! that is part of the label, unsigned: a client that changes it declares another capability, as it could have
//! in the handshake.

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

/// Capabilities that a client declares in its handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Abilities {
    /// It opens links for its person: elicitation in URL mode.
    pub(super) opens_links: bool,
}

/// Of a label, in bytes; in hexadecimal it is twice as long.
const LABEL_BYTES: usize = 16;
/// Ends the label of a client that opens links.
const OPENS_LINKS: &str = ".u";

impl ClientLabel {
    /// Makes one that no other client has.
    pub(super) fn new(client: Abilities) -> Self {
        let mut bytes = [0; LABEL_BYTES];
        aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
        let mut label = hex::encode(bytes);
        if client.opens_links {
            label.push_str(OPENS_LINKS);
        }
        Self(label)
    }

    /// Reads the label of a client; `None` where it does not have the form of one.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let label = headers.get(LABEL)?.to_str().ok()?;
        let name = label.strip_suffix(OPENS_LINKS).unwrap_or(label);
        (name.len() == 2 * LABEL_BYTES).then(|| Self(label.to_owned()))
    }

    /// Whether the client opens links for its person.
    pub(super) fn opens_links(&self) -> bool {
        self.0.ends_with(OPENS_LINKS)
    }
}

impl From<ClientLabel> for HeaderValue {
    fn from(ClientLabel(label): ClientLabel) -> Self {
        Self::try_from(label).expect("it is visible ASCII")
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
        let (one, other) = (ClientLabel::new(Abilities::default()), ClientLabel::new(Abilities::default()));
        let running = calls.begin(key("ana", &one, 1));

        for stranger in [key("ana", &other, 1), key("ben", &one, 1), key("ana", &one, 2)] {
            calls.cancel(&stranger);
            assert!(!running.token.is_cancelled(), "{stranger:?}");
        }

        calls.cancel(&key("ana", &one, 1));
        assert!(running.token.is_cancelled());
    }

    #[test]
    fn a_label_says_what_its_client_can_do() {
        let read = |label: &str| {
            ClientLabel::of(&HeaderMap::from_iter([(LABEL, label.parse().expect("it is ASCII"))]))
        };
        let name = "0".repeat(2 * LABEL_BYTES);

        assert_eq!(read(&name).map(|label| label.opens_links()), Some(false));
        assert_eq!(read(&format!("{name}.u")).map(|label| label.opens_links()), Some(true));
        for strange in [".u", "0.u", &format!("{name}.v"), &format!("{name}.u.u")] {
            assert_eq!(read(strange), None, "{strange}");
        }
        for opens_links in [false, true] {
            assert_eq!(ClientLabel::new(Abilities { opens_links }).opens_links(), opens_links);
        }
    }

    #[test]
    fn nothing_is_kept_of_a_call_that_has_ended() {
        let calls = Calls::default();

        drop(calls.begin(key("ana", &ClientLabel::new(Abilities::default()), 1)));

        assert!(calls.lock().is_empty());
    }
}
