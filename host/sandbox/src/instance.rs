//! An instance for one call, and its slot in the pool.

use std::fmt;

use tokio::sync::OwnedSemaphorePermit;
use wasmtime::Store;

use super::call_data::CallData;

/// An instance of a call. Dropping it resets its memory and frees its slot; until then its memory counts as
/// the user's.
pub struct Instance {
    pub(super) store: Store<CallData>,
    /// Dropped after the store: fields are dropped in declaration order.
    _slot: OwnedSemaphorePermit,
}

impl Instance {
    pub(super) fn new(store: Store<CallData>, slot: OwnedSemaphorePermit) -> Self {
        Self { store, _slot: slot }
    }

    /// Ends the guest's streams and requests.
    pub(super) fn close(mut self) -> Self {
        self.store.data_mut().close();
        self
    }

    /// Drops the instance when the current task next waits. For a call, that is after its response was
    /// written, because resetting memory takes 65 µs per MiB.
    pub fn drop_later(self) {
        tokio::spawn(async move { drop(self) });
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").finish_non_exhaustive()
    }
}
