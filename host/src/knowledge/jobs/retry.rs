//! How often a job is tried, and when again.

use std::time::Duration;

/// How often a job is tried, and how long it rests in between.
#[derive(Clone, Copy, Debug)]
pub struct JobLimits {
    /// Tries in all.
    pub tries: u32,
    /// After the first failure; after each further one four times as long.
    pub first_pause: Duration,
    /// The longest.
    pub longest_pause: Duration,
}

impl Default for JobLimits {
    /// Some three hours in all.
    fn default() -> Self {
        Self { tries: 8, first_pause: Duration::from_secs(5), longest_pause: Duration::from_hours(1) }
    }
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// For a person.
    pub(super) reason: String,
    /// Whether trying again may help.
    pub(super) is_transient: bool,
}

/// What becomes of a job that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is tried again after this long.
    Again(Duration),
    /// It is not.
    GiveUp,
}

impl JobLimits {
    /// Judges the failure of a job that has been tried `tries` times now.
    pub(super) fn judge(&self, tries: u32, failure: &Failure) -> Verdict {
        if !failure.is_transient || tries >= self.tries {
            return Verdict::GiveUp;
        }
        let factor = 4_u32.saturating_pow(tries.saturating_sub(1));
        Verdict::Again(self.first_pause.saturating_mul(factor).min(self.longest_pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_and_tries_end() {
        let limits = JobLimits::default();
        let failure = |is_transient| Failure { reason: String::new(), is_transient };
        let seconds = |tries| match limits.judge(tries, &failure(true)) {
            Verdict::Again(pause) => pause.as_secs(),
            Verdict::GiveUp => 0,
        };

        assert_eq!((1..=9).map(seconds).collect::<Vec<_>>(), [5, 20, 80, 320, 1280, 3600, 3600, 0, 0]);
        assert_eq!(limits.judge(1, &failure(false)), Verdict::GiveUp);
    }
}
