//! Settings of the service that inspects calls (`dlp-…`).

use std::str::FromStr;
use std::time::Duration;

use super::{Settings, SettingsError};

/// Longest time limit of a check.
const MAX_TIMEOUT: Duration = Duration::from_mins(1);

/// What happens to calls while the service cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DlpUnavailable {
    /// They are refused.
    Refuse,
    /// They go on without a check.
    Pass,
}

impl FromStr for DlpUnavailable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "pass" => Ok(Self::Pass),
            _ => Err("it is refuse or pass".to_owned()),
        }
    }
}

impl Settings {
    /// Checks that the settings of the service fit each other.
    pub(super) fn expect_dlp(&self) -> Result<(), SettingsError> {
        let is_set = self.dlp_url.get().is_some();
        if !is_set && (self.dlp_key.get().is_some() || self.dlp_unavailable.get().is_some()) {
            return Err(SettingsError::DlpWithoutUrl);
        }
        let timeout = self.dlp_timeout.get();
        if timeout.is_zero() || timeout > MAX_TIMEOUT {
            return Err(SettingsError::DlpTimeout);
        }
        Ok(())
    }
}
