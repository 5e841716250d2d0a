//! Statistics of all toolkits over 1 or 30 days. Operators only.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use kitbag_access::values::invocations::Period;
use kitbag_access::{Operator, Overview};
use serde::Deserialize;

use super::error::WebError;
use super::logs::bad_query;
use crate::authenticate::By;
use crate::json::Json;

/// Query string of `GET /overview`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    #[serde(default = "one")]
    days: u32,
}

fn one() -> u32 {
    1
}

/// `GET /overview?days=…`: statistics of 1 or 30 days.
pub(super) async fn show(
    By(operator): By<Operator>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Json<Overview>, WebError> {
    let Query(Parameters { days }) = parameters.map_err(|rejection| bad_query(rejection.body_text()))?;
    Ok(Json(operator.overview(period(days)?).await?))
}

/// Period of this number of days; 400 unless it is 1 or 30.
pub(super) fn period(days: u32) -> Result<Period, WebError> {
    Period::of_days(days).ok_or_else(|| bad_query("days must be 1 or 30."))
}
