//! Filters of a toolkit's records, by properties that every reader sees.

use std::iter::once;
use std::str::FromStr;

use thiserror::Error;

use super::record::Outcome;

/// Selects records. The default selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Selects only calls of this tool.
    pub tool: Option<String>,
    /// Selects only calls with this outcome.
    pub outcome: Option<OutcomeFilter>,
}

/// Selects calls by their outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeFilter {
    /// Calls with this outcome.
    Is(Outcome),
    /// Calls without a result, except those that their client cancelled.
    AnyFailure,
}

/// The text is not the name of an outcome filter.
#[derive(Debug, Error)]
#[error("outcome must be one of {}", OutcomeFilter::all().map(OutcomeFilter::as_str).collect::<Vec<_>>().join(", "))]
pub struct UnknownOutcome;

impl OutcomeFilter {
    /// Returns all filters, in display order.
    pub fn all() -> impl Iterator<Item = Self> {
        once(Self::AnyFailure).chain(Outcome::ALL.map(Self::Is))
    }

    /// Returns the name of the filter in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Is(outcome) => outcome.as_str(),
            Self::AnyFailure => "any-failure",
        }
    }

    /// Returns the names of the selected outcomes.
    pub(super) fn outcomes(self) -> Vec<&'static str> {
        let is_selected = |outcome: &Outcome| match self {
            Self::Is(wanted) => *outcome == wanted,
            Self::AnyFailure => outcome.is_failure(),
        };
        Outcome::ALL.into_iter().filter(is_selected).map(Outcome::as_str).collect()
    }
}

impl FromStr for OutcomeFilter {
    type Err = UnknownOutcome;

    fn from_str(text: &str) -> Result<Self, UnknownOutcome> {
        Self::all().find(|filter| filter.as_str() == text).ok_or(UnknownOutcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_one_name_and_no_other_text_is_one() {
        for filter in OutcomeFilter::all() {
            assert_eq!(filter.as_str().parse::<OutcomeFilter>().ok(), Some(filter));
        }
        for text in ["", "Succeeded", "succeeded ", "failure", "succeeded,failed"] {
            assert!(text.parse::<OutcomeFilter>().is_err(), "{text:?}");
        }
        let said = UnknownOutcome.to_string();
        assert!(said.contains("any-failure, succeeded, tool-error"), "{said}");
    }

    #[test]
    fn a_failure_is_a_call_without_a_result_that_nobody_cancelled_and_nobody_was_asked_in() {
        let failures = OutcomeFilter::AnyFailure.outcomes();

        assert_eq!(failures.len(), Outcome::ALL.len() - 3);
        assert!(["succeeded", "cancelled", "asked"].iter().all(|it| !failures.contains(it)), "{failures:?}");
        assert_eq!(OutcomeFilter::Is(Outcome::Busy).outcomes(), ["busy"]);
    }
}
