//! HTTP requests to a server on loopback.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use kitbag_net::egress::{Egress, EgressSettings, Policy, ResponseBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use super::wait::WAIT_TIMEOUT;
use super::{Answer, Events, Stream, within};

/// HTTP client without a token.
#[derive(Clone)]
pub(crate) struct Http {
    base_url: Url,
    egress: Egress,
}

impl Http {
    pub(crate) fn new(base_url: Url) -> Self {
        let settings = EgressSettings { response_timeout: WAIT_TIMEOUT, ..EgressSettings::default() };
        Self { base_url, egress: Egress::new(settings) }
    }

    /// The server's URL followed by `path`.
    pub(crate) fn url(&self, path: &str) -> Url {
        self.base_url.join(path).expect("a path")
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a request and reads the whole response.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Answer {
        within("the request", async {
            let (parts, body) = self.begin(method, path, headers, body.into()).await.into_parts();
            let body = body.collect().await.expect("the answer is whole").to_bytes();
            Answer { status: parts.status, headers: parts.headers, body }
        })
        .await
    }

    /// Sends a request and returns its open response stream of events.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Events {
        let begun = self.begin(method, path, headers, body.into());
        let (parts, body) = within("the request", begun).await.into_parts();
        Events::new(parts, body)
    }

    /// Gets a path; `None` if the server closes the connection instead.
    pub(crate) async fn get_if_served(&self, path: &str) -> Option<Answer> {
        self.send_if_served(Method::GET, path, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a request; `None` if the server closes the connection instead of answering.
    pub(crate) async fn send_if_served(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Option<Answer> {
        let request = self.request(method, path, headers, body.into());
        let (parts, body) = self.egress.send(request, &Policy::Operator).await.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(Answer { status: parts.status, headers: parts.headers, body })
    }

    async fn begin(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Response<ResponseBody> {
        let request = self.request(method, path, headers, body);
        self.egress.send(request, &Policy::Operator).await.expect("the server answers")
    }

    fn request(&self, method: Method, path: &str, headers: HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.url(path).as_str().parse().expect("a URL is a URI");
        *request.headers_mut() = headers;
        request
    }
}

impl Http {
    /// Sends a GET request and returns its open response stream of lines.
    pub(crate) async fn stream(&self, path: &str, headers: HeaderMap) -> Stream {
        let request = self.request(Method::GET, path, headers, Bytes::new());
        let response = within("the request", self.egress.send(request, &Policy::Operator)).await;
        Stream::of(response.expect("the server answers"))
    }
}

/// Writes `bytes` to the server unchanged, closes the sending side, and returns the response.
pub(crate) async fn send_raw(base_url: &Url, bytes: &[u8]) -> String {
    let address = (base_url.host_str().expect("a host"), base_url.port().expect("a port"));
    within("the raw request", async {
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        stream.write_all(bytes).await.expect("the server reads");
        stream.shutdown().await.expect("the stream is open");
        let mut answer = Vec::new();
        // The server may reset the connection instead of closing it.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    })
    .await
}

/// Writes `request`, which must ask the server to close the connection, and returns the whole response.
pub(crate) async fn ask_raw(base_url: &Url, request: &str) -> String {
    within("the raw request", async {
        let mut stream = TcpStream::connect(base_url.authority()).await.expect("the server listens");
        stream.write_all(request.as_bytes()).await.expect("the server reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("the server answers");
        answer
    })
    .await
}
