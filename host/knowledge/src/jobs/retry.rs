//! Retry policy of jobs.

use std::time::Duration;

/// Retry limits of jobs.
#[derive(Clone, Copy, Debug)]
pub struct JobLimits {
    /// Largest number of tries.
    pub tries: i64,
    /// Pause after the first failure; quadruples after each further one.
    pub first_pause: Duration,
    /// Longest pause.
    pub longest_pause: Duration,
}

impl Default for JobLimits {
    /// About three hours in total.
    fn default() -> Self {
        Self { tries: 8, first_pause: Duration::from_secs(5), longest_pause: Duration::from_hours(1) }
    }
}

/// Failure of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Message for the user.
    pub(super) reason: String,
    pub(super) remedy: Remedy,
}

/// Remedy for a failed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Retry later.
    Time,
    /// Change by the operator; until then, such failures do not count as tries.
    Operator,
    Nothing,
}

/// Decision about a failed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Retry after this time.
    Again(Duration),
    /// Retry after this time, without counting this try.
    Wait(Duration),
    /// Fail permanently.
    GiveUp,
}

impl JobLimits {
    /// Decides about a job that failed on try number `tries`.
    pub(super) fn judge(&self, tries: i64, failure: &Failure) -> Verdict {
        match failure.remedy {
            Remedy::Operator => return Verdict::Wait(self.longest_pause),
            Remedy::Time if tries < self.tries => {}
            Remedy::Time | Remedy::Nothing => return Verdict::GiveUp,
        }
        let factor = 4_u32.saturating_pow(u32::try_from(tries.saturating_sub(1).max(0)).unwrap_or(u32::MAX));
        Verdict::Again(self.first_pause.saturating_mul(factor).min(self.longest_pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_and_tries_end() {
        let limits = JobLimits::default();
        let failure = |remedy| Failure { reason: String::new(), remedy };
        let seconds = |tries| match limits.judge(tries, &failure(Remedy::Time)) {
            Verdict::Again(pause) => pause.as_secs(),
            Verdict::GiveUp | Verdict::Wait(_) => 0,
        };

        assert_eq!((1..=9).map(seconds).collect::<Vec<_>>(), [5, 20, 80, 320, 1280, 3600, 3600, 0, 0]);
        assert_eq!(limits.judge(1, &failure(Remedy::Nothing)), Verdict::GiveUp);
        assert_eq!(limits.judge(9, &failure(Remedy::Operator)), Verdict::Wait(limits.longest_pause));
    }
}
