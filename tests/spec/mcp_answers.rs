//! What each message of MCP is answered with: status, and result or code of the error, in either revision.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};

use crate::harness::{Kitbag, Revision, User, guests};

const VERSION: &str = "mcp-protocol-version";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A request that can be changed before it is sent.
struct Request {
    headers: HeaderMap,
    body: Value,
}

impl Request {
    fn of(user: &User, method: &str, name: Option<&str>, params: Value) -> Self {
        let (headers, body) = user.message(method, name, params);
        Self { headers, body }
    }

    /// Sets a header, or removes it.
    fn with(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.headers.remove(name);
        self.also(name, value)
    }

    /// Adds a header beside others of its name.
    fn also(mut self, name: &'static str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.headers.append(HeaderName::from_static(name), value.parse().expect("ASCII"));
        }
        self
    }

    /// Sets a member of `_meta`.
    fn meta(mut self, name: &str, value: Value) -> Self {
        self.body["params"]["_meta"][name] = value;
        self
    }

    fn notification(mut self) -> Self {
        self.body.as_object_mut().expect("an object").remove("id");
        self
    }

    /// Sends it. Returns the status and the code of the error, if it is one; an error names the request.
    async fn send(&self, kitbag: &Kitbag) -> (u16, Option<i64>) {
        let body = self.body.to_string();
        let answer = kitbag.anonymous().send(Method::POST, "/mcp", self.headers.clone(), body).await;
        if answer.body.is_empty() {
            return (answer.status.as_u16(), None);
        }
        let reply = answer.json();
        let code = reply["error"]["code"].as_i64();
        assert!(code.is_some() != reply.get("result").is_some(), "{reply}");
        assert_eq!(reply.get("id"), self.body.get("id"), "{reply}");
        (answer.status.as_u16(), code)
    }
}

fn older(kitbag: &Kitbag) -> impl Future<Output = User> {
    kitbag.as_user("ana").speaking(Revision::Older)
}

#[tokio::test]
async fn a_method_that_a_revision_has_not_is_not_found() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let (missing, not_found) =
            if revision == Revision::Current { ("ping", 404) } else { ("subscriptions/listen", 200) };
        for (method, name, params) in [
            (missing, None, json!({ "notifications": {} })),
            ("resources/subscribe", Some("a:b"), json!({ "uri": "a:b" })),
            ("resources/unsubscribe", Some("a:b"), json!({ "uri": "a:b" })),
            ("tasks/get", Some("t"), json!({ "taskId": "t" })),
            ("tasks/list", None, json!({})),
            ("logging/setLevel", None, json!({ "level": "info" })),
            ("notifications/initialized", None, json!({})),
            ("no/such/method", None, json!({})),
        ] {
            let answer = Request::of(&ana, method, name, params).send(&kitbag).await;
            assert_eq!(answer, (not_found, Some(-32601)), "{revision:?} {method}");
        }
    }
}

#[tokio::test]
async fn results_have_the_members_of_their_revision() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for (method, name, params, is_cacheable) in [
            ("tools/list", None, json!({}), true),
            ("prompts/list", None, json!({}), true),
            ("resources/list", None, json!({}), true),
            ("resources/templates/list", None, json!({}), true),
            ("tools/call", Some("hints__plain"), json!({ "name": "hints__plain" }), false),
        ] {
            let result = ana.request(method, name, params).await["result"].take();
            let is_current = revision == Revision::Current;
            let hints = (result.get("ttlMs"), result.get("cacheScope"));
            let kind = result.get("resultType");
            assert_eq!(kind, is_current.then_some(&json!("complete")), "{revision:?} {method}");
            let expected = (Some(&json!(0)), Some(&json!("private")));
            let expected = if is_current && is_cacheable { expected } else { (None, None) };
            assert_eq!(hints, expected, "{revision:?} {method}");
        }
    }
}

#[tokio::test]
async fn the_version_of_a_request_is_known_and_the_same_wherever_it_is_named() {
    let kitbag = Kitbag::start().await;
    let (ana, old) = (kitbag.as_user("ana"), older(&kitbag).await);
    let current = || Request::of(&ana, "tools/list", None, json!({}));
    let older = || Request::of(&old, "tools/list", None, json!({}));

    for (request, expected) in [
        (older().with(VERSION, None), (200, None)),
        (older().with(VERSION, Some("2024-11-05")), (200, None)),
        (older().with(VERSION, Some("2025-12-01")), (400, Some(-32600))),
        (
            older().with(VERSION, Some("2026-07-28")).with("mcp-method", Some("tools/list")),
            (400, Some(-32602)),
        ),
        (older().meta(META_VERSION, json!("2025-11-25")), (200, None)),
        (older().meta(META_VERSION, json!("2025-06-18")), (400, Some(-32020))),
        (older().meta("progressToken", json!({})), (200, None)),
        (current().with(VERSION, None), (400, Some(-32020))),
        (current().with(VERSION, Some("2025-11-25")), (400, Some(-32020))),
        (
            current().with(VERSION, Some("2030-01-01")).meta(META_VERSION, json!("2030-01-01")),
            (400, Some(-32022)),
        ),
        (current().meta(META_VERSION, json!(7)), (400, Some(-32602))),
        (current().meta(META_CAPABILITIES, Value::Null), (400, Some(-32602))),
        (current().meta(META_CAPABILITIES, json!([])), (400, Some(-32602))),
        (current().meta("io.modelcontextprotocol/clientInfo", Value::Null), (200, None)),
    ] {
        assert_eq!(request.send(&kitbag).await, expected, "{:?} {}", request.headers, request.body);
    }
    let unknown = current().with(VERSION, Some("2030-01-01")).meta(META_VERSION, json!("2030-01-01"));
    let body = unknown.body.to_string();
    let reply = kitbag.anonymous().send(Method::POST, "/mcp", unknown.headers, body).await.json();
    assert_eq!(reply["error"]["data"]["requested"], "2030-01-01", "{reply}");
    assert_eq!(reply["error"]["data"]["supported"].as_array().map(Vec::len), Some(5), "{reply}");
}

#[tokio::test]
async fn the_headers_of_the_current_revision_say_what_the_message_says() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CONFORMANCE).await;
    let ana = kitbag.as_user("ana");
    let tool = "conformance__test_headers";
    let call = |arguments: Value| {
        Request::of(&ana, "tools/call", Some(tool), json!({ "name": tool, "arguments": arguments }))
    };
    let (north, none) = (|| call(json!({ "region": "north" })), || call(json!({})));
    let (encoded, mismatch) = (Some("=?base64?bm9ydGg=?="), (400, Some(-32020)));
    let region = "mcp-param-region";

    for (request, expected) in [
        (none(), (200, None)),
        (none().with("mcp-method", None), mismatch),
        (none().also("mcp-method", Some("tools/call")), mismatch),
        (none().with("mcp-name", None), mismatch),
        (none().also("mcp-name", Some(tool)), mismatch),
        (none().with("mcp-name", Some("=?base64?Y29uZm9ybWFuY2VfX3Rlc3RfaGVhZGVycw==?=")), (200, None)),
        (none().with("mcp-name", Some("=?base64?*?=")), mismatch),
        (none().with(region, Some("north")), mismatch),
        (call(json!({ "region": null })).with(region, Some("north")), mismatch),
        (north(), mismatch),
        (north().with(region, Some("south")), mismatch),
        (north().with(region, Some("north")), (200, None)),
        (north().with(region, encoded), (200, None)),
        (north().with(region, Some("north")).also(region, Some("north")), mismatch),
        (north().with(region, Some("=?base64?*?=")), mismatch),
        (none().with("mcp-param-other", Some("north")), (200, None)),
    ] {
        assert_eq!(request.send(&kitbag).await, expected, "{:?} {}", request.headers, request.body);
    }
    for (method, name, params) in
        [("prompts/get", "p", json!({ "name": "p" })), ("resources/read", "a:b", json!({ "uri": "a:b" }))]
    {
        assert_eq!(
            Request::of(&ana, method, Some(name), params.clone()).send(&kitbag).await,
            (200, Some(-32602))
        );
        assert_eq!(Request::of(&ana, method, None, params.clone()).send(&kitbag).await, mismatch, "{method}");
        assert_eq!(Request::of(&ana, method, Some("x"), params).send(&kitbag).await, mismatch, "{method}");
    }
}

#[tokio::test]
async fn the_handshake_agrees_on_a_version_that_has_one() {
    let kitbag = Kitbag::start().await;
    let ana = older(&kitbag).await;
    let hello = |version: &str| {
        let client = json!({ "name": "spec", "version": "1" });
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client })
    };

    for (asked, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("1990-01-01", "2025-11-25"),
    ] {
        let answer = ana.post_mcp("initialize", None, hello(asked)).await.assert_status(200);
        assert!(answer.header("mcp-session-id").is_some_and(|label| label.len() == 32), "{answer:?}");
        let result = answer.json()["result"].take();
        assert_eq!(result["protocolVersion"], agreed, "{asked}");
        let changes = json!({ "listChanged": true });
        let capabilities =
            json!({ "completions": {}, "prompts": changes, "resources": changes, "tools": changes });
        assert_eq!(result["capabilities"], capabilities);
        assert_eq!(
            (&result["serverInfo"]["name"], &result["serverInfo"]["title"]),
            (&json!("kitbag"), &json!("Kitbag"))
        );
    }
    let initialize = |params| Request::of(&ana, "initialize", None, params);
    for (request, expected) in [
        (initialize(hello("2025-11-25")).with(VERSION, Some("2025-11-25")), (200, None)),
        (initialize(hello("2025-11-25")).with(VERSION, Some("2025-06-18")), (400, Some(-32600))),
        (initialize(hello("2026-07-28")).with(VERSION, Some("2026-07-28")), (200, None)),
        (initialize(json!({})), (200, Some(-32602))),
        (initialize(json!({ "protocolVersion": "2025-11-25" })), (200, Some(-32602))),
        (initialize(json!({ "protocolVersion": 7, "capabilities": {} })), (200, Some(-32602))),
    ] {
        assert_eq!(request.send(&kitbag).await, expected, "{}", request.body);
    }
    let refused = ana.post_mcp("initialize", None, json!({})).await;
    assert_eq!(refused.header("mcp-session-id"), None, "{refused:?}");
}

#[tokio::test]
async fn discovery_says_what_the_handshake_would() {
    let kitbag = Kitbag::start().await;

    let reply = kitbag.as_user("ana").request("server/discover", None, json!({})).await;

    let changes = json!({ "listChanged": true });
    let versions = json!(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]);
    let server = json!({ "name": "kitbag", "title": "Kitbag", "version": env!("CARGO_PKG_VERSION") });
    let expected = json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": { "completions": {}, "prompts": changes, "resources": changes, "tools": changes },
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { "io.modelcontextprotocol/serverInfo": server },
    });
    assert_eq!(reply["result"], expected);
    let older = older(&kitbag).await;
    let answer = Request::of(&older, "server/discover", None, json!({})).send(&kitbag).await;
    assert_eq!(answer, (400, Some(-32602)), "an older client declares no capabilities there");
}

#[tokio::test]
async fn a_notification_is_accepted_and_a_response_only_where_something_was_asked() {
    let kitbag = Kitbag::start().await;
    let (ana, old) = (kitbag.as_user("ana"), older(&kitbag).await);

    for (user, name) in [(&ana, "2026-07-28"), (&old, "2025-11-25")] {
        for method in
            ["notifications/initialized", "notifications/cancelled", "notifications/x", "tools/list"]
        {
            let request = Request::of(user, method, None, json!({})).notification();
            assert_eq!(request.send(&kitbag).await, (202, None), "{name} {method}");
            let unknown = request.with(VERSION, Some("1999-01-01"));
            assert_eq!(unknown.send(&kitbag).await, (400, Some(-32600)), "{name} {method}");
        }
    }
    let unnamed = Request::of(&ana, "notifications/x", None, json!({})).notification();
    assert_eq!(unnamed.with("mcp-method", None).send(&kitbag).await, (400, Some(-32020)));
    for params in [json!([7]), json!(7), json!({ "_meta": 7 })] {
        let mut odd = Request::of(&old, "notifications/x", None, json!({})).notification();
        odd.body["params"] = params;
        assert_eq!(odd.send(&kitbag).await, (400, Some(-32600)), "{}", odd.body);
    }

    let asked =
        kitbag.as_user("ana").capable_of(json!({ "elicitation": {} })).speaking(Revision::Older).await;
    for response in [Ok(json!({})), Err(json!({ "code": 1, "message": "no" }))] {
        old.respond(&json!("a"), response.clone()).await.assert_status(400);
        asked.respond(&json!("a"), response.clone()).await.assert_status(202);
        asked.respond(&json!(7), response).await.assert_status(202);
    }
}

#[tokio::test]
async fn members_that_the_protocol_has_not_are_ignored() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for (method, name, params) in [
            ("tools/call", Some("hints__plain"), json!({ "name": "hints__plain" })),
            ("tools/list", None, json!({})),
            ("resources/list", None, json!({})),
        ] {
            let mut request = Request::of(&ana, method, name, params);
            request.body["extra"] = json!([1]);
            request.body["params"]["extra"] = json!({});
            request.body["id"] = json!("a");
            assert_eq!(request.send(&kitbag).await, (200, None), "{revision:?} {method}");
        }
        let mut both = Request::of(&ana, "tools/list", None, json!({}));
        both.body["result"] = json!({});
        assert_eq!(both.send(&kitbag).await, (400, Some(-32600)), "{revision:?}");
    }
}

#[tokio::test]
async fn a_subscription_is_acknowledged_with_what_it_will_tell_and_ends_in_order() {
    let kitbag = Kitbag::start().await;
    let wanted = json!({ "notifications": {
        "toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": ["a:b"],
    } });
    let mut events = kitbag.as_user("ana").stream_mcp("subscriptions/listen", None, wanted).await;
    assert_eq!(events.head.headers["x-accel-buffering"], HeaderValue::from_static("no"));

    let acknowledged = events.next().await.expect("an acknowledgement");
    kitbag.deploy(guests::HINTS).await;
    let told = events.next().await.expect("a notification");
    kitbag.stop().await;
    let rest = events.rest().await;

    let id = json!({ "io.modelcontextprotocol/subscriptionId": 1 });
    assert_eq!(
        acknowledged,
        json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": { "_meta": id, "notifications": { "toolsListChanged": true } },
        })
    );
    assert_eq!(
        told,
        json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": { "_meta": id } })
    );
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(
        (&rest[0]["id"], &rest[0]["result"]["resultType"]),
        (&json!(1), &json!("complete")),
        "{rest:?}"
    );
    let meta = &rest[0]["result"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], 1, "{rest:?}");
    assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "kitbag", "{rest:?}");
}
