//! Settings that are applied while the server runs.
//!
//! Only those that each request looks at: a part that was built from a setting would have to be built again, and
//! requests in progress would lose it.

use std::sync::{Arc, Mutex, PoisonError};

use tracing::{info, warn};

use super::configuration::operators;
use crate::access::Access;
use crate::settings::Settings;

/// The settings that can change, as keys of the file.
const APPLIED: [&str; 1] = ["operators"];

/// Applies changed settings. Clones share the state.
#[derive(Clone)]
pub struct Reload {
    access: Access,
    /// Those in effect.
    settings: Arc<Mutex<Settings>>,
}

impl Reload {
    pub(super) fn new(access: Access, settings: Settings) -> Self {
        Self { access, settings: Arc::new(Mutex::new(settings)) }
    }

    /// Applies what can be applied, and logs what needs a restart.
    pub fn apply(&self, new: &Settings) {
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let (applied, others): (Vec<_>, Vec<_>) =
            settings.differences(new).into_iter().partition(|name| APPLIED.contains(&name.as_str()));
        self.access.set_operators(operators(new));
        settings.operators = new.operators.clone();
        info!(applied = applied.join(" "), "settings were read again");
        if !others.is_empty() {
            warn!(settings = others.join(" "), "these settings have changed and apply after a restart");
        }
    }
}
