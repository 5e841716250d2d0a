//! Limits concurrent calls per user, per toolkit, and in total.

use std::time::Duration;

use kitbag_base::shares::{Share, Shares};
use tokio::time::sleep;

/// Limits of concurrent calls. A call beyond them fails with a retryable error; there is no queue.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    /// Maximum number of concurrent calls of one user.
    pub per_user: usize,
    /// Maximum number of concurrent calls of one toolkit, over all users.
    pub per_toolkit: usize,
    /// Maximum number of concurrent calls in total.
    pub total: usize,
}

/// The limits of concurrent calls, per user and in total, divided by this number give the limits of
/// concurrent runs of code. Runs have separate slots, so that their calls get slots.
const RUNS: usize = 4;

/// First and longest pause between attempts of a run's call to get a slot.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_millis(200);

/// Counts calls in flight.
pub(super) struct Admission {
    users: Shares,
    toolkits: Shares,
    runs: Shares,
}

/// The admission of a call. Dropping it releases its slot.
pub(super) struct Admitted {
    _of_user: Share,
    _of_toolkit: Option<Share>,
}

impl AdmissionLimits {
    /// Returns the maximum number of concurrent runs of code, over all users.
    pub fn runs(total: usize) -> usize {
        (total / RUNS).max(1)
    }
}

impl Admission {
    pub(super) fn new(limits: AdmissionLimits) -> Self {
        let AdmissionLimits { per_user, per_toolkit, total } = limits;
        let runs = Shares::new(AdmissionLimits::runs(total), (per_user / RUNS).max(1));
        Self { users: Shares::new(total, per_user), toolkits: Shares::per_holder(per_toolkit), runs }
    }

    /// Returns the number of calls and runs in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.users.taken() + self.runs.taken()
    }

    /// Admits a call; `None` if a limit is reached.
    pub(super) fn enter(&self, user: &str, toolkit: &str) -> Option<Admitted> {
        let of_user = self.users.take(user, 1).ok()?;
        let of_toolkit = self.toolkits.take(toolkit, 1).ok()?;
        Some(Admitted { _of_user: of_user, _of_toolkit: Some(of_toolkit) })
    }

    /// Admits a run of code; `None` if a limit is reached.
    pub(super) fn enter_run(&self, user: &str) -> Option<Admitted> {
        Some(Admitted { _of_user: self.runs.take(user, 1).ok()?, _of_toolkit: None })
    }

    /// Admits a call of a run once there is a slot. Calls that have a slot never wait for another one.
    pub(super) async fn wait_to_enter(&self, user: &str, toolkit: &str) -> Admitted {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(admitted) = self.enter(user, toolkit) {
                return admitted;
            }
            sleep(pause).await;
            pause = (2 * pause).min(MAX_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn one_user_or_one_toolkit_cannot_take_all_the_room() {
        let admission = Admission::new(AdmissionLimits { per_user: 2, per_toolkit: 3, total: 4 });

        let first = admission.enter("ana", "a").expect("there is room");
        let _second = admission.enter("ana", "b").expect("there is room");
        assert!(admission.enter("ana", "c").is_none(), "ana has her share");
        let _third = admission.enter("ben", "a").expect("there is room");
        let _fourth = admission.enter("ben", "a").expect("there is room");
        assert!(admission.enter("eve", "a").is_none(), "the toolkit has its share");
        assert!(admission.enter("eve", "c").is_none(), "the server is full");
        assert_eq!(
            (admission.users.holders(), admission.toolkits.holders()),
            (2, 2),
            "refused calls hold nothing"
        );

        drop(first);
        assert!(admission.enter("ana", "c").is_some(), "a finished call makes room");
    }

    #[tokio::test]
    async fn runs_of_code_take_no_place_of_calls_and_their_calls_wait() {
        let admission = Admission::new(AdmissionLimits { per_user: 2, per_toolkit: 2, total: 8 });

        let _run = admission.enter_run("ana").expect("there is room");
        assert!(admission.enter_run("ana").is_none(), "ana has her run");
        let first = admission.enter("ana", "a").expect("the run has none of their places");
        let _second = admission.enter("ana", "b").expect("there is room");
        let mut waiting = pin!(admission.wait_to_enter("ana", "c"));
        assert!(timeout(Duration::from_millis(50), &mut waiting).await.is_err());
        drop(first);
        let _admitted = timeout(Duration::from_secs(10), &mut waiting).await.expect("there is room now");
        assert_eq!(admission.in_flight(), 3);
    }
}
