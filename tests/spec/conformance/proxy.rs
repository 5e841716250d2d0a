//! The proxy between the conformance suite and Kitbag.
//!
//! The suite sends no tokens and calls tools by bare names. So the proxy
//! - adds the token of one user to every request,
//! - writes `conformance__NAME` for `NAME` in calls and their `Mcp-Name`, and the reverse in listings,
//! - removes one of the spare toolkits when `test_trigger_tool_change` is called: a tool could not.
//!
//! It forwards all else unchanged, including `Host` and `Origin`: Kitbag's base URL is that of the proxy.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri, header};
use axum::response::Response;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::harness::User;

const PREFIX: &str = "conformance__";
const TRIGGER: &str = "test_trigger_tool_change";

pub(super) struct Proxy {
    listener: TcpListener,
}

struct ProxyState {
    client: Client<HttpConnector, Body>,
    upstream: SocketAddr,
    user: User,
    spare: Mutex<Vec<&'static str>>,
}

/// A running proxy. Stops when it is dropped.
pub(super) struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Proxy {
    pub(super) async fn bind() -> Self {
        Self { listener: TcpListener::bind(("127.0.0.1", 0)).await.expect("there are free ports") }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The address for the server to listen on: the proxy's port on 127.0.0.2.
    pub(super) fn server_address(&self) -> SocketAddr {
        (Ipv4Addr::new(127, 0, 0, 2), self.address().port()).into()
    }

    /// Forwards requests of the suite to the server, as `user`.
    pub(super) fn serve(self, user: User, spare: impl Into<Vec<&'static str>>) -> Serving {
        let state = ProxyState {
            client: Client::builder(TokioExecutor::new()).build_http(),
            upstream: self.server_address(),
            user,
            spare: Mutex::new(spare.into()),
        };
        let router = Router::new().fallback(forward).with_state(Arc::new(state));
        Serving(tokio::spawn(async { axum::serve(self.listener, router).await.expect("it serves") }))
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("it is bound")
    }
}

async fn forward(State(state): State<Arc<ProxyState>>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut body = to_bytes(body, usize::MAX).await.expect("the request is whole");
    // A request of the harness has a token already, and is forwarded unchanged.
    if !parts.headers.contains_key(header::AUTHORIZATION) {
        parts.headers.extend(state.user.headers());
        body = state.translate(&mut parts.headers, body).await;
        parts.headers.remove(header::CONTENT_LENGTH);
    }
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = format!("http://{}{path}", state.upstream).parse::<Uri>().expect("a URI");
    let response = state.client.request(Request::from_parts(parts, body.into())).await;
    listing_with_bare_names(response.expect("the server answers").map(Body::new)).await
}

impl ProxyState {
    /// Replaces the bare name of a called tool by its listed name.
    async fn translate(&self, headers: &mut HeaderMap, body: Bytes) -> Bytes {
        if headers.get("mcp-method").is_some_and(|method| method == "tools/call")
            && let Some(name) = headers.get("mcp-name").and_then(|name| name.to_str().ok())
        {
            let listed = format!("{PREFIX}{}", name.trim()).parse().expect("a header");
            headers.insert("mcp-name", listed);
        }
        let Ok(mut message) = serde_json::from_slice::<Value>(&body) else { return body };
        if message["method"] != "tools/call" {
            return body;
        }
        let Some(name) = message["params"]["name"].as_str() else { return body };
        if name == TRIGGER {
            let spare =
                self.spare.lock().expect("no holder panicked").pop().expect("a spare toolkit is left");
            self.user.delete(&format!("/toolkits/{spare}")).await;
        }
        message["params"]["name"] = format!("{PREFIX}{name}").into();
        message.to_string().into()
    }
}

async fn listing_with_bare_names(response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json")) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("the answer is whole");
    let Ok(mut message) = serde_json::from_slice::<Value>(&body) else {
        return Response::from_parts(parts, body.into());
    };
    let Some(tools) = message["result"]["tools"].as_array_mut() else {
        return Response::from_parts(parts, body.into());
    };
    for tool in tools {
        let bare = tool["name"].as_str().and_then(|name| name.strip_prefix(PREFIX)).map(str::to_owned);
        if let Some(bare) = bare {
            tool["name"] = bare.into();
        }
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, message.to_string().into())
}
