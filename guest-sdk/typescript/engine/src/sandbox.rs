//! The component's side of the WIT contract: exports that the host calls, and imports that JavaScript uses.
//!
//! A component starts from a snapshot: the builder passes the toolkit's bundle to `start` of [`exports`], and
//! the memory after that is the initial memory of every instance. Calls arrive through the exports of the
//! contract.
//!
//! Invariant: the host is not called before the snapshot is taken. A toolkit that tries to gets an error.

mod allocator;
mod call;
mod capabilities;
mod event_loop;
mod exports;
mod host;
mod http;
mod moment;
mod offers;
mod record;
mod rejections;

#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
pub(crate) mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/current",
        world: "toolkit-with-offers",
    });
}

#[allow(unsafe_code)]
mod export {
    use super::bindings;
    use super::call::Component;

    bindings::export!(Component with_types_in bindings);
}
