//! The reason why the host could not sign in for a toolkit.

use std::sync::{Arc, Mutex, PoisonError};

use kitbag_manifest::reply::Failure;

/// The failure to report when a call fails because the host could not sign in. Clones share it.
///
/// The guest saw only a network error, so its own error does not name the reason.
#[derive(Clone, Debug, Default)]
pub struct SignInFailure(Arc<Mutex<Option<Reason>>>);

/// The failure that a caller receives in place of the handler's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The error envelope.
    pub failure: Failure,
    /// Whether the user can fix it by connecting an account.
    pub is_about_account: bool,
}

impl SignInFailure {
    /// Records the first failure; later requests fail for the same reason.
    pub fn record(&self, failure: Failure, is_about_account: bool) {
        let reason = Reason { failure, is_about_account };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }

    /// Returns the failure, if there was one.
    pub fn get(&self) -> Option<Reason> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
