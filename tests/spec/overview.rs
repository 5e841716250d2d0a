//! Overview for operators: usage figures of all toolkits, as a page, over REST and as a command.

use serde_json::{Value, json};

use crate::cli_output::assert_json;
use crate::harness::{User, Visitor, guests, kitbag as command, run};
use crate::ui_review::server;

async fn overview(operator: &User, days: u32) -> Value {
    operator.get(&format!("/overview?days={days}")).await.assert_status(200).json()
}

/// Returns the figures of a toolkit.
fn of<'v>(overview: &'v Value, toolkit: &str) -> &'v Value {
    let toolkits = overview["toolkits"].as_array().expect("a list");
    toolkits.iter().find(|it| it["toolkit"] == toolkit).unwrap_or_else(|| panic!("no {toolkit}: {overview}"))
}

#[track_caller]
fn assert_figures(figures: &Value, calls: u64, failures: u64, refused: u64) {
    let found = ["calls", "failures", "refused"].map(|name| figures[name].as_u64().expect("a number"));
    assert_eq!(found, [calls, failures, refused], "{figures}");
}

#[tokio::test]
async fn real_calls_are_counted_by_toolkit_with_their_failures_refusals_and_users() {
    let kitbag = server().await;
    let [ana, ben, una] = ["ana", "ben", "una"].map(|name| kitbag.as_user(name));
    for guest in [guests::HOSTILE, guests::TEXT, guests::HINTS] {
        ana.deploy(guest.bytes()).await.assert_status(201);
    }
    una.call("text__count", json!({ "text": "a b" })).await.result();
    una.call("text__count", json!({ "text": 7 })).await;
    ben.call("text__count", json!({ "text": "a b" })).await.result();
    una.call("hostile__trap", json!({})).await.assert_generic_failure();
    una.call("search", json!({ "query": "prices" })).await.result();

    for days in [1, 30] {
        let overview = overview(&ana, days).await;

        assert_figures(&overview, 5, 2, 1);
        assert_eq!((&overview["days"], &overview["users"]), (&json!(days), &json!(2)));
        let intervals = overview["intervals"].as_array().expect("a list");
        assert_eq!(intervals.len(), if days == 1 { 24 } else { 30 });
        assert_eq!(intervals[0]["from"], overview["from"]);
        // The calls may be in two intervals if the hour changed between them.
        let counted: u64 = intervals.iter().filter_map(|it| it["calls"].as_u64()).sum();
        assert_eq!(counted, 5, "{overview}");
        assert_figures(of(&overview, "text"), 3, 1, 1);
        assert_eq!(of(&overview, "text")["users"], 2);
        assert_eq!(of(&overview, "text")["componentBytes"], json!(guests::TEXT.bytes().len()));
        assert_figures(of(&overview, "hostile"), 1, 1, 0);
        assert_figures(of(&overview, "knowledge"), 1, 0, 0);
        assert_figures(of(&overview, "hints"), 0, 0, 0);
        assert_eq!(of(&overview, "hints")["p95"], Value::Null);
        // For few calls, the percentile is as coarse as the durations in call records of others.
        let p95 = of(&overview, "text")["p95"]["atMostMs"].as_u64().expect("a bound");
        assert!([100, 1_000, 10_000].contains(&p95), "{overview}");
        assert_eq!(overview["toolkits"][0]["toolkit"], "text", "the most calls come first");
    }

    ana.delete("/toolkits/text").await.assert_status(204);
    assert_figures(&overview(&ana, 30).await, 2, 1, 0);
}

#[tokio::test]
async fn the_page_has_charts_and_the_same_figures() {
    let kitbag = server().await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    ana.get("/ui/operate/overview").await.assert_status(200).assert_says("No call in the last 24 hours.");
    kitbag.as_user("ana").deploy(guests::HOSTILE.bytes()).await.assert_status(201);
    let una = kitbag.as_user("una");
    una.call("hostile__log_ok", json!({})).await.text();
    una.call("hostile__trap", json!({})).await.assert_generic_failure();

    for path in ["/ui/operate/overview", "/ui/operate/overview?days=30"] {
        let page = ana.get(path).await.assert_status(200);

        page.assert_says("<dt>Calls</dt><dd>2</dd>");
        page.assert_says(
            "<dt>Failed</dt><dd class=\"bad\">1</dd><dd class=\"meta\">50.0 % of the calls</dd>",
        );
        page.assert_says("aria-label=\"1 failed calls of hostile\">1</a>");
        page.assert_says("<svg ");
        assert!(!page.text().contains("una"), "no user is named");
    }
    ana.get("/ui/operate").await.assert_says("href=\"/ui/operate/overview\"");
    for wrong in ["days=7", "days=x", "page=-1"] {
        ana.get(&format!("/ui/operate/overview?{wrong}")).await.assert_status(400);
    }
    for wrong in ["days=7", "days=", "day=1"] {
        kitbag.as_user("ana").get(&format!("/overview?{wrong}")).await.assert_status(400);
    }
}

#[tokio::test]
async fn the_overview_is_for_operators_by_page_route_and_command() {
    let kitbag = server().await;
    let [ana, una] = ["ana", "una"].map(|name| kitbag.as_user(name));

    una.get("/overview").await.assert_problem(403, "Only operators");
    kitbag.anonymous().get("/overview").await.assert_status(401);
    Visitor::sign_in(&kitbag, "una").await.get("/ui/operate/overview").await.assert_status(403);
    let ask = async |user: &User, arguments: &[&str]| {
        let mut asking = command(["overview"].iter().chain(arguments));
        asking.args(["--server", kitbag.base_url().as_str()]).env("KITBAG_TOKEN", user.token());
        run(asking).await
    };
    let refused = ask(&una, &[]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("Only operators"), "{refused:?}");

    let wanted = ask(&ana, &["--days", "30", "-o", "json"]).await;
    let document = assert_json("overview", &wanted).expect("a document");
    assert_eq!(document, overview(&ana, 30).await);
    let said = ask(&ana, &[]).await.succeeded();
    assert!(said.contains("0 calls") && said.contains("knowledge"), "{said}");
    assert_eq!(ask(&ana, &["--days", "7"]).await.code, Some(2));

    let log = ana.get("/audit?act=operator.refused").await.json_lines();
    let what: Vec<_> = log.iter().map(|entry| &entry["name"]).collect();
    assert_eq!(what, ["GET /overview", "GET /ui/operate/overview"]);
}
