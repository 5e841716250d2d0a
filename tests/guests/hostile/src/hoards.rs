//! Holds as many resources of one kind as it can, each as large as it can be.

use std::hint::black_box;
use std::time::Duration;

use guest_support::wasip2::cli::stdout::get_stdout;
use guest_support::wasip2::clocks::monotonic_clock::subscribe_duration;
use guest_support::wasip2::http::types::{
    Fields, OutgoingBody, OutgoingRequest, OutgoingResponse, RequestOptions,
};
use guest_support::wasip2::io::streams::StreamError;
use guest_support::{Invocation, Outcome, arguments, clock, error, text};

/// Longest path, value of a header, and piece of a body that the host accepts.
const LARGEST_BYTES: usize = 16_000;
/// Size of an incomplete line, which the host keeps until its end.
const LINE_BYTES: usize = 60_000;
/// Headers with short names, as many as the host accepts.
const MANY_HEADERS: u32 = 215;
const HOW_LONG: Duration = Duration::from_secs(2);

/// Holds {count} resources of the kind {kind} for two seconds.
pub(crate) fn hoard_resources(invocation: &Invocation) -> Outcome {
    let arguments = arguments(invocation);
    let count = arguments["count"].as_u64().unwrap_or(4000);
    match arguments["kind"].as_str().unwrap_or_default() {
        "fields" => hold(count, many_headers),
        "values" => hold(count, many_values),
        "deleted-values" => hold(count, deleted_values),
        "replaced-values" => hold(count, replaced_values),
        "copies" => hold_copies(count),
        "requests" => hold(count, request),
        "bodies" => hold(count, request_with_body),
        "trailers" => hold(count, request_with_trailers),
        "dropped" => {
            (0..count).for_each(|_| drop(request()));
            hold(0, request)
        }
        "responses" => hold(count, response_with_body),
        "options" => hold(count, RequestOptions::new),
        "lines" => hold(count, incomplete_line),
        "errors" => hold(count, failed_write),
        "timers" => hold(count, || subscribe_duration(HOW_LONG.as_nanos().try_into().unwrap_or(u64::MAX))),
        kind => error(format!("there is no kind {kind}")),
    }
}

fn hold<R>(count: u64, create: impl Fn() -> R) -> Outcome {
    let held: Vec<_> = (0..count).map(|_| create()).collect();
    clock::wait(HOW_LONG);
    let held = black_box(held).len();
    text(format!("held {held}"))
}

fn many_headers() -> Fields {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let letter = |number: u32| char::from(LETTERS[number as usize % LETTERS.len()]);
    let fields = Fields::new();
    for number in 0..MANY_HEADERS {
        if fields.append(&format!("{}{}", letter(number), letter(number / 36)), b"").is_err() {
            break;
        }
    }
    fields
}

/// Almost as many values of one header as a map may have: one more would end the call.
fn many_values() -> Fields {
    const MANY_VALUES: usize = 400;

    let fields = Fields::new();
    for _ in 0..MANY_VALUES {
        fields.append("a", b"").expect("there is room");
    }
    fields
}

fn deleted_values() -> Fields {
    let fields = many_values();
    fields.delete("a").expect("the header is there");
    fields
}

fn replaced_values() -> Fields {
    let fields = many_values();
    fields.set("a", &[Vec::new()]).expect("the header is there");
    fields
}

/// Copies share their memory until they are changed.
fn hold_copies(count: u64) -> Outcome {
    let original = many_headers();
    hold(count, || {
        let copy = original.clone();
        copy.delete("aa").expect("the header is there");
        copy
    })
}

fn large_fields() -> Fields {
    let fields = Fields::new();
    fields.append("a", &vec![b'x'; LARGEST_BYTES]).expect("it fits");
    fields
}

fn request() -> OutgoingRequest {
    let request = OutgoingRequest::new(large_fields());
    request.set_path_with_query(Some(&format!("/{}", "x".repeat(LARGEST_BYTES)))).expect("it fits");
    request
}

fn request_with_body() -> impl Sized {
    let request = OutgoingRequest::new(Fields::new());
    let body = request.body().expect("the first one");
    let stream = body.write().expect("the first one");
    while stream.check_write().is_ok_and(|room| room >= LARGEST_BYTES as u64) {
        stream.write(&vec![b'x'; LARGEST_BYTES]).expect("there is room");
    }
    // Dropped in this order: a stream before its body.
    (stream, body, request)
}

fn request_with_trailers() -> OutgoingRequest {
    let request = request();
    let body = request.body().expect("the first one");
    OutgoingBody::finish(body, Some(many_headers())).expect("the body has no length");
    request
}

fn response_with_body() -> impl Sized {
    let response = OutgoingResponse::new(large_fields());
    let body = response.body().expect("the first one");
    (body, response)
}

fn incomplete_line() -> impl Sized {
    let stream = get_stdout();
    for piece in vec![b'x'; LINE_BYTES].chunks(4096) {
        stream.blocking_write_and_flush(piece).expect("standard output is open");
    }
    stream
}

fn failed_write() -> impl Sized {
    let fields = Fields::new();
    fields.append("content-length", b"0").expect("a valid header");
    let request = OutgoingRequest::new(fields);
    let body = request.body().expect("the first one");
    let stream = body.write().expect("the first one");
    let room = stream.check_write();
    let Err(StreamError::LastOperationFailed(failure)) = stream.write(b"x") else {
        unreachable!("a byte more than was announced, with room for {room:?}")
    };
    drop((stream, body, request));
    failure
}
