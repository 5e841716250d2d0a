//! The cache: values that toolkits store for their users between calls.

use std::sync::LazyLock;

use http::Method;
use kitbag_manifest::cache::{MAX_TOTAL_BYTES, MAX_VALUE_BYTES};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::consent::command;
use crate::harness::database::Database;
use crate::harness::{Kitbag, User, Visitor, Wat, guests};

impl User {
    async fn cached(&self, toolkit: &str, key: &str) -> Value {
        let got = self.call(&format!("{toolkit}__cache_get"), json!({ "key": key })).await;
        serde_json::from_str::<Value>(got.text()).expect("JSON")["value"].clone()
    }

    async fn cache(&self, toolkit: &str, key: &str, value: &str) {
        let arguments = json!({ "key": key, "value": value });
        self.call(&format!("{toolkit}__cache_set"), arguments).await.text();
    }

    async fn fill_cache(&self, count: usize, bytes: usize) -> Value {
        let arguments = json!({ "count": count, "bytes": bytes });
        serde_json::from_str(self.call("probe__cache_fill", arguments).await.text()).expect("JSON")
    }
}

/// Starts a server with two toolkits that use the cache. Its operators are `olga` and `otto`.
async fn start() -> Kitbag {
    let kitbag =
        Kitbag::start_with(|settings| settings.operators = "olga,otto".parse().expect("a list")).await;
    for guest in [guests::PROBE, guests::NEIGHBOUR] {
        kitbag.as_user("olga").deploy(guest.bytes()).await.assert_status(201);
    }
    kitbag
}

#[tokio::test]
async fn a_value_lasts_between_calls_and_starts_for_its_user_and_toolkit_alone() {
    let kitbag = start().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));

    ana.cache("probe", "etag\0", "one").await;

    assert_eq!(ana.cached("probe", "etag\0").await, "one");
    assert_eq!(ana.cached("probe", "etag").await, Value::Null);
    assert_eq!(ana.cached("neighbour", "etag\0").await, Value::Null);
    assert_eq!(ben.cached("probe", "etag\0").await, Value::Null);

    ben.cache("probe", "etag\0", "of ben").await;
    ana.cache("neighbour", "etag\0", "of the neighbour").await;
    ben.call("probe__cache_delete", json!({ "key": "etag\0" })).await.text();
    let kitbag = kitbag.stop().await.start().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    assert_eq!(ana.cached("probe", "etag\0").await, "one");
    assert_eq!(ana.cached("neighbour", "etag\0").await, "of the neighbour");
    assert_eq!(ben.cached("probe", "etag\0").await, Value::Null);
}

#[tokio::test]
async fn a_row_that_is_copied_to_another_user_or_toolkit_is_not_found_there() {
    let kitbag = start().await;
    let ana = kitbag.as_user("ana");
    ana.cache("probe", "key", "for ana").await;

    for (user, toolkit) in [("eve", "probe"), ("ana", "neighbour"), ("eve", "neighbour")] {
        let copy = "INSERT INTO cached_values (user_id, toolkit_id, digest, size, written_at, expires_at,
                        master_key, wrapped_key, sealed)
                    SELECT $1, $2, digest, size, written_at, expires_at, master_key, wrapped_key, sealed
                    FROM cached_values WHERE user_id = 'ana' AND toolkit_id = 'probe'";
        Database::of(kitbag.data()).await.execute(copy, &[user, toolkit]).await;

        assert_eq!(kitbag.as_user(user).cached(toolkit, "key").await, Value::Null, "{user} {toolkit}");
    }
    assert_eq!(ana.cached("probe", "key").await, "for ana");
}

#[tokio::test]
async fn what_breaks_a_rule_is_refused_by_name_and_changes_nothing() {
    let kitbag = start().await;
    let ana = kitbag.as_user("ana");
    ana.cache("probe", "key", "before").await;
    let set = async |change: Value| {
        let mut arguments = json!({ "key": "key", "value": "v" });
        arguments.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
        ana.call("probe__cache_set", arguments).await
    };

    set(json!({ "repeat": MAX_VALUE_BYTES + 1 })).await.assert_tool_error("value: is 65537 bytes long");
    // More data than a guest can pass in one host call.
    set(json!({ "repeat": 5 << 20 })).await.assert_tool_error("too large");
    set(json!({ "seconds": 0 })).await.assert_tool_error("seconds: is 0, and may be 1 to 2592000");
    set(json!({ "seconds": 2_592_001 })).await.assert_tool_error("seconds: is 2592001");
    for key in [String::new(), "k".repeat(257), "ä".repeat(129)] {
        for tool in ["probe__cache_get", "probe__cache_set", "probe__cache_delete"] {
            let refused = ana.call(tool, json!({ "key": key, "value": "v" })).await;
            refused.assert_tool_error(if key.is_empty() { "key: is empty" } else { "and may be 256" });
        }
    }

    assert_eq!(ana.cached("probe", "key").await, "before");
    set(json!({ "repeat": MAX_VALUE_BYTES, "seconds": 2_592_000 })).await.text();
    assert_eq!(ana.cached("probe", "key").await.as_str().map(str::len), Some(MAX_VALUE_BYTES));
}

#[tokio::test]
async fn a_loop_that_fills_a_cache_is_stopped_and_stops_nobody_else() {
    let kitbag = start().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));

    let filled = ana.fill_cache(100_000, 10).await;

    let set = filled["set"].as_u64().expect("a number");
    assert!((200..400).contains(&set), "{filled}");
    let refusal = filled["refusal"].as_str().expect("a refusal");
    assert!(
        refusal.contains("Unavailable") && refusal.contains("the next change is possible in"),
        "{filled}"
    );
    // Stored values are still found, and other toolkits and users can still write.
    assert_eq!(ana.cached("probe", "fill 0").await, "v".repeat(10));
    ana.cache("neighbour", "key", "value").await;
    ben.cache("probe", "key", "value").await;
}

#[tokio::test]
async fn beyond_a_megabyte_the_oldest_values_make_room() {
    let kitbag = start().await;
    let ana = kitbag.as_user("ana");
    ana.cache("neighbour", "key", "value").await;
    kitbag.as_user("ben").cache("probe", "fill 0", "of ben").await;

    assert_eq!(ana.fill_cache(17, MAX_VALUE_BYTES).await["set"], 17);

    for number in 0..17 {
        let is_there = !ana.cached("probe", &format!("fill {number}")).await.is_null();
        assert_eq!(is_there, number >= 2, "{number}");
    }
    let usage = ana.delete("/toolkits/probe/cache").await.assert_status(200).json();
    assert_eq!(usage["values"], 15);
    assert!(usage["bytes"].as_u64().is_some_and(|bytes| bytes <= MAX_TOTAL_BYTES as u64), "{usage}");
    assert_eq!(ana.cached("neighbour", "key").await, "value");
    assert_eq!(kitbag.as_user("ben").cached("probe", "fill 0").await, "of ben");
}

#[tokio::test]
async fn a_value_whose_time_is_over_is_gone() {
    let kitbag = start().await;
    let ana = kitbag.as_user("ana");
    let set = json!({ "key": "short", "value": "v", "seconds": 60 });
    ana.call("probe__cache_set", set).await.text();
    ana.cache("probe", "long", "v").await;

    let pass = "UPDATE cached_values SET written_at = written_at - 61000, expires_at = expires_at - 61000";
    Database::of(kitbag.data()).await.execute(pass, &[]).await;

    assert_eq!(ana.cached("probe", "short").await, Value::Null);
    assert_eq!(ana.cached("probe", "long").await, "v");
}

#[tokio::test]
async fn a_secret_in_a_cached_value_is_redacted_and_its_end_is_the_end_of_the_value() {
    let kitbag = start().await;
    let ana = kitbag.as_user("ana");
    ana.set_secret("probe", "API_KEY", "canary-of-ana").await;
    ana.cache("probe", "key", "the key is canary-of-ana").await;

    let told = ana.cached("probe", "key").await;
    assert!(
        told.as_str().is_some_and(|told| told.starts_with("the key is ") && !told.contains("canary")),
        "{told}"
    );

    // Unsetting the secret deletes the user's cached values, from which it could no longer be redacted.
    ana.delete("/toolkits/probe/secrets/API_KEY").await.assert_status(204);
    assert_eq!(ana.cached("probe", "key").await, Value::Null);
    ana.cache("probe", "key", "value").await;
    kitbag.as_user("ben").set_secret("probe", "API_KEY", "canary-of-ben").await;
    assert_eq!(ana.cached("probe", "key").await, "value");
}

#[tokio::test]
async fn values_end_with_a_take_over_and_with_their_toolkit() {
    let kitbag = start().await;
    let (olga, otto, ana) = (kitbag.as_user("olga"), kitbag.as_user("otto"), kitbag.as_user("ana"));
    ana.cache("probe", "key", "for olga's toolkit").await;
    ana.cache("neighbour", "key", "of the neighbour").await;

    olga.post("/toolkits/probe/release", &json!({})).await.assert_status(204);
    assert_eq!(ana.cached("probe", "key").await, "for olga's toolkit");
    otto.post("/toolkits/probe/take-over", &json!({})).await.assert_status(200);

    assert_eq!(ana.cached("probe", "key").await, Value::Null);
    ana.cache("probe", "key", "for otto's toolkit").await;
    otto.delete("/toolkits/probe").await.assert_status(204);
    otto.deploy(guests::PROBE.bytes()).await.assert_status(201);
    assert_eq!(ana.cached("probe", "key").await, Value::Null);
    assert_eq!(ana.cached("neighbour", "key").await, "of the neighbour");
}

#[tokio::test]
async fn a_user_clears_it_on_the_page_by_the_command_and_by_the_route() {
    let kitbag = start().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    let page = visitor.get("/ui/toolkits/probe").await.assert_status(200);
    page.assert_says("keeps up to 1 MiB for your next calls, for 30 days at most, until you clear it");
    assert!(!page.text().contains("Clear its cache"));
    let fill = async || {
        ana.cache("probe", "key", &"v".repeat(1997)).await;
        ana.cache("neighbour", "key", "value").await;
        ben.cache("probe", "key", "value").await;
    };
    let assert_cleared = async || {
        assert_eq!(ana.cached("probe", "key").await, Value::Null);
        assert_eq!(ana.cached("neighbour", "key").await, "value");
        assert_eq!(ben.cached("probe", "key").await, "value");
    };

    fill().await;
    visitor.get("/ui/toolkits/probe").await.assert_says("Clear its cache (2.0 kB)");
    let cleared = visitor.post("/ui/toolkits/probe/cache/clear", &[]).await.assert_status(303);
    assert_eq!(cleared.header("location"), Some("/ui/toolkits/probe?done=cache-cleared"));
    visitor
        .get("/ui/toolkits/probe?done=cache-cleared")
        .await
        .assert_says("What it kept for you between calls is gone.");
    assert_cleared().await;

    fill().await;
    let said = command(&kitbag, &ana, &["toolkit", "clear-cache", "probe"]).await.succeeded();
    assert!(said.contains("1 value of probe removed, 2.0 kB."), "{said}");
    assert_cleared().await;

    fill().await;
    let route = "/toolkits/probe/cache";
    assert_eq!(ana.delete(route).await.assert_status(200).json(), json!({ "values": 1, "bytes": 2000 }));
    assert_cleared().await;
    assert_eq!(ana.delete(route).await.assert_status(200).json(), json!({ "values": 0, "bytes": 0 }));
    // The response does not reveal whether the toolkit exists.
    let unknown = ana.delete("/toolkits/no-such/cache").await.assert_status(200).json();
    assert_eq!(unknown, json!({ "values": 0, "bytes": 0 }));
}

#[tokio::test]
async fn only_the_user_clears_it() {
    let kitbag = start().await;
    let ana = kitbag.as_user("ana");
    ana.cache("probe", "key", "value").await;
    let key = ana.post("/keys", &json!({ "name": "some", "toolkits": ["probe"] })).await.assert_status(201);
    let program = kitbag.with_token(key.json()["key"].as_str().expect("a key"));

    // With a key, a program can make calls for the user but cannot clear the cache.
    assert_eq!(program.cached("probe", "key").await, "value");
    program.delete("/toolkits/probe/cache").await.assert_status(403);
    for other in ["ben", "olga"] {
        kitbag.as_user(other).delete("/toolkits/probe/cache").await.assert_status(200);
    }
    kitbag
        .anonymous()
        .send(Method::DELETE, "/toolkits/probe/cache", http::HeaderMap::new(), "")
        .await
        .assert_status(401);
    let visitor = Visitor::sign_in(&kitbag, "ana").await;
    let from_elsewhere = visitor.sending(&[("sec-fetch-site", "cross-site")]);
    from_elsewhere.post("/ui/toolkits/probe/cache/clear", &[]).await.assert_status(403);

    assert_eq!(ana.cached("probe", "key").await, "value");
}

static CACHE: LazyLock<String> = LazyLock::new(crate::grants::cache);

#[tokio::test]
async fn a_version_that_begins_to_cache_is_shown_as_such_and_asks_nobody_to_agree() {
    let kitbag = Kitbag::start_with(|settings| settings.operators = "olga".parse().expect("a list")).await;
    let olga = kitbag.as_user("olga");
    let secrets = &["KEY"];
    let first = Wat { version: "1.0.0", secrets, ..Wat::default() };
    olga.deploy(first.component()).await.assert_status(201);
    kitbag.as_user("una").set_secret("wat", "KEY", "a-secret-value").await;

    let scopes: &[&str] = &["svc:cache"];
    let second = Wat { version: "2.0.0", secrets, scopes, imports: &CACHE, ..Wat::default() };
    let deployed = olga.deploy(second.component()).await.assert_status(201).json();

    let added = deployed["changes"]["added"].as_array().expect("a list");
    assert!(added.contains(&json!("scope svc:cache")), "{deployed}");
    let said = command(&kitbag, &olga, &["toolkit", "diff", "wat", "1.0.0", "2.0.0"]).await.succeeded();
    assert!(said.contains("+ may keep values for its user between calls"), "{said}");
    assert!(said.contains("+ imports kitbag:toolkit/cache"), "{said}");
    let consent = kitbag.as_user("una").get("/toolkits/wat/consent").await.assert_status(200).json();
    assert_eq!((&consent["waiting"], &consent["new"]), (&json!(false), &json!([])));
}

#[tokio::test]
async fn a_call_reads_no_value_when_its_row_is_damaged() {
    let kitbag = start().await;
    let ana = kitbag.as_user("ana");
    ana.cache("probe", "key", "value").await;
    let zero = if crate::harness::database::is_server() { "'\\x00'" } else { "x'00'" };

    for column in ["sealed", "wrapped_key"] {
        let damage = format!("UPDATE cached_values SET {column} = {zero}");
        Database::of(kitbag.data()).await.execute(AssertSqlSafe(damage), &[]).await;
        assert_eq!(ana.cached("probe", "key").await, Value::Null);
    }
    ana.cache("probe", "key", "again").await;
    assert_eq!(ana.cached("probe", "key").await, "again");
}
