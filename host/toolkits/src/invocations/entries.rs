//! Entries of calls in the audit log, made of their records.

use std::num::NonZeroU32;

use kitbag_base::rate::RateLimit;
use kitbag_database::audit::CallEntry;

use super::operator_view::AtMost;
use super::record::{BegunCall, Outcome, Record};

/// Entries per minute about calls of one user that never ran: a faulty client causes thousands. Each has a record.
const REFUSED_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).expect("not zero");

/// Decides which calls have an entry.
pub(super) struct Selection(RateLimit);

impl Default for Selection {
    fn default() -> Self {
        Self(RateLimit::new(REFUSED_PER_MINUTE))
    }
}

impl Selection {
    /// Returns whether a call has an entry, and counts it.
    pub(super) fn admits(&self, record: &Record) -> bool {
        !Outcome::REFUSED.contains(&record.conclusion.outcome) || self.0.admit(&record.call.user).is_ok()
    }
}

/// Creates the entry of a call. It has ranges in place of numbers, as operators see them.
pub(super) fn entry(record: &Record) -> CallEntry {
    let Record { call, duration, argument_size, conclusion } = record;
    let BegunCall { through, .. } = &**call;
    let bytes = |size: usize| AtMost::bytes(u64::try_from(size).unwrap_or(u64::MAX)).get();
    let has_ended = conclusion.outcome != Outcome::Interrupted;
    CallEntry {
        call: call.id.clone(),
        at: call.started_at,
        user: call.user.clone(),
        client: through.client.clone(),
        key: through.key_id.clone(),
        toolkit: call.toolkit.clone(),
        version: call.version.clone(),
        tool: call.tool.clone(),
        account: call.account.clone(),
        outcome: conclusion.outcome.as_str(),
        argument_bytes: argument_size.map(bytes),
        result_bytes: has_ended.then(|| bytes(conclusion.result_size)),
        duration_ms: has_ended.then(|| AtMost::milliseconds(*duration).get()),
    }
}
