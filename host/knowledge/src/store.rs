//! The tables of the knowledge base: all SQL about them.
//!
//! Invariant: every statement names the user. Only what finds out whose jobs are next, and which models are in use,
//! looks at all, and what checks the files of several users' indexes at several.

mod artifacts;
mod captures;
mod chunks;
mod documents;
mod feeds;
mod history;
mod index;
mod ingest;
mod jobs;
mod rows;
mod search;
mod subjects;
#[cfg(test)]
pub(super) mod tests;
mod usage;

use jiff::Timestamp;
use kitbag_database::Database;

use super::document::StateName;
use super::quota::Quota;
pub(super) use captures::{Read, Unkept};
pub(super) use chunks::{NewChunk, Unembedded};
pub(super) use index::{BEGINNING, ChunkRow, End, Models, Revision};
pub(super) use ingest::Stored;
pub(super) use jobs::{Failed, Job, Kind};
pub(super) use search::Sources;
pub(super) use subjects::Subject;

/// All documents, feeds, chunks and jobs.
#[derive(Clone)]
pub(super) struct Store(Database, Quota);

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database, Quota::default())
    }
}

/// Milliseconds since 1970, UTC.
pub(super) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

impl StateName {
    /// As the tables spell it.
    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

/// A count as the tables keep it.
fn as_i64(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
