//! Figures of all toolkits over a day or thirty days. For operators.

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use kitbag_access::values::invocations::Period;
use kitbag_access::{Operator, Overview};
use serde::Deserialize;

use super::error::WebError;
use super::logs::bad_query;
use crate::authenticate::By;

/// The query string.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    #[serde(default = "one")]
    days: u32,
}

fn one() -> u32 {
    1
}

/// `GET /overview?days=…`: of 1 day, or of 30.
pub(super) async fn show(
    By(operator): By<Operator>,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Json<Overview>, WebError> {
    let Query(Parameters { days }) = parameters.map_err(|rejection| bad_query(rejection.body_text()))?;
    Ok(Json(operator.overview(period(days)?).await?))
}

/// The period of so many days.
pub(super) fn period(days: u32) -> Result<Period, WebError> {
    Period::of_days(days).ok_or_else(|| bad_query("days must be 1 or 30."))
}
