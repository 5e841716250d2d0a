//! Telling clients that their list of tools has changed.
//!
//! Invariant: a user hears of changes to what that user sees, and of no others.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::StreamExt;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::answer::Refusal;
use super::catalogue::{Catalogue, View};
use crate::access::User;

/// Streams that one user may have open: some clients on some machines.
const PER_USER: usize = 16;

/// A stream ends after this long, whatever token it was opened with; clients open another.
const LONGEST: Duration = Duration::from_hours(1);

/// How often a quiet stream says that it is there, so that one whose client is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// From -32000 to -32019 codes are a server's own; beyond are the protocol's (2026-07-28).
const TOO_MANY_STREAMS: ErrorCode = ErrorCode(-32011);

/// What a user sees, as it changes. The place is held as long as there is somebody to tell.
#[derive(Clone)]
pub(super) struct Changes {
    catalogue: Arc<Catalogue>,
    published: watch::Receiver<()>,
    user: User,
    seen: View,
    end: Instant,
    _place: Arc<Place>,
}

impl Changes {
    /// Begins with what `user` sees now.
    pub(super) fn new(catalogue: Arc<Catalogue>, user: User, place: Place) -> Self {
        // Before the look at what there is: what changes in between is then seen as a change.
        let published = catalogue.published();
        let seen = catalogue.view(&user);
        let end = Instant::now() + LONGEST;
        Self { catalogue, published, user, seen, end, _place: Arc::new(place) }
    }

    /// Waits for the next change; nothing when it is time to end.
    pub(super) async fn next(&mut self, stopping: &CancellationToken) -> Option<()> {
        loop {
            tokio::select! {
                published = self.published.changed() => published.ok()?,
                () = stopping.cancelled() => return None,
                () = sleep_until(self.end) => return None,
            }
            let now = self.catalogue.view(&self.user);
            if now != self.seen {
                self.seen = now;
                return Some(());
            }
        }
    }
}

/// The stream of a client of the older revisions.
pub(super) fn event_stream(changes: Changes, stopping: CancellationToken) -> impl IntoResponse {
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

    let events = futures::stream::unfold((changes, stopping), async |(mut changes, stopping)| {
        changes.next(&stopping).await?;
        Some((Event::default().event("message").data(CHANGED), (changes, stopping)))
    });
    Sse::new(events.map(Ok::<_, Infallible>)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// Who has how many streams open.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(Arc<Mutex<HashMap<String, usize>>>);

/// One open stream; dropping it makes room for another.
#[derive(Debug)]
pub(super) struct Place {
    streams: Streams,
    user: String,
}

impl Streams {
    /// Counts a stream, or returns nothing when it would be one too many.
    pub(super) fn enter(&self, user: &str) -> Option<Place> {
        let mut open = self.lock();
        let count = open.get(user).copied().unwrap_or_default();
        if count >= PER_USER {
            return None;
        }
        open.insert(user.to_owned(), count + 1);
        Some(Place { streams: self.clone(), user: user.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        match open.get_mut(&self.user) {
            Some(count) if *count > 1 => *count -= 1,
            // The last one takes the entry with it.
            _ => drop(open.remove(&self.user)),
        }
    }
}

/// Refuses one stream too many.
pub(super) fn too_many(id: Option<RequestId>) -> Refusal {
    let message = format!("{PER_USER} streams are open already; close one, or poll tools/list instead.");
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, id, ErrorData::new(TOO_MANY_STREAMS, message, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_counted_by_user_and_forgotten_when_closed() {
        let streams = Streams::default();
        let mut open: Vec<_> = (0..PER_USER).map(|_| streams.enter("ana").expect("there is room")).collect();

        assert!(streams.enter("ana").is_none());
        assert!(streams.enter("ben").is_some());

        open.pop();
        assert!(streams.enter("ana").is_some());
        drop(open);
        assert!(streams.lock().is_empty());
    }
}
