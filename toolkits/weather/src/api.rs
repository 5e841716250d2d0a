//! The API of Open-Meteo: hosts, errors, and query parameters for the user's settings.

use kitbag_toolkit::http::response::Parts;
use kitbag_toolkit::prelude::*;
use kitbag_toolkit::serde_json;
use serde::de::DeserializeOwned;

pub(crate) const FORECAST_HOST: &str = "api.open-meteo.com";
pub(crate) const GEOCODING_HOST: &str = "geocoding-api.open-meteo.com";

/// Attribution, which the licence of the data (CC BY 4.0) requires.
pub(crate) const ATTRIBUTION: &str = "Weather data by Open-Meteo.com";

/// The user's settings; each has a default.
#[derive(Deserialize)]
pub(crate) struct Settings {
    pub(crate) units: Units,
    pub(crate) language: String,
}

/// A system of units.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Units {
    Metric,
    Imperial,
}

impl Units {
    pub(crate) fn temperature(self) -> &'static str {
        match self {
            Self::Metric => "°C",
            Self::Imperial => "°F",
        }
    }

    pub(crate) fn speed(self) -> &'static str {
        match self {
            Self::Metric => "km/h",
            Self::Imperial => "mph",
        }
    }

    pub(crate) fn length(self) -> &'static str {
        match self {
            Self::Metric => "mm",
            Self::Imperial => "inch",
        }
    }

    /// Adds the query parameters for these units; metric units are the API's default.
    pub(crate) fn apply_to(self, request: Request) -> Request {
        match self {
            Self::Metric => request,
            Self::Imperial => request
                .query("temperature_unit", "fahrenheit")
                .query("wind_speed_unit", "mph")
                .query("precipitation_unit", "inch"),
        }
    }
}

/// Calls the API. If the API explains an error, the message contains its explanation.
pub(crate) async fn get<T: DeserializeOwned>(ctx: &Ctx, request: Request) -> Result<T, ToolError> {
    ctx.fetch_json_with(request, error_of_response).await
}

fn error_of_response(head: &Parts, body: &str) -> Option<ToolError> {
    #[derive(Deserialize)]
    struct Explanation {
        reason: String,
    }

    if head.status != 400 {
        return None;
    }
    let Explanation { reason } = serde_json::from_str(body).ok()?;
    Some(ToolError::new(format!("Open-Meteo refused the request: {reason}")))
}
