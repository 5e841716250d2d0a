//! An instance for one call, and its slot in the pool.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime::Store;

use super::state::State;

/// The slots of the pool. Clones share them.
#[derive(Clone)]
pub(super) struct Slots(Arc<Semaphore>);

impl Slots {
    pub(super) fn new(count: u32) -> Self {
        Self(Arc::new(Semaphore::new(count as usize)))
    }

    /// Takes a slot. Instances of finished calls may hold the last ones for a moment.
    pub(super) async fn take(&self, wait: Duration) -> Option<OwnedSemaphorePermit> {
        timeout(wait, self.0.clone().acquire_owned()).await.ok()?.ok()
    }
}

/// An instance. Dropping it resets its memory and frees its slot; its memory counts as the user's until then.
pub struct Instance {
    pub(super) store: Store<State>,
    /// Dropped after the store, as fields are in their order.
    _slot: OwnedSemaphorePermit,
}

impl Instance {
    pub(super) fn new(store: Store<State>, slot: OwnedSemaphorePermit) -> Self {
        Self { store, _slot: slot }
    }

    /// Ends the guest's streams and requests.
    pub(super) fn close(mut self) -> Self {
        self.store.data_mut().close();
        self
    }

    /// Drops the instance once the current task waits for something, which for a call is after its response was
    /// written: resetting memory takes 65 µs a MiB.
    pub fn drop_later(self) {
        tokio::spawn(async move { drop(self) });
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").finish_non_exhaustive()
    }
}
