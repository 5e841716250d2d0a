//! The tool `compare`: the weather of several places.

use std::fmt::Write as _;

use kitbag_toolkit::future::try_join_all;
use kitbag_toolkit::prelude::*;

use crate::api::{ATTRIBUTION, Settings};
use crate::forecast::{self, Forecast};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct CompareArgs {
    /// Names of two to five places.
    #[schemars(length(min = 2, max = 5))]
    places: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Comparison {
    /// In the order of the requested places.
    forecasts: Vec<Forecast>,
}

pub(crate) async fn compare(args: CompareArgs, ctx: Ctx) -> Result<Structured<Comparison>> {
    let settings: Settings = ctx.config_as()?;

    // Requests for all places run concurrently: the call takes as long as the slowest one.
    let forecasts =
        try_join_all(args.places.iter().map(|place| forecast::of_place(&ctx, place, 1, &settings))).await?;

    let degrees = settings.units.temperature();
    let mut text = String::new();
    for Forecast { place, current, days, .. } in &forecasts {
        // Writing to a string cannot fail.
        let _ = write!(text, "{place}: {} {degrees}, {}", current.temperature, current.conditions);
        if let Some(today) = days.first() {
            let _ = write!(text, "; today {} to {} {degrees}", today.low, today.high);
        }
        text.push('\n');
    }
    text += ATTRIBUTION;
    Ok(Structured::new(text, Comparison { forecasts }))
}
