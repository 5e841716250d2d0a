//! Measures the host memory of a guest's resources.
//!
//! wasmtime limits the number of handles and the size of some resources, but their product is large. So after host calls
//! all resources are measured, and the total is counted as memory of the call (`Meter::hold`).
//!
//! Invariant: each type of resource that a guest can create has a test below.

use std::any::Any;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, IoError};

use crate::capabilities::fetch;

/// Memory of a resource besides its data: its table entry, its links to other resources, allocations.
const ENTRY_BYTES: usize = 256;
/// Memory of a stream. Buffers of response bodies are claimed with their requests, those of request bodies
/// are counted with their requests, and incomplete lines of output are shared by all streams.
const STREAM_BYTES: usize = 512;
/// Memory of an error: its causes, and its backtrace if the server's environment enables backtraces.
const ERROR_BYTES: usize = 8 << 10;
/// Memory of a resource whose type wasmtime does not export; the only such resources that a guest can create
/// are timers.
const UNKNOWN_BYTES: usize = 1 << 10;

/// Number of resources, and their host memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    pub(super) count: usize,
    pub(super) bytes: usize,
}

/// Measures all resources of a table.
pub(super) fn measure(table: &mut ResourceTable) -> Footprint {
    let mut total = Footprint::default();
    for resource in table.iter_mut() {
        total.count += 1;
        total.bytes += ENTRY_BYTES + size_of_val(resource) + content(resource);
    }
    total
}

fn content(resource: &(dyn Any + Send)) -> usize {
    if resource.is::<DynPollable>() {
        0
    } else if resource.is::<DynInputStream>() || resource.is::<DynOutputStream>() {
        STREAM_BYTES
    } else if resource.is::<IoError>() {
        ERROR_BYTES
    } else {
        fetch::footprint::size(resource).unwrap_or(UNKNOWN_BYTES)
    }
}

#[cfg(test)]
mod tests;
