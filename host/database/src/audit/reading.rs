//! Reading entries, oldest first, and waiting for more.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;

use super::entry::AuditRecord;
use super::store::{Row, Store};

/// How often a follower asks for new entries.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Entries of one page.
const PAGE_ROWS: u32 = 200;

/// Which entries to read. Whatever is named has to match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Entries of this time or later.
    pub since: Option<Timestamp>,
    /// Entries of this time or earlier.
    pub until: Option<Timestamp>,
    /// An act, or the part of its name before the dot: `secret` for all acts of secrets.
    pub act: Option<String>,
    /// Who acted, or whom the act concerned.
    pub user: Option<String>,
    /// Id of the toolkit.
    pub toolkit: Option<String>,
}

/// What to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only these entries.
    pub filter: AuditFilter,
    /// Only entries with a smaller id.
    pub before: Option<i64>,
    /// Of the existing entries, only this many of the newest.
    pub last: Option<u32>,
    /// Whether to go on with new entries.
    pub follows: bool,
}

/// A reader's position.
///
/// Invariant: no entry is missed and none is read twice, also where processes commit theirs in another order than that of
/// their ids. What existed at the start is read by ids, what comes later along each chain.
pub struct AuditReading {
    store: Store,
    query: AuditQuery,
    /// The last id that was read of those at the start.
    cursor: i64,
    /// The newest id at the start, until all up to it are read.
    until: Option<i64>,
    /// The newest entry of each chain that was there at the start, or was read since.
    positions: HashMap<String, i64>,
    has_left_out: bool,
}

impl AuditReading {
    pub(super) async fn start(store: Store, query: AuditQuery) -> crate::Result<Self> {
        let (positions, newest) = store.heads().await?;
        let until = query.before.map_or(newest, |before| newest.min(before.saturating_sub(1)));
        let (cursor, has_left_out) = match query.last {
            Some(count) => store.before_last(&query.filter, until, count).await?,
            None => (0, false),
        };
        Ok(Self { store, query, cursor, until: Some(until), positions, has_left_out })
    }

    /// Whether there are older entries, beyond the number that was asked for.
    pub fn has_left_out(&self) -> bool {
        self.has_left_out
    }

    /// Returns the next entries, oldest first; empty if there are no more for now.
    pub async fn next_page(&mut self) -> crate::Result<Vec<AuditRecord>> {
        while let Some(until) = self.until {
            let page = self.store.page(&self.query.filter, [self.cursor, until], PAGE_ROWS).await?;
            match page.last() {
                Some(last) => self.cursor = last.id,
                None => self.until = None,
            }
            // One that was committed meanwhile follows in its chain.
            let is_old =
                |row: &Row| self.positions.get(&row.chain).is_some_and(|newest| row.sequence <= *newest);
            let records: Vec<_> = page.into_iter().filter(is_old).map(AuditRecord::from).collect();
            if !records.is_empty() {
                return Ok(records);
            }
        }
        if self.query.follows { self.next_page_of_new().await } else { Ok(Vec::new()) }
    }

    async fn next_page_of_new(&mut self) -> crate::Result<Vec<AuditRecord>> {
        for (chain, newest) in self.store.newer(&self.positions).await? {
            // One that is shorter than it was has begun anew, as in a database that was restored.
            let after =
                self.positions.get(&chain).copied().filter(|known| *known < newest).unwrap_or_default();
            let page =
                self.store.page_of_chain(&self.query.filter, &chain, [after, newest], PAGE_ROWS).await?;
            let is_full = u32::try_from(page.len()).is_ok_and(|rows| rows == PAGE_ROWS);
            let read = page.last().filter(|_| is_full).map_or(newest, |last| last.sequence);
            self.positions.insert(chain, read);
            if !page.is_empty() {
                return Ok(page.into_iter().map(AuditRecord::from).collect());
            }
        }
        Ok(Vec::new())
    }

    /// Waits until there may be more.
    pub async fn more(&mut self) {
        sleep(POLL_INTERVAL).await;
    }
}
