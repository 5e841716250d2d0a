//! The proxy between the conformance suite and Kitbag.
//!
//! The suite sends no tokens and calls tools by bare names. So the proxy
//! - adds the token of one user to every request,
//! - writes `conformance__NAME` for `NAME` in calls, prompts and their `Mcp-Name`, and the reverse in listings,
//! - writes `kitbag://conformance/PATH` for `test://PATH`, which no toolkit can have,
//! - removes a spare toolkit when `test_trigger_tool_change` is called, because a tool cannot do so itself,
//!   and one with prompts when `test_trigger_prompt_change` is called.
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
const PROMPT_TRIGGER: &str = "test_trigger_prompt_change";
/// Prefix of the suite's URIs. [`TOOLKIT_URI`] replaces it.
const SUITE_URI: &str = "test://";
const TOOLKIT_URI: &str = "kitbag://conformance/";
/// Toolkit with prompts, removed when the suite asks for a change of the prompt list.
pub(super) const WITH_PROMPTS: &str = "offers";

pub(super) struct Proxy {
    listener: TcpListener,
}

struct ProxyState {
    client: Client<HttpConnector, Body>,
    upstream: SocketAddr,
    user: User,
    spare: Mutex<Vec<&'static str>>,
}

/// Running proxy. Stops when dropped.
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

    /// Address on which the server has to listen: the proxy's port on 127.0.0.2.
    pub(super) fn server_address(&self) -> SocketAddr {
        (Ipv4Addr::new(127, 0, 0, 2), self.address().port()).into()
    }

    /// Forwards requests of the suite to the server with the token of `user`.
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
    /// Translates the name or URI of a request, and removes a spare toolkit if it calls a trigger.
    async fn translate(&self, headers: &mut HeaderMap, body: Bytes) -> Bytes {
        if let Some(method) = headers.get("mcp-method").and_then(|method| method.to_str().ok())
            && let Some(name) = headers.get("mcp-name").and_then(|name| name.to_str().ok())
            && let Some(translated) = translated(method, name.trim())
        {
            let translated = translated.parse().expect("a header");
            headers.insert("mcp-name", translated);
        }
        let Ok(mut message) = serde_json::from_slice::<Value>(&body) else { return body };
        let Some(method) = message["method"].as_str().map(str::to_owned) else { return body };
        let params = &mut message["params"];
        let name = match method.as_str() {
            "resources/read" => &mut params["uri"],
            "completion/complete" if params["ref"]["type"] == "ref/resource" => &mut params["ref"]["uri"],
            "completion/complete" => &mut params["ref"]["name"],
            _ => &mut params["name"],
        };
        let Some(given) = name.as_str().map(str::to_owned) else { return body };
        let Some(translated) = translated(&method, &given) else { return body };
        *name = translated.into();
        let spare = match given.as_str() {
            TRIGGER => self.spare.lock().expect("no holder panicked").pop(),
            PROMPT_TRIGGER => Some(WITH_PROMPTS),
            _ => None,
        };
        if let Some(spare) = spare {
            self.user.delete(&format!("/toolkits/{spare}")).await;
        }
        message.to_string().into()
    }
}

/// Translates a name or URI of the suite to Kitbag's. `None` for methods without one.
fn translated(method: &str, name: &str) -> Option<String> {
    match method {
        "tools/call" | "prompts/get" => Some(format!("{PREFIX}{name}")),
        "resources/read" | "completion/complete" => Some(match name.strip_prefix(SUITE_URI) {
            Some(path) => format!("{TOOLKIT_URI}{path}"),
            None if method == "completion/complete" => format!("{PREFIX}{name}"),
            None => name.to_owned(),
        }),
        _ => None,
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
    let lists = ["tools", "prompts", "resources", "resourceTemplates"];
    let Some(list) = lists.into_iter().find(|list| message["result"][list].is_array()) else {
        return Response::from_parts(parts, body.into());
    };
    for listed in message["result"][list].as_array_mut().into_iter().flatten() {
        for (field, prefix, bare) in
            [("name", PREFIX, ""), ("uri", TOOLKIT_URI, SUITE_URI), ("uriTemplate", TOOLKIT_URI, SUITE_URI)]
        {
            let rest = listed[field].as_str().and_then(|name| name.strip_prefix(prefix)).map(str::to_owned);
            if let Some(rest) = rest {
                listed[field] = format!("{bare}{rest}").into();
            }
        }
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, message.to_string().into())
}
