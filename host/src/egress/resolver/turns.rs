//! Limits the concurrent look-ups, in total and per user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The permits for look-ups.
#[derive(Debug)]
pub(super) struct Turns {
    max_per_user: usize,
    /// Entries only for users with a look-up that runs or waits.
    users: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
    all: Arc<Semaphore>,
}

/// A permit for one look-up. Dropping it lets the next one start.
pub(super) struct Turn {
    // Fields are dropped in this order.
    _permits: (OwnedSemaphorePermit, OwnedSemaphorePermit),
    _share: Share,
}

/// A reference to a user's semaphore. Dropping the last one removes the semaphore from the map.
struct Share {
    turns: Arc<Turns>,
    user: Arc<str>,
    semaphore: Option<Arc<Semaphore>>,
}

impl Turns {
    pub(super) fn new(max_per_user: usize, total: usize) -> Arc<Self> {
        Arc::new(Self { max_per_user, users: Mutex::default(), all: Arc::new(Semaphore::new(total)) })
    }

    /// Waits for a permit of `user`: first for one of their own share, so that one user's queue does not
    /// fill the common one.
    pub(super) async fn turn(self: &Arc<Self>, user: &Arc<str>) -> Turn {
        const OPEN: &str = "the semaphores are never closed";

        let (share, own) = self.share(user);
        let own = own.acquire_owned().await.expect(OPEN);
        let any = self.all.clone().acquire_owned().await.expect(OPEN);
        Turn { _permits: (own, any), _share: share }
    }

    fn share(self: &Arc<Self>, user: &Arc<str>) -> (Share, Arc<Semaphore>) {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let semaphore =
            users.entry(user.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.max_per_user))).clone();
        let share = Share { turns: self.clone(), user: user.clone(), semaphore: Some(semaphore.clone()) };
        (share, semaphore)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut users = self.turns.users.lock().unwrap_or_else(PoisonError::into_inner);
        self.semaphore = None;
        // Clones are made only under the lock, so a count of 1 means that only the map holds it.
        if users.get(&self.user).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            users.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn one_user_takes_a_share_and_no_more_and_what_is_left_is_for_others() {
        let turns = Turns::new(2, 3);
        let (ana, ben, eve): (Arc<str>, Arc<str>, Arc<str>) = ("ana".into(), "ben".into(), "eve".into());

        let first = turns.turn(&ana).await;
        let _second = turns.turn(&ana).await;
        assert!(turns.turn(&ana).now_or_never().is_none(), "ana has her share");
        let of_ben = turns.turn(&ben).now_or_never().expect("there is room");
        assert!(turns.turn(&eve).now_or_never().is_none(), "there is no room");

        drop(of_ben);
        assert!(turns.turn(&eve).now_or_never().is_some(), "who is done makes room");
        drop(first);
        assert!(turns.turn(&ana).now_or_never().is_some());
    }

    #[tokio::test]
    async fn those_who_wait_for_their_own_share_hold_no_place_of_others() {
        let turns = Turns::new(1, 2);
        let (ana, ben): (Arc<str>, Arc<str>) = ("ana".into(), "ben".into());
        let _first = turns.turn(&ana).await;

        let waiting = join_all((0..50).map(|_| turns.turn(&ana)));
        let mut waiting = Box::pin(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());

        assert!(turns.turn(&ben).now_or_never().is_some());
    }

    #[tokio::test]
    async fn nobody_is_remembered() {
        let turns = Turns::new(1, 2);
        let ana: Arc<str> = "ana".into();

        let turn = turns.turn(&ana).await;
        let mut waiting = Box::pin(turns.turn(&ana));
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(waiting);
        assert_eq!(turns.users.lock().unwrap().len(), 1);
        drop(turn);

        assert!(turns.users.lock().unwrap().is_empty());
    }
}
