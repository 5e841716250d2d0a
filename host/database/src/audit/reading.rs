//! Reads entries, oldest first, and polls for new ones.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;

use super::entry::AuditRecord;
use super::store::{Row, Store};

/// Polling interval of followers.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of entries per page.
const PAGE_ROWS: u32 = 200;

/// Filter for entries. All given criteria have to match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Earliest time, inclusive.
    pub since: Option<Timestamp>,
    /// Latest time, inclusive.
    pub until: Option<Timestamp>,
    /// An act, or the part of its name before the dot: `secret` for all acts of secrets.
    pub act: Option<String>,
    /// Id of the acting or the affected user.
    pub user: Option<String>,
    /// Toolkit id.
    pub toolkit: Option<String>,
}

/// A query of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Filter for entries.
    pub filter: AuditFilter,
    /// Exclusive upper limit of ids, for existing entries.
    pub before: Option<i64>,
    /// Maximum number of existing entries: only the newest ones are read.
    pub last: Option<u32>,
    /// Whether to continue with new entries.
    pub follows: bool,
}

/// Position of a reader in the log.
///
/// Invariant: no entry is missed and none is read twice, even where processes commit entries in an order
/// other than that of their ids. Entries that existed at the start are read by id, later ones along each
/// chain.
pub struct AuditReading {
    store: Store,
    query: AuditQuery,
    /// Last id read of the entries that existed at the start.
    cursor: i64,
    /// Newest id to read of the entries that existed at the start; `None` once all are read.
    until: Option<i64>,
    /// By chain, the newest sequence number at the start, or read since.
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

    /// Returns whether older matching entries exist beyond the requested number.
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
            // Entries committed since the start are read later, along their chains.
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
            // A shorter chain was restarted, for example by restoring the database.
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

    /// Waits for the polling interval.
    pub async fn more(&mut self) {
        sleep(POLL_INTERVAL).await;
    }
}
