//! A copy of the database while a server writes to it, by `SQLite`'s online backup.
//!
//! `sqlx` does not offer the backup interface; `rusqlite` does, on the same library. `VACUUM INTO` would do without,
//! but cannot run inside a transaction: what it copies is the state at a moment that nobody else can know, and so
//! nobody could say which files belong to it. The backup interface copies what its source's transaction sees, however
//! many steps it takes and whatever is committed meanwhile.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use thiserror::Error;

use super::{BUSY_TIMEOUT, FILE, TRUSTED_SCHEMA};

/// Pages that are copied between two reports: 4 MiB.
const STEP_PAGES: i32 = 1024;
/// How long to wait for whoever locks the source.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// A database as it was at one moment. Until it is dropped, the log of later changes grows beside the database.
#[derive(Debug)]
pub struct FrozenState(Connection);

/// Why the database could not be copied.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct CopyError(#[from] rusqlite::Error);

impl CopyError {
    /// Whether the disk of the copy was full.
    pub fn is_disk_full(&self) -> bool {
        self.0.sqlite_error_code() == Some(ErrorCode::DiskFull)
    }
}

impl FrozenState {
    /// Freezes the database in the folder `data` as it is now. Blocks.
    pub fn of(data: &Path) -> Result<Self, CopyError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(data.join(FILE), flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, TRUSTED_SCHEMA, "OFF")?;
        connection.execute_batch("BEGIN")?;
        // A transaction sees the state at its first read.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(Self(connection))
    }

    /// Its size in bytes.
    pub fn size(&self) -> Result<u64, CopyError> {
        let number = |name| self.0.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let bytes = number("page_count")?.saturating_mul(number("page_size")?);
        Ok(u64::try_from(bytes).unwrap_or_default())
    }

    /// Copies it to a new file. `progress` is told how many pages of how many are done. The copy is not durable yet.
    /// Blocks.
    pub fn copy_to(self, file: &Path, mut progress: impl FnMut(u64, u64)) -> Result<(), CopyError> {
        let mut copy = Connection::open(file)?;
        // A copy that fails is thrown away, so that nothing of it needs to be undone.
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
        let (mut done, mut total) = (0, 0);
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
