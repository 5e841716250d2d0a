//! Toolkits without an SDK: written against the WIT contract alone, built with the tools of their language.

use serde_json::json;

use crate::fetch::loopback_allowed;
use crate::harness::{Guest, Kitbag, Upstream, User, guests, kitbag, run};

async fn deployed(toolkit: Guest) -> (Kitbag, User) {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(toolkit).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

#[tokio::test]
async fn a_toolkit_in_rust_without_an_sdk() {
    let (_kitbag, ana) = deployed(guests::RUST).await;

    let slug = ana.call("slugs__slug", json!({ "title": "Hello, World: 2nd try!" })).await;

    assert_eq!(slug.text(), "hello-world-2nd-try");
}

#[tokio::test]
async fn a_toolkit_in_c_by_zig() {
    let (_kitbag, ana) = deployed(guests::C).await;

    assert_eq!(ana.call("roman__write", json!({ "number": 1999 })).await.text(), "MCMXCIX");
    assert_eq!(ana.call("roman__write", json!({ "number": 3888 })).await.text(), "MMMDCCCLXXXVIII");

    let logged = ana.logged("roman__write").await;
    assert_eq!(logged["entries"], json!([{ "source": "log", "arguments": [3888] }]));
    ana.call("roman__write", json!({ "number": 0 })).await.assert_tool_error("The Romans had no zero.");
    ana.call("roman__write", json!({ "number": 4000 })).await.assert_invalid_params("/number");
}

#[tokio::test]
async fn a_toolkit_in_go_that_requests_pages() {
    let upstream = Upstream::start().await;
    let kitbag = Kitbag::start_with(loopback_allowed).await;
    kitbag.deploy(guests::GO).await;
    let ana = kitbag.as_user("ana");

    assert_eq!(ana.call("words__count", json!({ "text": "to be or not" })).await.text(), "Words: 4");
    assert_eq!(ana.call("words__count_page", json!({ "path": "/hello" })).await.text(), "Words: 1");

    let logged = ana.logged("words__count_page").await;
    assert_eq!(logged["entries"], json!([{ "source": "log", "arguments": ["counting", 5] }]));
    let missing = ana.call("words__count_page", json!({ "path": "/redirect/404" })).await;
    missing.assert_tool_error("There is no page /redirect/404: status 404.");
    ana.call("words__count_page", json!({ "path": "hello" })).await.assert_invalid_params("/path");
    assert_eq!(upstream.requests().len(), 2);
}

#[tokio::test]
async fn a_toolkit_in_javascript_by_jco() {
    let (_kitbag, ana) = deployed(guests::JAVASCRIPT).await;

    assert_eq!(ana.call("morse__encode", json!({ "text": "Sos us" })).await.text(), "... --- ... / ..- ...");

    let logged = ana.logged("morse__encode").await;
    let entry = json!({ "source": "log", "arguments": ["encode", { "length": 6 }] });
    assert_eq!(logged["entries"], json!([entry]));
    ana.call("morse__encode", json!({ "text": "é" })).await.assert_tool_error("There is no code for É.");
    ana.call("morse__encode", json!({ "text": "" })).await.assert_invalid_params("/text");

    let mut check = kitbag(["toolkit", "check"]);
    check.arg(guests::JAVASCRIPT.path());
    let checked = run(check).await.succeeded();
    assert!(checked.contains("\nexported, never used\n  init\n"), "{checked}");
}

#[tokio::test]
async fn a_toolkit_in_python_by_componentize_py() {
    let (_kitbag, ana) = deployed(guests::DATES).await;
    let between = |from: &str, to: &str| json!({ "from": from, "to": to });

    let outcome = ana.call("dates__days_between", between("2024-02-01", "2024-03-01")).await;
    assert_eq!(outcome.structured(), &json!({ "days": 29, "weekdays": 21 }));
    let outcome = ana.call("dates__days_between", between("2024-03-01", "2024-02-01")).await;
    assert_eq!(outcome.structured(), &json!({ "days": -29, "weekdays": -21 }));

    for (arguments, date, weekday) in [
        (json!({ "date": "2024-01-31", "months": 1 }), "2024-02-29", "Thursday"),
        (json!({ "date": "2024-02-29", "years": -1 }), "2023-02-28", "Tuesday"),
        (json!({ "date": "2023-12-31", "weeks": 1, "days": -6 }), "2024-01-01", "Monday"),
    ] {
        let outcome = ana.call("dates__add_to_date", arguments).await;
        assert_eq!(outcome.structured(), &json!({ "date": date, "weekday": weekday }));
    }

    let outcome = ana.call("dates__describe_date", json!({ "date": "2027-01-01" })).await;
    let described = json!({ "weekday": "Friday", "dayOfYear": 1, "isoWeek": "2026-W53", "leapYear": false });
    assert_eq!(outcome.structured(), &described);

    let no_such_day = ana.call("dates__describe_date", json!({ "date": "2026-02-30" })).await;
    no_such_day.assert_invalid_params("day 30 must be in range 1..28");
    let too_late = ana.call("dates__add_to_date", json!({ "date": "9999-12-31", "days": 1 })).await;
    too_late.assert_invalid_params("date value out of range");
}
