//! HTTP server that is not Kitbag: responds as a test specifies, and records requests.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Server on loopback. Stops when dropped.
pub(crate) struct Impostor {
    url: String,
    seen: Arc<Mutex<Vec<Parts>>>,
    serving: JoinHandle<()>,
}

impl Impostor {
    /// Starts a server that answers each request with `answer(head, own URL)`.
    pub(crate) async fn start(
        answer: impl Fn(&Parts, &str) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (remembered, itself) = (seen.clone(), url.clone());
        let router = Router::new().fallback(move |request: Request| {
            let (head, _) = request.into_parts();
            let response = answer(&head, &itself);
            remembered.lock().expect("no writer panicked").push(head);
            async { response }
        });
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { url, seen, serving }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Heads of the requests received so far.
    pub(crate) fn requests(&self) -> Vec<Parts> {
        self.seen.lock().expect("no writer panicked").clone()
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
