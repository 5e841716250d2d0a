//! Reads records in the order in which they were committed, and waits for more.

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::watch;

use super::filter::Filter;
use super::logged::Logged;
use super::store::Store;

/// Selection of a toolkit's records to read.
#[derive(Clone, Debug)]
pub struct Query {
    /// Id of the toolkit.
    pub toolkit: String,
    /// The reading user.
    pub viewer: String,
    /// Only calls that ended at this time or later; for other users' calls, calls that started then or later.
    pub since: Timestamp,
    /// Only calls before this time, which is compared as `since` is.
    pub until: Timestamp,
    /// Only records with a greater id.
    pub after: i64,
    /// Only records with a smaller id.
    pub before: Option<i64>,
    /// Only this number of the newest committed records.
    pub last: Option<u32>,
    /// Only records that match the filter.
    pub filter: Filter,
}

/// The users whose records a reader sees. Neither scope includes the content of other users' calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Records of the reader's own calls.
    Own,
    /// Records of all users' calls.
    All,
    /// As [`All`](Self::All), for the owner of a private toolkit: without the keys of programs, which are their users'.
    #[serde(rename = "all")]
    Owned,
}

/// A reader's cursor in the records.
///
/// Invariant: no record is missed and none is read twice. Ids ascend in the order of commits, because all processes
/// write one batch after the other; and the cursor only moves past records that a query could see.
pub struct Reading {
    store: Store,
    committed: watch::Receiver<i64>,
    query: Query,
    cursor: i64,
    /// The newest id that this reader knows.
    newest: i64,
    has_left_out: bool,
}

impl Reading {
    pub(super) async fn start(
        store: Store,
        committed: watch::Receiver<i64>,
        query: Query,
        scope: Scope,
    ) -> kitbag_database::Result<Self> {
        // Other processes may have written the newest record.
        let newest = store.newest().await?;
        let (cursor, has_left_out) = match query.last {
            Some(count) => store.before_last(&query, scope, count).await?,
            None => (Some(query.after), false),
        };
        Ok(Self { store, committed, cursor: cursor.unwrap_or(newest), newest, has_left_out, query })
    }

    /// Whether there are older records than the requested number.
    pub fn has_left_out(&self) -> bool {
        self.has_left_out
    }

    /// Returns the id of the newest record when reading began, or of a newer one: reading without following
    /// ends there.
    pub fn newest(&self) -> i64 {
        self.newest
    }

    /// Returns the next records up to the id `until`, oldest first; empty if there are no more for now.
    pub async fn next_page(&mut self, scope: Scope, until: i64) -> kitbag_database::Result<Vec<Logged>> {
        self.newest = self.newest.max(*self.committed.borrow_and_update());
        let until = until.min(self.query.before.map_or(i64::MAX, |before| before.saturating_sub(1)));
        let page = self.store.page(&self.query, scope, self.cursor, until).await?;
        self.cursor = match page.last() {
            Some(last) => last.id,
            // The query saw everything committed before it started.
            None => self.cursor.max(self.newest.min(until)),
        };
        Ok(page.into_iter().map(|row| Logged::seen_by(&self.query.viewer, scope, row)).collect())
    }

    /// Waits until records are committed after the last page. Fails once the writer has ended.
    pub async fn more(&mut self) -> Result<(), watch::error::RecvError> {
        self.committed.changed().await
    }
}
