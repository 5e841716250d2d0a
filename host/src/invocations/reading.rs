//! Reading records in the order in which they were committed, and waiting for more.

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::watch;

use super::operator_view::OperatorView;
use super::store::{Row, Store};
use crate::database;

/// Which records of a toolkit to read.
#[derive(Clone, Debug)]
pub struct Query {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Who reads.
    pub viewer: String,
    /// Only calls that ended at this time or later; of others, calls that began then.
    pub since: Timestamp,
    /// Only records with a greater id.
    pub after: i64,
    /// Of what has been committed, only so many of the newest.
    pub last: Option<u32>,
}

/// Whose records a reader sees. The content of other users' calls is in neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The reader's own.
    Own,
    /// Everybody's.
    All,
}

/// A record as one reader may see it.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Logged {
    /// Of the reader's own call: everything.
    Own(OwnRecord),
    /// Of another user's call.
    Other(OperatorView),
}

/// All that is known of a call.
#[derive(Serialize)]
#[serde(transparent)]
pub struct OwnRecord(Row);

impl Logged {
    fn seen_by(viewer: &str, row: Row) -> Self {
        if row.user_id == viewer { Self::Own(OwnRecord(row)) } else { Self::Other(row.into()) }
    }
}

/// A reader's place among the records.
///
/// Invariant: no record is missed and none is read twice. Ids ascend in the order of commits,
/// because one task writes them all; and the place only moves past what a query was able to see.
pub struct Reading {
    store: Store,
    committed: watch::Receiver<i64>,
    query: Query,
    cursor: i64,
}

impl Reading {
    pub(super) async fn start(
        store: Store,
        committed: watch::Receiver<i64>,
        query: Query,
        scope: Scope,
    ) -> database::Result<Self> {
        let newest = *committed.borrow();
        let cursor = match query.last {
            Some(count) => store.before_last(&query, scope, count).await?.unwrap_or(newest),
            None => query.after,
        };
        Ok(Self { store, committed, query, cursor })
    }

    /// The newest record that is committed: where reading ends for whoever does not wait for more.
    pub fn newest(&self) -> i64 {
        *self.committed.borrow()
    }

    /// Returns the next records up to `until`, oldest first; none where there are no more for now.
    pub async fn next_page(&mut self, scope: Scope, until: i64) -> database::Result<Vec<Logged>> {
        let newest = *self.committed.borrow_and_update();
        let page = self.store.page(&self.query, scope, self.cursor, until).await?;
        self.cursor = match page.last() {
            Some(last) => last.id,
            // All that was committed before the query was asked is behind us.
            None => self.cursor.max(newest.min(until)),
        };
        Ok(page.into_iter().map(|row| Logged::seen_by(&self.query.viewer, row)).collect())
    }

    /// Waits until records were committed since the last page, or nobody writes any more.
    pub async fn more(&mut self) -> Result<(), watch::error::RecvError> {
        self.committed.changed().await
    }
}
