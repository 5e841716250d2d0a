//! A call, and what all calls use.

use std::sync::Arc;

use kitbag_base::metrics::Metrics;
use kitbag_base::workers::Workers;
use kitbag_identity::{Caller, Groups};
use kitbag_knowledge::Holder;
use kitbag_net::traces::{Arrival, Traces};
use kitbag_sandbox::capabilities::ask::Answers;
use kitbag_vault::Vault;

use super::callee::Callee;
use super::inspection::Inspection;
use crate::Toolkits;
use crate::audience::Limited;
use crate::invocations::Invocations;
use crate::user_config::UserConfig;

/// Parts of the server that calls use.
pub struct CallServices {
    /// Live toolkits, counters of limited calls, and consents.
    pub toolkits: Arc<Toolkits>,
    /// The caller's secrets.
    pub vault: Arc<Vault>,
    /// The caller's settings.
    pub user_config: Arc<UserConfig>,
    /// Records of calls.
    pub invocations: Arc<Invocations>,
    /// The operator's service that inspects calls, if there is one.
    pub inspection: Option<Inspection>,
    /// Threads that process large arguments and results.
    pub workers: Workers,
    /// Counts of calls.
    pub metrics: Metrics,
    /// Traces of calls.
    pub traces: Traces,
}

/// A call whose permission has been checked.
pub struct Call<'a> {
    /// The calling user.
    pub caller: &'a Caller,
    /// The user's groups.
    pub groups: Groups,
    /// Holders whose documents the user may read; the user is one of them.
    pub readable: Arc<[Holder]>,
    /// Arrival time of the request, if calls are traced.
    pub arrival: Option<Arrival>,
    /// The tool, prompt, resource or completion to call.
    pub tool: &'a Callee,
    /// Call limits: alternatives, as returned by [`Audience::limits`](crate::audience::Audience::limits).
    pub limits: Vec<Vec<Limited>>,
    /// Id of the run of code that makes the call, if any.
    pub run: Option<Arc<str>>,
    /// The caller's answers to questions of the tool; `None` if the caller cannot be asked.
    pub answers: Option<Arc<Answers>>,
}
