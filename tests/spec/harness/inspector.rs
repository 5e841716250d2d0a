//! A service that inspects calls (`dlp-url`), with a different answer for each path.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Text that the service refuses, in arguments and in results.
pub(crate) const FORBIDDEN: &str = "4111 1111 1111 1111";

/// Service that inspects calls. Stops when dropped.
pub(crate) struct Inspector {
    seen: Arc<Mutex<Vec<(Parts, Value)>>>,
    origin: String,
    serving: JoinHandle<()>,
}

impl Inspector {
    /// Starts the service:
    ///
    /// | path | answer |
    /// |---|---|
    /// | `/check` | refuses a message that contains [`FORBIDDEN`], with a reason, and allows others |
    /// | `/results` | the same, and allows all arguments |
    /// | `/arguments-alone` | allows all arguments, and 500 for results |
    /// | `/slow` | allows after a minute |
    /// | `/garbage` | a page of HTML |
    /// | `/large` | 10 MB that begin like an answer |
    /// | `/redirect` | a redirect to `/check` |
    /// | `/error` | 500 |
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::<Mutex<Vec<(Parts, Value)>>>::default();
        let remembered = seen.clone();
        let router = Router::new().fallback(move |request: Request| {
            let remembered = remembered.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                let message: Value = serde_json::from_slice(&body).expect("it is JSON");
                let path = parts.uri.path().to_owned();
                remembered.lock().expect("no writer panicked").push((parts, message.clone()));
                answer(&path, &message).await
            }
        });
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { seen, origin, serving }
    }

    /// URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Messages received so far.
    pub(crate) fn messages(&self) -> Vec<Value> {
        self.seen.lock().expect("no writer panicked").iter().map(|(_, message)| message.clone()).collect()
    }

    /// Heads of the requests received so far.
    pub(crate) fn heads(&self) -> Vec<Parts> {
        self.seen.lock().expect("no writer panicked").iter().map(|(head, _)| head.clone()).collect()
    }

    /// Phase and name of each message so far, in order.
    pub(crate) fn phases(&self) -> Vec<String> {
        let of = |message: &Value| {
            let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("phase"), text("method"), text("name"))
        };
        self.messages().iter().map(of).collect()
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(path: &str, message: &Value) -> Response {
    let is_forbidden = message.to_string().contains(FORBIDDEN);
    match path {
        "/results" | "/arguments-alone" if message["phase"] == "arguments" => {
            Json(json!({ "allow": true })).into_response()
        }
        "/check" | "/results" if is_forbidden => {
            let reason = "it has the number\n of a card\u{1b}[31m.";
            Json(json!({ "allow": false, "reason": reason })).into_response()
        }
        "/check" | "/results" => Json(json!({ "allow": true })).into_response(),
        "/slow" => {
            sleep(Duration::from_mins(1)).await;
            Json(json!({ "allow": true })).into_response()
        }
        "/garbage" => "<html>allow: true</html>".into_response(),
        "/large" => {
            let padding = "x".repeat(10_000_000);
            Body::from(Bytes::from(format!(r#"{{"allow":true,"padding":"{padding}"}}"#))).into_response()
        }
        "/redirect" => (StatusCode::TEMPORARY_REDIRECT, [("location", "/check")]).into_response(),
        _ => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
