//! Limits that no operator has needed to change: constants of a server, which tests make smaller.

use std::time::Duration;

use kitbag_manifest::limits;

const MIB: usize = 1 << 20;

/// Limits that are no settings.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Elements of each table of one call.
    pub call_table_elements: usize,
    /// Handles to host resources that one call may hold at once.
    pub call_resources: usize,
    /// Largest result of one call, in bytes.
    pub call_result: usize,
    /// What one call may write to its log, in bytes.
    pub call_log: usize,
    /// Outbound requests that one call may have in flight; others wait.
    pub call_requests_in_flight: usize,
    /// Outbound requests that one call may make.
    pub call_requests: usize,
    /// Largest body of one outbound request, in bytes.
    pub call_request_body: usize,
    /// Largest body of one response, in bytes.
    pub call_response_body: usize,
    /// How long fetching one captured file may take.
    pub capture_time: Duration,
    /// Wall time of extracting the text of one captured file.
    pub extraction_time: Duration,
    /// Minimum rate of a request body that keeps the server waiting longer than the request timeout in total, in bytes a second.
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
            capture_time: Duration::from_mins(5),
            extraction_time: Duration::from_mins(1),
            request_rate: 4 << 10,
        }
    }
}
