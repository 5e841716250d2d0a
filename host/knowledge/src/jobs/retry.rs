//! How often a job is tried, and when again.

use std::time::Duration;

/// How often a job is tried, and how long it rests in between.
#[derive(Clone, Copy, Debug)]
pub struct JobLimits {
    /// Tries in all.
    pub tries: i64,
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
    pub(super) remedy: Remedy,
}

/// What may help a job that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// To try again.
    Time,
    /// What the operator configures: until then no job fails for it.
    Operator,
    Nothing,
}

/// What becomes of a job that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is tried again after this long.
    Again(Duration),
    /// It is tried again after this long, and this try does not count.
    Wait(Duration),
    /// It is not.
    GiveUp,
}

impl JobLimits {
    /// Judges the failure of a job that has been tried `tries` times now.
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
