//! A file server on loopback, with regular and hostile responses.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Server of test files. Stops when dropped.
pub(crate) struct Files {
    shared: Arc<Mutex<Shared>>,
    origin: String,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    files: HashMap<String, (&'static str, Bytes)>,
    asked: Vec<String>,
}

impl Files {
    /// Starts a server. Beside the files, it serves these paths:
    ///
    /// | path | response |
    /// |---|---|
    /// | `/endless` | an endless body, as fast as the client reads |
    /// | `/said-to-be-large` | the same, with a `Content-Length` of two gibibytes |
    /// | `/drip` | an endless body, one byte every 20 ms |
    /// | `/redirect?{location}` | 302 to `location` |
    /// | `/status/{status}` | an empty response with that status |
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1").await
    }

    /// Starts a server on another address of the machine.
    pub(crate) async fn start_at(address: &str) -> Self {
        let listener = TcpListener::bind((address, 0)).await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::<Mutex<Shared>>::default();
        let seen = shared.clone();
        let router = Router::new().fallback(move |request: Request| {
            let answer = answer(&mut seen.lock().expect("no writer panicked"), &request);
            async move { answer }
        });
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { shared, origin, serving }
    }

    /// Puts a file at a path, and returns its URL.
    pub(crate) fn put(&self, path: &str, media_type: &'static str, bytes: impl Into<Bytes>) -> String {
        let file = (media_type, bytes.into());
        self.shared.lock().expect("no writer panicked").files.insert(path.to_owned(), file);
        self.url(path)
    }

    /// Returns the URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Number of requests for a path so far.
    pub(crate) fn hits(&self, path: &str) -> usize {
        let shared = self.shared.lock().expect("no writer panicked");
        shared.asked.iter().filter(|asked| *asked == path).count()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn answer(shared: &mut Shared, request: &Request) -> Response {
    let path = request.uri().path();
    shared.asked.push(path.to_owned());
    if let Some((media_type, bytes)) = shared.files.get(path) {
        return ([(header::CONTENT_TYPE, *media_type)], bytes.clone()).into_response();
    }
    match path {
        "/endless" => endless_body(Bytes::from(vec![b'x'; 64 << 10]), Duration::ZERO),
        "/said-to-be-large" => {
            let mut response = endless_body(Bytes::from(vec![b'x'; 64 << 10]), Duration::ZERO);
            response.headers_mut().insert(header::CONTENT_LENGTH, (2_u64 << 30).into());
            response
        }
        "/drip" => endless_body(Bytes::from("."), Duration::from_millis(20)),
        "/redirect" => {
            let location = request.uri().query().unwrap_or_default().to_owned();
            (StatusCode::FOUND, [(header::LOCATION, location)]).into_response()
        }
        _ => {
            let status = path.strip_prefix("/status/").and_then(|status| status.parse().ok());
            status
                .and_then(|status| StatusCode::from_u16(status).ok())
                .unwrap_or(StatusCode::NOT_FOUND)
                .into_response()
        }
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
