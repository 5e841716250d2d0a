//! The queue of compilations: one runs at a time, and those that a call or a document waits for have priority
//! over deploys.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The queues. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<Queues>>);

#[derive(Default)]
struct Queues {
    is_taken: bool,
    recompiles: VecDeque<oneshot::Sender<Turn>>,
    deploys: VecDeque<oneshot::Sender<Turn>>,
}

/// A permit to compile. Dropping it passes it on to the next in the queue.
pub(super) struct Turn(Turns);

impl Turns {
    /// Waits behind other recompilations only.
    pub(super) async fn recompile(&self) -> Turn {
        self.wait(|queues| &mut queues.recompiles).await
    }

    /// Waits behind other deploys, and behind all recompilations.
    pub(super) async fn deploy(&self) -> Turn {
        self.wait(|queues| &mut queues.deploys).await
    }

    async fn wait(&self, queue: fn(&mut Queues) -> &mut VecDeque<oneshot::Sender<Turn>>) -> Turn {
        let (sender, turn) = oneshot::channel();
        {
            let mut queues = self.lock();
            if !queues.is_taken {
                queues.is_taken = true;
                return Turn(self.clone());
            }
            queue(&mut queues).push_back(sender);
        }
        turn.await.expect("a turn is only ever passed on")
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut queues = self.0.lock();
            let next = queues.recompiles.pop_front().or_else(|| queues.deploys.pop_front());
            queues.is_taken = next.is_some();
            next
        };
        if let Some(next) = next {
            // If the receiver was dropped, `send` returns the turn, and dropping it passes it on.
            drop(next.send(Self(self.0.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn recompilations_go_before_all_deploys_and_each_in_the_order_in_which_they_came() {
        let turns = Turns::default();
        let first = turns.deploy().await;
        let mut deploys: Vec<_> = (0..2).map(|_| Box::pin(turns.deploy())).collect();
        let mut recompiles: Vec<_> = (0..2).map(|_| Box::pin(turns.recompile())).collect();
        assert!(deploys.iter_mut().all(|deploy| deploy.now_or_never().is_none()), "it is taken");
        assert!(recompiles.iter_mut().all(|recompile| recompile.now_or_never().is_none()));

        drop(first);

        for waiting in recompiles {
            assert!(deploys.iter_mut().all(|deploy| deploy.now_or_never().is_none()), "it is taken");
            drop(waiting.now_or_never().expect("it is next"));
        }
        for waiting in deploys {
            drop(waiting.now_or_never().expect("it is next"));
        }
        assert!(!turns.lock().is_taken);
    }

    #[tokio::test]
    async fn whoever_stopped_waiting_is_passed_over() {
        let turns = Turns::default();
        let first = turns.recompile().await;
        let mut gone: Vec<_> = (0..100).map(|_| Box::pin(turns.recompile())).collect();
        assert!(gone.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
        let mut last = Box::pin(turns.deploy());
        assert!((&mut last).now_or_never().is_none());

        drop((gone, first));

        assert!(last.now_or_never().is_some());
        assert!(!turns.lock().is_taken);
    }
}
