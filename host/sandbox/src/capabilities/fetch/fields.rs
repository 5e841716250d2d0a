//! Frees memory that a header map retains after its values were removed.
//!
//! A map with many values of one header retains their memory when they are removed, and does not report how
//! much, so the memory would not be counted.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::HeaderResult;
use wasmtime_wasi_http::p2::bindings::http::types::{HeaderError, Host as _, HostFields};
use wasmtime_wasi_http::{FieldMap, WasiHttpCtxView};

use super::MAX_HEADER_BYTES;
use crate::contract::WASI_HTTP_TYPES;

/// Wraps the host functions that remove values.
pub(super) fn compact_after_removal<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> WasiHttpCtxView<'_>,
) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance(WASI_HTTP_TYPES)?;
    types.func_wrap(
        "[method]fields.delete",
        move |mut store, (fields, name): (Resource<FieldMap>, String)| {
            remove(view(store.data_mut()), &fields, name, |host, fields, name| {
                HostFields::delete(host, fields, name)
            })
        },
    )?;
    types.func_wrap(
        "[method]fields.set",
        move |mut store, (fields, name, values): (Resource<FieldMap>, String, Vec<Vec<u8>>)| {
            remove(view(store.data_mut()), &fields, name, |host, fields, name| {
                HostFields::set(host, fields, name, values)
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

fn remove(
    mut host: WasiHttpCtxView<'_>,
    fields: &Resource<FieldMap>,
    name: String,
    remove: impl FnOnce(&mut WasiHttpCtxView<'_>, Resource<FieldMap>, String) -> HeaderResult<()>,
) -> wasmtime::Result<(Result<(), HeaderError>,)> {
    let had_several = host.table.get(fields)?.get_all(&name).iter().nth(1).is_some();
    if let Err(error) = remove(&mut host, Resource::new_borrow(fields.rep()), name) {
        return Ok((Err(host.convert_header_error(error)?),));
    }
    if had_several {
        let fields = host.table.get_mut(fields)?;
        *fields = copy(fields)?;
    }
    Ok((Ok(()),))
}

/// Returns a copy that takes no more memory than its values need.
fn copy(fields: &FieldMap) -> wasmtime::Result<FieldMap> {
    let mut copy = FieldMap::new_mutable(MAX_HEADER_BYTES);
    for (name, value) in fields.iter() {
        copy.append_raw(name.clone(), value.clone())?;
    }
    Ok(copy)
}
