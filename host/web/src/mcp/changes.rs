//! Notifications that a client's list of tools, prompts or resources has changed.
//!
//! Invariant: a user is notified of changes to what that user can see, and of no others.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use futures::stream;
use kitbag_access::User;
use kitbag_access::values::knowledge::DocumentsState;
use kitbag_access::values::knowledge_tools::FETCH;
use kitbag_base::shares::{Share, Shares};
use rmcp::model::{
    ErrorCode, ErrorData, Implementation, JsonRpcResponse, JsonRpcVersion2_0, NotificationMetaObject,
    RequestId, SubscriptionFilter, SubscriptionsListenResult,
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::answer::TransportError;
use super::catalogue::{Catalogue, OffersView, View};
use super::events::KEEP_ALIVE_INTERVAL;
use super::selection::Selection;

/// Limit of open streams per user: some clients on some machines.
const MAX_STREAMS_PER_USER: usize = 16;
/// Limit of open streams of all users: none, since connections are already bounded.
const MAX_STREAMS: usize = usize::MAX;

/// Polling interval of the user's documents, and minimum interval between notifications about them: while
/// many change, such as after a change of the model, a client would list them again and again.
const DOCUMENTS_INTERVAL: Duration = Duration::from_secs(5);
const TOLD_INTERVAL: Duration = Duration::from_mins(1);

/// Maximum duration of a stream, whatever the lifetime of its token; clients then open another.
const MAX_STREAM_TIME: Duration = Duration::from_hours(1);

/// Error codes from -32000 to -32019 are defined by servers; those beyond by the protocol (2026-07-28).
const TOO_MANY_STREAMS: ErrorCode = ErrorCode(-32011);

/// A list that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of documents, or of toolkits' resources.
    Resources,
}

impl Change {
    /// Method of the notification.
    fn notification(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
        }
    }
}

/// Watches the lists that a user can see. Occupies a place among the streams until it is dropped.
pub(super) struct Changes {
    catalogue: Arc<Catalogue>,
    published: watch::Receiver<()>,
    user: User,
    chosen: Selection,
    seen: View,
    seen_offers: OffersView,
    /// Changes detected together with the last reported one, not reported yet.
    untold: VecDeque<Change>,
    /// Whether the client can read documents.
    reads: bool,
    documents: Option<DocumentsState>,
    /// Time of the next poll of the documents.
    next_look: Instant,
    end: Instant,
    _share: Share,
}

impl Changes {
    /// Begins with the current lists of `user`, limited to the client's selection.
    pub(super) async fn new(catalogue: Arc<Catalogue>, user: User, chosen: Selection, share: Share) -> Self {
        // Subscribes before reading the lists, so that a change in between is detected.
        let published = catalogue.published();
        let seen = catalogue.view(&user, &chosen);
        let seen_offers = catalogue.offers(&user, &chosen).view();
        let reads = chosen.has(FETCH);
        let documents = documents(&user).await;
        let next_look = Instant::now() + DOCUMENTS_INTERVAL;
        let end = Instant::now() + MAX_STREAM_TIME;
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
            _share: share,
        }
    }

    /// Waits for the next change; `None` when the stream must end.
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
            // On a read error the selection stays as it is; the client's next request reports the error.
            if let Ok(chosen) = self.chosen.clone().shown_to(&self.user).await {
                if chosen.has(FETCH) != self.reads {
                    self.next_look = Instant::now();
                }
                self.chosen = chosen;
            }
            self.look();
        }
    }

    /// Records changes in the lists of toolkits.
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
        self.documents.replace(now.clone()) != Some(now)
    }
}

/// Returns the state of a user's documents; `None` if the client has no access to them, or on a read error.
async fn documents(user: &User) -> Option<DocumentsState> {
    user.own_tools()?;
    user.documents().state().await.ok()
}

/// Creates the limits of open streams.
pub(super) fn streams() -> Shares {
    Shares::new(MAX_STREAMS, MAX_STREAMS_PER_USER)
}

/// A subscription of a client (`subscriptions/listen`).
pub(super) struct Subscription {
    /// Id of its request, which is in every message.
    pub(super) id: RequestId,
    /// What the client wants to hear of.
    pub(super) accepted: SubscriptionFilter,
    pub(super) server: Implementation,
}

impl Subscription {
    fn acknowledgement(&self) -> Value {
        notification(
            "notifications/subscriptions/acknowledged",
            &json!({ "_meta": self.meta(), "notifications": self.accepted }),
        )
    }

    /// Notification of a change; `None` if the client does not want to hear of it.
    fn told(&self, change: Change) -> Option<Value> {
        let SubscriptionFilter { tools_list_changed, prompts_list_changed, resources_list_changed, .. } =
            &self.accepted;
        let is_wanted = match change {
            Change::Tools => tools_list_changed,
            Change::Prompts => prompts_list_changed,
            Change::Resources => resources_list_changed,
        };
        is_wanted.and_then(|is_wanted| {
            is_wanted.then(|| notification(change.notification(), &json!({ "_meta": self.meta() })))
        })
    }

    /// Result of the request, at the end of the stream.
    fn end(self) -> Value {
        let mut result = SubscriptionsListenResult::complete(self.id.clone());
        result.meta.set_server_info(self.server);
        json!(JsonRpcResponse { jsonrpc: JsonRpcVersion2_0, id: self.id, result })
    }

    fn meta(&self) -> NotificationMetaObject {
        let mut meta = NotificationMetaObject::new();
        meta.set_subscription_id(self.id.clone());
        meta
    }
}

fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// Returns the stream of notifications: of a subscription, or for a client of the older revisions, which hears of
/// every change.
pub(super) fn event_stream(
    changes: Changes,
    subscription: Option<Subscription>,
    stopping: CancellationToken,
) -> Response {
    let first = stream::iter(subscription.as_ref().map(Subscription::acknowledgement));
    let rest = stream::unfold(Some((changes, subscription)), move |open| {
        let stopping = stopping.clone();
        async move {
            let (mut changes, subscription) = open?;
            let Some(change) = changes.next(&stopping).await else {
                return Some((subscription.map(Subscription::end), None));
            };
            let told = match &subscription {
                Some(subscription) => subscription.told(change),
                None => Some(json!({ "jsonrpc": "2.0", "method": change.notification() })),
            };
            Some((told, Some((changes, subscription))))
        }
    });
    let events = first
        .chain(rest.filter_map(ready))
        .map(|message| Ok::<_, Infallible>(Event::default().event("message").data(message.to_string())));
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response()
}

/// Error for too many open streams.
pub(super) fn too_many(id: Option<&RequestId>) -> TransportError {
    let message =
        format!("{MAX_STREAMS_PER_USER} streams are open already; close one, or poll tools/list instead.");
    TransportError::new(
        StatusCode::TOO_MANY_REQUESTS,
        id.cloned(),
        ErrorData::new(TOO_MANY_STREAMS, message, None),
    )
}
