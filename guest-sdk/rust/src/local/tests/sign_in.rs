//! Each kind of `auth`: cases in which it attaches credentials, and cases in which it does not.

use std::cell::Cell;
use std::rc::Rc;

use super::bare;
use crate::prelude::*;

const TOKEN_URL: &str = "https://auth.example/token";

fn grant() -> ClientCredentials {
    ClientCredentials {
        token_url: TOKEN_URL,
        client_id_secret: "ID",
        client_secret_secret: "SECRET",
        scope: Some("read"),
        api_host: "api.example",
    }
}

fn account() -> AuthorizationCode {
    AuthorizationCode {
        authorization_url: "https://auth.example/authorize",
        token_url: TOKEN_URL,
        client_id_secret: "ID",
        api_host: "api.example",
        ..AuthorizationCode::default()
    }
}

fn key(place: KeyPlace) -> ApiKey {
    ApiKey { secret: "KEY", place, api_host: "api.example" }
}

const BASIC: BasicAuth =
    BasicAuth { username_secret: "USER", password_secret: "PASSWORD", api_host: "api.example" };

/// Returns the toolkit with a tool that sends `requests` in order and returns the last status.
fn sending(toolkit: Toolkit, requests: Vec<Request>) -> Toolkit {
    let hosts = ["auth.example", "api.example", "api.example:80", "other.example", "localhost:8080"];
    let send = move |_: NoArgs, ctx: Ctx| {
        let requests = requests.clone();
        async move {
            let mut status = 0;
            for request in requests {
                status = ctx.fetch(request).await?.status().as_u16();
            }
            if status == 200 { Ok("200") } else { Err(Failure::from(ToolError::new("refused"))) }
        }
    };
    hosts.into_iter().fold(toolkit, Toolkit::egress).tool(Tool::new("send", send).description("d"))
}

fn call() -> Call {
    Call::new("send").fetch(|request| match request.url() {
        TOKEN_URL => json!({ "access_token": "t-1" }).into(),
        _ => Answer::from(Response::new(200, "")),
    })
}

/// Returns the header's value in each request that reached the upstream; empty if the request has none.
fn headers(outcome: &Outcome, name: &str) -> Vec<String> {
    let value = |request: &Request| {
        request.headers().get(name).map_or("", |value| value.to_str().expect("a text")).to_owned()
    };
    assert!(outcome.is_ok(), "{:?}", outcome.failure());
    outcome.requests().iter().map(value).collect()
}

#[test]
fn a_key_goes_into_its_header_with_its_prefix_or_into_the_query() {
    let request = || vec![Request::get("https://api.example/x?q=a")];
    let with_key = |auth: ApiKey| {
        let toolkit = sending(bare().auth(auth), request());
        dispatch(&toolkit, call().secret("KEY", "k& 1"))
    };

    assert_eq!(headers(&with_key(key(KeyPlace::default())), "authorization"), ["k& 1"]);
    let own = KeyPlace::Header { name: "X-Key", prefix: "Token " };
    assert_eq!(headers(&with_key(key(own)), "x-key"), ["Token k& 1"]);
    let query = with_key(key(KeyPlace::Query { name: "key" }));
    assert_eq!(query.requests()[0].url(), "https://api.example/x?q=a&key=k%26+1");
}

#[test]
fn user_name_and_password_and_the_token_of_an_account_are_attached() {
    let request = || vec![Request::get("https://api.example/")];

    let basic = sending(bare().auth(BASIC), request());
    let basic = dispatch(&basic, call().secret("USER", "ana").secret("PASSWORD", "p"));
    let connected = dispatch(&sending(bare().auth(account()), request()), call().account("token"));

    assert_eq!(headers(&basic, "authorization"), ["Basic YW5hOnA="]);
    assert_eq!(headers(&connected, "authorization"), ["Bearer token"]);
}

#[test]
fn a_token_is_requested_once_and_again_when_the_api_refuses_it() {
    let requests = || vec![Request::get("https://api.example/1"), Request::get("https://api.example/2")];
    let toolkit = || sending(bare().secret("ID").secret("SECRET").auth(grant()), requests());
    let with_secrets = |call: Call| call.secret("ID", "i").secret("SECRET", "s");

    let outcome = dispatch(&toolkit(), with_secrets(call()));
    assert_eq!(headers(&outcome, "authorization"), ["Basic aTpz", "Bearer t-1", "Bearer t-1"]);
    let form = outcome.requests()[0].body_bytes();
    assert_eq!(String::from_utf8_lossy(form), "grant_type=client_credentials&scope=read");

    let minted = Rc::new(Cell::new(0));
    let count = minted.clone();
    let outcome = dispatch(
        &toolkit(),
        with_secrets(Call::new("send").fetch(move |request| match request.url() {
            TOKEN_URL => {
                count.update(|it| it + 1);
                json!({ "access_token": format!("t-{}", count.get()) }).into()
            }
            _ if request.headers()["authorization"] == "Bearer t-2" => Response::new(200, ""),
            _ => Response::new(403, ""),
        })),
    );
    assert_eq!(outcome.text(), "200");
    assert_eq!(minted.get(), 2);
}

#[test]
fn nothing_is_attached_elsewhere_nor_where_the_handler_has_set_its_own() {
    let requests = vec![
        Request::get("https://other.example/"),
        Request::get("http://api.example/"),
        Request::new(http::Method::TRACE, "https://api.example/"),
        Request::get("https://api.example/").header("Authorization", "own"),
    ];
    let outcome =
        dispatch(&sending(bare().auth(key(KeyPlace::default())), requests), call().secret("KEY", "k-1"));
    assert_eq!(headers(&outcome, "authorization"), ["", "", "", "own"]);

    let in_query = key(KeyPlace::Query { name: "api key" });
    let own = "https://api.example/?a=1&api%20key=own";
    let outcome =
        dispatch(&sending(bare().auth(in_query), vec![Request::get(own)]), call().secret("KEY", "k-1"));
    assert_eq!(outcome.requests()[0].url(), own);
}

#[test]
fn each_host_gets_what_is_declared_for_it() {
    let local = ApiKey { secret: "LOCAL_KEY", place: KeyPlace::default(), api_host: "localhost:8080" };
    let requests = vec![
        Request::get("https://api.example/"),
        Request::get("http://localhost:8080/"),
        Request::get("https://other.example/"),
    ];

    let outcome = dispatch(
        &sending(bare().auth(account()).auth(local), requests),
        call().account("token").secret("LOCAL_KEY", "k-1"),
    );

    assert_eq!(headers(&outcome, "authorization"), ["Bearer token", "k-1", ""]);
}

#[test]
fn a_call_fails_with_the_command_that_helps_if_something_is_missing_or_refused() {
    let error = |toolkit: Toolkit, call: Call| {
        let outcome = dispatch(&sending(toolkit, vec![Request::get("https://api.example/")]), call);
        outcome.failure().error.clone()
    };

    assert_eq!(
        error(bare().auth(BASIC), call().secret("USER", "ana")),
        "The credential PASSWORD is not set. Set it with: kitbag secret set books PASSWORD --from-stdin"
    );
    assert_eq!(
        error(bare().auth(BASIC), call().secret("USER", "a:b").secret("PASSWORD", "p")),
        "The credential USER cannot be used: it has a colon, which separates it from the password. \
         Set it with: kitbag secret set books USER --from-stdin"
    );
    let line = error(bare().auth(key(KeyPlace::default())), call().secret("KEY", "k\r\nx: 1"));
    assert!(line.starts_with("The credential KEY cannot be used: it has characters"), "{line}");
    let of_grant = error(bare().secret("ID").secret("SECRET").auth(grant()), call());
    assert!(of_grant.starts_with("The credentials ID and SECRET are not set. "), "{of_grant}");
    assert_eq!(
        error(bare().auth(account()), call()),
        "This tool acts with your account at api.example, and none is connected. \
         Connect it with: kitbag toolkit sign-in books"
    );
    let refused = error(bare().auth(account()), call().account("old").fetch(|_| Response::new(401, "")));
    assert!(refused.starts_with("api.example did not accept your connected account"), "{refused}");
    let endpoint = |_: &Request| Response::new(400, r#"{"error":"invalid_client"}"#);
    let secrets = call().secret("ID", "i").secret("SECRET", "s").fetch(endpoint);
    let refused = error(bare().secret("ID").secret("SECRET").auth(grant()), secrets);
    assert!(refused.contains("with HTTP status 400 (invalid_client)"), "{refused}");
}

#[test]
fn a_secret_that_only_auth_names_cannot_be_read() {
    let peek = async |_: NoArgs, ctx: Ctx| Ok::<_, Failure>(ctx.secret("KEY").await?.unwrap_or_default());
    let toolkit = bare()
        .egress("api.example")
        .auth(key(KeyPlace::default()))
        .tool(Tool::new("peek", peek).description("d"));

    let outcome = dispatch(&toolkit, Call::new("peek").secret("KEY", "k-1"));

    assert!(outcome.detail().expect("a detail").contains(r#"add "KEY" to the toolkit's secrets"#));
}

#[test]
#[should_panic(expected = "account: auth has no oauth2_authorization_code")]
fn an_account_that_nobody_could_connect_is_a_mistake_of_the_test() {
    dispatch(&sending(bare(), Vec::new()), call().account("token"));
}
