//! Why the host could not sign in for a toolkit.

use std::sync::{Arc, Mutex, PoisonError};

use kitbag_manifest::reply::Failure;

/// What a call is told that fails because the host sent no request for it. A clone shares it.
///
/// The guest saw a network error, and can say nothing of the reason.
#[derive(Clone, Debug, Default)]
pub struct SignInFailure(Arc<Mutex<Option<Failure>>>);

impl SignInFailure {
    /// Keeps the first: the requests that follow fail for the same reason.
    pub(crate) fn note(&self, failure: Failure) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    /// The failure, where there was one.
    pub fn get(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
