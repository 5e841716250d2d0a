//! `kitbag:toolkit/cache`: per-user key-value storage of a toolkit between calls. Granted by scope
//! `svc:cache`.
//!
//! Invariant: the user, the toolkit and its owner come from the host, never from the guest.

use std::sync::Arc;

use kitbag_base::memory::Lease;
use kitbag_base::shares::Share;
use kitbag_vault::user_cache::{CacheSlot, UserCache};
use secrecy::ExposeSecret;
use wasmtime::component::{HasData, Linker};

use super::{CallContext, in_call};
use crate::contract::interfaces::cache::{self, CacheError};

/// Access to the values that one toolkit caches for one user.
#[derive(Default)]
pub struct Cache {
    /// `None` outside a call.
    values: Option<Arc<UserCache>>,
    slot: CacheSlot,
    /// The call's lease on the memory budget for all calls.
    lease: Option<Arc<Lease>>,
    /// Counts the returned value while it is copied to the guest, which can delay that arbitrarily.
    returned: Option<Share>,
}

impl Cache {
    pub(super) fn of(call: &CallContext<'_>) -> Self {
        let slot = CacheSlot {
            user: call.user_id.clone(),
            toolkit: call.grants.definition().id.as_str().into(),
            owner: call.owner.into(),
        };
        Self { values: call.services.cache.clone(), slot, lease: Some(call.lease.clone()), returned: None }
    }

    /// Releases the memory of the returned value.
    pub(super) fn after_host_call(&mut self) {
        self.returned = None;
    }
}

impl cache::Host for Cache {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, CacheError>> {
        let value = match in_call(self.values.as_ref())?.get(&self.slot, &key).await {
            Ok(value) => value.map(|value| value.expose_secret().to_owned()),
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        let bytes = value.as_ref().map_or(0, String::len);
        self.returned = self.lease.as_ref().map(|lease| lease.count_existing(bytes));
        Ok(Ok(value))
    }

    async fn set(
        &mut self,
        key: String,
        value: String,
        seconds: Option<u32>,
    ) -> wasmtime::Result<Result<(), CacheError>> {
        // Counts the key and the value, as received and sealed, until the value is stored. A value that is
        // too large is refused before it is sealed, but has been received.
        let _held = self.lease.as_ref().map(|lease| lease.count_existing(key.len() + 2 * value.len()));
        let set = in_call(self.values.as_ref())?.set(&self.slot, &key, value.into(), seconds).await;
        Ok(set.map_err(Into::into))
    }

    async fn delete(&mut self, key: String) -> wasmtime::Result<Result<(), CacheError>> {
        Ok(in_call(self.values.as_ref())?.delete(&self.slot, &key).await.map_err(Into::into))
    }
}

impl From<kitbag_vault::user_cache::CacheError> for CacheError {
    fn from(error: kitbag_vault::user_cache::CacheError) -> Self {
        match error {
            kitbag_vault::user_cache::CacheError::Invalid(why) => Self::Invalid(why),
            kitbag_vault::user_cache::CacheError::Unavailable(why) => Self::Unavailable(why),
        }
    }
}

/// Links the capability; `cache` finds the invocation's state in the store.
pub fn add_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    cache: fn(&mut T) -> &mut Cache,
) -> wasmtime::Result<()> {
    struct HasCache;
    impl HasData for HasCache {
        type Data<'a> = &'a mut Cache;
    }
    cache::add_to_linker::<T, HasCache>(linker, cache)
}
