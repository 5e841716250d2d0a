//! A server on loopback for toolkits to send requests to.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures::{StreamExt, stream};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{Barrier, MutexGuard};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{eventually, gzip};

/// Port that the probe declares.
const PORT: u16 = 18999;

/// Locked by the running upstream: all share the port, so only one runs at a time.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Server at an address that the probe declares; records requests.
pub(crate) struct Upstream {
    seen: Arc<Mutex<Vec<(Parts, Bytes)>>>,
    serving: JoinHandle<()>,
    _turn: MutexGuard<'static, ()>,
}

impl Upstream {
    /// Starts the server. It answers once it has received the whole request:
    ///
    /// | path | response |
    /// |---|---|
    /// | `/hello` | a greeting |
    /// | `/large` | 1 MiB |
    /// | `/pair` | `together`, once two requests are waiting for it |
    /// | `/redirect/{status}?{location}` | a redirect to `location` with that status |
    /// | `/drip` | an endless body, one byte every 20 ms |
    /// | `/endless` | an endless body, as fast as the client reads |
    /// | `/silent` | no response for five minutes |
    /// | `/bomb` | [`gzip::BOMB_BYTES`] zeros, compressed |
    /// | `/huge-head` | 100 KiB in one header |
    /// | `/many-headers` | 200 headers |
    /// | `/token` | a token response: `minted-token-1`, then `minted-token-2` and so on |
    /// | `/api` | the request's `Authorization` header |
    /// | `/api/no-first-token` | the same, but 401 for `minted-token-1` |
    pub(crate) async fn start() -> Self {
        let turn = TURN.lock().await;
        let mut listener = None;
        eventually("the probe's port is free", async || {
            listener = TcpListener::bind(("127.0.0.1", PORT)).await.ok();
            listener.is_some()
        })
        .await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (remembered, pair) = (seen.clone(), Arc::new(Barrier::new(2)));
        let router = Router::new().fallback(move |request: Request| {
            let (remembered, pair) = (remembered.clone(), pair.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                let minted = {
                    let mut remembered = remembered.lock().expect("no writer panicked");
                    remembered.push((parts.clone(), body));
                    remembered.iter().filter(|(parts, _)| parts.uri.path() == "/token").count()
                };
                match parts.uri.path() {
                    "/token" => token(minted),
                    "/api" | "/api/no-first-token" => api(&parts),
                    path => answer(path, parts.uri.query().unwrap_or_default(), &pair).await,
                }
            }
        });
        let listener = listener.expect("the port was free");
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let serving = tokio::spawn(async { axum::serve(listener, service).await.expect("it serves") });
        Self { seen, serving, _turn: turn }
    }

    /// URL of a path, by an IP address that the probe declares.
    #[expect(clippy::unused_self, reason = "only an upstream that runs has URLs")]
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{PORT}{path}")
    }

    /// URL of a path, by a host name that the probe declares.
    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn named_url(&self, path: &str) -> String {
        format!("http://localhost:{PORT}{path}")
    }

    /// Heads of the requests received so far; the client's address is among their extensions (`ConnectInfo`).
    pub(crate) fn requests(&self) -> Vec<Parts> {
        self.received().into_iter().map(|(head, _)| head).collect()
    }

    /// Requests received so far, with their bodies.
    pub(crate) fn received(&self) -> Vec<(Parts, Bytes)> {
        self.seen.lock().expect("no writer panicked").clone()
    }

    #[track_caller]
    pub(crate) fn assert_untouched(&self) {
        assert!(self.requests().is_empty(), "{:?}", self.requests());
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(path: &str, query: &str, pair: &Barrier) -> Response {
    match path {
        "/hello" => "hello".into_response(),
        "/large" => "x".repeat(1 << 20).into_response(),
        "/pair" => match timeout(Duration::from_secs(20), pair.wait()).await {
            Ok(_) => "together".into_response(),
            Err(_) => "alone".into_response(),
        },
        "/drip" => endless_body(Bytes::from("."), Duration::from_millis(20)),
        "/endless" => endless_body(Bytes::from(vec![b'x'; 64 << 10]), Duration::ZERO),
        "/silent" => {
            sleep(Duration::from_mins(5)).await;
            "at last".into_response()
        }
        "/bomb" => ([("content-encoding", "gzip")], gzip::bomb()).into_response(),
        "/huge-head" => [("x-huge", "v".repeat(100 << 10))].into_response(),
        "/many-headers" => {
            let names = (0..200).map(|number| (format!("x-{number}"), "v".to_owned()));
            axum::response::AppendHeaders(names.collect::<Vec<_>>()).into_response()
        }
        _ => match path.strip_prefix("/redirect/").and_then(|status| status.parse::<u16>().ok()) {
            Some(status) => {
                let status = StatusCode::from_u16(status).expect("a status");
                (status, [("location", query)]).into_response()
            }
            None => "elsewhere".into_response(),
        },
    }
}

fn token(number: usize) -> Response {
    let token = format!("minted-token-{number}");
    Json(json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 })).into_response()
}

fn api(request: &Parts) -> Response {
    let authorization = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    match (request.uri.path(), authorization) {
        ("/api/no-first-token", Some("Bearer minted-token-1")) => StatusCode::UNAUTHORIZED.into_response(),
        (_, authorization) => authorization.unwrap_or("nobody").to_owned().into_response(),
    }
}

/// A body that repeats `piece` without end, with a pause before each.
fn endless_body(piece: Bytes, pause: Duration) -> Response {
    let pieces = stream::repeat(piece).then(move |piece| async move {
        sleep(pause).await;
        Ok::<_, Infallible>(piece)
    });
    Body::from_stream(pieces).into_response()
}
