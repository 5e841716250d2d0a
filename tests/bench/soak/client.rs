//! HTTP client of a user, with one connection at a time. Accepts responses of any status.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::Outcome;
use crate::client::{Connection, Prepared};
use crate::tool_call::tool_call;

/// Time limit for a response; none takes that long.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Client of a user.
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    /// The server's data directory.
    pub(crate) data: PathBuf,
    pub(crate) token: String,
    connection: Option<Connection>,
}

/// Response of any status.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Client {
    /// Creates a client that has not connected yet.
    pub(crate) fn new(address: SocketAddr, data: PathBuf, token: String) -> Self {
        Self { address, data, token, connection: None }
    }

    /// Calls a tool. A failed call is not an error here.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> Outcome<Answer> {
        self.exchange(&tool_call(self.address, Some(&self.token), tool, arguments)?).await
    }

    /// Sends a GraphQL query and returns its data, or the response if it has none.
    pub(crate) async fn graphql(&mut self, query: &str, variables: Value) -> Outcome<Result<Value, Answer>> {
        let body = json!({ "query": query, "variables": variables }).to_string();
        let json = [(header::CONTENT_TYPE.as_str(), "application/json")];
        let answer = self.send(Method::POST, "/graphql", &json, body.into()).await?;
        let data = serde_json::from_slice::<Value>(&answer.body).ok().map(|mut said| said["data"].take());
        Ok(data.filter(Value::is_object).ok_or(answer))
    }

    /// Sends a form.
    pub(crate) async fn post_form(&mut self, path: &str, fields: &[(&str, &str)]) -> Outcome<Answer> {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let kind = [(header::CONTENT_TYPE.as_str(), "application/x-www-form-urlencoded")];
        self.send(Method::POST, path, &kind, form.into()).await
    }

    /// Sends a request with the user's token, over the open connection or a new one.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Outcome<Answer> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.exchange(&request.body(Full::new(body))?).await
    }

    async fn exchange(&mut self, request: &Prepared) -> Outcome<Answer> {
        let mut connection = match self.connection.take().filter(Connection::is_open) {
            Some(connection) => connection,
            None => Connection::open(self.address).await?,
        };
        let (head, body) = timeout(TIMEOUT, connection.ask(request)).await??;
        self.connection = Some(connection);
        Ok(Answer { status: head.status, headers: head.headers, body })
    }

    /// Sends a request, or half of one, on a separate connection, reads for the duration `stay`, and
    /// disconnects. Returns the number of bytes received.
    pub(crate) async fn begin(&self, request: &str, stay: Duration) -> Outcome<usize> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(request.as_bytes()).await?;
        let (mut read, mut buffer) = (0, vec![0; 16 << 10]);
        let read_on = async {
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                read += count;
            }
        };
        // The time has elapsed, or the server has closed the connection.
        let _ = timeout(stay, read_on).await;
        Ok(read)
    }

    /// Sends a request on a separate connection, waits for the beginning of the response, reads on for the
    /// duration `stay`, and disconnects. Returns the number of bytes of the first read.
    pub(crate) async fn follow(&self, request: &str, stay: Duration) -> Outcome<usize> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut buffer = vec![0; 16 << 10];
        let read = timeout(TIMEOUT, stream.read(&mut buffer)).await??;
        let read_on = async { while let Ok(1..) = stream.read(&mut buffer).await {} };
        // The time has elapsed, or the server has closed the connection.
        let _ = timeout(stay, read_on).await;
        Ok(read)
    }
}
