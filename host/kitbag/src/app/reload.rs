//! Settings that are applied while the server runs.
//!
//! Only settings that are read for each request or handshake: applying any other would mean rebuilding a
//! part, and its requests in progress would fail.

use std::sync::{Arc, Mutex, PoisonError};

use kitbag_access::Access;
use kitbag_net::certificate::LiveCertificate;
use kitbag_net::egress::{Egress, LiveHostPolicy};
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use super::address::certificate_files;
use super::identity::roles;
use crate::settings::Settings;

/// Keys in the settings file that are applied without a restart.
const APPLIED: [&str; 3] = ["egress-policy", "local-groups", "operators"];
/// Keys that are applied without a restart if TLS is on before and after.
const APPLIED_WITH_TLS: [&str; 2] = ["tls-certificate", "tls-key"];

/// Applies changed settings. Clones share the state.
#[derive(Clone)]
pub struct Reload {
    access: Access,
    host_policy: LiveHostPolicy,
    certificate: Option<LiveCertificate>,
    /// Settings in effect.
    settings: Arc<Mutex<Settings>>,
}

impl Reload {
    pub(super) fn new(
        access: Access,
        egress: &Egress,
        certificate: Option<LiveCertificate>,
        settings: Settings,
    ) -> Self {
        let host_policy = egress.host_policy().clone();
        Self { access, host_policy, certificate, settings: Arc::new(Mutex::new(settings)) }
    }

    /// Applies what can change at runtime, and logs what needs a restart. Always reloads the certificate.
    pub async fn apply(&self, new: &Settings) {
        self.apply_values(new);
        if let (Some(certificate), Some(files)) = (self.certificate.clone(), certificate_files(new)) {
            // A panic has been logged; the current certificate stays in use.
            let _ = spawn_blocking(move || certificate.renew(files)).await;
        }
    }

    fn apply_values(&self, new: &Settings) {
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        // Turning TLS on or off needs a restart.
        let has_tls = self.certificate.is_some() && new.tls().is_some();
        let with_tls = if has_tls { &APPLIED_WITH_TLS[..] } else { &[] };
        let is_applied = |name: &String| APPLIED.iter().chain(with_tls).any(|applied| applied == name);
        let (applied, others): (Vec<_>, Vec<_>) = settings.differences(new).into_iter().partition(is_applied);
        self.access.set_roles(roles(new));
        self.host_policy.replace(new.egress_policy.policy());
        settings.egress_policy = new.egress_policy.clone();
        settings.operators = new.operators.clone();
        settings.local_groups = new.local_groups.clone();
        if has_tls {
            settings.tls_certificate = new.tls_certificate.clone();
            settings.tls_key = new.tls_key.clone();
        }
        info!(applied = applied.join(" "), "settings were read again");
        if !others.is_empty() {
            warn!(settings = others.join(" "), "these settings have changed and apply after a restart");
        }
    }
}
