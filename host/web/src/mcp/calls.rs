//! Running calls, which clients of the older revisions cancel by request id.
//!
//! Such a client sends `notifications/cancelled` with the id of its request, in a request of its own. Ids are
//! unique within a client only, and one user may have several clients. So the handshake gives each client a
//! label, in the header that the protocol has for sessions. It is no session: it only identifies calls in
//! progress, and a server that did not issue it accepts it.
//!
//! A call may run in another process: that process is told by a hint with a hash of user, label and id
//! (`peers/hints`). This is best effort, as cancellation is in the protocol.
//!
//! Such a client declares its capabilities only in its handshake. The ones that the server needs later are
//! part of the label, unsigned: a client that changes it declares another capability, as it could have in the
//! handshake.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use kitbag_access::values::peers::{Heard, Hint, Hints, Listening, Subject};
use rmcp::model::{ClientCapabilities, RequestId};
use tokio_util::sync::{CancellationToken, DropGuard};

/// The header that carries the label.
pub(super) const LABEL: HeaderName = HeaderName::from_static("mcp-session-id");

/// Random label that tells the clients of one user apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClientLabel(String);

/// Running calls that clients may cancel.
#[derive(Clone)]
pub(super) struct Calls(Arc<Shared>);

struct Shared {
    /// Several calls per subject if a client reuses a request id, which JSON-RPC forbids.
    running: Mutex<HashMap<Subject, Vec<(u64, CancellationToken)>>>,
    /// Next number of a running call.
    next: AtomicU64,
    hints: Hints,
    /// Ends the task that receives hints of other processes.
    _stopped: DropGuard,
}

/// Identity of a call: user, client and request id.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) user: String,
    pub(super) client: ClientLabel,
    pub(super) request: RequestId,
}

/// Guard of a running call; once dropped, the call cannot be cancelled any more.
pub(super) struct Running {
    calls: Calls,
    subject: Subject,
    number: u64,
    token: CancellationToken,
}

/// Capabilities that a client declares, in its handshake or in each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Abilities {
    /// Opens links for its user: elicitation in URL mode.
    pub(super) opens_links: bool,
    /// Shows forms: elicitation in form mode.
    pub(super) shows_forms: bool,
}

impl Abilities {
    /// Reads the declared capabilities. Until 2025-06-18 elicitation had only forms, and no member for them.
    pub(super) fn of(capabilities: &ClientCapabilities) -> Self {
        let Some(elicitation) = &capabilities.elicitation else { return Self::default() };
        let opens_links = elicitation.url.is_some();
        Self { opens_links, shows_forms: elicitation.form.is_some() || !opens_links }
    }
}

/// Random bytes of a label; encoded in hexadecimal, twice as long.
const LABEL_BYTES: usize = 16;
/// Suffixes of labels, by the capabilities of the client.
const ABILITIES: [(&str, Abilities); 4] = [
    (".uf", Abilities { opens_links: true, shows_forms: true }),
    (".u", Abilities { opens_links: true, shows_forms: false }),
    (".f", Abilities { opens_links: false, shows_forms: true }),
    ("", Abilities { opens_links: false, shows_forms: false }),
];

impl ClientLabel {
    /// Creates a random label.
    pub(super) fn new(client: Abilities) -> Self {
        let mut bytes = [0; LABEL_BYTES];
        aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
        let mut label = hex::encode(bytes);
        let suffixes = ABILITIES.iter().filter(|(_, abilities)| *abilities == client);
        label.extend(suffixes.map(|(suffix, _)| *suffix));
        Self(label)
    }

    /// Reads the label from the headers; `None` if it is missing or malformed.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let label = headers.get(LABEL)?.to_str().ok()?;
        let suffix = label.get(2 * LABEL_BYTES..)?;
        ABILITIES.iter().any(|(known, _)| *known == suffix).then(|| Self(label.to_owned()))
    }

    /// The value of the header.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Capabilities encoded in the label.
    pub(super) fn abilities(&self) -> Abilities {
        let suffix = self.0.get(2 * LABEL_BYTES..).unwrap_or_default();
        let known = ABILITIES.iter().find(|(known, _)| *known == suffix);
        known.map_or_else(Abilities::default, |(_, abilities)| *abilities)
    }
}

impl From<ClientLabel> for HeaderValue {
    fn from(ClientLabel(label): ClientLabel) -> Self {
        Self::try_from(label).expect("it is visible ASCII")
    }
}

impl Key {
    /// Hash by which processes tell each other that the call is cancelled. The label is random, so it cannot
    /// be guessed.
    fn subject(&self) -> Subject {
        let request = serde_json::to_string(&self.request).expect("a number and a text are valid in JSON");
        Subject::of(&["call", &self.user, &self.client.0, &request])
    }
}

impl Calls {
    /// Creates the set of running calls; other processes can cancel them by `hints`.
    pub(super) fn new(hints: Hints) -> Self {
        let listening = hints.listen();
        let stopped = CancellationToken::new();
        let until = stopped.clone();
        let running = Mutex::default();
        let next = AtomicU64::new(0);
        let shared = Shared { running, next, hints, _stopped: stopped.drop_guard() };
        let calls = Self(Arc::new(shared));
        let hearing = hear(Arc::downgrade(&calls.0), listening);
        tokio::spawn(async move { until.run_until_cancelled(hearing).await });
        calls
    }

    /// Makes a call cancellable until the returned guard is dropped.
    pub(super) fn begin(&self, key: &Key) -> Running {
        let subject = key.subject();
        let token = CancellationToken::new();
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.0.lock().entry(subject).or_default().push((number, token.clone()));
        Running { calls: self.clone(), subject, number, token }
    }

    /// Cancels a call that runs here or in another process.
    pub(super) fn cancel(&self, key: &Key) {
        let subject = key.subject();
        if !self.0.cancel(subject) {
            self.0.hints.tell_others(Hint::Cancel(subject));
        }
    }
}

impl Shared {
    /// Cancels a call. Returns whether it runs here.
    fn cancel(&self, subject: Subject) -> bool {
        let running = self.lock();
        let Some(same) = running.get(&subject) else { return false };
        for (_, token) in same {
            token.cancel();
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Subject, Vec<(u64, CancellationToken)>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels calls as other processes request it, until the set of calls is dropped.
async fn hear(calls: Weak<Shared>, mut listening: Listening) {
    loop {
        let heard = listening.next().await;
        let Some(calls) = calls.upgrade() else { return };
        // A missed hint cannot be recovered: the call runs to its end.
        if let Heard::Hint(Hint::Cancel(subject)) = heard {
            calls.cancel(subject);
        }
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
        let mut running = self.calls.0.lock();
        if let Entry::Occupied(mut same) = running.entry(self.subject) {
            same.get_mut().retain(|(number, _)| *number != self.number);
            if same.get().is_empty() {
                same.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_database::Database;
    use serde_json::json;

    use super::*;

    fn key(user: &str, client: &ClientLabel, request: i64) -> Key {
        Key { user: user.to_owned(), client: client.clone(), request: RequestId::Number(request) }
    }

    #[tokio::test]
    async fn a_call_is_cancelled_by_its_own_client_alone() {
        let calls = Calls::new(Hints::off());
        let one = ClientLabel::new(Abilities::default());
        let other = ClientLabel::new(Abilities::default());
        let running = calls.begin(&key("ana", &one, 1));

        for stranger in [key("ana", &other, 1), key("ben", &one, 1), key("ana", &one, 2)] {
            calls.cancel(&stranger);
            assert!(!running.token.is_cancelled(), "{stranger:?}");
        }

        calls.cancel(&key("ana", &one, 1));
        assert!(running.token.is_cancelled());
    }

    #[tokio::test]
    async fn of_two_calls_with_one_id_the_one_that_goes_on_can_be_cancelled() {
        let calls = Calls::new(Hints::off());
        let key = key("ana", &ClientLabel::new(Abilities::default()), 1);
        let first = calls.begin(&key);
        let second = calls.begin(&key);

        drop(first);
        calls.cancel(&key);

        assert!(second.token.is_cancelled());
        drop(second);
        assert!(calls.0.lock().is_empty());
    }

    #[tokio::test]
    #[ignore = "needs a database server"]
    async fn a_cancel_reaches_a_call_of_another_process_and_another_users_does_not() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test_server(folder.path()).await;
        let one = Hints::start(&database);
        let other = Hints::start(&database);
        // Waits until both listeners have started.
        let mut first = one.listen();
        let mut second = other.listen();
        tokio::join!(first.until(|_| false), second.until(|_| false));
        let calls = Calls::new(one);
        let elsewhere = Calls::new(other.clone());
        let client = ClientLabel::new(Abilities::default());
        let running = calls.begin(&key("ana", &client, 1));

        let label = ClientLabel::new(Abilities::default());
        for stranger in [key("ben", &client, 1), key("ana", &label, 1), key("ana", &client, 2)] {
            elsewhere.cancel(&stranger);
        }
        // Hints arrive in the order in which they are sent.
        let last = key("cy", &client, 1);
        let mut heard = calls.0.hints.listen();
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        elsewhere.cancel(&last);
        heard.until(|hint| *hint == Hint::Cancel(last.subject())).await;
        assert!(!running.token.is_cancelled());

        elsewhere.cancel(&key("ana", &client, 1));
        let cancelled = tokio::time::timeout(std::time::Duration::from_secs(20), running.cancelled());
        cancelled.await.expect("it hears of it");
    }

    #[test]
    fn a_client_shows_forms_unless_it_says_that_it_opens_links_alone() {
        for (capabilities, opens_links, shows_forms) in [
            (json!({}), false, false),
            (json!({ "elicitation": {} }), false, true),
            (json!({ "elicitation": { "form": {} } }), false, true),
            (json!({ "elicitation": { "form": {}, "url": {} } }), true, true),
            (json!({ "elicitation": { "url": {} } }), true, false),
        ] {
            let declared = serde_json::from_value(capabilities.clone()).expect("capabilities");
            assert_eq!(Abilities::of(&declared), Abilities { opens_links, shows_forms }, "{capabilities}");
        }
    }

    #[test]
    fn a_label_says_what_its_client_can_do() {
        let read = |label: &str| {
            ClientLabel::of(&HeaderMap::from_iter([(LABEL, label.parse().expect("it is ASCII"))]))
        };
        let name = "0".repeat(2 * LABEL_BYTES);

        assert_eq!(read(&name).map(|label| label.abilities()), Some(Abilities::default()));
        for strange in [".u", "0.u", &format!("{name}.v"), &format!("{name}.u.u"), &format!("{name}.fu")] {
            assert_eq!(read(strange), None, "{strange}");
        }
        for (suffix, abilities) in ABILITIES {
            assert_eq!(read(&format!("{name}{suffix}")).map(|label| label.abilities()), Some(abilities));
            assert_eq!(ClientLabel::new(abilities).abilities(), abilities);
        }
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_call_that_has_ended() {
        let calls = Calls::new(Hints::off());

        drop(calls.begin(&key("ana", &ClientLabel::new(Abilities::default()), 1)));

        assert!(calls.0.lock().is_empty());
    }
}
