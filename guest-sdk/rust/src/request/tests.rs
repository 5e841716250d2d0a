use serde_json::json;

use super::*;

#[test]
fn segments_and_parameters_cannot_leave_their_place() {
    let request = Request::get("https://api.example/v1/?a=1#top").segment("../b?c").query("q", "x&y=ü z");

    assert_eq!(request.url(), "https://api.example/v1/..%2Fb%3Fc?a=1&q=x%26y%3D%C3%BC+z#top");
    assert_eq!(request.query_value("q").as_deref(), Some("x&y=ü z"));
    assert_eq!(request.path(), "/v1/..%2Fb%3Fc");
    assert!(Request::get("https://api.example").segment("..").check().is_err());
}

#[test]
fn json_sets_its_content_type_and_leaves_one_that_is_there() {
    let plain = Request::post("https://a.example").json(&json!({ "a": 1 }));
    let own =
        Request::post("https://a.example").header("content-type", "application/ld+json").json(&json!(1));

    assert_eq!(plain.headers()["content-type"], "application/json");
    assert_eq!(plain.body_bytes(), br#"{"a":1}"#);
    assert_eq!(own.headers()["content-type"], "application/ld+json");
}

#[test]
fn what_cannot_be_sent_is_an_invalid_request() {
    for request in [
        Request::get("api.example/x"),
        Request::get("ftp://api.example/x"),
        Request::get("https:///x"),
        Request::get("https://api.example/a b"),
        Request::get("https://api.example").header("bad name", "x"),
        Request::get("https://api.example").header("x", "line\nbreak"),
        Request::get("https://api.example").header("Host", "evil.example"),
    ] {
        assert!(matches!(request.check(), Err(FetchError::InvalidRequest(_))), "{request:?}");
    }
}

#[test]
fn neither_debug_output_nor_an_error_shows_a_credential() {
    let request = Request::get("https://u:canary@api.example/x y?key=canary").bearer("canary");

    let shown = format!("{request:?} {}", request.check().unwrap_err());

    assert!(!shown.contains("canary"), "{shown}");
}
