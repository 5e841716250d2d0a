//! A reverse proxy that records requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Requests with their statuses, oldest first: `POST /mcp → 401`. Clones share the record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript(Arc<Mutex<Vec<String>>>);

impl Transcript {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no writer panicked").clone()
    }

    /// Removes the requests recorded so far.
    pub(crate) fn clear(&self) {
        self.0.lock().expect("no writer panicked").clear();
    }

    /// Asserts that the transcript has lines with these prefixes, in this order. Other lines may be between
    /// them.
    #[track_caller]
    pub(crate) fn assert_in_order<T: AsRef<str>>(&self, expected: &[T]) {
        let lines = self.lines();
        let mut rest = lines.iter();
        for line in expected {
            let line = line.as_ref();
            assert!(rest.any(|passed| passed.starts_with(line)), "no {line:?} in its place: {lines:#?}");
        }
    }
}

/// Forwards every request, unchanged, to the server set by [`Recorder::forward_to`].
pub(crate) struct Recorder {
    url: String,
    target: Arc<OnceLock<SocketAddr>>,
    serving: JoinHandle<()>,
}

#[derive(Clone)]
struct Shared {
    target: Arc<OnceLock<SocketAddr>>,
    transcript: Transcript,
    client: Client<HttpConnector, Body>,
}

impl Recorder {
    pub(crate) async fn start(transcript: &Transcript) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let target = Arc::new(OnceLock::new());
        let shared = Shared {
            target: target.clone(),
            transcript: transcript.clone(),
            client: Client::builder(TokioExecutor::new()).build_http(),
        };
        let router = Router::new().fallback(forward).with_state(shared);
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { url, target, serving }
    }

    /// URL of the proxy, without a trailing slash.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sets the target server. To be called once, before the first request.
    pub(crate) fn forward_to(&self, server: SocketAddr) {
        self.target.set(server).expect("the server is told once");
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn forward(State(shared): State<Shared>, mut request: Request) -> Response {
    let line = format!("{} {}", request.method(), request.uri().path());
    let server = shared.target.get().expect("the server was told");
    let path = request.uri().path_and_query().expect("a request to a server has a path").clone();
    *request.uri_mut() = format!("http://{server}{path}").parse().expect("a URI");
    let response = shared.client.request(request).await.expect("the server answers");
    let line = format!("{line} → {}", response.status().as_u16());
    shared.transcript.0.lock().expect("no writer panicked").push(line);
    response.map(Body::new)
}
