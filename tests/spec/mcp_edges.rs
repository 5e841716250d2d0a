//! Malformed and unusual MCP requests.

use http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, CONTENT_ENCODING, CONTENT_TYPE, ORIGIN, RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use crate::harness::{Answer, Kitbag, Revision, User, guests, within};

const PAGE: &str = "https://app.example";

impl Answer {
    /// Asserts that the response is a JSON-RPC error with this HTTP status and code, and returns it.
    #[track_caller]
    fn assert_rpc_error(&self, status: u16, code: i64) -> Value {
        let body = self.json();
        assert_eq!((self.status.as_u16(), &body["error"]["code"]), (status, &json!(code)), "{body}");
        assert_eq!(self.headers[CONTENT_TYPE], "application/json", "{body}");
        assert_eq!(body["jsonrpc"], "2.0", "{body}");
        assert!(body["error"]["message"].as_str().is_some_and(|message| message.len() > 5), "{body}");
        body
    }
}

impl User {
    /// Sends a valid request with headers changed by `change`, and with another body if one is given.
    async fn send_odd(
        &self,
        kitbag: &Kitbag,
        change: impl FnOnce(&mut HeaderMap),
        body: Option<&str>,
    ) -> Answer {
        let (mut headers, good) = self.message("tools/list", None, json!({}));
        change(&mut headers);
        let body = body.map_or_else(|| good.to_string(), str::to_owned);
        kitbag.anonymous().send(Method::POST, "/mcp", headers, body).await
    }
}

/// Sends raw `bytes`, and returns everything the server sends until it closes the connection.
async fn exchange(base_url: &Url, bytes: &[u8]) -> String {
    let address = (base_url.host_str().expect("a host"), base_url.port().expect("a port"));
    within("the exchange", async {
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        stream.write_all(bytes).await.expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("the server answers");
        answer
    })
    .await
}

fn set(name: HeaderName, value: &'static str) -> impl FnOnce(&mut HeaderMap) {
    move |headers| drop(headers.insert(name, HeaderValue::from_static(value)))
}

#[tokio::test]
async fn a_malformed_body_is_a_json_rpc_error() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for (body, code) in [
            ("", -32700),
            ("{", -32700),
            ("not json", -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"} trailing"#, -32700),
            ("[]", -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
            ("7", -32600),
            ("null", -32600),
            (r#""text""#, -32600),
            ("{}", -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (r#"{"id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        ] {
            let answer = ana.send_odd(&kitbag, |_| {}, Some(body)).await;
            answer.assert_rpc_error(400, code);
        }
        let deep = "[".repeat(100_000);
        ana.send_odd(&kitbag, |_| {}, Some(&deep)).await.assert_rpc_error(400, -32600);
        assert!(ana.tools().await.is_empty(), "the server goes on");
    }
}

#[tokio::test]
async fn an_error_names_the_request_that_it_answers() {
    let kitbag = Kitbag::start().await;
    let body = r#"{"jsonrpc":"1.0","id":"a-7","method":"tools/list"}"#;

    let answer = kitbag.as_user("ana").send_odd(&kitbag, |_| {}, Some(body)).await;

    assert_eq!(answer.assert_rpc_error(400, -32600)["id"], "a-7");
}

#[tokio::test]
async fn parameters_that_do_not_fit_the_method_are_invalid() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for (method, name, params) in [
            ("tools/call", None, json!({})),
            ("tools/call", None, json!({ "name": 7 })),
            ("tools/call", Some("a"), json!({ "name": "a", "arguments": [] })),
            ("resources/read", None, json!({})),
            ("prompts/get", None, json!({ "name": {} })),
        ] {
            let reply = ana.request(method, name, params.clone()).await;
            assert_eq!(reply["error"]["code"], -32602, "{revision:?} {method} {params}: {reply}");
        }
    }
}

#[tokio::test]
async fn a_body_says_that_it_is_json() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");

    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
        ana.send_odd(&kitbag, set(CONTENT_TYPE, kind), None).await.assert_rpc_error(415, -32600);
    }
    let absent = |headers: &mut HeaderMap| drop(headers.remove(CONTENT_TYPE));
    ana.send_odd(&kitbag, absent, None).await.assert_rpc_error(415, -32600);
    let with_charset = set(CONTENT_TYPE, "Application/JSON; charset=utf-8");
    ana.send_odd(&kitbag, with_charset, None).await.assert_status(200);
}

#[tokio::test]
async fn a_request_has_a_largest_size() {
    let kitbag =
        Kitbag::start_with(|settings| settings.mcp_request_size = "64KiB".parse().expect("a size")).await;
    let ana = kitbag.as_user("ana");

    let large = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(64 << 10));
    let error = ana.send_odd(&kitbag, |_| {}, Some(&large)).await.assert_rpc_error(413, -32600);

    assert!(error["error"]["message"].as_str().expect("a message").contains("65536 bytes"), "{error}");
    assert!(ana.tools().await.is_empty(), "the server goes on");
}

#[tokio::test]
async fn a_client_may_accept_json_in_any_words() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for accept in ["*/*", "application/*", "application/json", "text/html, */*;q=0.8"] {
            ana.send_odd(&kitbag, set(ACCEPT, accept), None).await.assert_status(200);
        }
        let absent = |headers: &mut HeaderMap| drop(headers.remove(ACCEPT));
        ana.send_odd(&kitbag, absent, None).await.assert_status(200);
        ana.send_odd(&kitbag, set(ACCEPT, "text/html"), None).await.assert_rpc_error(406, -32600);
    }
}

#[tokio::test]
async fn a_client_that_takes_streams_alone_gets_one_of_one_event() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        for method in ["tools/list", "prompts/list"] {
            let (mut headers, body) = ana.message(method, None, json!({}));
            headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));

            let answer = kitbag.anonymous().send(Method::POST, "/mcp", headers, body.to_string()).await;

            let answer = answer.assert_status(200);
            assert_eq!(answer.header("content-type"), Some("text/event-stream"), "{revision:?} {method}");
            assert_eq!(answer.header("x-accel-buffering"), Some("no"));
            assert!(answer.text().starts_with("event: message\ndata: {") && answer.text().ends_with("}\n\n"));
            assert_eq!(answer.json()["jsonrpc"], "2.0");
        }
    }
}

#[tokio::test]
async fn a_slash_at_the_end_is_the_same_endpoint() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");
    let (headers, body) = ana.message("tools/list", None, json!({}));

    let answer = kitbag.anonymous().send(Method::POST, "/mcp/", headers, body.to_string()).await;

    assert_eq!(answer.assert_status(200).json()["result"]["tools"].as_array().map(Vec::len), Some(6));
    let anonymous = kitbag.anonymous().send(Method::POST, "/mcp/", HeaderMap::new(), "").await;
    anonymous.assert_status(401);
}

#[tokio::test]
async fn an_id_that_is_none_is_told_as_that() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let (headers, body) = ana.message("tools/list", None, json!({}));

    for id in [json!(1.5), json!(null), json!({}), json!([1])] {
        let mut odd = body.clone();
        odd["id"] = id;
        let answer = kitbag.anonymous().send(Method::POST, "/mcp", headers.clone(), odd.to_string()).await;
        let message = answer.assert_status(400).json()["error"]["message"].to_string();
        assert!(message.contains("id is a string or an integer") && !message.contains("batch"), "{message}");
    }
    let batch = kitbag.anonymous().send(Method::POST, "/mcp", headers, format!("[{body}]")).await;
    assert!(batch.assert_status(400).text().contains("never a batch"));
}

#[tokio::test]
async fn there_are_no_sessions_to_read_or_to_end() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let (headers, _) = ana.message("tools/list", None, json!({}));
        for (method, allowed) in
            [(Method::GET, "POST"), (Method::DELETE, "GET, POST"), (Method::PUT, "GET, POST")]
        {
            let mut headers = headers.clone();
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
            let answer = kitbag.anonymous().send(method.clone(), "/mcp", headers, "").await;
            answer.assert_rpc_error(405, -32600);
            assert_eq!(answer.headers[ALLOW], allowed, "{method}");
        }
    }
    let ana = kitbag.as_user("ana");
    let (mut headers, _) = ana.message("tools/list", None, json!({}));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let answer = kitbag.anonymous().send(Method::GET, "/mcp", headers, "").await;
    answer.assert_rpc_error(405, -32600);
}

#[tokio::test]
async fn a_name_that_is_not_the_servers_is_refused_before_anything_is_read() {
    let kitbag = Kitbag::start().await;
    let port = kitbag.base_url().port().expect("a port");

    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "127.0.0.1:1", "localhost"] {
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
        );
        let answer = exchange(kitbag.base_url(), request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
        assert!(answer.contains("content-type: application/json"), "{host}: {answer}");
        assert!(answer.contains(r#""code":-32600"#), "{host}: {answer}");
    }
}

#[tokio::test]
async fn a_page_may_call_from_a_listed_origin_and_from_no_other() {
    let kitbag =
        Kitbag::start_with(|settings| settings.allowed_origins = PAGE.parse().expect("a list")).await;
    let ana = kitbag.as_user("ana");
    let own = kitbag.base_url().origin().ascii_serialization();

    for origin in [PAGE, own.as_str()] {
        let origin = origin.to_owned();
        let change = |headers: &mut HeaderMap| drop(headers.insert(ORIGIN, origin.parse().expect("ASCII")));
        ana.send_odd(&kitbag, change, None).await.assert_status(200);
    }
    for origin in [
        "https://evil.example",
        "https://app.example:8443",
        "http://app.example",
        "https://app.example.evil.example",
        "http://127.0.0.1",
        "null",
    ] {
        ana.send_odd(&kitbag, set(ORIGIN, origin), None).await.assert_rpc_error(403, -32600);
    }
}

#[tokio::test]
async fn browsers_are_told_which_pages_may_read() {
    let kitbag =
        Kitbag::start_with(|settings| settings.allowed_origins = PAGE.parse().expect("a list")).await;
    let preflight = async |origin: &'static str| {
        let headers = HeaderMap::from_iter([
            (ORIGIN, HeaderValue::from_static(origin)),
            (ACCESS_CONTROL_REQUEST_METHOD, HeaderValue::from_static("POST")),
            (
                ACCESS_CONTROL_REQUEST_HEADERS,
                HeaderValue::from_static("authorization, content-type, mcp-method, mcp-param-region"),
            ),
        ]);
        kitbag.anonymous().send(Method::OPTIONS, "/mcp", headers, "").await
    };

    let listed = preflight(PAGE).await.assert_status(200);
    assert_eq!(listed.headers[ACCESS_CONTROL_ALLOW_ORIGIN], PAGE);
    let allowed = listed.header("access-control-allow-headers").expect("headers");
    assert!(allowed.contains("authorization") && allowed.contains("mcp-param-region"), "{allowed}");
    assert!(listed.header("access-control-allow-methods").expect("methods").contains("POST"));
    assert_eq!(preflight("https://evil.example").await.headers.get(ACCESS_CONTROL_ALLOW_ORIGIN), None);

    // Without a token, CORS must let the page read the sign-in challenge.
    let headers = HeaderMap::from_iter([(ORIGIN, HeaderValue::from_static(PAGE))]);
    let refused = kitbag.anonymous().send(Method::POST, "/mcp", headers, "").await.assert_status(401);
    assert_eq!(refused.headers[ACCESS_CONTROL_ALLOW_ORIGIN], PAGE);
    let exposed = refused.headers[ACCESS_CONTROL_EXPOSE_HEADERS].to_str().expect("ASCII");
    assert!(exposed.contains("www-authenticate") && exposed.contains("mcp-session-id"), "{exposed}");
}

#[tokio::test]
async fn a_header_that_contradicts_the_body_is_refused() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::CONFORMANCE).await;
    let ana = kitbag.as_user("ana");
    let header = |name: &'static str, value| set(HeaderName::from_static(name), value);

    ana.send_odd(&kitbag, header("mcp-method", "prompts/list"), None).await.assert_rpc_error(400, -32020);
    ana.send_odd(&kitbag, |headers| drop(headers.remove("mcp-method")), None)
        .await
        .assert_rpc_error(400, -32020);
    let version = header("mcp-protocol-version", "2025-11-25");
    ana.send_odd(&kitbag, version, None).await.assert_rpc_error(400, -32020);

    let params = json!({ "name": "conformance__test_headers", "arguments": { "region": "north" } });
    let misnamed = ana.post_mcp("tools/call", Some("conformance__test_simple_text"), params.clone()).await;
    misnamed.assert_rpc_error(400, -32020);
    let without_region = ana.post_mcp("tools/call", Some("conformance__test_headers"), params).await;
    without_region.assert_rpc_error(400, -32020);

    // The older revisions and the handshake do without the header, but proxies that know it go by it.
    let older = kitbag.as_user("ana").speaking(Revision::Older).await;
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "spec", "version": "1" },
    } });
    let initialize = initialize.to_string();
    for (body, right, wrong) in
        [(None, "tools/list", "tools/call"), (Some(&*initialize), "initialize", "tools/list")]
    {
        older.send_odd(&kitbag, header("mcp-method", wrong), body).await.assert_rpc_error(400, -32020);
        older.send_odd(&kitbag, header("mcp-method", right), body).await.assert_status(200);
        ana.send_odd(&kitbag, header("mcp-method", wrong), body).await.assert_rpc_error(400, -32020);
    }
}

#[tokio::test]
async fn a_compressed_body_is_refused_by_name_on_every_route() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana");
    let encoded = |encoding| {
        HeaderMap::from_iter([
            (CONTENT_ENCODING, HeaderValue::from_static(encoding)),
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        ])
    };

    for path in ["/mcp", "/mcp/", "/graphql", "/toolkits", "/oauth/register", "/oauth/token", "/nothing"] {
        for encoding in ["gzip", "br", "identity, gzip"] {
            let refused = kitbag.anonymous().send(Method::POST, path, encoded(encoding), "{}").await;
            let refused = refused.assert_status(415);
            assert_eq!(refused.header("accept-encoding"), Some("identity"), "{path}");
            assert!(refused.text().contains("without Content-Encoding"), "{path}: {}", refused.text());
        }
    }
    for plain in ["identity", "Identity", ""] {
        ana.send_odd(&kitbag, set(CONTENT_ENCODING, plain), None).await.assert_status(200);
    }
}

#[tokio::test]
async fn a_version_that_nobody_knows_is_refused_with_those_that_are_known() {
    let kitbag = Kitbag::start().await;
    let ana = kitbag.as_user("ana").speaking(Revision::Older).await;
    let version = set(HeaderName::from_static("mcp-protocol-version"), "1999-01-01");

    let answer = ana.send_odd(&kitbag, version, None).await;

    answer.assert_rpc_error(400, -32600);
}

#[tokio::test]
async fn what_kitbag_has_not_is_said_in_the_protocols_words() {
    let kitbag = Kitbag::start().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        let code = async |method: &str, name: Option<&str>, params| {
            ana.request(method, name, params).await["error"]["code"].as_i64()
        };
        let missing = if revision == Revision::Current { -32602 } else { -32002 };

        assert_eq!(code("prompts/get", Some("p"), json!({ "name": "p" })).await, Some(-32602));
        assert_eq!(code("resources/read", Some("a:b"), json!({ "uri": "a:b" })).await, Some(missing));
        let wanted =
            json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } });
        assert_eq!(code("completion/complete", None, wanted).await, Some(-32602));
        assert_eq!(code("logging/setLevel", None, json!({ "level": "info" })).await, Some(-32601));
        assert_eq!(code("no/such/method", None, json!({})).await, Some(-32601));
    }
    let older = kitbag.as_user("ana").speaking(Revision::Older).await;
    assert_eq!(older.request("ping", None, json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_user_who_asks_too_often_is_told_when_to_come_back() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.mcp_requests_per_minute = 3.try_into().expect("not zero");
    })
    .await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    for _ in 0..3 {
        ana.tools().await;
    }

    let refused = ana.post_mcp("tools/list", None, json!({})).await;

    let error = refused.assert_rpc_error(429, -32010);
    let wait: u64 = refused.header(RETRY_AFTER.as_str()).expect("a time").parse().expect("seconds");
    assert!((1..=20).contains(&wait), "{wait}");
    assert_eq!(error["error"]["data"]["retryAfterSeconds"], wait, "{error}");
    assert!(ben.tools().await.is_empty(), "another user has a share of their own");
}

#[tokio::test]
async fn an_older_client_cancels_its_own_call_by_name() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = kitbag.as_user("ana").speaking(Revision::Older).await;
    let same_user = kitbag.as_user("ana").speaking(Revision::Older).await;
    let other_user = kitbag.as_user("ben").speaking(Revision::Older).await;
    let running = ana.start_call("hostile__sleep_poll", json!({}));
    let cancel = json!({ "requestId": 1, "reason": "the person pressed a key" });

    for other in [&same_user, &other_user] {
        for _ in 0..20 {
            other.notify("notifications/cancelled", cancel.clone()).await.assert_status(202);
        }
    }
    assert!(!running.is_finished(), "it is not theirs");

    within("the call's end", async {
        while !running.is_finished() {
            ana.notify("notifications/cancelled", cancel.clone()).await.assert_status(202);
        }
    })
    .await;
    assert!(running.await.expect("an answer").raw().contains("cancelled"));
}

#[tokio::test]
async fn errors_of_every_route_have_one_form() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();

    let no_method = operator.put("/toolkits", "").await.assert_problem(405, "Method Not Allowed");
    assert!(no_method.headers.contains_key(ALLOW), "{no_method:?}");
    operator.get("/toolkits/%ff").await.assert_problem(400, "UTF-8");
    operator.get("/nowhere").await.assert_problem(404, "nothing here");
}
