//! JSON responses. A small value is encoded at once; a larger one off the threads that serve requests, in turns
//! of users.
//!
//! Invariant: no thread that serves requests encodes more than [`INLINE_BYTES`] of an answer. `axum::Json` would,
//! and is therefore refused by the linter (`clippy.toml`).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use kitbag_base::bounded_json::compact;
use kitbag_base::workers::INLINE_BYTES;
use serde::Serialize;

use crate::media_type::JSON;

/// A response with a value as JSON.
pub(crate) struct Json<T>(pub(crate) T);

/// Value of a response whose body is still empty, in the response's extensions: the request's share encodes it
/// (`RequestShare::encoded`).
#[derive(Clone)]
pub(crate) struct Unencoded {
    /// Size of the value in memory, in bytes; at least [`INLINE_BYTES`].
    pub(crate) bytes: usize,
    encode: Arc<Mutex<Option<Box<Encode>>>>,
}

type Encode = dyn FnOnce() -> Vec<u8> + Send;

/// Creates a response with a value of about this size in bytes. A large one is also made where it is encoded.
pub(crate) fn of_size<T: Serialize + Send + 'static>(
    bytes: usize,
    make: impl FnOnce() -> T + Send + 'static,
) -> Response {
    if bytes > INLINE_BYTES {
        Unencoded::new(bytes, move || encoded(&make())).into_response()
    } else {
        Json(make()).into_response()
    }
}

/// Completes a response that no share has completed: that of a route for anybody, which has no large values.
pub(crate) fn completed(mut response: Response) -> Response {
    if let Some(unencoded) = response.extensions_mut().remove::<Unencoded>() {
        tracing::error!("a route without users has a large answer");
        *response.body_mut() = Body::from(unencoded.encode());
    }
    response
}

impl<T: Serialize + Send + 'static> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match compact(&self.0, INLINE_BYTES) {
            Some(json) => with_body(json),
            None => Unencoded::new(INLINE_BYTES, move || encoded(&self.0)).into_response(),
        }
    }
}

impl Unencoded {
    fn new(bytes: usize, encode: impl FnOnce() -> Vec<u8> + Send + 'static) -> Self {
        Self { bytes, encode: Arc::new(Mutex::new(Some(Box::new(encode)))) }
    }

    /// Encodes the value, which takes time in proportion to it.
    pub(crate) fn encode(self) -> Bytes {
        let encode = self.encode.lock().unwrap_or_else(PoisonError::into_inner).take();
        encode.map(|encode| encode()).unwrap_or_default().into()
    }
}

impl fmt::Debug for Unencoded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Unencoded({} bytes)", self.bytes)
    }
}

impl IntoResponse for Unencoded {
    fn into_response(self) -> Response {
        let mut response = with_body(Vec::new());
        response.extensions_mut().insert(self);
        response
    }
}

fn with_body(json: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], json).into_response()
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    compact(value, usize::MAX).expect("values of responses always serialise")
}
