//! Log page of a toolkit, and the stream that its script follows.

use serde_json::{Value, json};

use crate::harness::{Kitbag, User, Visitor, guests};

const LOG: &str = "/ui/toolkits/hostile/log";
const LIVE: &str = "/ui/toolkits/hostile/log/live";

async fn hostile() -> (Kitbag, User, Visitor) {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let (ana, browser) = (kitbag.as_user("ana"), Visitor::sign_in(&kitbag, "ana").await);
    (kitbag, ana, browser)
}

async fn page(browser: &Visitor, path: &str) -> String {
    browser.get(path).await.assert_status(200).text().to_owned()
}

/// Returns the ids of the calls on a page, in page order.
fn ids(page: &str) -> Vec<i64> {
    let calls = page.split("<li id=\"call-").skip(1);
    calls.map(|call| call.split('"').next().expect("an id").parse().expect("a number")).collect()
}

/// Returns the path of the link with this text.
fn link(page: &str, text: &str) -> Option<String> {
    let before = page.split(&format!(">{text}</a>")).next().filter(|before| before.len() < page.len())?;
    let path = before.rsplit("href=\"").next()?.split('"').next()?;
    Some(path.replace("&#38;", "&"))
}

async fn recorded(user: &User) -> Vec<i64> {
    let records = user.logs("hostile").await;
    records.iter().map(|record| record["id"].as_i64().expect("an id")).collect()
}

#[tokio::test]
async fn a_log_is_read_backwards_and_forwards_newest_first() {
    let (_kitbag, ana, browser) = hostile().await;
    assert!(page(&browser, LOG).await.contains("No calls yet"));
    for _ in 0..60 {
        ana.call("hostile__remember", json!({})).await.structured();
    }
    let mut all = recorded(&ana).await;
    all.reverse();

    let first = page(&browser, LOG).await;
    assert_eq!(ids(&first), all[..50]);
    assert_eq!((link(&first, "Newest"), link(&first, "Newer")), (None, None));
    let second = page(&browser, &link(&first, "Older").expect("there are more")).await;
    assert_eq!(ids(&second), all[50..]);
    assert_eq!(link(&second, "Older"), None);
    let newer = page(&browser, &link(&second, "Newer").expect("it came from there")).await;
    assert_eq!(ids(&newer), all[..50]);
    assert_eq!(link(&newer, "Older"), link(&first, "Older"));

    let call = all[7];
    let (path, fragment) = (format!("{LOG}?before={}", call + 1), format!("#call-{call}"));
    assert!(first.contains(&format!("{path}{fragment}")), "each call has a link of its own");
    assert_eq!(ids(&page(&browser, &path).await)[0], call);
    for query in ["?before=x", "?after=1.5", "?outcome=odd"] {
        let refused = browser.get(&format!("{LOG}{query}")).await.assert_status(400);
        assert!(refused.text().contains("role=\"alert\""), "{}", refused.text());
    }
}

#[tokio::test]
async fn a_filter_stays_on_every_link_and_in_the_form() {
    let (_kitbag, ana, browser) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    ana.call("hostile__tool_error", json!({})).await;
    let all = recorded(&ana).await;

    let failures = page(&browser, &format!("{LOG}?tool=&outcome=any-failure")).await;
    assert_eq!(ids(&failures), all[1..]);
    assert!(failures.contains("<option selected>any-failure</option>"), "{failures}");
    let download = link(&failures, "Download (NDJSON)").expect("a link");
    assert_eq!(download, format!("{LOG}.ndjson?outcome=any-failure"));
    assert!(failures.contains("kitbag toolkit logs hostile --outcome any-failure --follow"), "{failures}");
    assert_eq!(ids(&page(&browser, &format!("{LOG}?tool=log_ok&outcome=")).await), all[..1]);
    let none = page(&browser, &format!("{LOG}?tool=%22%3E%3Cb%3E")).await;
    assert!(none.contains("No call fits") && !none.contains("\"><b>"), "{none}");
}

#[tokio::test]
async fn a_call_shows_its_content_to_its_user_and_to_nobody_else() {
    let (kitbag, ana, browser) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    ana.call("hostile__tool_error", json!({})).await;
    let operator = Visitor::sign_in(&kitbag, "local").await;
    let ben = Visitor::sign_in(&kitbag, "ben").await;

    let own = page(&browser, LOG).await;
    for content in
        ["first entry", "<b>stdout</b>a line on standard output", "<b>detail</b>The shop is closed."]
    {
        assert!(own.contains(content), "no {content:?} in {own}");
    }
    assert!(!own.contains("content is theirs"), "{own}");
    let lines = operator.get(&format!("{LOG}.ndjson")).await.text().to_owned();
    let mut live = operator.follow(&format!("{LIVE}?after=0")).await;
    let followed = [live.next().await, live.next().await].map(|line| line.expect("a line").to_string());
    for seen in [page(&operator, LOG).await, lines, followed.join("\n")] {
        assert!(seen.contains("log_ok") && seen.contains("ana"), "{seen}");
        for content in ["first entry", "standard output", "shop is closed", "SECRET-DATA"] {
            assert!(!seen.contains(content), "{content} in {seen}");
        }
    }
    assert!(page(&operator, LOG).await.contains("<bdi>ana</bdi>: content is theirs"));
    assert_eq!(ids(&page(&ben, LOG).await), [0; 0]);
    assert_eq!(ben.get(&format!("{LOG}.ndjson")).await.assert_status(200).json_lines(), [Value::Null; 0]);
}

#[tokio::test]
async fn the_log_of_a_toolkit_that_a_user_cannot_see_does_not_exist() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    let (ana, nobody) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::new(&kitbag));

    for below in ["log", "log?outcome=odd", "log.ndjson", "log/live"] {
        let private = ana.get(&format!("/ui/toolkits/greeter/{below}")).await.assert_status(404);
        let absent = ana.get(&format!("/ui/toolkits/absent/{below}")).await.assert_status(404);
        assert_eq!(private.text().replace("greeter", "absent"), absent.text());
        nobody.get(&format!("/ui/toolkits/greeter/{below}")).await.assert_status(303);
    }
}

#[tokio::test]
async fn a_user_who_can_no_longer_see_a_toolkit_still_sees_the_own_calls() {
    let (kitbag, ana, _) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    let stopped = kitbag.stop().await;
    stopped.alter_manifests(|manifest| manifest["visibility"] = json!("private")).await;
    let kitbag = stopped.start().await;
    let browser = Visitor::sign_in(&kitbag, "ana").await;

    let log = page(&browser, LOG).await;

    assert_eq!(ids(&log).len(), 1);
    assert_eq!(link(&log, "hostile"), None, "the toolkit has no page for her");
    browser.get("/ui/toolkits/hostile").await.assert_status(404);
}

#[tokio::test]
async fn a_download_is_what_the_api_answers() {
    let (_kitbag, ana, browser) = hostile().await;
    for _ in 0..60 {
        ana.call("hostile__remember", json!({})).await.structured();
    }

    let file = browser.get(&format!("{LOG}.ndjson")).await.assert_status(200);

    assert_eq!(file.header("content-disposition"), Some("attachment; filename=\"hostile-log.ndjson\""));
    assert_eq!(file.json_lines(), ana.logs("hostile").await);
    let record = link(&page(&browser, LOG).await, "Record").expect("a link");
    let record = browser.get(&record).await.assert_status(200).json_lines();
    assert_eq!(record, ana.logs("hostile").await[59..]);
}

#[tokio::test]
async fn the_script_gets_what_the_page_shows_and_resumes_where_it_was() {
    let (_kitbag, ana, browser) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    let first = page(&browser, LOG).await;
    let after = ids(&first)[0];
    assert!(first.contains(&format!("data-live=\"{LIVE}\" data-after=\"{after}\"")), "{first}");

    let mut stream = browser.follow(&format!("{LIVE}?after={after}")).await;
    assert_eq!((stream.status.as_u16(), stream.headers.get("kitbag-left-out")), (200, None));
    ana.call("hostile__tool_error", json!({})).await;
    let call = stream.next().await.expect("a call");

    assert_eq!(
        (&call["tool"], &call["outcome"], &call["tone"]),
        (&json!("tool_error"), &json!("tool-error"), &json!("warn"))
    );
    let shown = page(&browser, LOG).await;
    for key in ["clock", "duration", "numbers"] {
        let text = call[key].as_str().expect("text");
        assert!(shown.contains(text), "no {key} {text:?} in {shown}");
    }
    assert!(call["lines"].to_string().contains("The shop is closed."), "{call}");
    let mut again = browser.follow(&format!("{LIVE}?after={after}")).await;
    assert_eq!(again.next().await.expect("a call"), call);
    let mut failed = browser.follow(&format!("{LIVE}?after={after}&outcome=failed")).await;
    ana.call("hostile__log_ok", json!({})).await.text();
    ana.call("hostile__panic", json!({})).await.assert_generic_failure();
    assert_eq!(failed.next().await.expect("a call")["tool"], "panic");
}

#[tokio::test]
async fn a_script_that_was_away_for_long_is_told_that_calls_were_left_out() {
    const CALLS: usize = 201;
    let (_kitbag, ana, browser) = hostile().await;
    for _ in 0..CALLS {
        ana.call("hostile__remember", json!({})).await.structured();
    }
    let all = recorded(&ana).await;

    let mut stream = browser.follow(&format!("{LIVE}?after=0")).await;

    assert_eq!(stream.headers.get("kitbag-left-out").map(http::HeaderValue::as_bytes), Some(&b"true"[..]));
    assert_eq!(stream.next().await.expect("a call")["id"], all[1]);
    let whole = browser.follow(&format!("{LIVE}?after={}", all[0])).await;
    assert_eq!(whole.headers.get("kitbag-left-out"), None);
}

#[tokio::test]
async fn no_other_site_can_follow_a_log_in_the_name_of_a_user() {
    let (_kitbag, _ana, browser) = hostile().await;

    for site in ["cross-site", "same-site"] {
        for destination in ["document", "empty"] {
            let headers = [("sec-fetch-site", site), ("sec-fetch-dest", destination)];
            browser.sending(&headers).get(&format!("{LIVE}?after=0")).await.assert_status(403);
        }
        let link = [("sec-fetch-site", site), ("sec-fetch-dest", "document")];
        browser.sending(&link).get(LOG).await.assert_status(200);
    }
}

#[tokio::test]
async fn one_user_follows_so_many_logs_and_no_more() {
    let (kitbag, _ana, browser) = hostile().await;
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(browser.follow(LIVE).await);
    }

    browser.get(LIVE).await.assert_status(429);
    page(&browser, LOG).await;
    assert_eq!(Visitor::sign_in(&kitbag, "ben").await.follow(LIVE).await.status, 200, "others have room");
}

#[tokio::test]
async fn the_page_has_one_small_script_and_only_where_calls_come() {
    let (_kitbag, ana, browser) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    let log = page(&browser, LOG).await;

    let scripts: Vec<_> = log.split("<script").skip(1).collect();
    let source = scripts[0].split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a path");
    let script = browser.get(source).await.assert_status(200);

    assert_eq!(scripts.len(), 1, "{log}");
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert!(script.body.len() <= 4000, "{} bytes", script.body.len());
    assert!(!script.text().contains("innerHTML"), "text becomes no markup");
    assert!(!page(&browser, &format!("{LOG}?before=9999")).await.contains("<script"));
}

#[tokio::test]
async fn the_page_of_a_toolkit_counts_the_calls_of_the_last_day() {
    let (kitbag, ana, browser) = hostile().await;
    ana.call("hostile__log_ok", json!({})).await.text();
    ana.call("hostile__panic", json!({})).await.assert_generic_failure();
    kitbag.as_user("ben").call("hostile__log_ok", json!({})).await.text();

    let own = page(&browser, "/ui/toolkits/hostile").await;
    let all = page(&Visitor::sign_in(&kitbag, "local").await, "/ui/toolkits/hostile").await;

    assert!(own.contains("<small>yours, last day</small>") && own.contains("<span>2 calls, "), "{own}");
    assert!(
        all.contains("<small>of all users, last day</small>") && all.contains("<span>3 calls, "),
        "{all}"
    );
    assert_eq!(link(&own, "1 failed"), Some(format!("{LOG}?outcome=any-failure")));
    assert_eq!(link(&own, "Log").as_deref(), Some(LOG));
    assert_eq!(link(&own, "Versions"), None);
    assert_eq!(link(&all, "Versions").as_deref(), Some("/ui/toolkits/hostile/versions"));
    let points = own.split("points=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a curve");
    assert_eq!(points.split(' ').count(), 24, "{points}");
}
