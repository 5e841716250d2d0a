//! What was attached to the requests of a call, so that it is found in the call's output.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kitbag_base::redaction::Redactor;
use secrecy::{ExposeSecret, SecretString};

use crate::UserSecrets;

/// The values that were sent with a call's requests. Clones share the list.
///
/// An API may echo what it received, so all output of the sandbox is searched for these.
#[derive(Clone, Debug, Default)]
pub struct AttachedTokens(Arc<Mutex<Attached>>);

#[derive(Debug, Default)]
struct Attached {
    /// Without duplicates.
    values: Vec<SecretString>,
    /// Finds them and the secrets of the call's user, once that was asked for.
    redactor: Option<Arc<Redactor>>,
}

impl AttachedTokens {
    /// A list with one given value.
    #[cfg(any(test, feature = "testing"))]
    pub fn of(value: SecretString) -> Self {
        Self(Arc::new(Mutex::new(Attached { values: vec![value], redactor: None })))
    }

    /// The values.
    #[cfg(any(test, feature = "testing"))]
    pub fn values(&self) -> Vec<SecretString> {
        self.lock().values.clone()
    }

    /// A redactor for the values and for `secrets`, those of the call's user. It is made anew only after another value was
    /// attached: a guest has it used as often as it likes.
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
