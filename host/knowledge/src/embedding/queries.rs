//! Scheduling of query embeddings, fairly among users.

use std::time::Duration;

use kitbag_base::shares::{Share, Shares};
use kitbag_base::turns::{Turn, Turns};
use tokio::time::timeout;

use super::EmbedError;

/// Limits how many queries run at once. Users take turns, and each has a limit of running and waiting
/// queries.
pub(super) struct Queries {
    waiting: Shares,
    turns: Turns,
}

/// Permit for one query; released on drop.
pub(super) struct Permit {
    _turn: Turn,
    _share: Share,
}

/// Longest wait of a search before it falls back to full text.
const MAX_WAIT: Duration = Duration::from_secs(5);

impl Queries {
    /// Allows `total` simultaneous queries, `per_user` of them for one user, who may have `max_waiting`
    /// running and waiting ones in total.
    pub(super) fn new(total: usize, per_user: usize, max_waiting: usize) -> Self {
        Self { waiting: Shares::per_holder(max_waiting), turns: Turns::new(total, per_user) }
    }

    /// Waits for the user's turn. Fails if too many of the user's queries are waiting, or after [`MAX_WAIT`].
    pub(super) async fn take(&self, user_id: &str) -> Result<Permit, EmbedError> {
        let share = self.waiting.take(user_id, 1).map_err(|_exceeded| EmbedError::Busy)?;
        let turn = timeout(MAX_WAIT, self.turns.take(user_id)).await.map_err(|_| EmbedError::Busy)?;
        Ok(Permit { _turn: turn, _share: share })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_user_with_many_queries_delays_another_by_one_and_is_alone_in_being_refused() {
        let queries = Queries::new(1, 1, 3);
        let running = queries.take("ana").await.expect("nobody else runs");
        let mut of_ana = pin!(queries.take("ana"));
        let mut last_of_ana = pin!(queries.take("ana"));
        assert!((&mut of_ana).now_or_never().is_none() && (&mut last_of_ana).now_or_never().is_none());
        let mut of_ben = pin!(queries.take("ben"));
        assert!((&mut of_ben).now_or_never().is_none());

        assert!(matches!(queries.take("ana").await, Err(EmbedError::Busy)), "three of hers run or wait");
        drop(running);

        assert!((&mut of_ana).now_or_never().is_none(), "ben is next");
        drop((&mut of_ben).now_or_never().expect("it is his turn").expect("he has one query"));
        assert!((&mut of_ana).now_or_never().expect("it is her turn").is_ok());
    }
}
