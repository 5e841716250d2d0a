//! Telling clients that their list of tools has changed.
//!
//! Invariant: a user hears of changes to what that user sees, and of no others.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::StreamExt;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::answer::TransportError;
use super::catalogue::{Catalogue, View};
use super::events::KEEP_ALIVE_INTERVAL;
use super::selection::Selection;
use crate::access::User;
use crate::shares::{Share, Shares};

/// Streams that one user may have open: some clients on some machines.
const MAX_STREAMS_PER_USER: usize = 16;
/// Of all users: connections are bounded before.
const MAX_STREAMS: usize = usize::MAX;

/// A stream ends after this long, whatever token it was opened with; clients open another.
const MAX_STREAM_TIME: Duration = Duration::from_hours(1);

/// From -32000 to -32019 codes are a server's own; beyond are the protocol's (2026-07-28).
const TOO_MANY_STREAMS: ErrorCode = ErrorCode(-32011);

/// What a user sees, as it changes. Its share of the streams is held as long as there is somebody to tell.
#[derive(Clone)]
pub(super) struct Changes {
    catalogue: Arc<Catalogue>,
    published: watch::Receiver<()>,
    user: User,
    chosen: Selection,
    seen: View,
    end: Instant,
    _share: Arc<Share>,
}

impl Changes {
    /// Begins with what `user` sees now, of what the client has chosen.
    pub(super) fn new(catalogue: Arc<Catalogue>, user: User, chosen: Selection, share: Share) -> Self {
        // Before the look at what there is: what changes in between is then seen as a change.
        let published = catalogue.published();
        let seen = catalogue.view(&user, &chosen);
        let end = Instant::now() + MAX_STREAM_TIME;
        Self { catalogue, published, user, chosen, seen, end, _share: Arc::new(share) }
    }

    /// Waits for the next change; nothing when it is time to end.
    pub(super) async fn next(&mut self, stopping: &CancellationToken) -> Option<()> {
        loop {
            tokio::select! {
                published = self.published.changed() => published.ok()?,
                () = stopping.cancelled() => return None,
                () = sleep_until(self.end) => return None,
            }
            let now = self.catalogue.view(&self.user, &self.chosen);
            if now != self.seen {
                self.seen = now;
                return Some(());
            }
        }
    }
}

/// The streams that are open.
pub(super) fn streams() -> Shares {
    Shares::new(MAX_STREAMS, MAX_STREAMS_PER_USER)
}

/// The stream of a client of the older revisions.
pub(super) fn event_stream(changes: Changes, stopping: CancellationToken) -> impl IntoResponse {
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

    let events = futures::stream::unfold((changes, stopping), async |(mut changes, stopping)| {
        changes.next(&stopping).await?;
        Some((Event::default().event("message").data(CHANGED), (changes, stopping)))
    });
    Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL))
}

/// Refuses one stream too many.
pub(super) fn too_many(id: Option<RequestId>) -> TransportError {
    let message =
        format!("{MAX_STREAMS_PER_USER} streams are open already; close one, or poll tools/list instead.");
    TransportError::new(StatusCode::TOO_MANY_REQUESTS, id, ErrorData::new(TOO_MANY_STREAMS, message, None))
}
