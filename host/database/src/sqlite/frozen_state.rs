//! Copies the database while a server writes to it, by `SQLite`'s online backup.
//!
//! `sqlx` does not offer the backup interface; `rusqlite` does, on the same library. `VACUUM INTO` cannot run
//! inside a transaction: the moment of the copied state is unknown, and so are the files that belong to it.
//! The backup interface copies the snapshot of its source's transaction, regardless of the number of steps
//! and of concurrent commits.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use thiserror::Error;

use super::{BUSY_TIMEOUT, FILE, TRUSTED_SCHEMA};

/// Number of pages copied between two progress reports: 4 MiB.
const STEP_PAGES: i32 = 1024;
/// Delay before a retry when the source is busy or locked.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Snapshot of the database at one moment. Until it is dropped, the write-ahead log keeps growing.
#[derive(Debug)]
pub struct FrozenState(Connection);

/// Error of copying the database.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct CopyError(#[from] rusqlite::Error);

impl CopyError {
    /// Returns whether the target disk was full.
    pub fn is_disk_full(&self) -> bool {
        self.0.sqlite_error_code() == Some(ErrorCode::DiskFull)
    }
}

impl FrozenState {
    /// Takes a snapshot of the current state of the database in the folder `data`. Blocks.
    pub fn of(data: &Path) -> Result<Self, CopyError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(data.join(FILE), flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, TRUSTED_SCHEMA, "OFF")?;
        connection.execute_batch("BEGIN")?;
        // The snapshot of a transaction is taken at its first read.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(Self(connection))
    }

    /// Returns the size of the snapshot in bytes.
    pub fn size(&self) -> Result<u64, CopyError> {
        let number = |name| self.0.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let bytes = number("page_count")?.saturating_mul(number("page_size")?);
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    /// Copies the snapshot to a new file. `progress` receives the copied and the total number of pages. The
    /// copy is not durable yet. Blocks.
    pub fn copy_to(self, file: &Path, mut progress: impl FnMut(u64, u64)) -> Result<(), CopyError> {
        let mut copy = Connection::open(file)?;
        // No rollback journal: the caller discards a failed copy.
        copy.pragma_update(None, "journal_mode", "OFF")?;
        copy.pragma_update(None, "synchronous", "OFF")?;
        let backup = Backup::new(&self.0, &mut copy)?;
        loop {
            let step = backup.step(STEP_PAGES)?;
            let pages = backup.progress();
            let [total, left] =
                [pages.pagecount, pages.remaining].map(|it| u64::try_from(it).unwrap_or_default());
            progress(total.saturating_sub(left), total);
            match step {
                StepResult::Done => return Ok(()),
                StepResult::More => {}
                // Busy or locked.
                _ => sleep(RETRY_INTERVAL),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    const COUNT: &str = "SELECT count(*) FROM issuers";

    #[tokio::test]
    async fn a_copy_is_the_state_at_the_moment_when_it_was_frozen() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let database = Database::open(data.path()).await.expect("a database");
        database.execute("INSERT INTO issuers (issuer, since) VALUES ('before', 0)").await;

        let frozen = FrozenState::of(data.path()).expect("it can be read");
        let many = "INSERT INTO issuers (issuer, since) WITH RECURSIVE n (i) AS
            (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT 'after ' || i, 0 FROM n";
        database.execute(many).await;
        let copy = data.path().join("copy.sqlite");
        let mut done = 0;
        let mut total = 0;
        frozen.copy_to(&copy, |now, of| (done, total) = (now, of)).expect("it can be copied");

        assert!(done == total && total > 0, "{done} of {total}");
        let copy = Database::open_copy(&copy).await.expect("it opens");
        assert_eq!(copy.column::<i64>(COUNT).await, [1]);
        assert_eq!(database.column::<i64>(COUNT).await, [50_001]);
        assert_eq!(copy.problems().await.expect("it can be read"), [""; 0]);
        assert_eq!(copy.schema().await.expect("it can be read"), Database::program_schema());
        let beside = ["copy.sqlite-wal", "copy.sqlite-shm", "copy.sqlite-journal"];
        assert!(beside.iter().all(|name| !data.path().join(name).exists()));
    }

    #[tokio::test]
    async fn nothing_is_created_where_there_is_no_database() {
        let data = tempfile::tempdir().expect("a scratch directory");

        assert!(Database::open_existing(data.path()).await.is_err());
        assert!(Database::open_read_only(data.path()).await.is_err());
        assert!(FrozenState::of(data.path()).is_err());

        assert!(data.path().read_dir().expect("a folder").next().is_none());
    }
}
