//! Limits the concurrent calls: of one user, of one toolkit, and in total.

use crate::shares::{Share, Shares};

/// Limits for concurrent calls. Beyond them a call fails with a retryable error; there is no queue.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    /// Calls of one user.
    pub per_user: usize,
    /// Calls of one toolkit, over all users.
    pub per_toolkit: usize,
    /// All calls.
    pub total: usize,
}

/// Counts calls in flight.
pub(super) struct Admission {
    users: Shares,
    toolkits: Shares,
}

/// The admission of a call. Dropping it allows the next one.
pub(super) struct Admitted {
    _of_user: Share,
    _of_toolkit: Share,
}

impl Admission {
    pub(super) fn new(limits: AdmissionLimits) -> Self {
        let AdmissionLimits { per_user, per_toolkit, total } = limits;
        Self { users: Shares::new(total, per_user), toolkits: Shares::per_holder(per_toolkit) }
    }

    /// Number of calls in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.users.taken()
    }

    /// Admits a call; `None` if a limit is reached.
    pub(super) fn enter(&self, user: &str, toolkit: &str) -> Option<Admitted> {
        let of_user = self.users.take(user, 1)?;
        let of_toolkit = self.toolkits.take(toolkit, 1)?;
        Some(Admitted { _of_user: of_user, _of_toolkit: of_toolkit })
    }
}

#[cfg(test)]
mod tests {
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
}
