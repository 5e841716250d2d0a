//! Requests: allowlist, sign-in and redirects.

use serde_json::json;

use crate::test_host::exchange::{
    Exchange, Following, Head, Network, Responded, Sending, TokenRequest, TokenResponse, granted,
};

const API: &str = "https://api.example/";

fn network(auth: &serde_json::Value) -> Network {
    serde_json::from_value(json!({
        "toolkit": "books", "egress": ["api.example", "other.example", "auth.example"], "auth": auth,
        "secrets": { "KEY": "s3cr3t-value", "ID": "the id", "SECRET": "the-secret" },
    }))
    .expect("it is a network")
}

fn in_query() -> Network {
    network(
        &json!({ "type": "api_key", "secret": "KEY", "in": "query", "name": "a key", "apiHost": "api.example" }),
    )
}

fn granting() -> Network {
    network(&json!({
        "type": "oauth2_client_credentials", "tokenUrl": "https://auth.example/t", "clientIdSecret": "ID",
        "clientSecretSecret": "SECRET", "apiHost": "api.example",
    }))
}

fn head(method: &str, url: &str) -> Head {
    let headers =
        [("x-key", "s3cr3t-value"), ("cookie", "a=b"), ("content-type", "text/plain"), ("x-own", "1")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Head { method: method.to_owned(), url: url.to_owned(), headers }
}

fn status(status: u16, locations: &[&str]) -> Responded {
    let locations = locations.iter().map(|&it| it.to_owned()).collect();
    Responded { status, locations, is_repeatable: true, ..Responded::default() }
}

/// Returns the request that follows a redirect.
fn followed(network: &Network, head: &Head, response: &Responded) -> Result<(Head, bool), String> {
    let mut exchange = Exchange::default();
    exchange.next(network, head);
    match exchange.responded(network, head, response) {
        Following::Follow { head, drops_body } => Ok((head, drops_body)),
        Following::Fail { message } => Err(message),
        other => panic!("{other:?}"),
    }
}

fn names(head: &Head) -> Vec<&str> {
    head.headers.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_host_that_is_not_listed_is_refused_at_each_step() {
    let mut exchange = Exchange::default();
    let refused = exchange.next(&in_query(), &head("GET", "https://evil.example/"));

    let Sending::Fail(refusal) = refused else { panic!("{refused:?}") };
    assert!(refusal.message.starts_with("evil.example is not listed in egress"), "{refusal:?}");
    assert_eq!(refusal.failure, None);
}

#[test]
fn an_attached_parameter_is_attached_to_its_host_alone_and_does_not_follow_redirects() {
    let network = in_query();
    let get = head("GET", "https://api.example/x?q=%2B1#top");
    let Sending::Send { attach: Some(attached) } = Exchange::default().next(&network, &get) else { panic!() };
    assert_eq!(attached.url.as_deref(), Some("https://api.example/x?q=%2B1&a+key=s3cr3t-value#top"));

    for url in ["https://other.example/", "http://api.example/", "https://api.example/?a%20key=own"] {
        let sending = Exchange::default().next(&network, &head("GET", url));
        assert!(!matches!(sending, Sending::Send { attach: Some(_) }), "{url}: {sending:?}");
    }
    let copied = "https://other.example/?a+key=s3cr3t-value&b=1";
    let (next, _) = followed(&network, &get, &status(302, &[copied])).expect("a redirect");
    assert_eq!(next.url, "https://other.example/?b=1");
}

#[test]
fn after_another_host_nothing_is_attached() {
    let network = network(&json!({ "type": "api_key", "secret": "KEY", "apiHost": "api.example" }));
    let mut exchange = Exchange::default();
    let mut attaches = |url: &str| {
        let head = Head { headers: Vec::new(), ..head("GET", url) };
        matches!(exchange.next(&network, &head), Sending::Send { attach: Some(_) })
    };

    assert!(attaches(API) && attaches("https://api.example/2"));
    assert!(!attaches("https://other.example/") && !attaches(API));
}

#[test]
fn headers_with_credentials_stay_with_their_origin() {
    let network = in_query();
    let (own, _) = followed(&network, &head("GET", API), &status(307, &["/next"])).expect("a redirect");
    let (away, _) =
        followed(&network, &head("GET", API), &status(307, &["//other.example/"])).expect("a redirect");

    assert_eq!(names(&own), ["x-key", "cookie", "content-type", "x-own"]);
    assert_eq!(names(&away), ["content-type", "x-own"]);
}

#[test]
fn a_method_becomes_get_by_the_status() {
    for (code, method, expected) in [
        (301, "POST", "GET"),
        (302, "PATCH", "PATCH"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (308, "POST", "POST"),
    ] {
        let (next, drops_body) =
            followed(&in_query(), &head(method, API), &status(code, &["/next"])).expect("a redirect");
        assert_eq!((next.method.as_str(), drops_body), (expected, method != expected), "{code} {method}");
        assert_eq!(names(&next).contains(&"content-type"), method == expected, "{code} {method}");
    }
}

#[test]
fn a_place_that_cannot_be_gone_to_is_an_error() {
    for location in ["http://api.example/", "ftp://api.example/", "https://user:p@api.example/", "https://"] {
        assert!(followed(&in_query(), &head("GET", API), &status(302, &[location])).is_err(), "{location}");
    }
    assert!(followed(&in_query(), &head("GET", API), &status(302, &["/a", "/b"])).is_err());

    let network = in_query();
    let mut exchange = Exchange::default();
    let mut step = || exchange.responded(&network, &head("GET", API), &status(302, &["/again"]));
    assert!((0..20).all(|_| matches!(step(), Following::Follow { .. })));
    assert!(matches!(step(), Following::Fail { .. }));
}

#[test]
fn a_token_is_requested_first_and_renewed_once() {
    let mut network = granting();
    let mut exchange = Exchange::default();
    let get = Head { headers: Vec::new(), ..head("GET", API) };
    assert_eq!(exchange.next(&network, &get), Sending::Token { sign_in: 0 });

    let request = TokenRequest::of(&network, 0).expect("the credentials are set");
    assert_eq!(
        (request.head.url.as_str(), request.body.as_str()),
        ("https://auth.example/t", "grant_type=client_credentials")
    );
    assert!(
        request.head.headers.contains(&("authorization".into(), "Basic dGhlK2lkOnRoZS1zZWNyZXQ=".into()))
    );
    network.set_token(0, "t-1".to_owned());
    let Sending::Send { attach: Some(attached) } = exchange.next(&network, &get) else { panic!() };
    assert_eq!(attached.header, Some(("authorization".into(), "Bearer t-1".into())));

    assert_eq!(exchange.responded(&network, &get, &status(401, &[])), Following::Renew { sign_in: 0 });
    assert_eq!(exchange.responded(&network, &get, &status(401, &[])), Following::Answer { failure: None });
    let stream = Responded { is_repeatable: false, ..status(401, &[]) };
    let mut other = Exchange::default();
    other.next(&network, &get);
    assert_eq!(other.responded(&network, &get, &stream), Following::Answer { failure: None });
}

#[test]
fn a_response_of_a_token_endpoint_is_read_as_on_a_server() {
    let read = |status: u16, media_type: Option<&str>, body: &str| {
        let response = TokenResponse { status, media_type, body };
        granted(&granting(), 0, &response)
            .map_err(|it| it.failure.map_or(String::new(), |failure| failure.error))
    };
    let form = Some("application/x-www-form-urlencoded; charset=utf-8");

    assert_eq!(read(200, None, r#"{"access_token":"t"}"#).as_deref(), Ok("t"));
    assert_eq!(read(200, form, "access_token=t&token_type=bearer").as_deref(), Ok("t"));
    for (status, media_type, body, expected) in [
        (400, None, r#"{"error":"invalid_client"}"#, "with HTTP status 400 (invalid_client)"),
        (200, None, r#"{"error":"invalid_grant"}"#, "with HTTP status 200 (invalid_grant)"),
        (200, form, "error=invalid_grant", "with HTTP status 200 (invalid_grant)"),
        (200, None, "<html>", "no JSON object with access_token"),
        (200, None, r#"{"access_token":"t","token_type":"mac"}"#, "token_type is not Bearer"),
        (200, None, r#"{"access_token":"a b"}"#, "cannot stand in a header"),
        (503, None, "", "auth.example answered with HTTP status 503. Try again later."),
        (429, None, "", "answered with HTTP status 429"),
    ] {
        let error = read(status, media_type, body).expect_err("it is no token");
        assert!(error.contains(expected), "{body}: {error}");
    }
}
