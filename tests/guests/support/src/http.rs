//! HTTP as raw as `wasi:http` has it: nothing is normalised, followed or added.

use serde_json::{Value, json};
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme,
};
use wasip2::io::streams::StreamError;

use crate::{Invocation, Outcome, arguments, error, structured};

/// How much of a body is asked for at once, in bytes.
const CHUNK: u64 = 64 * 1024;

/// What is sent.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET` when empty.
    pub method: String,
    /// `scheme://authority/path`, handed on as it is.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// No body when empty.
    pub body: Vec<u8>,
    /// How long to wait; the host decides where nothing is said.
    pub timeouts: Timeouts,
}

/// How long to wait, each in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Option<u64>,
    /// For the response.
    pub first_byte: Option<u64>,
    /// For each piece of it.
    pub between_bytes: Option<u64>,
}

impl Request {
    /// Reads `{method?, url, headers?, body?, connect_ms?, first_byte_ms?, between_bytes_ms?}`.
    pub fn from_arguments(arguments: &Value) -> Self {
        let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let headers = arguments["headers"].as_object().into_iter().flatten();
        Self {
            method: string(&arguments["method"]),
            url: string(&arguments["url"]),
            headers: headers.map(|(name, value)| (name.clone(), string(value))).collect(),
            body: string(&arguments["body"]).into_bytes(),
            timeouts: Timeouts {
                connect: arguments["connect_ms"].as_u64(),
                first_byte: arguments["first_byte_ms"].as_u64(),
                between_bytes: arguments["between_bytes_ms"].as_u64(),
            },
        }
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Names and values; values that are no text are mended.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Answers a tool that sends [`Request::from_arguments`]: status, headers, body and its size in
/// bytes, or the host's error as a tool error.
pub fn fetch(invocation: &Invocation) -> Outcome {
    match send(&Request::from_arguments(&arguments(invocation))) {
        Ok(response) => structured(&json!({
            "status": response.status,
            "headers": response.headers,
            "body": String::from_utf8_lossy(&response.body),
            "size": response.body.len(),
        })),
        Err(refusal) => error(refusal),
    }
}

/// Sends one request and waits for the whole response. Errors are those of the host, as text.
pub fn send(request: &Request) -> Result<Response, String> {
    finish(&start(request)?)
}

/// Sends one request and does not wait.
pub fn start(request: &Request) -> Result<FutureIncomingResponse, String> {
    let headers = Fields::new();
    for (name, value) in &request.headers {
        headers.append(name, value.as_bytes()).map_err(|error| format!("header {name}: {error:?}"))?;
    }
    let outgoing = OutgoingRequest::new(headers);
    let (scheme, authority, path) = split(&request.url);
    outgoing.set_method(&method(&request.method)).map_err(|()| "the method was refused")?;
    outgoing.set_scheme(Some(&scheme)).map_err(|()| "the scheme was refused")?;
    outgoing.set_authority(Some(authority)).map_err(|()| "the authority was refused")?;
    outgoing.set_path_with_query(Some(path)).map_err(|()| "the path was refused")?;

    let body = outgoing.body().map_err(|()| "the request has no body")?;
    let response = outgoing_handler::handle(outgoing, options(request.timeouts))
        .map_err(|error| format!("{error:?}"))?;
    write(&body, &request.body)?;
    OutgoingBody::finish(body, None).map_err(|error| format!("{error:?}"))?;
    Ok(response)
}

/// Waits for the response of a request that [`start`] has sent.
pub fn finish(response: &FutureIncomingResponse) -> Result<Response, String> {
    response.subscribe().block();
    let incoming = response
        .get()
        .ok_or("the response is not there")?
        .map_err(|()| "the response was taken before")?
        .map_err(|error| format!("{error:?}"))?;

    let headers = incoming.headers().entries().into_iter();
    let headers = headers.map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned())).collect();
    Ok(Response { status: incoming.status(), headers, body: read(&incoming)? })
}

/// Nothing, where nothing is said: wasmtime keeps the options of a request until the call's end.
fn options(timeouts: Timeouts) -> Option<RequestOptions> {
    if timeouts == Timeouts::default() {
        return None;
    }
    let nanoseconds = |milliseconds: Option<u64>| milliseconds.map(|it| it.saturating_mul(1_000_000));
    let options = RequestOptions::new();
    // A host that cannot wait for less than it does says so; the test then sees that it did not.
    options.set_connect_timeout(nanoseconds(timeouts.connect)).ok();
    options.set_first_byte_timeout(nanoseconds(timeouts.first_byte)).ok();
    options.set_between_bytes_timeout(nanoseconds(timeouts.between_bytes)).ok();
    Some(options)
}

fn split(url: &str) -> (Scheme, &str, &str) {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    (scheme, authority, if path.is_empty() { "/" } else { path })
}

fn method(name: &str) -> Method {
    match name {
        "" | "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn write(body: &OutgoingBody, bytes: &[u8]) -> Result<(), String> {
    let stream = body.write().map_err(|()| "the request's body was taken before")?;
    // `blocking-write-and-flush` takes at most 4096 bytes at once.
    for chunk in bytes.chunks(4096) {
        stream.blocking_write_and_flush(chunk).map_err(|error| format!("{error:?}"))?;
    }
    Ok(())
}

fn read(response: &IncomingResponse) -> Result<Vec<u8>, String> {
    let body = response.consume().map_err(|()| "the response's body was taken before")?;
    let stream = body.stream().map_err(|()| "the response's body is taken")?;
    let mut bytes = Vec::new();
    let outcome = loop {
        match stream.blocking_read(CHUNK) {
            Ok(chunk) => bytes.extend(chunk),
            Err(StreamError::Closed) => break Ok(()),
            Err(StreamError::LastOperationFailed(error)) => break Err(error.to_debug_string()),
        }
    };
    drop(stream);
    drop(IncomingBody::finish(body));
    outcome.map(|()| bytes)
}
