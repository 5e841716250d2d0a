//! The tool `forecast`: the weather of one place, now and on the next days.

use std::fmt::Write as _;

use kitbag_toolkit::prelude::*;

use crate::api::{self, ATTRIBUTION, FORECAST_HOST, Settings, Units};
use crate::conditions;
use crate::places::{self, Place};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ForecastArgs {
    /// Name of the place only, with nothing added. If it is ambiguous, the largest place is used.
    #[schemars(length(min = 2))]
    place: String,
    /// Number of days, including today.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 16))]
    days: u8,
}

/// The weather of one place.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Forecast {
    pub(crate) place: Place,
    /// metric: °C, km/h, mm. imperial: °F, mph, inch.
    units: Units,
    pub(crate) current: Current,
    /// Today and the next days, in the place's local time.
    pub(crate) days: Vec<Day>,
}

/// The weather now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Current {
    /// Local time, ISO 8601.
    time: String,
    pub(crate) temperature: f64,
    feels_like: f64,
    /// Relative humidity in percent.
    humidity: f64,
    wind_speed: f64,
    pub(crate) conditions: &'static str,
}

/// The weather of one day.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Day {
    /// Local date, ISO 8601.
    date: String,
    pub(crate) low: f64,
    pub(crate) high: f64,
    precipitation: f64,
    /// In percent; not available for the last days of a long forecast.
    precipitation_probability: Option<f64>,
    conditions: &'static str,
}

pub(crate) async fn forecast(args: ForecastArgs, ctx: Ctx) -> Result<Structured<Forecast>> {
    let settings: Settings = ctx.config_as()?;

    let forecast = of_place(&ctx, &args.place, args.days, &settings).await?;

    Ok(Structured::new(describe(&forecast), forecast))
}

/// Finds a place and requests its weather.
pub(crate) async fn of_place(
    ctx: &Ctx,
    name: &str,
    days: u8,
    settings: &Settings,
) -> Result<Forecast, ToolError> {
    let place = places::locate(ctx, name, settings).await?;
    let request = Request::get(format!("https://{FORECAST_HOST}/v1/forecast"))
        .query("latitude", place.latitude)
        .query("longitude", place.longitude)
        .query("current", "temperature_2m,apparent_temperature,relative_humidity_2m,wind_speed_10m,weather_code")
        .query(
            "daily",
            "temperature_2m_min,temperature_2m_max,precipitation_sum,precipitation_probability_max,weather_code",
        )
        .query("timezone", "auto")
        .query("forecast_days", days);
    let response: ForecastResponse = api::get(ctx, settings.units.apply_to(request)).await?;

    let ForecastResponse { current: now, daily } = response;
    Ok(Forecast {
        place,
        units: settings.units,
        current: Current {
            time: now.time,
            temperature: now.temperature_2m,
            feels_like: now.apparent_temperature,
            humidity: now.relative_humidity_2m,
            wind_speed: now.wind_speed_10m,
            conditions: conditions::name(now.weather_code),
        },
        days: daily.into_days(),
    })
}

/// The API's response, with its own field names.
#[derive(Deserialize)]
struct ForecastResponse {
    current: CurrentResponse,
    daily: DailyResponse,
}

#[derive(Deserialize)]
struct CurrentResponse {
    time: String,
    temperature_2m: f64,
    apparent_temperature: f64,
    relative_humidity_2m: f64,
    wind_speed_10m: f64,
    weather_code: u8,
}

/// One list per variable, all of the same length; a value that the forecast model lacks is null.
#[derive(Deserialize)]
struct DailyResponse {
    time: Vec<String>,
    temperature_2m_min: Vec<Option<f64>>,
    temperature_2m_max: Vec<Option<f64>>,
    precipitation_sum: Vec<Option<f64>>,
    precipitation_probability_max: Vec<Option<f64>>,
    weather_code: Vec<Option<u8>>,
}

impl DailyResponse {
    /// Converts to days; leaves out days without temperatures, which occur at the end of a long forecast.
    fn into_days(self) -> Vec<Day> {
        let at = |list: &[Option<f64>], index: usize| list.get(index).copied().flatten();
        let days = self.time.into_iter().enumerate().filter_map(|(index, date)| {
            Some(Day {
                date,
                low: at(&self.temperature_2m_min, index)?,
                high: at(&self.temperature_2m_max, index)?,
                precipitation: at(&self.precipitation_sum, index).unwrap_or_default(),
                precipitation_probability: at(&self.precipitation_probability_max, index),
                conditions: conditions::name(
                    self.weather_code.get(index).copied().flatten().unwrap_or(u8::MAX),
                ),
            })
        });
        days.collect()
    }
}

fn describe(forecast: &Forecast) -> String {
    let Forecast { place, units, current, days } = forecast;
    let (degrees, speed, length) = (units.temperature(), units.speed(), units.length());

    let mut text = format!(
        "{place}\nNow: {} {degrees} (feels like {} {degrees}), {}, wind {} {speed}, humidity {} %\n",
        current.temperature, current.feels_like, current.conditions, current.wind_speed, current.humidity
    );
    for day in days {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{}: {} to {} {degrees}, {}, {} {length} precipitation",
            day.date, day.low, day.high, day.conditions, day.precipitation
        );
        if let Some(probability) = day.precipitation_probability {
            let _ = write!(text, " ({probability} %)");
        }
        text.push('\n');
    }
    text + ATTRIBUTION
}

fn three() -> u8 {
    3
}
