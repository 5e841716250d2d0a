//! A server whose public URL has a path, behind a proxy that may or may not strip it.

use std::net::TcpListener;

use http::{HeaderMap, Method};
use kitbag::settings::BaseUrl;
use serde_json::json;

use crate::harness::{Kitbag, Visitor, guests, routes};

const PATH: &str = "/tools/kitbag";

/// Starts a server whose base URL has the path [`PATH`], and returns its URL too.
async fn start() -> (Kitbag, String) {
    let free = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = free.local_addr().expect("it is bound");
    drop(free);
    let url = format!("http://{address}{PATH}");
    let kitbag = Kitbag::start_with(|settings| {
        settings.listen = address.into();
        settings.base_url = url.parse().expect("a base URL");
    })
    .await;
    (kitbag, url)
}

#[tokio::test]
async fn requests_with_and_without_the_path_are_the_same() {
    let (kitbag, _) = start().await;
    kitbag.deploy(guests::TEXT).await;
    let ana = kitbag.as_user("ana");
    let call = json!({ "name": "text__count", "arguments": { "text": "one two" } });
    let (headers, body) = ana.message("tools/call", Some("text__count"), call);

    for path in ["/mcp", "/mcp/"] {
        for base in ["", PATH] {
            let path = format!("{base}{path}");
            let answer =
                kitbag.anonymous().send(Method::POST, &path, headers.clone(), body.to_string()).await;
            assert_eq!(answer.json()["result"]["structuredContent"]["words"], 2, "{path}");
        }
    }
    ana.get(&format!("{PATH}/toolkits")).await.assert_status(200);
    ana.get("/tools/kitbagel/toolkits").await.assert_status(404);
    ana.get("/tools/toolkits").await.assert_status(404);
}

#[test]
fn no_base_url_is_below_a_path_that_the_server_has_itself() {
    let base_url = |path: &str| format!("https://kb.example{path}").parse::<BaseUrl>();
    let own = routes();
    assert!(own.len() > 40);

    for route in own.iter().filter(|route| *route != "/") {
        let first = route.split('/').nth(1).expect("a segment");
        assert!(
            base_url(&format!("/{first}")).is_err() && base_url(&format!("/{first}/x")).is_err(),
            "{route}"
        );
    }
    for path in ["", "/", "/kitbag", "/kitbag/", "/tools/kitbag", "/a-b/c.d_e~f"] {
        assert!(base_url(path).is_ok(), "{path}");
    }
    for path in ["//", "/a//b", "/a b", "/a%20b", "/\"", "/a?b", "/a#b", "/é"] {
        assert!(base_url(path).is_err(), "{path}");
    }
}

#[tokio::test]
async fn what_clients_discover_is_below_the_path_and_by_the_rules_of_both_documents() {
    let (kitbag, url) = start().await;
    let get = async |path: &str| {
        kitbag.anonymous().send(Method::GET, path, HeaderMap::new(), "").await.assert_status(200).json()
    };

    let refused = kitbag.anonymous().send(Method::POST, &format!("{PATH}/mcp"), HeaderMap::new(), "{}").await;
    let challenge = refused.assert_status(401).header("www-authenticate").expect("a challenge").to_owned();
    let origin = url.strip_suffix(PATH).expect("it has the path");
    let metadata = format!("{origin}/.well-known/oauth-protected-resource{PATH}/mcp");
    assert!(challenge.contains(&format!("resource_metadata=\"{metadata}\"")), "{challenge}");

    let resource = get(&format!("/.well-known/oauth-protected-resource{PATH}/mcp")).await;
    assert_eq!(resource["resource"], format!("{url}/mcp"));
    assert_eq!(resource["authorization_servers"], json!([url]));
    // Also below the path, for proxies that forward nothing else.
    assert_eq!(get(&format!("{PATH}/.well-known/oauth-protected-resource")).await, resource);

    let server = get(&format!("/.well-known/oauth-authorization-server{PATH}")).await;
    assert_eq!(server["issuer"], url);
    for endpoint in ["authorization_endpoint", "token_endpoint", "registration_endpoint", "jwks_uri"] {
        let endpoint = server[endpoint].as_str().expect("a URL");
        assert!(endpoint.starts_with(&format!("{url}/oauth/")), "{endpoint}");
    }
    get(&format!("{PATH}/oauth/jwks")).await;
}

#[tokio::test]
async fn pages_link_and_lead_below_the_path_and_their_cookie_is_for_it_alone() {
    let (kitbag, _) = start().await;
    kitbag.deploy(guests::TEXT).await;
    let ana = kitbag.as_user("ana");
    ana.ingest(json!([{ "title": "=\"/ui/\"", "text": "<a href=\"/ui/\"> and \"/etc/hosts\"" }])).await;
    let visitor = Visitor::sign_in(&kitbag, "ana").await;

    let away = Visitor::new(&kitbag).get(&format!("{PATH}/ui/documents")).await.assert_status(303);
    let place = away.header("location").expect("a place").to_owned();
    assert!(place.starts_with(&format!("{PATH}/ui/signin?to=")), "{place}");
    let code = crate::harness::sign_in_code(kitbag.base_url()).expect("local mode");
    let fields = [("user", "ana"), ("code", code.as_str()), ("to", "/ui/documents")];
    let signed_in =
        Visitor::new(&kitbag).post(&format!("{PATH}/ui/signin"), &fields).await.assert_status(303);
    assert_eq!(signed_in.header("location").map(str::to_owned), Some(format!("{PATH}/ui/documents")));
    let cookie = signed_in.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains(&format!("; Path={PATH}/;")) && !cookie.contains("__Host-"), "{cookie}");

    for path in [
        "/ui/",
        "/ui/toolkits/text",
        "/ui/documents",
        "/ui/search?q=hosts",
        "/ui/connect",
        "/ui/account",
        "/ui/nosuch",
    ] {
        let page = visitor.get(&format!("{PATH}{path}")).await;
        let mut links = 0;
        for attribute in [" href=\"", " action=\"", " src=\""] {
            for link in
                page.text().split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap_or_default())
            {
                assert!(!link.starts_with('/') || link.starts_with(&format!("{PATH}/")), "{path}: {link}");
                links += 1;
            }
        }
        assert!(links > 5, "{path}: {}", page.text());
    }
    let listed = visitor.get(&format!("{PATH}/ui/documents")).await;
    assert!(listed.text().contains("=&#34;/ui/&#34;"), "texts of others stay: {}", listed.text());
    let style = listed.text().split("href=\"").find(|rest| rest.contains(".css\"")).expect("a style");
    visitor.get(style.split('"').next().expect("a link")).await.assert_status(200);
    assert!(visitor.get(&format!("{PATH}/ui/connect")).await.text().contains(&format!("{PATH}/mcp")));
}

#[tokio::test]
async fn captured_pages_of_others_are_as_they_were() {
    let (kitbag, _) = start().await;
    let ana = kitbag.as_user("ana");
    let page: &[u8] = b"<p><a href=\"/ui/\" src=\"/a\">caf\xe9 is not UTF-8</a>";

    let stored = ana
        .send(Method::POST, "/documents/file?title=A", "text/html; charset=windows-1252", page)
        .await
        .assert_status(201);
    let id = stored.json()["id"].as_str().expect("an id").to_owned();
    let downloaded = ana.get(&format!("{PATH}/documents/{id}/artifact")).await.assert_status(200);

    assert_eq!(downloaded.header("content-type"), Some("text/html"));
    assert_eq!(downloaded.body, page);
    assert_eq!(downloaded.header("content-length"), Some(page.len().to_string().as_str()));
}
