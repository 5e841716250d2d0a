//! The audit log and its entries of calls as newline-delimited JSON, with optional streaming of new entries, and its
//! verification.
//! Operators only.

use std::io;

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use jiff::Timestamp;
use kitbag_access::values::audit::{AuditFilter, AuditQuery, CallFilter, CallQuery, Verification};
use kitbag_access::{AccessError, AuditReader, CallReader, Operator, ReadingMode};
use serde::{Deserialize, Serialize};
use tracing::error;

use super::error::WebError;
use super::logs::parameters::{DEFAULT_LIMIT, MAX_LIMIT, point_in_time};
use super::logs::tail::{Lines, Tail, encoded, json_lines};
use super::logs::{MAX_STREAM_TIME, bad_query};
use super::state::Shared;
use crate::authenticate::By;
use crate::json::Json;
use crate::share::RequestShare;

/// Query string of `GET /audit`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// A time (RFC 3339) or a duration before now.
    since: Option<String>,
    until: Option<String>,
    /// An audited action (`act`), or the part of its name before the dot.
    act: Option<String>,
    /// User who acted or who was affected.
    user: Option<String>,
    toolkit: Option<String>,
    /// Entry id; only entries before it.
    before: Option<i64>,
    /// Maximum number of entries; the newest ones are returned.
    limit: Option<u32>,
    #[serde(default)]
    follow: bool,
}

/// Query string of `GET /audit/calls`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallParameters {
    /// A time (RFC 3339) or a duration before now: only calls that began since.
    since: Option<String>,
    until: Option<String>,
    /// The calling user.
    user: Option<String>,
    toolkit: Option<String>,
    /// Name of an outcome.
    outcome: Option<String>,
    /// Sequence number; only entries after it.
    after: Option<i64>,
    /// Sequence number; only entries before it.
    before: Option<i64>,
    /// Maximum number of entries; the newest ones are returned.
    limit: Option<u32>,
    #[serde(default)]
    follow: bool,
}

/// Times of a query.
struct Period {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// Other limits of a query.
struct Limits {
    before: Option<i64>,
    limit: Option<u32>,
    follow: bool,
}

/// Line source that reads the audit log.
pub(super) struct AuditLines(AuditReader, RequestShare);

/// Line source that reads entries of calls.
pub(super) struct CallLines(CallReader, RequestShare);

/// `GET /audit?since=…&until=…&act=…&user=…&toolkit=…&before=…&limit=…&follow=true`: oldest first.
pub(super) async fn read(
    State(shared): State<Shared>,
    By(operator): By<Operator>,
    share: RequestShare,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Tail<AuditLines>, WebError> {
    let Query(parameters) = parameters.map_err(|rejection| bad_query(rejection.body_text()))?;
    let query = parameters.query()?;
    let mode = if query.follows { ReadingMode::Follow } else { ReadingMode::Once };
    let lines = AuditLines(operator.audit(query).await?, share);
    Ok(Tail { lines, mode, stopping: shared.stopping, max_time: MAX_STREAM_TIME })
}

/// `GET /audit/calls?since=…&until=…&user=…&toolkit=…&outcome=…&after=…&before=…&limit=…&follow=true`: oldest first.
pub(super) async fn read_calls(
    State(shared): State<Shared>,
    By(operator): By<Operator>,
    share: RequestShare,
    parameters: Result<Query<CallParameters>, QueryRejection>,
) -> Result<Tail<CallLines>, WebError> {
    let Query(parameters) = parameters.map_err(|rejection| bad_query(rejection.body_text()))?;
    let query = parameters.query()?;
    let mode = if query.follows { ReadingMode::Follow } else { ReadingMode::Once };
    let lines = CallLines(operator.calls(query).await?, share);
    Ok(Tail { lines, mode, stopping: shared.stopping, max_time: MAX_STREAM_TIME })
}

/// `GET /audit/verification`: verifies the whole log. Returns what is wrong, and the ends of all chains.
pub(super) async fn verify(By(operator): By<Operator>) -> Result<Json<Verification>, WebError> {
    Ok(Json(operator.verify_audit().await?))
}

impl Parameters {
    /// Defaults to the last 100 entries without `since` and `limit`.
    fn query(self) -> Result<AuditQuery, WebError> {
        let limits = Limits { before: self.before, limit: self.limit, follow: self.follow };
        let Period { since, until } = limits.period(self.since.as_deref(), self.until.as_deref())?;
        Ok(AuditQuery {
            last: self.limit.or(since.is_none().then_some(DEFAULT_LIMIT)),
            filter: AuditFilter { since, until, act: self.act, user: self.user, toolkit: self.toolkit },
            before: self.before,
            follows: self.follow,
        })
    }
}

impl CallParameters {
    /// Defaults to the last 100 entries without `since`, `after` and `limit`.
    fn query(self) -> Result<CallQuery, WebError> {
        let limits = Limits { before: self.before, limit: self.limit, follow: self.follow };
        let Period { since, until } = limits.period(self.since.as_deref(), self.until.as_deref())?;
        let is_bounded_otherwise = since.is_some() || self.after.is_some();
        let Self { user, toolkit, outcome, .. } = self;
        Ok(CallQuery {
            last: self.limit.or((!is_bounded_otherwise).then_some(DEFAULT_LIMIT)),
            filter: CallFilter { since, until, user, toolkit, outcome },
            after: self.after.unwrap_or_default(),
            before: self.before,
            follows: self.follow,
        })
    }
}

impl Limits {
    /// Checks the limits, and parses the times.
    fn period(&self, since: Option<&str>, until: Option<&str>) -> Result<Period, WebError> {
        if self.limit.is_some_and(|limit| limit > MAX_LIMIT) {
            return Err(bad_query(format!("limit must be at most {MAX_LIMIT}.")));
        }
        if self.follow && (self.before.is_some() || until.is_some()) {
            return Err(bad_query(
                "before and until cannot be combined with follow: new entries come after.",
            ));
        }
        Ok(Period { since: point_in_time("since", since)?, until: point_in_time("until", until)? })
    }
}

/// Encodes a page of entries.
async fn lines_of<T: Serialize + Send + 'static>(
    share: &RequestShare,
    page: Result<Vec<T>, AccessError>,
) -> io::Result<Bytes> {
    match page {
        Ok(page) => Ok(encoded(share, page, |page, max_bytes| json_lines(page, max_bytes)).await),
        // The list of operators changed meanwhile.
        Err(refused @ AccessError::NotOperator(_)) => Err(io::Error::other(refused)),
        Err(cause) => {
            error!(%cause, "the audit log cannot be read");
            Err(io::Error::other(cause))
        }
    }
}

impl Lines for CallLines {
    async fn next_lines(&mut self) -> io::Result<Bytes> {
        lines_of(&self.1, self.0.next_page().await).await
    }

    async fn more(&mut self) -> Option<()> {
        self.0.more().await;
        Some(())
    }
}

impl Lines for AuditLines {
    async fn next_lines(&mut self) -> io::Result<Bytes> {
        lines_of(&self.1, self.0.next_page().await).await
    }

    async fn more(&mut self) -> Option<()> {
        self.0.more().await;
        Some(())
    }
}
