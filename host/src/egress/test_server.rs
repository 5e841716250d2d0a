//! A real HTTP server on loopback for tests: counts and keeps what reached it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Serves until it is dropped; connections included, so that a dropped server is really down.
pub(crate) struct TestServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<http::request::Parts>>>,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl TestServer {
    /// Answers every request with what `answer` returns for it.
    pub(crate) async fn start<F>(answer: F) -> Self
    where
        F: Fn(&http::request::Parts) -> Response<Full<Bytes>> + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let connections = Arc::new(AtomicUsize::new(0));
        let (seen, accepted) = (Arc::clone(&requests), Arc::clone(&connections));
        let accepting = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                accepted.fetch_add(1, Ordering::Relaxed);
                open.spawn(async move {
                    let service = service_fn(move |request: Request<Incoming>| {
                        let (parts, _) = request.into_parts();
                        let response = answer(&parts);
                        seen.lock().unwrap().push(parts);
                        async { Ok::<_, Infallible>(response) }
                    });
                    let connection = hyper::server::conn::http1::Builder::new();
                    connection.serve_connection(TokioIo::new(stream), service).await.ok();
                });
            }
        });
        Self { address, requests, connections, accepting }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// `http://127.0.0.1:{port}`
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The heads of the requests so far.
    pub(crate) fn requests(&self) -> Vec<http::request::Parts> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// How often this path was asked for.
    pub(crate) fn hits(&self, path: &str) -> usize {
        self.requests().iter().filter(|parts| parts.uri.path() == path).count()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
