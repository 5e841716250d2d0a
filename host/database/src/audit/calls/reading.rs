//! Reads entries of calls, oldest first, and polls for new ones.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;

use super::CallRecord;
use super::store;
use crate::Database;

/// Polling interval of followers.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of entries per page.
const PAGE_ROWS: u32 = 200;

/// Filter for entries. All given criteria have to match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFilter {
    /// Earliest beginning of a call, inclusive.
    pub since: Option<Timestamp>,
    /// Latest beginning of a call, inclusive.
    pub until: Option<Timestamp>,
    /// Id of the calling user.
    pub user: Option<String>,
    /// Toolkit id.
    pub toolkit: Option<String>,
    /// Name of an outcome.
    pub outcome: Option<String>,
}

/// A query of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallQuery {
    /// Filter for entries.
    pub filter: CallFilter,
    /// Exclusive lower limit of sequence numbers.
    pub after: i64,
    /// Exclusive upper limit of sequence numbers, for existing entries.
    pub before: Option<i64>,
    /// Maximum number of existing entries: only the newest ones are read.
    pub last: Option<u32>,
    /// Whether to continue with new entries.
    pub follows: bool,
}

/// Position of a reader of calls.
///
/// Invariant: no entry is missed and none is read twice, because sequence numbers ascend in the order of commits.
pub struct CallReading {
    database: Database,
    query: CallQuery,
    /// Sequence number of the last entry that was read.
    cursor: i64,
    /// Newest sequence number to read.
    until: i64,
    has_left_out: bool,
}

impl CallReading {
    pub(in crate::audit) async fn start(database: Database, query: CallQuery) -> crate::Result<Self> {
        let newest = store::newest(&database).await?;
        let until = query.before.map_or(newest, |before| newest.min(before.saturating_sub(1)));
        // A shorter chain was restarted, for example by restoring the database.
        let after = if query.after > newest { 0 } else { query.after };
        let begin = match query.filter.since {
            Some(since) => store::before_time(&database, since.as_millisecond()).await?.unwrap_or(until),
            None => 0,
        };
        let after = after.max(begin);
        let (cursor, has_left_out) = match query.last {
            Some(count) => {
                store::before_last(&database, &query.filter, [after, until.saturating_add(1)], count).await?
            }
            None => (after, false),
        };
        Ok(Self { database, query, cursor, until, has_left_out })
    }

    /// Returns whether older matching entries exist beyond the requested number.
    pub fn has_left_out(&self) -> bool {
        self.has_left_out
    }

    /// Returns the next entries, oldest first; empty if there are no more for now.
    pub async fn next_page(&mut self) -> crate::Result<Vec<CallRecord>> {
        if self.cursor >= self.until && self.query.follows {
            let newest = store::newest(&self.database).await?;
            if newest < self.until {
                self.cursor = 0;
            }
            self.until = newest;
        }
        if self.cursor >= self.until {
            return Ok(Vec::new());
        }
        let range = [self.cursor, self.until];
        let page = store::page(&self.database, &self.query.filter, range, PAGE_ROWS).await?;
        let is_full = u32::try_from(page.len()).is_ok_and(|rows| rows == PAGE_ROWS);
        self.cursor = page.last().filter(|_| is_full).map_or(self.until, |last| last.sequence);
        Ok(page.into_iter().map(CallRecord::from).collect())
    }

    /// Waits for the polling interval.
    pub async fn more(&mut self) {
        sleep(POLL_INTERVAL).await;
    }
}
