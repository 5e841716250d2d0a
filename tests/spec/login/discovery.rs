//! Servers with invalid metadata documents: `kitbag login` fails before it asks the user to sign in.

use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::harness::Terminal;

/// Published documents of a server by path, and the requested paths without a document.
struct Published {
    documents: Vec<(&'static str, Value)>,
    asked: Vec<String>,
}

async fn answer(State(published): State<Arc<Mutex<Published>>>, request: Request) -> Response {
    let mut published = published.lock().expect("no writer panicked");
    let path = request.uri().path();
    if let Some((_, document)) = published.documents.iter().find(|(place, _)| *place == path) {
        return Json(document.clone()).into_response();
    }
    published.asked.push(path.to_owned());
    StatusCode::NOT_FOUND.into_response()
}

#[tokio::test]
async fn documents_that_do_not_hold_lead_to_no_sign_in() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let published = Arc::new(Mutex::new(Published { documents: Vec::new(), asked: Vec::new() }));
    let router = Router::new().fallback(answer).with_state(published.clone());
    tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
    let terminal = Terminal::at(&url);
    let resource = json!({ "resource": format!("{url}/mcp"), "authorization_servers": [url] });
    let issuer = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "registration_endpoint": format!("{url}/register"),
        "code_challenge_methods_supported": ["S256"],
    });

    for (of_resource, of_issuer, refusal) in [
        (
            json!({ "resource": "https://elsewhere.example/mcp" }),
            json!({}),
            "calls itself https://elsewhere.example",
        ),
        (json!({ "resource": url }), json!({}), "calls itself"),
        (json!({ "kitbag_mcp_client_id": "--scope" }), json!({}), "whose identifier is invalid"),
        (json!({ "kitbag_mcp_client_id": "\u{1b}[2J" }), json!({}), "whose identifier is invalid"),
        (json!({ "authorization_servers": [] }), json!({}), "names nobody who signs people in"),
        (json!({ "authorization_servers": ["no URL"] }), json!({}), "names nobody who could"),
        (
            json!({ "authorization_servers": ["http://a/\u{1b}[2J"] }),
            json!({}),
            "a/\\u{1b}[2J\" names nobody",
        ),
        (
            json!({ "authorization_servers": ["http://elsewhere.example"] }),
            json!({}),
            "http://elsewhere.example, who signs people in for",
        ),
        (json!({}), json!({ "issuer": "https://elsewhere.example" }), "is about another issuer"),
        (json!({}), json!({ "issuer": format!("{url}/") }), "is about another issuer"),
        (json!({}), json!({ "token_endpoint": "http://elsewhere.example/token" }), "which is not protected"),
        (json!({}), json!({ "authorization_endpoint": "file:///etc/passwd" }), "which is not protected"),
        (
            json!({}),
            json!({ "registration_endpoint": "http://192.0.2.1/register" }),
            "which is not protected",
        ),
        (json!({}), json!({ "code_challenge_methods_supported": ["plain"] }), "does not support PKCE"),
        (json!({}), json!({ "code_challenge_methods_supported": null }), "holds something else"),
        (json!({}), json!({ "registration_endpoint": null }), "--client-id"),
        (json!({}), json!({}), "refused to register"),
    ] {
        let case = format!("{of_resource} {of_issuer}");
        published.lock().expect("no writer panicked").documents = vec![
            ("/.well-known/oauth-protected-resource/mcp", with(resource.clone(), of_resource)),
            ("/.well-known/oauth-authorization-server", with(issuer.clone(), of_issuer)),
        ];

        let refused = terminal.run(&["login", "--no-browser"]).await;

        assert_eq!(refused.code, Some(1), "{case}: {refused:?}");
        assert!(refused.stderr.contains(refusal), "{case}: {}", refused.stderr);
        assert_eq!(refused.stdout, "", "{case}: a person was asked");
    }
    let asked = published.lock().expect("no writer panicked").asked.clone();
    // Only the last case reaches client registration.
    assert_eq!(asked.iter().filter(|path| *path == "/register").count(), 1, "{asked:?}");
    assert!(!terminal.session_file().exists());
}

fn with(mut object: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else { panic!("changes are an object") };
    object.as_object_mut().expect("an object").extend(changes);
    object
}
