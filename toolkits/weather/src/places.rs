//! The tool `find_place`: finds places by name.

use std::fmt;

use kitbag_toolkit::prelude::*;

use crate::api::{self, GEOCODING_HOST, Settings};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct PlaceArgs {
    /// Name of the place, or a postal code.
    #[schemars(length(min = 2))]
    name: String,
    /// Maximum number of places.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    limit: u8,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Places {
    /// Best match first.
    places: Vec<Place>,
}

/// A place on Earth.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Place {
    name: String,
    /// State or province.
    #[serde(rename(deserialize = "admin1"))]
    region: Option<String>,
    country: Option<String>,
    /// Degrees north.
    pub(crate) latitude: f64,
    /// Degrees east.
    pub(crate) longitude: f64,
    /// IANA time zone.
    timezone: Option<String>,
    population: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        for part in [&self.region, &self.country].into_iter().flatten().filter(|part| **part != self.name) {
            write!(out, ", {part}")?;
        }
        write!(out, " ({:.2}, {:.2})", self.latitude, self.longitude)
    }
}

pub(crate) async fn find_place(args: PlaceArgs, ctx: Ctx) -> Result<Structured<Places>> {
    let settings: Settings = ctx.config_as()?;

    let places = search(&ctx, &args.name, args.limit, &settings).await?;

    let lines: Vec<_> = places.iter().map(ToString::to_string).collect();
    Ok(Structured::new(lines.join("\n"), Places { places }))
}

/// Returns the place that people most likely mean by a name.
pub(crate) async fn locate(ctx: &Ctx, name: &str, settings: &Settings) -> Result<Place, ToolError> {
    let mut places = search(ctx, name, 1, settings).await?;
    Ok(places.swap_remove(0))
}

/// Searches places by name. Invariant: the result is never empty; if no place is found, it is an error.
async fn search(ctx: &Ctx, name: &str, limit: u8, settings: &Settings) -> Result<Vec<Place>, ToolError> {
    #[derive(Deserialize)]
    struct Found {
        // The API omits the field if it finds nothing.
        #[serde(default)]
        results: Vec<Place>,
    }

    let request = Request::get(format!("https://{GEOCODING_HOST}/v1/search"))
        .query("name", name)
        .query("count", limit)
        .query("language", &settings.language)
        .query("format", "json");
    let Found { results } = api::get(ctx, request).await?;

    if results.is_empty() {
        let message =
            format!("There is no place called {name:?}. Check the spelling, or name a larger place nearby.");
        return Err(ToolError::new(message));
    }
    Ok(results)
}

fn five() -> u8 {
    5
}
