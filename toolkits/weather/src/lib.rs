//! Weather from Open-Meteo, an open API that needs no key: finding places, forecasts, comparisons.

mod api;
mod compare;
mod conditions;
mod forecast;
mod places;

use kitbag_toolkit::prelude::*;

kitbag_toolkit::export!(toolkit);

/// The toolkit's definition.
pub fn toolkit() -> Toolkit {
    Toolkit::new("weather", "Weather")
        .description("Current weather and forecasts for any place on Earth, from Open-Meteo.")
        .icon("🌦️")
        .version(env!("CARGO_PKG_VERSION"))
        .visibility(Visibility::Shared)
        .egress(api::FORECAST_HOST)
        .egress(api::GEOCODING_HOST)
        .config(
            "units",
            Setting::select("Units", ["metric", "imperial"])
                .description("metric: °C, km/h, mm. imperial: °F, mph, inch.")
                .default("metric"),
        )
        .config(
            "language",
            Setting::string("Language of place names")
                .description("A two-letter code such as en, de or fr.")
                .default("en"),
        )
        .tool(
            Tool::new("forecast", forecast::forecast)
                .title("Weather forecast")
                .description(
                    "Returns the current weather and the forecast of the next days for a place, given by name. \
                     The user's own units apply.",
                )
                .always_on()
                .open_world_hint(true),
        )
        .tool(
            Tool::new("compare", compare::compare)
                .title("Compare the weather")
                .description("Compares the current weather and today's range of two to five places.")
                .open_world_hint(true),
        )
        .tool(
            Tool::new("find_place", places::find_place)
                .title("Find a place")
                .description(
                    "Finds places by name, with country, coordinates and time zone. Use it when a name is ambiguous.",
                )
                .open_world_hint(true),
        )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_declaration_keeps_every_rule() {
        super::toolkit().check().expect("the declaration is valid");
    }
}
