//! Telling clients that their list of tools has changed, of prompts, or of resources.
//!
//! Invariant: a user hears of changes to what that user sees, and of no others.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::StreamExt;
use kitbag_access::User;
use kitbag_access::values::knowledge::DocumentsState;
use kitbag_access::values::knowledge_tools::FETCH;
use kitbag_base::shares::{Share, Shares};
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::answer::TransportError;
use super::catalogue::{Catalogue, OffersView, View};
use super::events::KEEP_ALIVE_INTERVAL;
use super::selection::Selection;

/// Streams that one user may have open: some clients on some machines.
const MAX_STREAMS_PER_USER: usize = 16;
/// Of all users: connections are bounded before.
const MAX_STREAMS: usize = usize::MAX;

/// How often the user's documents are looked at, and how long after a change was told: while many change, such as after a
/// change of the model, a client would list them without end.
const DOCUMENTS_INTERVAL: Duration = Duration::from_secs(5);
const TOLD_INTERVAL: Duration = Duration::from_mins(1);

/// A stream ends after this long, whatever token it was opened with; clients open another.
const MAX_STREAM_TIME: Duration = Duration::from_hours(1);

/// From -32000 to -32019 codes are a server's own; beyond are the protocol's (2026-07-28).
const TOO_MANY_STREAMS: ErrorCode = ErrorCode(-32011);

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of documents, or of resources of toolkits.
    Resources,
}

/// What a user sees, as it changes. Its share of the streams is held as long as there is somebody to tell.
#[derive(Clone)]
pub(super) struct Changes {
    catalogue: Arc<Catalogue>,
    published: watch::Receiver<()>,
    user: User,
    chosen: Selection,
    seen: View,
    seen_offers: OffersView,
    /// What was seen together with the change that was told last.
    untold: VecDeque<Change>,
    /// Whether the client reads documents.
    reads: bool,
    documents: Option<DocumentsState>,
    /// When to look at them next.
    next_look: Instant,
    end: Instant,
    _share: Arc<Share>,
}

impl Changes {
    /// Begins with what `user` sees now, of what the client has chosen.
    pub(super) async fn new(catalogue: Arc<Catalogue>, user: User, chosen: Selection, share: Share) -> Self {
        // Before the look at what there is: what changes in between is then seen as a change.
        let published = catalogue.published();
        let (seen, seen_offers) = (catalogue.view(&user, &chosen), catalogue.offers(&user, &chosen).view());
        let (reads, documents) = (chosen.has(FETCH), documents(&user).await);
        let (next_look, end) = (Instant::now() + DOCUMENTS_INTERVAL, Instant::now() + MAX_STREAM_TIME);
        Self {
            catalogue,
            published,
            user,
            chosen,
            seen,
            seen_offers,
            untold: VecDeque::new(),
            reads,
            documents,
            next_look,
            end,
            _share: Arc::new(share),
        }
    }

    /// Waits for the next change; nothing when it is time to end.
    pub(super) async fn next(&mut self, stopping: &CancellationToken) -> Option<Change> {
        loop {
            if let Some(change) = self.untold.pop_front() {
                return Some(change);
            }
            tokio::select! {
                published = self.published.changed() => published.ok()?,
                () = sleep_until(self.next_look) => {
                    self.next_look = Instant::now() + DOCUMENTS_INTERVAL;
                    if self.sees_other_documents().await {
                        self.next_look = Instant::now() + TOLD_INTERVAL;
                        return Some(Change::Resources);
                    }
                    continue;
                }
                () = stopping.cancelled() => return None,
                () = sleep_until(self.end) => return None,
            }
            // What cannot be read now is as it was; the client finds out with its next request.
            if let Ok(chosen) = self.chosen.clone().shown_to(&self.user).await {
                if chosen.has(FETCH) != self.reads {
                    self.next_look = Instant::now();
                }
                self.chosen = chosen;
            }
            self.look();
        }
    }

    /// Notes what has changed of what toolkits have.
    fn look(&mut self) {
        let now = self.catalogue.view(&self.user, &self.chosen);
        let offers = self.catalogue.offers(&self.user, &self.chosen).view();
        let changes = [
            (now != self.seen, Change::Tools),
            (offers.prompts != self.seen_offers.prompts, Change::Prompts),
            (offers.resources != self.seen_offers.resources, Change::Resources),
        ];
        self.untold.extend(changes.into_iter().filter(|(has_changed, _)| *has_changed).map(|(_, it)| it));
        (self.seen, self.seen_offers) = (now, offers);
    }

    async fn sees_other_documents(&mut self) -> bool {
        let reads = self.chosen.has(FETCH);
        if std::mem::replace(&mut self.reads, reads) != reads {
            self.documents = documents(&self.user).await;
            return true;
        }
        if !reads {
            return false;
        }
        let Some(now) = documents(&self.user).await else { return false };
        self.documents.replace(now) != Some(now)
    }
}

/// The state of a user's documents; nothing where the client cannot have them, or it is not known now.
async fn documents(user: &User) -> Option<DocumentsState> {
    user.own_tools()?;
    user.documents().state().await.ok()
}

/// The streams that are open.
pub(super) fn streams() -> Shares {
    Shares::new(MAX_STREAMS, MAX_STREAMS_PER_USER)
}

/// The stream of a client of the older revisions.
pub(super) fn event_stream(changes: Changes, stopping: CancellationToken) -> impl IntoResponse {
    const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    const PROMPTS: &str = r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#;
    const RESOURCES: &str = r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#;

    let events = futures::stream::unfold((changes, stopping), async |(mut changes, stopping)| {
        let message = match changes.next(&stopping).await? {
            Change::Tools => TOOLS,
            Change::Prompts => PROMPTS,
            Change::Resources => RESOURCES,
        };
        Some((Event::default().event("message").data(message), (changes, stopping)))
    });
    Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL))
}

/// Refuses one stream too many.
pub(super) fn too_many(id: Option<RequestId>) -> TransportError {
    let message =
        format!("{MAX_STREAMS_PER_USER} streams are open already; close one, or poll tools/list instead.");
    TransportError::new(StatusCode::TOO_MANY_REQUESTS, id, ErrorData::new(TOO_MANY_STREAMS, message, None))
}
