//! The component's side of the contract: what the host calls, and what JavaScript asks of the host.
//!
//! A component begins with a snapshot: the builder hands the toolkit's bundle to `start` of [`exports`], and what
//! memory holds then is in every instance. Calls come through the export `tools` of the contract.
//!
//! Invariant: nothing here is asked of the host before the snapshot is taken. Whoever tries, is told so.

mod allocator;
mod call;
mod capabilities;
mod definition;
mod event_loop;
mod exports;
mod host;
mod http;
mod moment;
mod record;
mod rejections;

pub(crate) use self::allocator::SnapshotAllocator;
pub(crate) use self::capabilities::Capabilities;
pub(crate) use self::host::Host;

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
pub(crate) mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/current",
        world: "toolkit",
    });
}

#[allow(unsafe_code)]
mod export {
    use super::bindings;
    use super::call::Component;

    bindings::export!(Component with_types_in bindings);
}
