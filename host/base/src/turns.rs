//! Scheduling of work with limited concurrency. Users alternate: a user with many waiting requests delays
//! other users by at most one of them.
//!
//! Invariant: a waiting user is served after at most one turn of each other user who waits in the same lane.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Scheduler of turns. Clones share its queue.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Mutex<Queue>>);

/// A permit to work. Dropping it passes it to the next waiting user.
#[derive(Debug)]
pub struct Turn {
    turns: Turns,
    user: Arc<str>,
}

/// Priority of a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Served before all requests in the lane [`Deferred`](Self::Deferred).
    Urgent,
    /// Served while no urgent request waits.
    Deferred,
}

const LANES: [Lane; 2] = [Lane::Urgent, Lane::Deferred];

#[derive(Debug)]
struct Queue {
    free: usize,
    per_user: usize,
    /// Users with a turn or a waiting request.
    users: HashMap<Arc<str>, UserQueue>,
    /// Queue of users for each lane: those with a waiting request and fewer than `per_user` turns.
    next: [VecDeque<Arc<str>>; LANES.len()],
}

#[derive(Debug, Default)]
struct UserQueue {
    running: usize,
    waiting: [VecDeque<oneshot::Sender<Turn>>; LANES.len()],
    /// Whether the user is in `next`, for each lane.
    is_next: [bool; LANES.len()],
}

impl Turns {
    /// Allows `total` concurrent turns, of which each user may have `per_user`.
    pub fn new(total: usize, per_user: usize) -> Self {
        let next = [VecDeque::new(), VecDeque::new()];
        Self(Arc::new(Mutex::new(Queue { free: total, per_user, users: HashMap::new(), next })))
    }

    /// Waits for a turn of `user`.
    pub async fn take(&self, user: &str) -> Turn {
        self.take_in(Lane::Urgent, user).await
    }

    /// Waits for a turn of `user` in a lane.
    pub async fn take_in(&self, lane: Lane, user: &str) -> Turn {
        let user: Arc<str> = user.into();
        let receiver = {
            let mut queue = self.lock();
            if queue.start(&user) {
                return Turn { turns: self.clone(), user };
            }
            queue.wait(&user, lane)
        };
        // Removes the request from the queue if its caller stops waiting.
        let mut waiting = Waiting { turns: self, user: &user, lane, receiver };
        (&mut waiting.receiver).await.expect("a turn is only ever passed on")
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives free turns to waiting users.
    fn pass_on(&self) {
        loop {
            let Some((user, waiting)) = self.lock().next() else { return };
            // A closed receiver returns the turn, and dropping the turn passes it on.
            let _ = waiting.send(Turn { turns: self.clone(), user });
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.lock().end(&self.user);
        self.turns.pass_on();
    }
}

/// A waiting request.
struct Waiting<'a> {
    turns: &'a Turns,
    user: &'a Arc<str>,
    lane: Lane,
    receiver: oneshot::Receiver<Turn>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.receiver.close();
        // A turn that was sent at the same moment is passed on here, outside of the lock.
        let _turn = self.receiver.try_recv();
        self.turns.lock().forget_closed(self.user, self.lane);
    }
}

impl Queue {
    /// Starts a turn if one is free: then no other user is waiting for it.
    fn start(&mut self, user: &Arc<str>) -> bool {
        if self.free == 0 {
            return false;
        }
        let running = self.users.get(user).map_or(0, |it| it.running);
        if running >= self.per_user {
            return false;
        }
        self.free -= 1;
        self.users.entry(user.clone()).or_default().running += 1;
        true
    }

    fn wait(&mut self, user: &Arc<str>, lane: Lane) -> oneshot::Receiver<Turn> {
        let (sender, receiver) = oneshot::channel();
        self.users.entry(user.clone()).or_default().waiting[lane as usize].push_back(sender);
        self.line_up(user);
        receiver
    }

    /// Adds the user to the queue of each lane in which they wait, if they may have another turn.
    fn line_up(&mut self, user: &Arc<str>) {
        let Some(queue) = self.users.get_mut(user) else { return };
        for lane in LANES.map(|lane| lane as usize) {
            if queue.running < self.per_user && !queue.waiting[lane].is_empty() && !queue.is_next[lane] {
                queue.is_next[lane] = true;
                self.next[lane].push_back(user.clone());
            }
        }
    }

    /// Starts the turn of the next user in the queue.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<Turn>)> {
        if self.free == 0 {
            return None;
        }
        for lane in LANES.map(|lane| lane as usize) {
            while let Some(user) = self.next[lane].pop_front() {
                let Some(queue) = self.users.get_mut(&user) else { continue };
                queue.is_next[lane] = false;
                if queue.running >= self.per_user {
                    continue;
                }
                let Some(waiting) = queue.waiting[lane].pop_front() else { continue };
                queue.running += 1;
                self.free -= 1;
                self.line_up(&user);
                return Some((user, waiting));
            }
        }
        None
    }

    fn end(&mut self, user: &Arc<str>) {
        self.free += 1;
        if let Some(queue) = self.users.get_mut(user) {
            queue.running -= 1;
        }
        self.line_up(user);
        self.forget_idle(user);
    }

    fn forget_closed(&mut self, user: &Arc<str>, lane: Lane) {
        if let Some(queue) = self.users.get_mut(user) {
            queue.waiting[lane as usize].retain(|waiting| !waiting.is_closed());
        }
        self.forget_idle(user);
    }

    /// Removes a user without turns and waiting requests.
    fn forget_idle(&mut self, user: &Arc<str>) {
        let is_idle = |queue: &UserQueue| queue.running == 0 && queue.waiting.iter().all(VecDeque::is_empty);
        if self.users.get(user).is_some_and(is_idle) {
            self.users.remove(user);
            for line in &mut self.next {
                line.retain(|next| next != user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;

    use futures::FutureExt;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Starts to wait. Panics if a turn is free.
    fn queued(turns: &Turns, lane: Lane, user: &'static str) -> Pin<Box<dyn Future<Output = Turn>>> {
        let turns = turns.clone();
        let mut waiting: Pin<Box<dyn Future<Output = Turn>>> =
            Box::pin(async move { turns.take_in(lane, user).await });
        assert!((&mut waiting).now_or_never().is_none(), "all turns are taken");
        waiting
    }

    #[tokio::test]
    async fn users_alternate_however_many_requests_one_of_them_has() {
        let turns = Turns::new(1, 1);
        let running = turns.take("ana").await;
        let mut of_ana: Vec<_> = (0..100).map(|_| queued(&turns, Lane::Urgent, "ana")).collect();
        let mut of_ben = queued(&turns, Lane::Urgent, "ben");

        drop(running);
        assert!(of_ana.iter_mut().all(|it| it.now_or_never().is_none()), "ana had a turn before");
        drop((&mut of_ben).now_or_never().expect("it is ben's turn"));

        let second = of_ana.iter_mut().position(|it| it.now_or_never().is_some());
        assert_eq!(second, Some(0), "then the requests of ana follow, in their order");
    }

    #[tokio::test]
    async fn one_user_takes_a_share_and_waiting_for_it_takes_no_place_of_others() {
        let turns = Turns::new(3, 2);
        let first = turns.take("ana").await;
        let _second = turns.take("ana").await;
        let mut third = queued(&turns, Lane::Urgent, "ana");

        let of_ben = turns.take("ben").now_or_never().expect("there is room");
        let mut of_eve = queued(&turns, Lane::Urgent, "eve");

        drop(of_ben);
        assert!((&mut third).now_or_never().is_none(), "ana has her share");
        assert!((&mut of_eve).now_or_never().is_some());
        drop(first);
        assert!((&mut third).now_or_never().is_some());
    }

    #[tokio::test]
    async fn what_is_urgent_goes_first() {
        let turns = Turns::new(1, 1);
        let running = turns.take("ana").await;
        let mut deferred = queued(&turns, Lane::Deferred, "ben");
        let mut urgent = queued(&turns, Lane::Urgent, "eve");

        drop(running);

        assert!((&mut deferred).now_or_never().is_none());
        drop((&mut urgent).now_or_never().expect("it is urgent"));
        assert!((&mut deferred).now_or_never().is_some());
    }

    #[tokio::test]
    async fn requests_whose_callers_left_are_passed_over_and_nobody_is_remembered() {
        let turns = Turns::new(1, 1);
        let running = turns.take("ana").await;
        let left: Vec<_> = (0..100).map(|_| queued(&turns, Lane::Urgent, "ben")).collect();
        let mut last = queued(&turns, Lane::Deferred, "eve");

        drop(left);
        assert_eq!(turns.lock().users.len(), 2, "ana works, and eve waits");
        drop(running);

        drop((&mut last).now_or_never().expect("it is the only one"));
        let queue = turns.lock();
        assert!(queue.users.is_empty() && queue.next.iter().all(VecDeque::is_empty) && queue.free == 1);
    }

    #[tokio::test]
    async fn a_turn_that_comes_as_its_caller_leaves_is_passed_on() {
        let turns = Turns::new(1, 1);
        let running = turns.take("ana").await;
        let leaving = queued(&turns, Lane::Urgent, "ben");
        let mut last = queued(&turns, Lane::Urgent, "eve");

        drop(running);
        drop(leaving);

        assert!((&mut last).now_or_never().is_some());
    }

    type Request = Pin<Box<dyn Future<Output = Turn>>>;

    /// A step of a schedule: a user asks for a turn, gives one back, or stops waiting.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Ask(usize, Lane),
        End(usize),
        Leave(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let lane = prop_oneof![Just(Lane::Urgent), Just(Lane::Deferred)];
        let step = prop_oneof![
            3 => (0..USERS.len(), lane).prop_map(|(user, lane)| Step::Ask(user, lane)),
            2 => any::<usize>().prop_map(Step::End),
            1 => any::<usize>().prop_map(Step::Leave),
        ];
        vec(step, 0..80)
    }

    const USERS: [&str; 4] = ["ana", "ben", "eve", "zoe"];

    proptest! {
        #[test]
        fn no_schedule_exceeds_a_limit_wastes_a_turn_or_forgets_a_request(
            total in 1_usize..4,
            per_user in 1_usize..4,
            steps in steps(),
        ) {
            let turns = Turns::new(total, per_user);
            let mut waiting: Vec<(usize, Request)> = Vec::new();
            let mut running: Vec<(usize, Turn)> = Vec::new();
            for step in steps {
                match step {
                    Step::Ask(user, lane) => {
                        let turns = turns.clone();
                        waiting.push((user, Box::pin(async move { turns.take_in(lane, USERS[user]).await })));
                    }
                    Step::End(any) if !running.is_empty() => drop(running.swap_remove(any % running.len())),
                    Step::Leave(any) if !waiting.is_empty() => drop(waiting.remove(any % waiting.len())),
                    Step::End(_) | Step::Leave(_) => {}
                }
                let asked = std::mem::take(&mut waiting);
                for (user, mut request) in asked {
                    match (&mut request).now_or_never() {
                        Some(turn) => running.push((user, turn)),
                        None => waiting.push((user, request)),
                    }
                }
                let of = |user| running.iter().filter(|(it, _)| *it == user).count();
                prop_assert!(running.len() <= total);
                prop_assert!((0..USERS.len()).all(|user| of(user) <= per_user));
                let could_run = waiting.iter().any(|(user, _)| of(*user) < per_user);
                prop_assert!(running.len() == total || !could_run, "a free turn, and somebody waits for it");
            }
            drop((waiting, running));
            prop_assert!(turns.lock().users.is_empty());
            prop_assert_eq!(turns.lock().free, total);
        }
    }
}
