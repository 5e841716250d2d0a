//! Records of a toolkit's calls, as newline-delimited JSON; followed, for as long as somebody listens.

mod parameters;

use std::io;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use kitbag_manifest::Visibility;
use tokio::time::{Instant, sleep_until};
use tracing::error;

use super::Shared;
use super::error::WebError;
use super::toolkits::is_operator;
use crate::identity::Caller;
use crate::invocations::{Logged, Reading, Scope};
use crate::shares::Share;
use crate::toolkits::ToolkitError;
use parameters::Parameters;

/// How long a stream is silent before it shows with an empty line that it is still there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long a stream lasts: then its client comes again, with a token that is checked again.
const LONGEST: Duration = Duration::from_hours(1);

/// `GET /toolkits/{id}/logs?since=…&after=…&limit=…&follow=true`: oldest first.
pub(super) async fn read(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, WebError> {
    let invocations = shared.invocations.clone();
    let user = &caller.user_id;
    let scope = match scope(&shared, &caller, &id) {
        Some(scope) => scope,
        // The calls that somebody made stay theirs when the toolkit is no longer for them.
        None if invocations.has_records_of(&id, user).await.map_err(|cause| WebError::storage(&cause))? => {
            Scope::Own
        }
        None => return Err(ToolkitError::Unknown(id).into()),
    };
    let Query(parameters) =
        parameters.map_err(|rejection| WebError::new(StatusCode::BAD_REQUEST, rejection.body_text()))?;
    let follows = parameters.follow;
    let query = parameters.query(&id, user)?;

    let place = if follows { invocations.follow_place(user) } else { invocations.read_place(user) };
    let too_many = || WebError::new(StatusCode::TOO_MANY_REQUESTS, "Too many logs are being read.");
    let place = place.ok_or_else(too_many)?;
    let reading = invocations.read(query, scope).await.map_err(|cause| WebError::storage(&cause))?;
    let until = if follows { i64::MAX } else { reading.newest() };
    let now = Instant::now();
    let (ends, heard) = (now + LONGEST, now);
    let tail = Tail { reading, until, follows, _place: place, shared, caller, id, ends, heard };
    let body = Body::from_stream(stream::unfold(Some(tail), |tail| async { tail?.next().await }));
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}

/// What `caller` sees of a toolkit's records; nothing where the toolkit does not exist for them.
fn scope(shared: &Shared, caller: &Caller, id: &str) -> Option<Scope> {
    let registry = shared.toolkits.registry();
    let toolkit = registry.get(id)?;
    let is_private = toolkit.definition.visibility == Visibility::Private;
    if is_operator(shared, caller) || (is_private && toolkit.owner == caller.user_id) {
        Some(Scope::All)
    } else {
        toolkit.is_visible_to(&caller.user_id).then_some(Scope::Own)
    }
}

/// The rest of one answer.
struct Tail {
    reading: Reading,
    /// The last record that may be read.
    until: i64,
    /// Whether it goes on when all was read.
    follows: bool,
    /// Held until the answer is gone.
    _place: Share,
    shared: Shared,
    caller: Caller,
    id: String,
    ends: Instant,
    /// When something was last sent.
    heard: Instant,
}

impl Tail {
    /// The next piece of the body. A failure ends it, and cuts the connection: a log that is not whole
    /// must not look as if it were.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Option<Self>)> {
        loop {
            // Who follows can come again; what was asked for once is answered to its end.
            if self.follows && (self.shared.stopping.is_cancelled() || self.ends <= Instant::now()) {
                return None;
            }
            // Asked each time: whoever may no longer see the toolkit's calls stops seeing them. With the
            // toolkit its records are gone.
            if self.shared.toolkits.registry().get(&self.id).is_none() {
                return Some((Err(io::Error::other("the toolkit was removed")), None));
            }
            let scope = scope(&self.shared, &self.caller, &self.id).unwrap_or(Scope::Own);
            let page = self.reading.next_page(scope, self.until).await.map_err(io::Error::other);
            match page.and_then(|page| lines(&page)) {
                Err(cause) => {
                    error!(%cause, "records of calls cannot be read");
                    return Some((Err(cause), None));
                }
                Ok(lines) if !lines.is_empty() => return Some((Ok(lines), Some(self.was_heard()))),
                Ok(_) => {}
            }
            if !self.follows {
                return None;
            }
            tokio::select! {
                () = self.shared.stopping.cancelled() => return None,
                () = sleep_until(self.ends) => return None,
                () = sleep_until(self.heard + HEARTBEAT) => {
                    return Some((Ok(Bytes::from_static(b"\n")), Some(self.was_heard())));
                }
                // Without a writer there is nothing more to come.
                more = self.reading.more() => more.ok()?,
            }
        }
    }

    fn was_heard(self) -> Self {
        Self { heard: Instant::now(), ..self }
    }
}

fn lines(page: &[Logged]) -> io::Result<Bytes> {
    let mut text = Vec::new();
    for record in page {
        serde_json::to_writer(&mut text, record)?;
        text.push(b'\n');
    }
    Ok(text.into())
}
