//! HTTP requests of a user.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::Outcome;
use crate::client::{Connection, Prepared};
use crate::tool_call::tool_call;

/// Client of a user. Reconnects after its connection was closed.
pub(crate) struct Client {
    address: SocketAddr,
    token: String,
    connection: Option<Connection>,
}

/// A response.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, token: String) -> Self {
        Self { address, token, connection: None }
    }

    /// Calls a tool; fails if the call fails.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> Outcome<()> {
        let answer = self.exchange(&tool_call(self.address, Some(&self.token), tool, arguments)?).await?;
        let said: Value = serde_json::from_slice(&answer.body)?;
        match said.pointer("/result/isError") {
            None | Some(Value::Bool(false)) if said["result"].is_object() => Ok(()),
            _ => Err(format!("the call of {tool} failed: {said}").into()),
        }
    }

    /// Returns the data of a GraphQL query.
    pub(crate) async fn graphql(&mut self, query: &str, variables: Value) -> Outcome<Value> {
        let body = json!({ "query": query, "variables": variables }).to_string();
        let answer = self.expect(Method::POST, "/graphql", "application/json", body.into()).await?;
        let mut said: Value = serde_json::from_slice(&answer.body)?;
        if said["errors"].is_array() {
            return Err(format!("the server answered {}", said["errors"]).into());
        }
        Ok(said["data"].take())
    }

    /// Sends a GET request; accepts any status.
    pub(crate) async fn get(&mut self, path: &str) -> Outcome<Answer> {
        self.send(Method::GET, path, "text/plain", Bytes::new()).await
    }

    /// Sends a request; fails unless it succeeds.
    pub(crate) async fn expect(
        &mut self,
        method: Method,
        path: &str,
        media_type: &str,
        body: Bytes,
    ) -> Outcome<Answer> {
        let answer = self.send(method.clone(), path, media_type, body).await?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        Err(format!("{method} {path} was answered with {}: {text}", answer.status).into())
    }

    async fn send(&mut self, method: Method, path: &str, media_type: &str, body: Bytes) -> Outcome<Answer> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .header(header::CONTENT_TYPE, media_type)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Full::new(body))?;
        self.exchange(&request).await
    }

    async fn exchange(&mut self, request: &Prepared) -> Outcome<Answer> {
        let mut connection = match self.connection.take().filter(Connection::is_open) {
            Some(connection) => connection,
            None => Connection::open(self.address).await?,
        };
        let (head, body) = connection.ask(request).await?;
        self.connection = Some(connection);
        Ok(Answer { status: head.status, body })
    }
}
