//! Call records of a toolkit as newline-delimited JSON, with optional streaming of new records; call counts,
//! and failing toolkits.

pub(super) mod parameters;
pub(super) mod tail;

use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use kitbag_access::values::invocations::{Failing, OutcomeFilter, Usage};
use kitbag_access::{Operator, ReadingMode, User};

use super::error::WebError;
use super::state::Shared;
use crate::authenticate::By;
use crate::json::Json;
use crate::share::RequestShare;
use parameters::Parameters;
use tail::{CallLines, Tail, json_lines};

/// Maximum duration of a stream. Its client then reconnects, and its token is verified again.
pub(super) const MAX_STREAM_TIME: Duration = Duration::from_hours(1);

/// `GET /toolkits/{id}/logs?since=…&until=…&after=…&before=…&limit=…&tool=…&outcome=…&follow=true`: oldest first.
pub(super) async fn read(
    State(shared): State<Shared>,
    By(user): By<User>,
    share: RequestShare,
    Path(id): Path<String>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Tail<CallLines>, WebError> {
    let records = user.records(&id).await?;
    let Query(parameters) = parameters.map_err(|rejection| bad_query(rejection.body_text()))?;
    let mode = if parameters.follow { ReadingMode::Follow } else { ReadingMode::Once };
    let reader = records.read(parameters.range()?, mode).await?;
    let stopping = shared.stopping;
    let lines = CallLines { reader, share, encode: |page, max_bytes| json_lines(page, max_bytes) };
    Ok(Tail { lines, mode, stopping, max_time: MAX_STREAM_TIME })
}

/// `GET /toolkits/{id}/usage`: calls and failures of each hour of the last day.
pub(super) async fn usage(By(user): By<User>, Path(id): Path<String>) -> Result<Json<Usage>, WebError> {
    Ok(Json(user.records(&id).await?.usage().await?))
}

/// `GET /failures`, for operators: toolkits with failed calls in the last day, at most twenty.
pub(super) async fn failures(By(operator): By<Operator>) -> Result<Json<Vec<Failing>>, WebError> {
    Ok(Json(operator.failing().await?))
}

/// 400 for an invalid query.
pub(super) fn bad_query(detail: impl Into<String>) -> WebError {
    WebError::new(StatusCode::BAD_REQUEST, detail)
}

/// Parses the outcome filter of a query.
pub(super) fn outcome(text: &str) -> Result<OutcomeFilter, WebError> {
    text.parse().map_err(|unknown| bad_query(format!("{unknown}.")))
}
