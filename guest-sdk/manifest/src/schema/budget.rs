//! How much one check may cost.

use std::fmt;
use std::sync::Arc;

/// Steps that checking one value may take: reads of the value, each longer for a long text or a pattern.
/// They are a fraction of a second of a processor's time.
pub const MAX_STEPS: u64 = 5_000_000;

/// Bounds on one check.
#[derive(Clone)]
pub struct Budget {
    pub(super) steps: u64,
    pub(super) matching: Matching,
    pub(super) stop: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

/// How long a single match of a pattern, which nothing interrupts, may take at the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matching {
    /// Some milliseconds.
    Prompt,
    /// Some seconds.
    Thorough,
}

impl Budget {
    /// The whole budget: what it does not suffice for is refused.
    pub fn whole() -> Self {
        Self { steps: MAX_STEPS, matching: Matching::Thorough, stop: None }
    }

    /// What a check may cost on a thread that has other work: `steps` of them, and no match of a
    /// pattern that may take longer than some milliseconds.
    pub fn prompt(steps: u64) -> Self {
        Self { steps, matching: Matching::Prompt, stop: None }
    }

    /// Asks `stop` every few thousand steps, and ends the check when it says so.
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

/// Why a check was ended before it knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// All steps are used up.
    Steps,
    /// A pattern would have to be matched against a longer text than is safe, in bytes.
    Text(usize),
    /// A pattern gave up on its text: it tries too many ways to match.
    Pattern,
    /// A pattern of names would have to be matched against a longer name than is safe, in bytes.
    Name(usize),
    /// Whoever wanted the check has stopped it.
    Stopped,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps => write!(out, "takes more than {MAX_STEPS} steps to check against its schema"),
            Self::Text(longest) => {
                write!(out, "has a text of more than {longest} bytes, too long for a pattern of its schema")
            }
            Self::Name(longest) => write!(
                out,
                "has a name of more than {longest} bytes, too long for the patternProperties of its schema"
            ),
            Self::Pattern => out.write_str("has a text on which a pattern of its schema gives up"),
            Self::Stopped => out.write_str("takes too long to check against its schema"),
        }
    }
}
