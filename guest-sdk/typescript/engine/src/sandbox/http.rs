//! HTTP requests through `wasi:http`, in tasks of the event loop, so that several can be in flight at once.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use rquickjs::{ArrayBuffer, Ctx, Function, Persistent, Result, Undefined};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, Method, OutgoingBody, OutgoingRequest, Scheme,
    http_error_code,
};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use super::event_loop::{cancel, new_id, when_ready};
use super::host::report;
use super::moment::require_call;
use crate::values::{Bytes, Text};

/// Maximum bytes of a response body per read.
const READ_CHUNK_BYTES: u64 = 64 * 1024;

/// A JavaScript function that is called with a result.
type Callback = Persistent<Function<'static>>;

/// A response body that is being read.
struct Body {
    /// Declared before the body, which owns it, so that it is dropped first.
    stream: InputStream,
    _body: IncomingBody,
}

thread_local! {
    static GRANTED: Cell<bool> = const { Cell::new(false) };
    static BODIES: RefCell<BTreeMap<u32, Body>> = const { RefCell::new(BTreeMap::new()) };
}

/// Sets whether the toolkit declares any egress. Without egress, the component does not import `wasi:http`.
pub(super) fn grant(has_egress: bool) {
    GRANTED.set(has_egress);
}

/// Sends a request. `done(error, status, headers)` is called once, when the response's head has arrived.
pub(super) fn send_request<'js>(
    ctx: Ctx<'js>,
    method: Text,
    url: Text,
    headers: Vec<Vec<Text>>,
    body: Option<Bytes>,
    done: Function<'js>,
) -> Result<u32> {
    require_call(&ctx, "sends a request")?;
    let done = Persistent::save(&ctx, done);
    let body = body.map(|Bytes(bytes)| bytes).unwrap_or_default();
    let id = new_id();
    match start(&method.0, &url.0, &headers, body, id) {
        Ok(pending) => wait_for_head(id, pending, done),
        Err(why) => answer(&ctx, done, (why, Undefined, Undefined)),
    }
    Ok(id)
}

/// Aborts a request, or the reading of its response body.
pub(super) fn abort_request(id: u32) {
    cancel(id);
    BODIES.with_borrow_mut(|bodies| bodies.remove(&id));
}

/// Reads a piece of a response body and calls `done(error, piece)`; `piece` is undefined at the end of the
/// body.
pub(super) fn read_body<'js>(ctx: Ctx<'js>, id: u32, done: Function<'js>) {
    read_piece(&ctx, id, Persistent::save(&ctx, done));
}

fn start(
    method: &str,
    url: &str,
    headers: &[Vec<Text>],
    body: Vec<u8>,
    id: u32,
) -> std::result::Result<FutureIncomingResponse, String> {
    if !GRANTED.get() {
        return Err("http-request-denied: the toolkit declares no egress".to_owned());
    }
    let (scheme, rest) = url.split_once("://").ok_or("the URL is not absolute")?;
    let rest = rest.split('#').next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));

    let pairs = headers.iter().map(|header| match header.as_slice() {
        [name, value] => Ok((name.0.clone(), latin1(&value.0))),
        _ => Err("a header is a pair"),
    });
    // One call of the host for all headers.
    let fields = Fields::from_list(&pairs.collect::<std::result::Result<Vec<_>, _>>()?)
        .map_err(|_| "one of the headers may not be set")?;
    let request = OutgoingRequest::new(fields);
    let scheme = if scheme == "http" { Scheme::Http } else { Scheme::Https };
    request
        .set_method(&wasi_method(method))
        .and_then(|()| request.set_scheme(Some(&scheme)))
        .and_then(|()| request.set_authority(Some(authority)))
        .and_then(|()| request.set_path_with_query(Some(path)))
        .map_err(|()| "the host cannot send this method or URL")?;
    let outgoing = request.body().expect("the body of a new request was not taken yet");
    let pending = handle(request, None).map_err(|code| name_of(&code))?;
    if body.is_empty() {
        finish(outgoing);
    } else {
        let stream = outgoing.write().expect("the stream of a new body was not taken yet");
        send_piece(id, Upload { stream, outgoing, bytes: body, sent: 0 });
    }
    Ok(pending)
}

/// A request body that is being sent.
struct Upload {
    /// Declared before the body, which owns it, so that it is dropped first.
    stream: OutputStream,
    outgoing: OutgoingBody,
    bytes: Vec<u8>,
    sent: usize,
}

/// Sends as much as the host accepts now, and the rest when it accepts more. Write errors are ignored: the
/// server may have responded early, and if it has not, the error is reported in place of the response.
fn send_piece(id: u32, mut upload: Upload) {
    while upload.sent < upload.bytes.len() {
        let room = match upload.stream.check_write() {
            Ok(room) => usize::try_from(room).unwrap_or(usize::MAX),
            Err(_) => return,
        };
        if room == 0 {
            let pollable = upload.stream.subscribe();
            return when_ready(id, pollable, Box::new(move |_| send_piece(id, upload)));
        }
        let end = upload.bytes.len().min(upload.sent.saturating_add(room));
        if upload.stream.write(&upload.bytes[upload.sent..end]).is_err() {
            return;
        }
        upload.sent = end;
    }
    let Upload { stream, outgoing, .. } = upload;
    // The flush continues after the stream is dropped.
    if stream.flush().is_ok() {
        drop(stream);
        finish(outgoing);
    }
}

/// Finishes a request body. It fails only if the length does not match, which the host then reports in place
/// of the response.
fn finish(outgoing: OutgoingBody) {
    let _ = OutgoingBody::finish(outgoing, None);
}

fn wait_for_head(id: u32, pending: FutureIncomingResponse, done: Callback) {
    let pollable = pending.subscribe();
    when_ready(
        id,
        pollable,
        Box::new(move |ctx| {
            let response = pending
                .get()
                .expect("the pollable said that the response is there")
                .expect("the response is taken once");
            match response {
                Err(code) => answer(ctx, done, (name_of(&code), Undefined, Undefined)),
                Ok(response) => {
                    let status = response.status();
                    let headers: Vec<Vec<String>> = response
                        .headers()
                        .entries()
                        .into_iter()
                        .map(|(name, value)| vec![name, value.into_iter().map(char::from).collect()])
                        .collect();
                    let body = response.consume().expect("the body of a new response was not taken yet");
                    let stream = body.stream().expect("the stream of a new body was not taken yet");
                    BODIES.with_borrow_mut(|bodies| bodies.insert(id, Body { stream, _body: body }));
                    answer(ctx, done, (Undefined, status, headers));
                }
            }
        }),
    );
}

fn read_piece(ctx: &Ctx<'_>, id: u32, done: Callback) {
    let read = BODIES.with_borrow(|bodies| {
        let stream = &bodies.get(&id)?.stream;
        Some(match stream.read(READ_CHUNK_BYTES) {
            Ok(piece) if piece.is_empty() => Err(stream.subscribe()),
            Ok(piece) => Ok(Ok(Some(piece))),
            Err(StreamError::Closed) => Ok(Ok(None)),
            Err(StreamError::LastOperationFailed(error)) => {
                // The error's own text is not shown: it may contain internal details of the host.
                Ok(Err(http_error_code(&error)
                    .map_or_else(|| "connection-terminated".to_owned(), |it| name_of(&it))))
            }
        })
    });
    match read {
        Some(Err(pollable)) => when_ready(id, pollable, Box::new(move |ctx| read_piece(ctx, id, done))),
        Some(Ok(Ok(Some(piece)))) => answer(ctx, done, (Undefined, ArrayBuffer::new(ctx.clone(), piece))),
        Some(Ok(Err(why))) => {
            abort_request(id);
            answer(ctx, done, (why, Undefined));
        }
        Some(Ok(Ok(None))) | None => {
            abort_request(id);
            answer(ctx, done, (Undefined, Undefined));
        }
    }
}

fn answer<'js>(ctx: &Ctx<'js>, done: Callback, arguments: impl rquickjs::function::IntoArgs<'js>) {
    report(ctx, done.restore(ctx).and_then(|done| done.call(arguments)));
}

/// Encodes a header's value as in `fetch`: one byte per character.
fn latin1(value: &str) -> Vec<u8> {
    value.chars().map(|letter| u8::try_from(letter).unwrap_or(b'?')).collect()
}

/// Returns an error's name in `wasi:http`, such as `dns-timeout`.
fn name_of(code: &ErrorCode) -> String {
    let debug = format!("{code:?}");
    let variant = debug.trim_start_matches("ErrorCode::").split(['(', ' ']).next().unwrap_or_default();
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    match code {
        ErrorCode::InternalError(Some(why)) => format!("{name}: {why}"),
        _ => name,
    }
}

fn wasi_method(method: &str) -> Method {
    match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}
