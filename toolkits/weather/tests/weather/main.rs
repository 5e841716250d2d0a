//! Tests the toolkit with a server on loopback that imitates Open-Meteo. Requests use a real connection, so
//! that the server receives what the API would receive.

mod upstream;

use kitbag_toolkit::prelude::*;
use toolkit_weather::toolkit;
use upstream::Upstream;

fn berlin() -> Value {
    json!({
        "name": "Berlin", "admin1": "Land Berlin", "country": "Germany", "latitude": 52.52437,
        "longitude": 13.41053, "timezone": "Europe/Berlin", "population": 3_426_354, "elevation": 74.0,
    })
}

fn oslo() -> Value {
    json!({ "name": "Oslo", "admin1": "Oslo", "country": "Norway", "latitude": 59.91273, "longitude": 10.74609 })
}

fn weather() -> Value {
    json!({
        "current": {
            "time": "2026-07-01T12:00", "interval": 900, "temperature_2m": 18.4, "apparent_temperature": 17.1,
            "relative_humidity_2m": 61, "wind_speed_10m": 12.5, "weather_code": 61,
        },
        "daily": {
            "time": ["2026-07-01", "2026-07-02", "2026-07-03"],
            "temperature_2m_min": [11.2, 12, null],
            "temperature_2m_max": [19.5, 22.25, null],
            "precipitation_sum": [3.4, 0, null],
            "precipitation_probability_max": [80, null, null],
            "weather_code": [63, 2, null],
        },
    })
}

/// A server that knows two places and one kind of weather.
fn open_meteo() -> Upstream {
    Upstream::start(|request| match request.path() {
        "/v1/search" => match request.query_value("name").as_deref() {
            Some("Berlin") => (200, json!({ "results": [berlin()] })),
            Some("Oslo") => (200, json!({ "results": [oslo()] })),
            _ => (200, json!({ "generationtime_ms": 0.5 })),
        },
        "/v1/forecast" => (200, weather()),
        path => (404, json!({ "error": true, "reason": path })),
    })
}

fn call(tool: &str, arguments: Value) -> Call {
    let upstream = open_meteo();
    Call::new(tool).args(arguments).fetch(move |request| upstream.forward(request))
}

#[test]
fn a_forecast_says_what_the_weather_is_and_will_be() {
    let outcome = dispatch(&toolkit(), call("forecast", json!({ "place": "Berlin" })));

    assert_eq!(
        outcome.text(),
        "Berlin, Land Berlin, Germany (52.52, 13.41)\n\
         Now: 18.4 °C (feels like 17.1 °C), light rain, wind 12.5 km/h, humidity 61 %\n\
         2026-07-01: 11.2 to 19.5 °C, rain, 3.4 mm precipitation (80 %)\n\
         2026-07-02: 12 to 22.25 °C, partly cloudy, 0 mm precipitation\n\
         Weather data by Open-Meteo.com"
    );
    assert_eq!(outcome.structured()["current"]["temperature"], 18.4);
    assert_eq!(outcome.structured()["days"].as_array().map(Vec::len), Some(2));
    let [search, forecast] = outcome.requests() else {
        panic!("one request per step: {:?}", outcome.requests())
    };
    assert_eq!(search.query_value("language").as_deref(), Some("en"));
    assert_eq!(forecast.query_value("latitude").as_deref(), Some("52.52437"));
    assert_eq!(forecast.query_value("forecast_days").as_deref(), Some("3"));
    assert_eq!(forecast.query_value("temperature_unit"), None);
}

#[test]
fn the_users_settings_apply() {
    let call = call("forecast", json!({ "place": "Oslo", "days": 1 }))
        .config("units", "imperial")
        .config("language", "no");

    let outcome = dispatch(&toolkit(), call);

    assert!(outcome.text().starts_with("Oslo, Norway (59.91, 10.75)\nNow: 18.4 °F"), "{}", outcome.text());
    let [search, forecast] = outcome.requests() else {
        panic!("one request per step: {:?}", outcome.requests())
    };
    assert_eq!(search.query_value("language").as_deref(), Some("no"));
    assert_eq!(forecast.query_value("wind_speed_unit").as_deref(), Some("mph"));
}

#[test]
fn places_are_compared_with_their_requests_in_flight_together() {
    let outcome = dispatch(&toolkit(), call("compare", json!({ "places": ["Oslo", "Berlin", "Oslo"] })));

    assert_eq!(
        outcome.text(),
        "Oslo, Norway (59.91, 10.75): 18.4 °C, light rain; today 11.2 to 19.5 °C\n\
         Berlin, Land Berlin, Germany (52.52, 13.41): 18.4 °C, light rain; today 11.2 to 19.5 °C\n\
         Oslo, Norway (59.91, 10.75): 18.4 °C, light rain; today 11.2 to 19.5 °C\n\
         Weather data by Open-Meteo.com"
    );
    assert_eq!(outcome.requests().len(), 6);
    assert_eq!(outcome.most_in_flight(), 3);
}

#[test]
fn a_place_that_nobody_knows_is_an_error_that_the_model_reads() {
    for (tool, arguments) in [
        ("forecast", json!({ "place": "Atlantis" })),
        ("find_place", json!({ "name": "Atlantis" })),
        ("compare", json!({ "places": ["Berlin", "Atlantis"] })),
    ] {
        let outcome = dispatch(&toolkit(), call(tool, arguments));

        assert!(outcome.failure().error.contains("no place called \"Atlantis\""), "{tool}: {outcome:?}");
        assert!(!outcome.failure().retryable);
    }
}

#[test]
fn a_place_is_found_with_its_coordinates() {
    let outcome = dispatch(&toolkit(), call("find_place", json!({ "name": "Berlin", "limit": 3 })));

    assert_eq!(outcome.structured()["places"][0]["region"], "Land Berlin");
    assert_eq!(outcome.requests()[0].query_value("count").as_deref(), Some("3"));
}

#[test]
fn what_the_service_explains_is_passed_on_and_what_it_does_not_keeps_its_class() {
    for (status, body, expected, retryable) in [
        (400, json!({ "error": true, "reason": "Value out of range" }), "Value out of range", false),
        (404, json!({}), "404", false),
        (429, json!({ "error": true, "reason": "Minutely limit exceeded" }), "429", true),
        (503, json!({}), "503", true),
    ] {
        let upstream = Upstream::start(move |_| (status, body.clone()));
        let call = Call::new("forecast").args(json!({ "place": "Berlin" }));

        let outcome = dispatch(&toolkit(), call.fetch(move |request| upstream.forward(request)));

        assert!(outcome.failure().error.contains(expected), "{outcome:?}");
        assert_eq!(outcome.failure().retryable, retryable, "{status}");
    }
}
