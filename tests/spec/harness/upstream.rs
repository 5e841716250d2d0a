//! A server that toolkits may want to reach.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use tokio::net::TcpListener;
use tokio::sync::{Barrier, MutexGuard};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::eventually;

/// The port that the probe declares.
const PORT: u16 = 18999;

/// One upstream at a time: they share the port.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Listens where the probe may go, and remembers who came.
pub(crate) struct Upstream {
    seen: Arc<Mutex<Vec<Parts>>>,
    serving: JoinHandle<()>,
    _turn: MutexGuard<'static, ()>,
}

impl Upstream {
    /// Answers `/hello` with a greeting, `/large` with a mebibyte, and `/pair` once two requests
    /// are waiting for it.
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
            let (parts, _) = request.into_parts();
            let path = parts.uri.path().to_owned();
            remembered.lock().expect("no writer panicked").push(parts);
            let pair = pair.clone();
            async move { answer(&path, &pair).await.into_response() }
        });
        let listener = listener.expect("the port was free");
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { seen, serving, _turn: turn }
    }

    /// URL of a path, by a listed address.
    #[expect(clippy::unused_self, reason = "only an upstream that runs has URLs")]
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{PORT}{path}")
    }

    /// URL of a path, by a listed name.
    #[expect(clippy::unused_self, reason = "as above")]
    pub(crate) fn named_url(&self, path: &str) -> String {
        format!("http://localhost:{PORT}{path}")
    }

    /// The heads of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Parts> {
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

async fn answer(path: &str, pair: &Barrier) -> Result<String, &'static str> {
    match path {
        "/hello" => Ok("hello".to_owned()),
        "/large" => Ok("x".repeat(1 << 20)),
        "/pair" => match timeout(Duration::from_secs(20), pair.wait()).await {
            Ok(_) => Ok("together".to_owned()),
            Err(_) => Err("alone"),
        },
        _ => Ok("elsewhere".to_owned()),
    }
}
