//! Constant limits of a server. No operator has needed to change them; tests lower them.

use std::time::Duration;

use kitbag_identity::{Lifetimes, ProvisioningLimits};
use kitbag_manifest::limits;

use super::Settings;

const MIB: usize = 1 << 20;

/// Calls of one user that run at the same time: a quarter of `concurrent-calls`, if that is more.
const CALLS_PER_USER: usize = 64;
/// Calls of one toolkit that run at the same time: half of `concurrent-calls`, if that is more.
const CALLS_PER_TOOLKIT: usize = 128;

/// Limits that are not settings.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Elements of each table of one call.
    pub call_table_elements: usize,
    /// Handles to host resources that one call may have open at once.
    pub call_resources: usize,
    /// Largest result of one call, in bytes.
    pub call_result: usize,
    /// Log output of one call, in bytes.
    pub call_log: usize,
    /// Outbound requests that one call may have in flight; others wait.
    pub call_requests_in_flight: usize,
    /// Outbound requests that one call may make.
    pub call_requests: usize,
    /// Largest body of one outbound request, in bytes.
    pub call_request_body: usize,
    /// Largest body of one response, in bytes.
    pub call_response_body: usize,
    /// Upper bound of the calls of one user that run at the same time; none by default.
    pub concurrent_calls_per_user: usize,
    /// Upper bound of the calls of one toolkit that run at the same time; none by default.
    pub concurrent_calls_per_toolkit: usize,
    /// Validity of an access token of local sign-in.
    pub access_token_lifetime: Duration,
    /// Limits of what an identity provider maintains here.
    pub provisioning: ProvisioningLimits,
    /// Interval of anchors of the audit log.
    pub anchor_interval: Duration,
    /// Time limit for fetching one captured file.
    pub capture_time: Duration,
    /// Wall time for extracting the text of one captured file.
    pub extraction_time: Duration,
    /// Minimum rate of a request body, in bytes per second. Applies to bodies that take longer in total than
    /// the request timeout.
    pub request_rate: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            call_table_elements: 100_000,
            call_resources: 4096,
            call_result: limits::DEFAULT_RESULT_MIB * MIB,
            call_log: 256 << 10,
            call_requests_in_flight: 16,
            call_requests: 200,
            call_request_body: 8 * MIB,
            call_response_body: 16 * MIB,
            concurrent_calls_per_user: usize::MAX,
            concurrent_calls_per_toolkit: usize::MAX,
            access_token_lifetime: Lifetimes::default().access_token,
            provisioning: ProvisioningLimits::default(),
            anchor_interval: Duration::from_hours(1),
            capture_time: Duration::from_mins(5),
            extraction_time: Duration::from_mins(1),
            request_rate: 4 << 10,
        }
    }
}

impl Settings {
    /// Returns the largest number of calls of one user that run at the same time.
    pub fn concurrent_calls_per_user(&self) -> usize {
        let share = CALLS_PER_USER.max(self.concurrent_calls as usize / 4);
        share.min(self.bounds.concurrent_calls_per_user)
    }

    /// Returns the largest number of calls of one toolkit that run at the same time.
    pub fn concurrent_calls_per_toolkit(&self) -> usize {
        let share = CALLS_PER_TOOLKIT.max(self.concurrent_calls as usize / 2);
        share.min(self.bounds.concurrent_calls_per_toolkit)
    }
}
