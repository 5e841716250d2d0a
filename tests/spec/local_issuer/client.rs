//! Requests of an OAuth client and of its user's browser.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::harness::{Answer, Http, ask_raw, sign_in_code};

pub(crate) const CALLBACK: &str = "http://127.0.0.1:33418/callback";
pub(super) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// Fetches a JSON document from this server by its absolute URL.
pub(super) async fn fetch_document(http: &Http, url: &str) -> Value {
    let path = Url::parse(url).expect("a URL").path().to_owned();
    assert_eq!(http.url(&path).as_str(), url);
    http.get(&path).await.assert_status(200).json()
}

pub(super) fn metadata_url(challenge: &Answer) -> &str {
    let value = challenge.header("www-authenticate").expect("a challenge");
    value.split('"').nth(1).expect("a quoted URL")
}

/// Registers a client dynamically (RFC 7591) and returns its id.
pub(crate) async fn register(http: &Http, metadata: &Value) -> String {
    let headers = HeaderMap::from_iter([header_of("content-type", "application/json")]);
    let answer = http.send(Method::POST, "/oauth/register", headers, metadata.to_string()).await;
    text(&answer.assert_status(201).json(), "client_id").to_owned()
}

/// Returns path and query of an authorization request with PKCE (RFC 7636).
pub(super) fn request(client_id: &str) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, VERIFIER.as_bytes()));
    let query = form(&[
        ("response_type", "code"),
        ("client_id", client_id),
        ("redirect_uri", CALLBACK),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("state", "xyz"),
    ]);
    format!("/oauth/authorize?{query}")
}

/// Opens the consent page and returns the request id in its form.
pub(super) async fn request_id(http: &Http, client_id: &str) -> String {
    let page = http.get(&request(client_id)).await.assert_status(200);
    let html = String::from_utf8(page.body.to_vec()).expect("UTF-8");
    let field = html.split("name=\"request_id\" value=\"").nth(1).expect("a request id");
    field.split('"').next().expect("its end").to_owned()
}

/// Returns the form fields that consent as `user`, with the sign-in code.
pub(super) fn answer(http: &Http, request_id: &str, user: &str) -> [(&'static str, String); 4] {
    let code = sign_in_code(&http.url("/")).expect("the server asks for a code");
    [
        ("request_id", request_id.to_owned()),
        ("decision", "allow".to_owned()),
        ("user", user.to_owned()),
        ("code", code),
    ]
}

/// Consents as `user` and returns the URL of the redirect to the client.
pub(crate) async fn consent(http: &Http, client_id: &str, user: &str) -> Url {
    let request_id = request_id(http, client_id).await;
    let form = answer(http, &request_id, user);
    let form: Vec<_> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = post(http, "/oauth/authorize", &form).await.assert_status(303);
    let back: Url = answer.header("location").expect("a way back").parse().expect("a URL");
    assert!(back.as_str().starts_with(CALLBACK), "{back}");
    back
}

pub(crate) async fn redeem(http: &Http, client_id: &str, code: &str) -> Answer {
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client_id),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    post(http, "/oauth/token", &form).await
}

pub(super) async fn refresh(http: &Http, client_id: &str, refresh_token: &str) -> Answer {
    let form = [("grant_type", "refresh_token"), ("client_id", client_id), ("refresh_token", refresh_token)];
    post(http, "/oauth/token", &form).await
}

/// Sends a GET request with a `Host` header for each of `hosts`, and returns the whole response.
pub(super) async fn get_as(base_url: &Url, hosts: &[String], path: &str) -> String {
    let mut lines = vec![format!("GET {path} HTTP/1.1")];
    lines.extend(hosts.iter().map(|host| format!("Host: {host}")));
    lines.push("Connection: close\r\n\r\n".to_owned());
    ask_raw(base_url, &lines.join("\r\n")).await
}

pub(crate) async fn post(http: &Http, path: &str, parameters: &[(&str, &str)]) -> Answer {
    post_with(http, path, parameters, &[]).await
}

pub(super) async fn post_with(
    http: &Http,
    path: &str,
    parameters: &[(&str, &str)],
    headers: &[(&'static str, &str)],
) -> Answer {
    let mut headers: HeaderMap = headers.iter().map(|(name, value)| header_of(name, value)).collect();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    http.send(Method::POST, path, headers, form(parameters)).await
}

fn form(parameters: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(parameters).finish()
}

pub(super) fn header_of(name: &'static str, value: &str) -> (HeaderName, HeaderValue) {
    (HeaderName::from_static(name), value.parse().expect("a header value"))
}

pub(super) fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

#[track_caller]
pub(super) fn text<'a>(json: &'a Value, name: &str) -> &'a str {
    json[name].as_str().unwrap_or_else(|| panic!("no {name} in {json}"))
}
