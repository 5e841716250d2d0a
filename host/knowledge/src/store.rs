//! All SQL on the tables of the knowledge base.
//!
//! Invariant: every statement names the user. Exceptions: the selection of the next jobs and of the models in
//! use covers all users; the check of index files covers several.

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
pub(super) use index::{BEGINNING, ChunkRow, End, Revision};
pub(super) use ingest::Stored;
pub(super) use jobs::{Failed, Job, Kind};
pub(super) use search::{DocumentName, Sources};
pub(super) use subjects::Subject;

/// Access to all documents, feeds, chunks and jobs.
#[derive(Clone)]
pub(super) struct Store(Database, Quota);

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database, Quota::default())
    }
}

/// Current time in milliseconds since 1970, UTC.
pub(super) fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

impl StateName {
    /// Name in the database.
    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

/// Converts a count to the type of the database; saturates.
fn as_i64(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
