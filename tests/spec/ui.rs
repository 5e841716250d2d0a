//! Web pages of the server: sign-in of browsers, sessions, and access control.

use http::{HeaderMap, Method};
use sqlx::AssertSqlSafe;

use crate::harness::database::{self, Database};
use crate::harness::{Kitbag, Raw, Visitor, Wat, ask_raw, guests, sign_in_code, wat::Visibility};

/// API routes that a browser session must not give access to.
const API: [(Method, &str); 7] = [
    (Method::GET, "/toolkits"),
    (Method::GET, "/toolkits/weather"),
    (Method::GET, "/toolkits/weather/secrets"),
    (Method::POST, "/toolkits/weather/tools/current"),
    (Method::POST, "/graphql"),
    (Method::POST, "/mcp"),
    (Method::POST, "/vault/rotate"),
];

#[tokio::test]
async fn a_browser_signs_in_where_it_wanted_to_go_and_out_again() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let mut ana = Visitor::new(&kitbag);

    let sent = ana.get("/ui/toolkits/hints?a=b").await.assert_status(303);
    assert_eq!(sent.header("location"), Some("/ui/signin?to=%2Fui%2Ftoolkits%2Fhints%3Fa%3Db"));
    let code = sign_in_code(kitbag.base_url()).expect("local mode");
    let fields = [("user", "ana"), ("code", code.as_str()), ("to", "/ui/toolkits/hints?a=b")];
    let signed_in = ana.post("/ui/signin", &fields).await.assert_status(303);
    assert_eq!(signed_in.header("location"), Some("/ui/toolkits/hints?a=b"));
    let cookie = signed_in.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax"), "{cookie}");
    ana.keep_cookie(&signed_in);
    let page = ana.get("/ui/toolkits/hints").await.assert_status(200);
    assert!(page.text().contains("<bdi>ana</bdi>"), "{}", page.text());

    let first = ana.sending(&[]);
    ana.keep_cookie(&ana.post("/ui/signin", &fields).await.assert_status(303));
    first.get("/ui/").await.assert_status(303);
    ana.get("/ui/").await.assert_status(200);

    let before = ana.sending(&[]);
    let out = ana.post("/ui/signout", &[]).await.assert_status(303);
    ana.keep_cookie(&out);
    assert_eq!(ana.cookie(), None);
    before.get("/ui/").await.assert_status(303);
}

#[tokio::test]
async fn without_the_code_nobody_signs_in() {
    let kitbag = Kitbag::start().await;
    let visitor = Visitor::new(&kitbag);

    for (user, code, status) in [("ana", "", 422), ("ana", "0123456789abcdef", 403), ("", "x", 422)] {
        let answer = visitor.post("/ui/signin", &[("user", user), ("code", code)]).await;
        let answer = answer.assert_status(status);
        assert!(answer.header("set-cookie").is_none() && answer.text().contains("role=\"alert\""));
        assert!(!answer.text().contains("0123456789abcdef"), "the code is not shown again");
    }
    for _ in 0..25 {
        visitor.post("/ui/signin", &[("user", "ana"), ("code", "wrong")]).await;
    }
    // Wrong codes do not lock out a user with the right code.
    let code = sign_in_code(kitbag.base_url()).expect("local mode");
    visitor.post("/ui/signin", &[("user", "ana"), ("code", &code)]).await.assert_status(303);
}

#[tokio::test]
async fn the_session_cookie_opens_no_route_of_programs() {
    let kitbag = Kitbag::start().await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let cookie = ana.cookie().expect("a session").to_owned();

    for (method, path) in API {
        let mut headers = HeaderMap::new();
        headers.insert("cookie", cookie.parse().expect("ASCII"));
        headers.insert("origin", kitbag.base_url().origin().ascii_serialization().parse().expect("ASCII"));
        headers.insert("content-type", "application/json".parse().expect("ASCII"));
        kitbag.anonymous().send(method, path, headers, "{}").await.assert_status(401);
    }
}

#[tokio::test]
async fn no_other_page_reads_frames_or_sends_anything() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let path = "/ui/toolkits/needy/secrets/API_KEY";

    for headers in [
        &[("sec-fetch-site", "cross-site")][..],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none")],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", "http://127.0.0.1:1")],
    ] {
        let other = ana.sending(headers);
        other.post(path, &[("secret", "planted-by-another-page")]).await.assert_status(403);
        other.post("/ui/signout", &[]).await.assert_status(403);
    }
    for destination in ["iframe", "empty", "image", "script", "object"] {
        let other = ana.sending(&[("sec-fetch-site", "cross-site")]);
        let headers = [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", destination)];
        other.sending(&headers).get("/ui/").await.assert_status(403);
    }
    let secrets = kitbag.as_user("ana").get("/toolkits/needy/secrets").await.json();
    assert!(secrets.as_array().expect("a list").iter().all(|secret| secret["set"] == false), "{secrets}");

    let link = ana.sending(&[("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document")]);
    let page = link.get("/ui/").await.assert_status(200);
    let policy = page.header("content-security-policy").expect("a policy");
    for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let renamed = "GET /ui/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    let answer = ask_raw(kitbag.base_url(), renamed).await;
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
}

#[tokio::test]
async fn a_form_that_was_sent_too_late_is_kept_without_its_secrets() {
    let kitbag = Kitbag::start().await;
    let nobody = Visitor::new(&kitbag);

    let fields = [("units", "imperial\"><b>"), ("secret", "sk-canary"), ("code", "sk-canary")];
    let page = nobody.post("/ui/toolkits/weather/settings", &fields).await.assert_status(401);

    assert!(page.text().contains("action=\"/ui/toolkits/weather/settings\""), "{}", page.text());
    assert!(
        page.text().contains("name=\"units\" value=\"imperial&#34;&#62;&#60;b&#62;\""),
        "{}",
        page.text()
    );
    assert!(!page.text().contains("sk-canary"));
}

#[tokio::test]
async fn a_long_form_without_a_session_is_neither_read_nor_shown_again() {
    let kitbag =
        Kitbag::start_with(|settings| settings.request_timeout = "1h".parse().expect("a duration")).await;
    let nobody = Visitor::new(&kitbag);
    let path = "/ui/toolkits/weather/settings";

    let long = "\"".repeat(8 << 10);
    let page = nobody.post(path, &[("units", long.as_str())]).await.assert_status(401);
    page.assert_says("send the form again");
    assert!(page.text().len() < 8 << 10, "{} bytes", page.text().len());

    // If the server waited for the body, the test would time out.
    let lengths = ["Content-Length: 200000", "Content-Length: 9", "Transfer-Encoding: chunked"];
    let asking = lengths.map(async |length| {
        let (host, form) = (kitbag.base_url().authority(), "application/x-www-form-urlencoded");
        let mut connection = Raw::connect(&kitbag).await;
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {form}\r\n{length}\r\n\r\n");
        connection.write(head).await;
        let answer = connection.rest().await;
        assert!(answer.starts_with("HTTP/1.1 401 "), "{length}: {answer}");
    });
    futures::future::join_all(asking).await;
    let sign_in = nobody.post("/ui/signin", &[("user", long.as_str())]).await;
    sign_in.assert_status(413);
}

#[tokio::test]
async fn settings_and_secrets_are_set_on_the_page() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::NEEDS_SECRET).await;
    let ana = Visitor::sign_in(&kitbag, "ana").await;

    let directory = ana.get("/ui/").await.assert_status(200);
    assert!(directory.text().contains("needs API_KEY"), "{}", directory.text());
    assert!(directory.text().contains("Needy &#60;Tools&#62;"), "names are text");
    let seen = [("owner", "local"), ("version", "1.0.0")];
    let secret = [&seen[..], &[("secret", "sk-canary-123456")]].concat();
    for (owner, version) in [("eve", "1.0.0"), ("local", "0.9.0"), ("", "")] {
        let other = [("owner", owner), ("version", version), ("secret", "sk-canary-123456")];
        let page = ana.post("/ui/toolkits/needy/secrets/API_KEY", &other).await.assert_status(409);
        assert!(page.text().contains("the toolkit has changed") && !page.text().contains("sk-canary"));
    }
    let set = ana.post("/ui/toolkits/needy/secrets/API_KEY", &secret).await;
    assert_eq!(set.assert_status(303).header("location"), Some("/ui/toolkits/needy?done=secret-set"));
    let page = ana.get("/ui/toolkits/needy?done=secret-set").await.assert_status(200);
    assert!(
        page.text().contains("The secret is set.") && !page.text().contains("sk-canary"),
        "{}",
        page.text()
    );
    let secrets = kitbag.as_user("ana").get("/toolkits/needy/secrets").await.json();
    assert_eq!(secrets[0]["set"], true, "{secrets}");
    ana.post("/ui/toolkits/needy/secrets/API_KEY/unset", &[]).await.assert_status(303);
    let secrets = kitbag.as_user("ana").get("/toolkits/needy/secrets").await.json();
    assert_eq!(secrets[0]["set"], false, "{secrets}");
    ana.post("/ui/toolkits/needy/secrets/OTHER", &[("secret", "x")]).await.assert_status(404);
    let page = ana.get("/ui/toolkits/needy?done=anything").await.assert_status(400);
    assert!(page.text().contains("<h1>Bad Request</h1>"), "axum's own errors are pages too: {}", page.text());
    let page = ana.get("/ui/toolkits/needy/settings").await.assert_status(405);
    assert!(page.text().contains("<h1>") && page.header("allow") == Some("POST"), "{page:?}");
}

#[tokio::test]
async fn a_host_that_came_after_a_secret_is_named_on_the_page() {
    let kitbag = Kitbag::start().await;
    let version = |version, egress| Wat { version, egress, secrets: &["KEY"], ..Wat::default() }.component();
    let operator = kitbag.as_operator();
    operator.deploy(version("1.0.0", &["a.example"])).await.assert_status(201);
    operator.deploy(version("2.0.0", &["a.example", "b.example"])).await.assert_status(201);
    operator.send(Method::POST, "/toolkits/wat/rollback", "application/json", "").await.assert_status(200);
    let ana = Visitor::sign_in(&kitbag, "ana").await;
    let secret = [("owner", "local"), ("version", "1.0.0"), ("secret", "a-secret-value")];
    ana.post("/ui/toolkits/wat/secrets/KEY", &secret).await.assert_status(303);
    assert!(!ana.get("/ui/toolkits/wat").await.text().contains("Since you set"));

    // This version was deployed before the secret was set, and becomes live only now.
    let again = r#"{"version":"2.0.0"}"#;
    operator.send(Method::POST, "/toolkits/wat/rollback", "application/json", again).await.assert_status(200);

    let page = ana.get("/ui/toolkits/wat").await.assert_status(200);
    assert!(page.text().contains("Since you set <code>KEY</code>"), "{}", page.text());
    assert!(page.text().contains("may also reach <code>b.example</code>"), "{}", page.text());
}

#[tokio::test]
async fn saving_one_setting_leaves_the_others_as_they_are() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let (ana, api) = (Visitor::sign_in(&kitbag, "ana").await, kitbag.as_user("ana"));
    let page = ana.get("/ui/toolkits/hostile").await.assert_status(200);
    let path = "/toolkits/hostile/config";
    let two_lines = r#"{"language":"one\ntwo"}"#;
    api.send(Method::PATCH, path, "application/json", two_lines).await.assert_status(200);
    let before = api.get(path).await.json();

    let version = page.text().split("name=\"version\" value=\"").nth(1).and_then(|it| it.split('"').next());
    let seen = [("owner", "local"), ("version", version.expect("a version"))];
    let typed = [&seen[..], &[("setting:language", "one\r\ntwo"), ("setting:limit", "3")]].concat();
    ana.post("/ui/toolkits/hostile/settings", &typed).await.assert_status(303);
    let after = api.get(path).await.json();
    assert_eq!((&after["language"], &after["limit"]["value"]), (&before["language"], &3.into()));

    let typed = [&seen[..], &[("setting:language", "")]].concat();
    ana.post("/ui/toolkits/hostile/settings", &typed).await.assert_status(303);
    assert!(api.get(path).await.json()["language"]["value"].is_null());
}

#[tokio::test]
async fn others_private_toolkits_are_not_there() {
    let kitbag =
        Kitbag::start_with(|settings| settings.operators = "ana,local".parse().expect("a list")).await;
    let wat = Wat { visibility: Visibility::Private, ..Wat::default() };
    kitbag.as_user("ana").deploy(wat.component()).await.assert_status(201);
    let (ana, ben) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ben").await);

    ana.get("/ui/toolkits/wat").await.assert_status(200);
    ben.get("/ui/toolkits/wat").await.assert_status(404);
    ben.post("/ui/toolkits/wat/settings", &[("unit", "a")]).await.assert_status(404);
    assert!(!ben.get("/ui/").await.text().contains("/ui/toolkits/wat"));
    assert_eq!(ana.get("/ui/").await.text().matches("/ui/toolkits/wat").count(), 1);
}

#[tokio::test]
async fn a_picture_is_served_from_here_to_whoever_sees_its_toolkit() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let wat = Wat { visibility: Visibility::Private, ..Wat::default() };
    kitbag.as_operator().deploy(wat.component()).await.assert_status(201);
    let stopped = kitbag.stop().await;
    // Database state after a deploy that could fetch the icon.
    let insert = format!(
        "INSERT INTO toolkit_icons
             SELECT toolkit_id, version,
                    CASE toolkit_id
                        WHEN 'wat' THEN '6513e2fec9afed6db039c2d7e9cd6b871da226b55aaaf058deee015707f2ef02'
                        ELSE '76c664ef152e065922fed4727315d065b8fb1aed61015cdaef7bcfea3c58d5ab'
                    END,
                    'image/gif', CAST(CASE toolkit_id WHEN 'wat' THEN 'GIF-of-local' ELSE 'GIF' END AS {})
             FROM toolkit_versions",
        database::type_of_bytes()
    );
    Database::of(stopped.data()).await.execute(AssertSqlSafe(insert), &[]).await;
    let kitbag = stopped.start().await;
    let (una, local) = (Visitor::sign_in(&kitbag, "una").await, Visitor::sign_in(&kitbag, "local").await);
    let shared = "/ui/icons/76c664ef152e065922fed4727315d065b8fb1aed61015cdaef7bcfea3c58d5ab";
    let private = "/ui/icons/6513e2fec9afed6db039c2d7e9cd6b871da226b55aaaf058deee015707f2ef02";

    una.get("/ui/toolkits/hints").await.assert_says(&format!("<img src=\"{shared}\" alt=\"\">"));
    let picture = una.get(shared).await.assert_status(200);

    assert_eq!((picture.text(), picture.header("content-type")), ("GIF", Some("image/gif")));
    assert_eq!(picture.header("content-security-policy"), Some("default-src 'none'; sandbox"));
    assert_eq!(picture.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(picture.header("cache-control"), Some("private, max-age=31536000, immutable"));
    assert_eq!(local.get(private).await.assert_status(200).text(), "GIF-of-local");
    for path in [private, "/ui/icons/none"] {
        una.get(path).await.assert_status(404);
    }
    Visitor::new(&kitbag).get(shared).await.assert_status(303);
    let elsewhere =
        [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")];
    una.sending(&elsewhere).get(shared).await.assert_status(403);
}
