//! Bounds what a guest writes into the head of a request that it never sends: wasmtime looks at the letters of
//! such texts and not at their length, and keeps them for as long as the guest likes.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::WasiHttpCtxView;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest as _, Method, Scheme};
use wasmtime_wasi_http::p2::types::HostOutgoingRequest;

use crate::contract::WASI_HTTP_TYPES;

/// A method or a scheme, in bytes.
const WORD: usize = 64;
/// A host and its port, in bytes: names have at most 253 (RFC 1035, section 2.3.4).
const AUTHORITY: usize = 300;
/// A path and its query, in bytes.
const PATH: usize = 16 << 10;

/// Puts the bounds before the functions that are linked already. What is too long is refused as wrong letters are.
pub(super) fn bound<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> WasiHttpCtxView<'_>,
) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(WASI_HTTP_TYPES)?;
    types.func_wrap(
        "[method]outgoing-request.set-method",
        move |mut store, (request, method): (Resource<HostOutgoingRequest>, Method)| {
            let is_long = matches!(&method, Method::Other(name) if name.len() > WORD);
            unless(is_long, || view(store.data_mut()).set_method(request, method))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-scheme",
        move |mut store, (request, scheme): (Resource<HostOutgoingRequest>, Option<Scheme>)| {
            let is_long = matches!(&scheme, Some(Scheme::Other(name)) if name.len() > WORD);
            unless(is_long, || view(store.data_mut()).set_scheme(request, scheme))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-authority",
        move |mut store, (request, authority): (Resource<HostOutgoingRequest>, Option<String>)| {
            let is_long = authority.as_ref().is_some_and(|it| it.len() > AUTHORITY);
            unless(is_long, || view(store.data_mut()).set_authority(request, authority))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-request.set-path-with-query",
        move |mut store, (request, path): (Resource<HostOutgoingRequest>, Option<String>)| {
            let is_long = path.as_ref().is_some_and(|it| it.len() > PATH);
            unless(is_long, || view(store.data_mut()).set_path_with_query(request, path))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// What the contract's setters return.
type Set = Result<(), ()>;

fn unless(is_long: bool, set: impl FnOnce() -> wasmtime::Result<Set>) -> wasmtime::Result<(Set,)> {
    Ok((if is_long { Err(()) } else { set()? },))
}
