//! The audit log as newline-delimited JSON, with optional streaming of new entries, and its verification.
//! Operators only.

use std::io;

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use kitbag_access::values::audit::{AuditFilter, AuditQuery, Verification};
use kitbag_access::{AccessError, AuditReader, Operator, ReadingMode};
use serde::Deserialize;
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

/// Line source that reads the audit log.
pub(super) struct AuditLines(AuditReader, RequestShare);

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

/// `GET /audit/verification`: verifies the whole log. Returns what is wrong, and the ends of all chains.
pub(super) async fn verify(By(operator): By<Operator>) -> Result<Json<Verification>, WebError> {
    Ok(Json(operator.verify_audit().await?))
}

impl Parameters {
    /// Defaults to the last 100 entries without `since` and `limit`.
    fn query(self) -> Result<AuditQuery, WebError> {
        if self.limit.is_some_and(|limit| limit > MAX_LIMIT) {
            return Err(bad_query(format!("limit must be at most {MAX_LIMIT}.")));
        }
        if self.follow && (self.before.is_some() || self.until.is_some()) {
            return Err(bad_query(
                "before and until cannot be combined with follow: new entries come after.",
            ));
        }
        let [since, until] = [("since", &self.since), ("until", &self.until)]
            .map(|(name, text)| point_in_time(name, text.as_deref()));
        let since = since?;
        Ok(AuditQuery {
            last: self.limit.or(since.is_none().then_some(DEFAULT_LIMIT)),
            filter: AuditFilter {
                since,
                until: until?,
                act: self.act,
                user: self.user,
                toolkit: self.toolkit,
            },
            before: self.before,
            follows: self.follow,
        })
    }
}

impl Lines for AuditLines {
    async fn next_lines(&mut self) -> io::Result<Bytes> {
        match self.0.next_page().await {
            Ok(page) => Ok(encoded(&self.1, page, |page, max_bytes| json_lines(page, max_bytes)).await),
            // The list of operators changed meanwhile.
            Err(refused @ AccessError::NotOperator(_)) => Err(io::Error::other(refused)),
            Err(cause) => {
                error!(%cause, "the audit log cannot be read");
                Err(io::Error::other(cause))
            }
        }
    }

    async fn more(&mut self) -> Option<()> {
        self.0.more().await;
        Some(())
    }
}
