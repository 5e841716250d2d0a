//! Settings that are applied while the server runs.
//!
//! Only those that each request or handshake looks at: a part that was built from a setting would have to be built
//! again, and requests in progress would lose it.

use std::sync::{Arc, Mutex, PoisonError};

use kitbag_access::Access;
use kitbag_net::certificate::LiveCertificate;
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use super::configuration::{certificate_files, roles};
use crate::settings::Settings;

/// The settings that can change, as keys of the file.
const APPLIED: [&str; 2] = ["local-groups", "operators"];
/// Those that can change while there is a certificate before and after.
const APPLIED_WITH_TLS: [&str; 2] = ["tls-certificate", "tls-key"];

/// Applies changed settings. Clones share the state.
#[derive(Clone)]
pub struct Reload {
    access: Access,
    certificate: Option<LiveCertificate>,
    /// Those in effect.
    settings: Arc<Mutex<Settings>>,
}

impl Reload {
    pub(super) fn new(access: Access, certificate: Option<LiveCertificate>, settings: Settings) -> Self {
        Self { access, certificate, settings: Arc::new(Mutex::new(settings)) }
    }

    /// Applies what can be applied, and logs what needs a restart. The certificate is read again in any case.
    pub async fn apply(&self, new: &Settings) {
        self.apply_values(new);
        if let (Some(certificate), Some(files)) = (self.certificate.clone(), certificate_files(new)) {
            // A panic would have been logged, and the certificate in use stays.
            let _ = spawn_blocking(move || certificate.renew(files)).await;
        }
    }

    fn apply_values(&self, new: &Settings) {
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        // To begin or end with TLS is for a restart.
        let has_tls = self.certificate.is_some() && new.tls().is_some();
        let with_tls = if has_tls { &APPLIED_WITH_TLS[..] } else { &[] };
        let is_applied = |name: &String| APPLIED.iter().chain(with_tls).any(|applied| applied == name);
        let (applied, others): (Vec<_>, Vec<_>) = settings.differences(new).into_iter().partition(is_applied);
        self.access.set_roles(roles(new));
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
