//! A user's HTTP and MCP client, for both supported revisions of MCP.

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{Answer, Events, Http, Outcome, Stream, within};

/// A revision of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revision {
    /// 2026-07-28: stateless requests.
    Current,
    /// 2025-11-25: starts with a handshake (`initialize`).
    Older,
}

impl Revision {
    pub(crate) const BOTH: [Self; 2] = [Self::Current, Self::Older];

    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Current => "2026-07-28",
            Self::Older => "2025-11-25",
        }
    }
}

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Client of a signed-in user.
#[derive(Clone)]
pub(crate) struct User {
    http: Http,
    authorization: HeaderValue,
    /// Path and query of the endpoint.
    endpoint: &'static str,
    revision: Revision,
    /// The session id that the server assigned in the handshake.
    session_id: Option<HeaderValue>,
    /// Client capabilities to declare.
    capabilities: Value,
}

impl User {
    pub(crate) fn new(http: Http, token: &str) -> Self {
        let authorization = format!("Bearer {token}").parse().expect("a token is ASCII");
        let (revision, session_id, capabilities) = (Revision::Current, None, json!({}));
        Self { http, authorization, endpoint: "/mcp", revision, session_id, capabilities }
    }

    /// Sets path and query of the endpoint. To be called before [`User::speaking`].
    pub(crate) fn at(self, endpoint: &'static str) -> Self {
        Self { endpoint, ..self }
    }

    /// Redirects the client's requests to the server of `other`, with the token of `other`.
    pub(crate) fn through(self, other: Self) -> Self {
        Self { http: other.http, authorization: other.authorization, ..self }
    }

    /// Sets the client capabilities. To be called before [`User::speaking`], whose handshake sends them.
    pub(crate) fn capable_of(self, capabilities: Value) -> Self {
        Self { capabilities, ..self }
    }

    /// Sets the protocol revision, and performs the handshake if the revision has one.
    pub(crate) async fn speaking(mut self, revision: Revision) -> Self {
        self.revision = revision;
        if revision == Revision::Older {
            let client = json!({ "name": "spec", "version": "1.0.0" });
            let hello = json!({
                "protocolVersion": revision.version(),
                "capabilities": self.capabilities,
                "clientInfo": client,
            });
            let answer = self.post_mcp("initialize", None, hello).await;
            let welcome = answer.json();
            self.session_id = answer.headers.get(SESSION_ID).cloned();
            assert_eq!(welcome["result"]["protocolVersion"], revision.version(), "{welcome}");
        }
        self
    }

    /// Toolkits' tools that are listed for this user.
    pub(crate) async fn tools(&self) -> Vec<Value> {
        let mut tools = self.all_tools().await;
        tools.retain(|tool| tool["name"].as_str().is_some_and(|name| name.contains("__")));
        tools
    }

    /// All tools that are listed for this user, on all pages, including the server's own.
    pub(crate) async fn all_tools(&self) -> Vec<Value> {
        let (mut tools, mut params) = (Vec::new(), json!({}));
        loop {
            let reply = self.request("tools/list", None, params).await;
            let page = reply["result"]["tools"].as_array();
            tools.extend_from_slice(page.unwrap_or_else(|| panic!("no tools in {reply}")));
            match reply["result"].get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return tools,
            }
        }
    }

    /// Names of the toolkits' tools that are listed for this user.
    pub(crate) async fn tool_names(&self) -> Vec<String> {
        let tools = self.tools().await;
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Calls a tool by its listed name.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        let params = json!({ "name": tool, "arguments": arguments });
        Outcome::of(tool, self.request("tools/call", Some(tool), params).await)
    }

    /// Starts a call without waiting for it. Aborting the task disconnects the client.
    pub(crate) fn start_call(&self, tool: &str, arguments: Value) -> JoinHandle<Outcome> {
        let (user, tool) = (self.clone(), tool.to_owned());
        tokio::spawn(async move { user.call(&tool, arguments).await })
    }

    /// Starts a call and waits until it runs, on a server that allows each user one call at a time. The
    /// call runs once `other`, a tool that returns at once, is rejected.
    #[expect(clippy::async_yields_async, reason = "the call goes on; its handle is what the test wants")]
    pub(crate) async fn occupy(&self, tool: &str, arguments: Value, other: &str) -> JoinHandle<Outcome> {
        let started = Box::pin(async {
            let mut running = self.start_call(tool, arguments.clone());
            while !self.call(other, json!({})).await.is_busy() {
                if running.is_finished() {
                    // Rejected itself, because it arrived while the other tool ran.
                    running = self.start_call(tool, arguments.clone());
                }
            }
            running
        });
        within("the call's start", started).await
    }

    /// Sends a JSON-RPC request and returns the whole reply.
    pub(crate) async fn request(&self, method: &str, name: Option<&str>, params: Value) -> Value {
        self.post_mcp(method, name, params).await.json()
    }

    /// Sends a JSON-RPC request and returns the HTTP response.
    pub(crate) async fn post_mcp(&self, method: &str, name: Option<&str>, params: Value) -> Answer {
        let (headers, body) = self.message(method, name, params);
        self.http.send(Method::POST, self.endpoint, headers, body.to_string()).await
    }

    /// Sends a JSON-RPC request whose response is an event stream.
    pub(crate) async fn stream_mcp(&self, method: &str, name: Option<&str>, params: Value) -> Events {
        self.open_mcp(method, name, params).await.assert_open()
    }

    /// Sends a JSON-RPC request whose response is an event stream, or JSON if nothing comes before it.
    pub(crate) async fn open_mcp(&self, method: &str, name: Option<&str>, params: Value) -> Events {
        let (headers, body) = self.message(method, name, params);
        self.http.open(Method::POST, self.endpoint, headers, body.to_string()).await
    }

    /// Opens a stream of changes of the tool list, as a client of this revision does.
    pub(crate) async fn listen(&self) -> Events {
        self.try_to_listen().await.assert_open()
    }

    /// Like [`User::listen`], but the server may reject the request.
    pub(crate) async fn try_to_listen(&self) -> Events {
        let wanted = json!({ "notifications": { "toolsListChanged": true } });
        let (mut headers, body) = self.message("subscriptions/listen", None, wanted);
        match self.revision {
            Revision::Current => self.http.open(Method::POST, self.endpoint, headers, body.to_string()).await,
            Revision::Older => {
                headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
                self.http.open(Method::GET, self.endpoint, headers, "").await
            }
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: Value) -> Answer {
        let (headers, mut body) = self.message(method, None, params);
        body.as_object_mut().expect("an object").remove("id");
        self.http.send(Method::POST, self.endpoint, headers, body.to_string()).await
    }

    /// Responds to a request of the server, with a result or an error.
    pub(crate) async fn respond(&self, id: &Value, response: Result<Value, Value>) -> Answer {
        let (headers, _) = self.message("responds", None, json!({}));
        let mut body = json!({ "jsonrpc": "2.0", "id": id });
        match response {
            Ok(result) => body["result"] = result,
            Err(error) => body["error"] = error,
        }
        self.http.send(Method::POST, self.endpoint, headers, body.to_string()).await
    }

    /// Headers and body of a JSON-RPC request.
    pub(crate) fn message(&self, method: &str, name: Option<&str>, mut params: Value) -> (HeaderMap, Value) {
        let mut headers = self.headers();
        headers.extend(self.session_id.clone().map(|session_id| (SESSION_ID, session_id)));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if method != "initialize" {
            headers.insert("mcp-protocol-version", HeaderValue::from_static(self.revision.version()));
        }
        if self.revision == Revision::Current {
            headers.insert("mcp-method", method.parse().expect("a method is ASCII"));
            if let Some(name) = name {
                headers.insert("mcp-name", name.parse().expect("a name is ASCII"));
            }
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = self.revision.version().into();
            meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "spec", "version": "1.0.0" });
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        (headers, json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
    }

    /// Latest 1000 call records of a toolkit that this user may see, oldest first.
    pub(crate) async fn logs(&self, toolkit: &str) -> Vec<Value> {
        self.get(&format!("/toolkits/{toolkit}/logs?limit=1000")).await.assert_status(200).json_lines()
    }

    /// Latest call record of a tool, by its listed name, that this user may see.
    pub(crate) async fn logged(&self, tool: &str) -> Value {
        let (toolkit, name) = tool.split_once("__").expect("a listed name");
        let records = self.logs(toolkit).await;
        let last = records.iter().rfind(|record| record["tool"] == name);
        last.unwrap_or_else(|| panic!("no call of {tool} in {records:#?}")).clone()
    }

    /// Sends `PATCH` with a JSON body.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.http.send(Method::PATCH, path, self.headers(), body.to_string()).await
    }

    /// Opens the stream of a log.
    pub(crate) async fn follow(&self, path: &str) -> Stream {
        self.http.stream(path, self.headers()).await
    }

    /// Sends `POST /toolkits`.
    pub(crate) async fn deploy(&self, component: Vec<u8>) -> Answer {
        self.upload("application/wasm", component).await
    }

    /// Sends `POST /toolkits` with a content type.
    pub(crate) async fn upload(&self, content_type: &'static str, component: Vec<u8>) -> Answer {
        let mut headers = self.headers();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.http.send(Method::POST, "/toolkits", headers, component).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.http.send(Method::GET, path, self.headers(), "").await
    }

    /// Sends a request with a content type.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut headers = self.headers();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.http.send(method, path, headers, body).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.http.send(Method::POST, path, self.headers(), body.to_string()).await
    }

    /// Posts JSON; `None` once the server is gone.
    pub(crate) async fn try_post(&self, path: &str, body: &Value) -> Option<Answer> {
        let mut headers = self.headers();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.http.send_if_served(Method::POST, path, headers, body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &str) -> Answer {
        self.http.send(Method::PUT, path, self.headers(), body.to_owned()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.http.send(Method::DELETE, path, self.headers(), "").await
    }

    /// Sets a secret; panics on failure.
    pub(crate) async fn set_secret(&self, toolkit: &str, name: &str, value: &str) {
        self.put(&format!("/toolkits/{toolkit}/secrets/{name}"), value).await.assert_status(200);
    }

    /// The access token, without `Bearer`.
    pub(crate) fn token(&self) -> &str {
        let authorization = self.authorization.to_str().expect("a token is ASCII");
        authorization.strip_prefix("Bearer ").expect("it was put together so")
    }

    /// The `Authorization` header alone.
    pub(crate) fn headers(&self) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, self.authorization.clone())])
    }
}
