//! All SQL on the tables of the knowledge base.
//!
//! Invariant: every statement names the holder, or those that its caller may read. Exceptions: the selection of the
//! next jobs and of the models in use covers all holders.

mod artifacts;
mod attribution;
mod captures;
mod chunks;
mod documents;
mod feeds;
mod history;
mod index;
mod ingest;
mod jobs;
mod moves;
mod rows;
mod search;
mod subjects;
#[cfg(test)]
pub(super) mod tests;
mod usage;
mod versions;

use jiff::Timestamp;
use kitbag_database::{Database, Holder, list};

use super::document::StateName;
use super::quota::Quotas;
pub(super) use captures::{Read, Unkept};
pub(super) use chunks::{NewChunk, Unembedded};
pub(super) use index::{BEGINNING, ChunkRow, End, Revision};
pub(super) use ingest::Stored;
pub(super) use jobs::{Failed, Job, Kind};
pub(super) use moves::Move;
pub(super) use search::{DocumentName, Names};
pub(super) use subjects::Subject;

/// Access to all documents, feeds, chunks and jobs.
#[derive(Clone)]
pub(super) struct Store(Database, Quotas);

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database, Quotas::default())
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

/// Holders, as a parameter for `json_each`.
fn holders_list(holders: &[Holder]) -> String {
    list(&holders.iter().map(Holder::key).collect::<Vec<_>>())
}

/// Converts a count to the type of the database; saturates.
fn as_i64(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
