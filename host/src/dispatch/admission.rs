//! How many calls run at once: for one user, for one toolkit, and in all.

use crate::shares::{Share, Shares};

/// Bounds on calls in flight. Beyond them a call gets a retryable error, never a place in a queue.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionLimits {
    /// Of one user.
    pub per_user: usize,
    /// Of one toolkit, over all users.
    pub per_toolkit: usize,
    /// In all.
    pub in_all: usize,
}

/// Counts calls in flight.
pub(super) struct Admission {
    users: Shares,
    toolkits: Shares,
}

/// A call that was let in; dropping it makes room for the next one.
pub(super) struct Admitted {
    _of_user: Share,
    _of_toolkit: Share,
}

impl Admission {
    pub(super) fn new(limits: AdmissionLimits) -> Self {
        let AdmissionLimits { per_user, per_toolkit, in_all } = limits;
        Self { users: Shares::new(in_all, per_user), toolkits: Shares::per_holder(per_toolkit) }
    }

    /// Lets a call in, or returns nothing when it would be one too many.
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
        let admission = Admission::new(AdmissionLimits { per_user: 2, per_toolkit: 3, in_all: 4 });

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
