//! Bounds on the cost of one check.

use std::fmt;
use std::sync::Arc;

/// Maximum steps for checking one value. A step is one read of the value; long texts and patterns count as
/// several. All of them take a fraction of a second of CPU time.
pub const MAX_STEPS: u64 = 5_000_000;

/// Bounds on one check.
#[derive(Clone)]
pub struct Budget {
    pub(super) steps: u64,
    pub(super) matching: Matching,
    pub(super) stop: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

/// Maximum time of a single pattern match, which cannot be interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matching {
    /// A few milliseconds.
    Prompt,
    /// A few seconds.
    Thorough,
}

impl Budget {
    /// Returns the full budget; a value that exceeds it is refused.
    pub fn whole() -> Self {
        Self { steps: MAX_STEPS, matching: Matching::Thorough, stop: None }
    }

    /// Returns a budget for a thread that has other work: at most `steps` steps, and no pattern match that
    /// may take longer than a few milliseconds.
    pub fn prompt(steps: u64) -> Self {
        Self { steps, matching: Matching::Prompt, stop: None }
    }

    /// Calls `stop` every few thousand steps, and aborts the check when it returns `true`.
    #[must_use]
    pub fn until(self, stop: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { stop: Some(Arc::new(stop)), ..self }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, matching, .. } = self;
        out.debug_struct("Budget").field("steps", steps).field("matching", matching).finish_non_exhaustive()
    }
}

/// Reason why a check was aborted without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// All steps are used up.
    Steps,
    /// A text is longer than the maximum, in bytes, for a pattern that applies to it.
    Text(usize),
    /// A pattern reached its backtrack limit.
    Pattern,
    /// A name is longer than the maximum, in bytes, for `patternProperties`.
    Name(usize),
    /// The caller stopped the check, or a match would have taken too long for its budget.
    Stopped,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps => write!(out, "takes more than {MAX_STEPS} steps to check against its schema"),
            Self::Text(max_bytes) => {
                write!(out, "has a text of more than {max_bytes} bytes, too long for a pattern of its schema")
            }
            Self::Name(max_bytes) => write!(
                out,
                "has a name of more than {max_bytes} bytes, too long for the patternProperties of its schema"
            ),
            Self::Pattern => out.write_str("has a text on which a pattern of its schema gives up"),
            Self::Stopped => out.write_str("takes too long to check against its schema"),
        }
    }
}
