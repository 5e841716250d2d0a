//! The calling user, and state left over from earlier calls.

use std::sync::atomic::{AtomicU32, Ordering};

use guest_support::serde_json::{Value, from_str, json};
use guest_support::{Invocation, Outcome, structured};

static CALLS: AtomicU32 = AtomicU32::new(0);

pub(crate) fn remember(_: &Invocation) -> Outcome {
    let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
    structured(&json!({ "calls": calls }))
}

pub(crate) fn whoami(invocation: &Invocation) -> Outcome {
    let config: Value = from_str(&invocation.config).unwrap_or_default();
    structured(&json!({ "user": invocation.user_id, "config": config }))
}
