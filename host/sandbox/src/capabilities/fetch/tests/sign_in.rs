//! The toolkit's token: the requests that carry it, and the handling of its refusal.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use secrecy::ExposeSecret;

use super::*;

/// Issues `token-1`, `token-2`, … at `/token`; `/api` refuses all but the last of them.
async fn api() -> TestServer {
    api_refusing(401).await
}

async fn api_refusing(status: u16) -> TestServer {
    let minted = AtomicUsize::new(0);
    TestServer::start(move |head| match head.uri.path() {
        "/token" => {
            let number = minted.fetch_add(1, Ordering::Relaxed) + 1;
            Response::new(Full::from(format!(r#"{{"access_token":"token-{number}","token_type":"Bearer"}}"#)))
        }
        "/api" => {
            let last = format!("Bearer token-{}", minted.load(Ordering::Relaxed));
            let good = head.headers.get("authorization").is_some_and(|value| *value == last);
            let status = if good { 200 } else { status };
            Response::builder().status(status).body(Full::from("answer")).unwrap()
        }
        "/never" => Response::builder().status(status).body(Full::from("never")).unwrap(),
        _ => redirecting(head),
    })
    .await
}

fn signing_in(server: &TestServer) -> Toolkit {
    let declaration = OAuth2ClientCredentials {
        token_url: format!("http://localhost:{}/token", server.port()),
        client_id_secret: "CLIENT_ID".to_owned(),
        client_secret_secret: "CLIENT_SECRET".to_owned(),
        scope: None,
        api_host: format!("127.0.0.1:{}", server.port()),
    };
    let secrets = [("CLIENT_ID", "a client's id"), ("CLIENT_SECRET", "a client's secret")];
    let secrets = secrets.map(|(name, value)| (name.to_owned(), value)).into();
    Toolkit { auth: Some(declaration), secrets, ..Toolkit::reaching(server) }
}

/// Makes the API refuse the cached token, by requesting another one with a separate cache.
async fn invalidate_token(server: &TestServer) {
    let elsewhere = services();
    signing_in(server).call_with(&elsewhere).get(&format!("{}/api", server.origin())).await.unwrap();
}

/// Returns the `Authorization` header of each request for `path`; [`NOTHING`] if it had none.
fn tokens_at(server: &TestServer, path: &str) -> Vec<String> {
    let requests = server.requests().into_iter().filter(|head| head.uri.path() == path);
    let carried = requests.map(|head| head.headers.get("authorization").cloned());
    carried.map(|value| value.map_or(NOTHING.to_owned(), |it| it.to_str().unwrap().to_owned())).collect()
}

const NOTHING: &str = "nothing";

fn bearer(number: u8) -> String {
    format!("Bearer token-{number}")
}

#[tokio::test]
async fn the_api_gets_the_token_and_no_other_host_does() {
    let server = api().await;
    let mut guest = signing_in(&server).call();

    assert_eq!(guest.get(&format!("{}/api", server.origin())).await.unwrap(), 200);
    guest.get(&format!("http://localhost:{}/elsewhere", server.port())).await.unwrap();

    assert_eq!(tokens_at(&server, "/api"), [bearer(1)]);
    assert_eq!(tokens_at(&server, "/elsewhere"), [NOTHING]);
    assert_eq!(server.hits("/token"), 1);
    assert_eq!(guest.observations.usage.snapshot().requests, 3);
}

#[tokio::test]
async fn a_bare_api_host_gets_no_token_in_the_clear() {
    let server = api().await;
    let mut toolkit = signing_in(&server);
    toolkit.listed.push("localhost".to_owned());
    toolkit.auth.as_mut().unwrap().api_host = "localhost".to_owned();
    let mut guest = toolkit.call();

    guest.get("http://localhost/").await.ok();
    guest.get(&format!("http://localhost:{}/elsewhere", server.port())).await.unwrap();

    assert_eq!(tokens_at(&server, "/elsewhere"), [NOTHING]);
    assert_eq!(server.hits("/token"), 0);
    assert!(guest.observations.tokens.values().is_empty());
}

#[tokio::test]
async fn a_handlers_own_authorization_is_never_overwritten() {
    let server = api().await;
    let mut guest = signing_in(&server).call();
    let back = format!("http://127.0.0.1:{}/api", server.port());

    for uri in [back.clone(), format!("http://localhost:{}/redirect/307?{back}", server.port())] {
        let mut request = get(&uri);
        request.headers_mut().insert("authorization", "Basic mine".parse().unwrap());

        assert_eq!(guest.send(request).await.unwrap().status(), 401);
    }

    // The redirect dropped the header, and no token was attached instead.
    assert_eq!(tokens_at(&server, "/api"), ["Basic mine", NOTHING]);
    assert_eq!(server.hits("/token"), 0);
}

#[tokio::test]
async fn a_redirect_away_from_the_api_does_not_carry_the_token() {
    let server = api().await;
    let mut guest = signing_in(&server).call();
    let away = format!("http://localhost:{}/away", server.port());
    let back = format!("http://127.0.0.1:{}/api", server.port());

    guest.get(&format!("{}/redirect/307?{away}", server.origin())).await.unwrap();
    guest.get(&format!("http://localhost:{}/redirect/307?{back}", server.port())).await.unwrap();

    assert_eq!(tokens_at(&server, "/redirect/307"), [bearer(1), NOTHING.to_owned()]);
    assert_eq!(tokens_at(&server, "/away"), [NOTHING]);
}

#[tokio::test]
async fn no_other_host_can_send_a_signed_in_request_by_a_redirect() {
    let server = api().await;
    let mut guest = signing_in(&server).call();
    let api = server.origin();
    let elsewhere = format!("http://localhost:{}", server.port());

    for (status, way) in [
        (302, format!("{elsewhere}/redirect/302?{api}/api")),
        (307, format!("{elsewhere}/redirect/307?{api}/api")),
        // No token after a redirect from the API and back.
        (307, format!("{api}/redirect/307?{elsewhere}/redirect/307?{api}/api")),
        // No token later, at the API itself.
        (307, format!("{elsewhere}/redirect/307?{api}/redirect/307?/api")),
    ] {
        assert_eq!(guest.get(&way).await.unwrap(), 401, "{status} by {way}");
    }

    assert_eq!(tokens_at(&server, "/api"), [NOTHING; 4]);
}

#[tokio::test]
async fn the_api_may_redirect_a_signed_in_request_to_itself() {
    let server = api().await;
    let mut guest = signing_in(&server).call();

    guest.get(&format!("{}/redirect/307?/redirect/307?/api", server.origin())).await.unwrap();

    assert_eq!(tokens_at(&server, "/api"), [bearer(1)]);
}

#[tokio::test]
async fn a_refused_token_is_replaced_once_and_the_request_repeated() {
    for status in [401, 403] {
        let server = api_refusing(status).await;
        let toolkit = signing_in(&server);
        let services = services();
        toolkit.call_with(&services).get(&format!("{}/api", server.origin())).await.unwrap();
        invalidate_token(&server).await;
        let mut guest = toolkit.call_with(&services);

        let response =
            guest.send(request("POST", &format!("{}/api", server.origin()), "body")).await.unwrap();

        assert_eq!((response.status().as_u16(), &whole(response).await[..]), (200, &b"answer"[..]));
        assert_eq!(tokens_at(&server, "/api")[2..], [bearer(1), bearer(3)]);
        assert!(
            server.received()[4..].iter().all(|(head, body)| head.uri.path() != "/api" || body == "body")
        );
        assert_eq!(guest.observations.usage.snapshot().requests, 3);
        let attached = guest.observations.tokens.clone();
        drop(guest);
        let attached: Vec<_> = attached.values().iter().map(|it| it.expose_secret().to_owned()).collect();
        assert_eq!(attached, ["token-1", "token-3"]);
    }
}

#[tokio::test]
async fn a_second_refusal_is_the_answer() {
    let server = api().await;
    let mut guest = signing_in(&server).call();

    for _ in 0..2 {
        let response = guest.send(get(&format!("{}/never", server.origin()))).await.unwrap();
        assert_eq!((response.status().as_u16(), &whole(response).await[..]), (401, &b"never"[..]));
    }

    assert_eq!(tokens_at(&server, "/never"), [bearer(1), bearer(2), bearer(2), bearer(3)]);
}

#[tokio::test]
async fn one_request_replaces_its_token_once_over_all_its_hops() {
    let server = api().await;
    let mut guest = signing_in(&server).call();

    // The API redirects the request to a path that refuses every token.
    let status = guest.get(&format!("{}/redirect/307?/never", server.origin())).await.unwrap();

    assert_eq!(status, 401);
    assert_eq!(tokens_at(&server, "/never"), [bearer(1), bearer(2)]);
}

#[tokio::test]
async fn concurrent_refusals_of_one_token_share_one_replacement() {
    let server = api().await;
    let toolkit = signing_in(&server);
    let services = services();
    let uri = format!("{}/api", server.origin());
    let mut guest = toolkit.call_with(&services);
    guest.get(&uri).await.unwrap();
    invalidate_token(&server).await;

    let requests: Vec<_> = (0..10).map(|_| guest.send_with(get(&uri), RequestOptions::default())).collect();
    let answers = join_all(requests).await;

    assert!(answers.into_iter().all(|answer| answer.unwrap().status() == 200));
    assert_eq!(server.hits("/token"), 3);
}

#[tokio::test]
async fn a_request_that_cannot_be_repeated_gets_its_refusal_and_the_next_one_another_token() {
    let server = api().await;
    let toolkit = signing_in(&server);
    let services = services();
    let uri = format!("{}/api", server.origin());
    toolkit.call_with(&services).get(&uri).await.unwrap();
    invalidate_token(&server).await;
    let mut guest = toolkit.call_with(&services);

    let refused = guest.send(request("POST", &uri, vec![b'x'; (1 << 20) + 1])).await.unwrap();
    let line = "fetch: the API answered 401 and the request was not repeated: \
                its body is larger than 1024 KiB and cannot be sent again\n";
    assert_eq!((refused.status().as_u16(), guest.notes().as_str()), (401, line));

    assert_eq!(guest.get(&uri).await.unwrap(), 200);
    assert_eq!(tokens_at(&server, "/api")[2..], [bearer(1), bearer(3)]);
}

#[tokio::test]
async fn tokens_and_repetitions_count_against_the_budget_of_the_call() {
    let server = api().await;
    let mut toolkit = signing_in(&server);
    let uri = format!("{}/never", server.origin());
    let mut requests = async |budget| {
        toolkit.limits.requests = budget;
        let mut guest = toolkit.call();
        let before = server.requests().len();
        let answer = guest.get(&uri).await.map_err(|error| format!("{error:?}"));
        (answer, server.requests().len() - before, guest.notes().contains("all the requests it may make"))
    };

    // The token, the request, another token, the request again.
    assert_eq!(requests(1).await, (Err("ConnectionLimitReached".to_owned()), 0, true));
    assert_eq!(requests(2).await, (Ok(401), 2, true));
    assert_eq!(requests(3).await, (Ok(401), 3, true));
    assert_eq!(requests(4).await, (Ok(401), 4, false));
}

#[tokio::test]
async fn a_missing_credential_is_a_network_error_and_a_command_in_the_log() {
    let server = api().await;
    let mut toolkit = signing_in(&server);
    toolkit.secrets.remove("CLIENT_SECRET");
    let mut guest = toolkit.call();

    let refused = guest.get(&format!("{}/api", server.origin())).await.unwrap_err();

    assert!(matches!(refused, Error::ConfigurationError), "{refused:?}");
    let notes = guest.notes();
    assert!(notes.contains("kitbag secret set books CLIENT_SECRET --from-stdin\n"), "{notes}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_refused_grant_is_a_network_error_and_a_line_without_secrets() {
    let server = TestServer::start(|_| {
        Response::builder().status(401).body(Full::from(r#"{"error":"invalid_client"}"#)).unwrap()
    })
    .await;
    let mut guest = signing_in(&server).call();

    let refused = guest.get(&format!("{}/api", server.origin())).await.unwrap_err();

    assert!(matches!(refused, Error::ConfigurationError), "{refused:?}");
    let notes = guest.notes();
    assert!(notes.contains("refused the credentials of `auth`: 401 Unauthorized invalid_client"), "{notes}");
    assert!(!notes.contains("secret") && !notes.contains("/token"), "{notes}");
    assert_eq!(server.hits("/api"), 0);
}
