//! Values attached to the requests of a call, for redaction of the call's output.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kitbag_base::redaction::Redactor;
use secrecy::{ExposeSecret, SecretString};

use crate::UserSecrets;

/// Values attached to a call's requests. Clones share the list.
///
/// An API may echo what it received, so these values are redacted from all output of the sandbox.
#[derive(Clone, Debug, Default)]
pub struct AttachedTokens(Arc<Mutex<Attached>>);

#[derive(Debug, Default)]
struct Attached {
    /// Attached values, without duplicates.
    values: Vec<SecretString>,
    /// Redactor for `values` and the secrets of the call's user, created on demand.
    redactor: Option<Arc<Redactor>>,
}

impl AttachedTokens {
    /// Creates a list with one value.
    #[cfg(any(test, feature = "testing"))]
    pub fn of(value: SecretString) -> Self {
        Self(Arc::new(Mutex::new(Attached { values: vec![value], redactor: None })))
    }

    /// Returns the values.
    #[cfg(any(test, feature = "testing"))]
    pub fn values(&self) -> Vec<SecretString> {
        self.lock().values.clone()
    }

    /// Returns a redactor for the values and for `secrets`, those of the call's user. It is rebuilt only
    /// after another value was attached, as a guest can cause any number of uses.
    pub fn redactor_with(&self, secrets: &UserSecrets) -> Arc<Redactor> {
        let mut attached = self.lock();
        let Attached { values, redactor } = &mut *attached;
        redactor.get_or_insert_with(|| secrets.redactor_with(values)).clone()
    }

    pub(super) fn add(&self, value: &SecretString) {
        let mut attached = self.lock();
        if !attached.values.iter().any(|known| known.expose_secret() == value.expose_secret()) {
            attached.values.push(value.clone());
            attached.redactor = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Attached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
