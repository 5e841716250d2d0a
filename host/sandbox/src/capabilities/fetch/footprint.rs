//! The host memory of the resources of `wasi:http`, in bytes. Where wasmtime does not expose the size of a
//! resource's contents, the maximum is counted.

use std::any::Any;

use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body::Body as _;
use wasmtime_wasi_http::p2::body::{HostFutureTrailers, HostIncomingBody, HostOutgoingBody};
use wasmtime_wasi_http::p2::types::{
    HostFutureIncomingResponse, HostIncomingResponse, HostOutgoingRequest, HostOutgoingResponse,
};
use wasmtime_wasi_http::{FieldMap, RequestOptions, WasiBody};

use super::BODY_CHUNK_BYTES;

/// Memory of a header in the map, with its hash and links.
const ENTRY_BYTES: usize = size_of::<HeaderName>() + size_of::<HeaderValue>() + 32;
/// Memory of an index of the map.
const INDEX_BYTES: usize = 4;
/// Memory of a further value of a header, with its links.
const FURTHER_VALUE_BYTES: usize = size_of::<HeaderValue>() + 32;
/// Overhead of the allocation of a name or value.
const ALLOCATION_BYTES: usize = 32;

/// Memory of a request or response body that a guest writes: two pieces in a channel, and trailers, counted
/// with the maximum memory of a header map of [`MAX_HEADER_BYTES`](super::MAX_HEADER_BYTES).
const WRITTEN_BODY_BYTES: usize = 2 * BODY_CHUNK_BYTES + (64 << 10);
/// Memory of a response body that a guest reads, besides the memory claimed for its request: trailers, which
/// are at most as large as a response head.
const READ_BODY_BYTES: usize = 32 << 10;
/// Memory of the task of a request in progress.
const TASK_BYTES: usize = 16 << 10;

/// Size of a resource besides its own type, in bytes; `None` if the resource is not of `wasi:http`.
pub(crate) fn size(resource: &(dyn Any + Send)) -> Option<usize> {
    if let Some(fields) = resource.downcast_ref::<FieldMap>() {
        Some(headers(fields))
    } else if let Some(request) = resource.downcast_ref::<HostOutgoingRequest>() {
        Some(headers(&request.headers) + head(request) + written(request.body.as_ref()))
    } else if let Some(response) = resource.downcast_ref::<HostOutgoingResponse>() {
        Some(headers(&response.headers) + written(response.body.as_ref()))
    } else if let Some(response) = resource.downcast_ref::<HostIncomingResponse>() {
        Some(headers(&response.headers) + response.body.as_ref().map_or(0, |_| READ_BODY_BYTES))
    } else if let Some(future) = resource.downcast_ref::<HostFutureIncomingResponse>() {
        Some(match future {
            HostFutureIncomingResponse::Pending(_) => TASK_BYTES,
            HostFutureIncomingResponse::Ready(Ok((response, _))) => headers(response.headers()),
            HostFutureIncomingResponse::Ready(Err(_)) | HostFutureIncomingResponse::Consumed => 0,
        })
    } else if let Some(future) = resource.downcast_ref::<HostFutureTrailers>() {
        Some(match future {
            HostFutureTrailers::Waiting(_) => READ_BODY_BYTES,
            HostFutureTrailers::Done(Ok(Some(trailers))) => headers(trailers),
            HostFutureTrailers::Done(_) | HostFutureTrailers::Consumed => 0,
        })
    } else if resource.is::<HostIncomingBody>() {
        Some(READ_BODY_BYTES)
    } else if resource.is::<HostOutgoingBody>() || resource.is::<RequestOptions>() {
        // Written data is counted with the request.
        Some(0)
    } else {
        None
    }
}

/// Size of a request that waits to be sent, in bytes.
pub(super) fn waiting(request: &Request<WasiBody>) -> usize {
    let path = request.uri().path_and_query().map_or(0, |it| it.as_str().len());
    let body = if request.body().is_end_stream() { 0 } else { WRITTEN_BODY_BYTES };
    headers(request.headers()) + path + body
}

fn written<B>(body: Option<&B>) -> usize {
    body.map_or(0, |_| WRITTEN_BODY_BYTES)
}

fn head(request: &HostOutgoingRequest) -> usize {
    // Method and scheme are short (`super::head`), so each is counted with the maximum length.
    let texts = [&request.authority, &request.path_with_query];
    texts.into_iter().flatten().map(|text| text.capacity() + ALLOCATION_BYTES).sum::<usize>()
        + 2 * super::head::MAX_TOKEN_BYTES
}

fn headers(map: &HeaderMap) -> usize {
    let entries = map.capacity();
    // A quarter of the indices stays free.
    let indices = entries + entries / 3;
    let further = map.len().saturating_sub(map.keys_len()).next_power_of_two();
    let names: usize = map.keys().map(|name| name.as_str().len() + ALLOCATION_BYTES).sum();
    let values: usize = map.values().map(|value| value.len() + ALLOCATION_BYTES).sum();
    entries * ENTRY_BYTES + indices * INDEX_BYTES + further * FURTHER_VALUE_BYTES + names + values
}
