//! A real HTTP server on loopback for tests: records the requests and counts connections.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// HTTP server that stops and closes its connections on drop.
pub struct TestServer {
    address: SocketAddr,
    received: Arc<Mutex<Vec<(http::request::Parts, Bytes)>>>,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl TestServer {
    /// Starts a server that responds to each complete request with the result of `answer`.
    pub async fn start<F>(answer: F) -> Self
    where
        F: Fn(&http::request::Parts) -> Response<Full<Bytes>> + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let received = Arc::new(Mutex::new(Vec::new()));
        let answer = Arc::new(answer);
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&received);
        let accepted = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("it listens");
                let answer = Arc::clone(&answer);
                let seen = Arc::clone(&seen);
                accepted.fetch_add(1, Ordering::Relaxed);
                open.spawn(async move {
                    let service = service_fn(move |request: Request<Incoming>| {
                        let answer = Arc::clone(&answer);
                        let seen = Arc::clone(&seen);
                        async move {
                            let (parts, body) = request.into_parts();
                            let body = body.collect().await?.to_bytes();
                            let response = answer(&parts);
                            seen.lock().expect("nothing panics while it has this").push((parts, body));
                            Ok::<_, hyper::Error>(response)
                        }
                    });
                    let connection = hyper::server::conn::http1::Builder::new();
                    connection.serve_connection(TokioIo::new(stream), service).await.ok();
                });
            }
        });
        Self { address, received, connections, accepting }
    }

    /// TCP port of the server.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Origin of the server: `http://127.0.0.1:{port}`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Heads of all requests so far.
    pub fn requests(&self) -> Vec<http::request::Parts> {
        self.received().into_iter().map(|(head, _)| head).collect()
    }

    /// Heads and bodies of all requests so far.
    pub fn received(&self) -> Vec<(http::request::Parts, Bytes)> {
        self.received.lock().expect("nothing panics while it has this").clone()
    }

    /// Value of a header in the last request.
    pub fn last_header(&self, name: &str) -> Option<String> {
        let (head, _) = self.received().pop()?;
        head.headers.get(name).map(|value| value.to_str().expect("text").to_owned())
    }

    /// Number of accepted connections.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Number of requests for this path.
    pub fn hits(&self, path: &str) -> usize {
        self.requests().iter().filter(|parts| parts.uri.path() == path).count()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
