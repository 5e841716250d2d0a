//! Limits the head of a request while the guest builds it: wasmtime validates the characters of method,
//! scheme, authority and path, but not their length, and stores them as long as the guest has the request.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::WasiHttpCtxView;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest as _, Method, Scheme};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest;

use crate::contract::WASI_HTTP_TYPES;

/// Maximum length of a method or scheme.
pub(super) const MAX_TOKEN_BYTES: usize = 64;
/// Maximum length of a host with its port: names have at most 253 bytes (RFC 1035, section 2.3.4).
const MAX_AUTHORITY_BYTES: usize = 300;
/// Maximum length of a path with its query.
const MAX_PATH_BYTES: usize = 16 << 10;

/// Wraps the setters that are already linked. An overlong value is refused like one with invalid characters.
pub(super) fn bound<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> WasiHttpCtxView<'_>,
) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(WASI_HTTP_TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        move |mut store, (request, method): (Resource<HostOutgoingRequest>, Method)| {
            let is_long = matches!(&method, Method::Other(name) if name.len() > MAX_TOKEN_BYTES);
            unless(is_long, || view(store.data_mut()).set_method(request, method))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-scheme",
        move |mut store, (request, scheme): (Resource<HostOutgoingRequest>, Option<Scheme>)| {
            let is_long = matches!(&scheme, Some(Scheme::Other(name)) if name.len() > MAX_TOKEN_BYTES);
            unless(is_long, || view(store.data_mut()).set_scheme(request, scheme))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        move |mut store, (request, authority): (Resource<HostOutgoingRequest>, Option<String>)| {
            let is_long = authority.as_ref().is_some_and(|it| it.len() > MAX_AUTHORITY_BYTES);
            unless(is_long, || view(store.data_mut()).set_authority(request, authority))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-path-with-query",
        move |mut store, (request, path): (Resource<HostOutgoingRequest>, Option<String>)| {
            let is_long = path.as_ref().is_some_and(|it| it.len() > MAX_PATH_BYTES);
            unless(is_long, || view(store.data_mut()).set_path_with_query(request, path))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The return type of the setters.
type Set = Result<(), ()>;

fn unless(is_long: bool, set: impl FnOnce() -> wasmtime::Result<Set>) -> wasmtime::Result<(Set,)> {
    Ok((if is_long { Err(()) } else { set()? },))
}
