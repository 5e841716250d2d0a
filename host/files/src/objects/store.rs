//! All SQL about files. Each statement that changes a row of `files` locks it until the end of its
//! transaction, and all decisions about a file are made under that lock. Times are those of the database's
//! clock.

use std::time::Duration;

use kitbag_database::{Database, FromRow, Scope, Transaction, sql};

use crate::stored_files::{FileKind, is_named};

/// Time after which the deletion of an object is retried.
const RETRY_INTERVAL: Duration = Duration::from_mins(10);
/// Number of rows that the janitor reads at once.
const PAGE_ROWS: i64 = 100;

/// The table of files.
#[derive(Clone, Debug)]
pub(super) struct Rows(Database);

/// A lease: the file is not deleted before it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    pub(super) object: String,
    /// End of the lease; different for each lease of an object.
    until: i64,
    /// Whether there was no other lease when it began.
    is_only: bool,
}

/// The store of files that all processes use.
pub(super) struct StoreClaim {
    /// Id of the store.
    pub(super) store: String,
    /// Whether this call has set the id.
    pub(super) is_new: bool,
    /// Whether there are no files yet.
    pub(super) is_empty: bool,
}

/// A row that the janitor has to process.
#[derive(Clone, Debug, FromRow)]
pub(super) struct Overdue {
    pub(super) object: String,
    name: String,
    pub(super) dropped: bool,
}

impl Overdue {
    /// Returns the kind and the digest of the file.
    pub(super) fn file(&self) -> Option<(FileKind, &str)> {
        let (folder, digest) = self.name.split_once('/')?;
        let kind = FileKind::ALL.into_iter().find(|kind| kind.folder() == folder)?;
        Some((kind, digest))
    }
}

impl Rows {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Creates or extends the lease of the file with this digest. Creates an object name if there is none.
    pub(super) async fn keep(
        &self,
        kind: FileKind,
        digest: &str,
        time: Duration,
    ) -> kitbag_database::Result<Lease> {
        let name = kind.name(digest);
        let time = millis(time);
        let mut transaction = self.0.begin(Scope::Files).await?;
        let lease = loop {
            if let Some((object, is_kept)) = lock(&mut transaction, &name).await? {
                let until = sql("UPDATE files SET kept_until =
                         CASE WHEN kept_until < (SELECT now FROM clock) + $2 THEN (SELECT now FROM clock) + $2
                         ELSE kept_until + 1 END
                     WHERE object = $1 RETURNING kept_until")
                .bind(&object)
                .bind(time)
                .fetch_value(&mut transaction)
                .await?;
                break Lease { object, until, is_only: !is_kept };
            }
            let object = kind.new_object(digest);
            let until = sql("INSERT INTO files (object, name, kept_until, dropped)
                 VALUES ($1, $2, (SELECT now FROM clock) + $3, FALSE)
                 ON CONFLICT (name) WHERE NOT dropped DO NOTHING RETURNING kept_until")
            .bind(&object)
            .bind(&name)
            .bind(time)
            .fetch_optional_value(&mut transaction)
            .await?;
            // Otherwise another process has just inserted the row.
            if let Some(until) = until {
                break Lease { object, until, is_only: true };
            }
        };
        transaction.commit().await?;
        Ok(lease)
    }

    /// Ends a lease early, unless another process may rely on it. Returns whether the object is not dropped.
    pub(super) async fn release(&self, lease: &Lease) -> kitbag_database::Result<bool> {
        let until = if lease.is_only { lease.until } else { 0 };
        let mut transaction = self.0.begin(Scope::Files).await?;
        let is_there = sql(
            "UPDATE files SET kept_until = CASE WHEN kept_until = $2 AND $2 > 0 THEN 1 ELSE kept_until END
             WHERE object = $1 AND NOT dropped",
        )
        .bind(&lease.object)
        .bind(until)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(is_there > 0)
    }

    /// Whether no other process can use the database.
    pub(super) fn is_alone(&self) -> bool {
        self.0.is_exclusive()
    }

    /// Sets the id of the store of files, unless it is set.
    pub(super) async fn claim_store(&self, name: &str) -> kitbag_database::Result<StoreClaim> {
        let mut transaction = self.0.begin(Scope::Processes).await?;
        let before: Option<String> = sql("SELECT store FROM service").fetch_value(&mut transaction).await?;
        let is_new = before.is_none();
        if is_new {
            sql("UPDATE service SET store = $1").bind(name).execute(&mut transaction).await?;
        }
        let files: i64 = sql("SELECT COUNT(*) FROM files").fetch_value(&mut transaction).await?;
        transaction.commit().await?;
        Ok(StoreClaim { store: before.unwrap_or_else(|| name.to_owned()), is_new, is_empty: files == 0 })
    }

    /// Ends all leases of earlier runs, if no other process can have any.
    pub(super) async fn release_all_if_alone(&self) -> kitbag_database::Result<()> {
        if !self.is_alone() {
            return Ok(());
        }
        let mut transaction = self.0.begin(Scope::Files).await?;
        sql("UPDATE files SET kept_until = 1 WHERE kept_until > 1").execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Returns the object of the file with this digest.
    pub(super) async fn object(
        &self,
        kind: FileKind,
        digest: &str,
    ) -> kitbag_database::Result<Option<String>> {
        sql("SELECT object FROM files WHERE name = $1 AND NOT dropped")
            .bind(kind.name(digest))
            .fetch_optional_value(self.0.readers())
            .await
    }

    /// Drops a file without references and leases. Returns its object, which the caller must delete.
    pub(super) async fn drop_unless_needed(
        &self,
        kind: FileKind,
        digest: &str,
    ) -> kitbag_database::Result<Option<String>> {
        let mut transaction = self.0.begin(Scope::Files).await?;
        let locked = lock(&mut transaction, &kind.name(digest)).await?;
        let Some((object, false)) = locked else {
            transaction.roll_back().await?;
            return Ok(None);
        };
        let is_needed = is_named(&mut transaction, kind, digest).await?;
        let statement = if is_needed {
            sql("UPDATE files SET kept_until = 0 WHERE object = $1").bind(&object)
        } else {
            sql("UPDATE files SET dropped = $2, kept_until = (SELECT now FROM clock) + $3 WHERE object = $1")
                .bind(&object)
                .bind(true)
                .bind(millis(RETRY_INTERVAL))
        };
        statement.execute(&mut transaction).await?;
        transaction.commit().await?;
        Ok((!is_needed).then_some(object))
    }

    /// Removes the row of a deleted object.
    pub(super) async fn forget(&self, object: &str) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Files).await?;
        sql("DELETE FROM files WHERE object = $1 AND dropped").bind(object).execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Returns the first files whose lease has ended.
    pub(super) async fn overdue(&self) -> kitbag_database::Result<Vec<Overdue>> {
        sql("SELECT object, name, dropped FROM files
             WHERE kept_until > 0 AND kept_until <= (SELECT now FROM clock) ORDER BY kept_until LIMIT $1")
        .bind(PAGE_ROWS)
        .fetch_all(self.0.readers())
        .await
    }

    /// Claims the deletion of a dropped object. Returns `false` if another process has just claimed it.
    pub(super) async fn take_deletion(&self, object: &str) -> kitbag_database::Result<bool> {
        let mut transaction = self.0.begin(Scope::Files).await?;
        let taken = sql("UPDATE files SET kept_until = (SELECT now FROM clock) + $2
             WHERE object = $1 AND dropped AND kept_until <= (SELECT now FROM clock)")
        .bind(object)
        .bind(millis(RETRY_INTERVAL))
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(taken > 0)
    }
}

/// Marks an object as referred to by a row. Returns `false` if it was dropped.
pub(super) async fn refer(transaction: &mut Transaction, object: &str) -> kitbag_database::Result<bool> {
    let referred = sql("UPDATE files SET kept_until = 0 WHERE object = $1 AND NOT dropped");
    Ok(referred.bind(object).execute(transaction).await? > 0)
}

/// Marks files as due for the janitor, because rows no longer refer to them.
pub(super) async fn let_go(
    transaction: &mut Transaction,
    kind: FileKind,
    digests: &[&str],
) -> kitbag_database::Result<()> {
    for digest in digests {
        sql("UPDATE files SET kept_until = 1 WHERE name = $1 AND kept_until = 0 AND NOT dropped")
            .bind(kind.name(digest))
            .execute(&mut *transaction)
            .await?;
    }
    Ok(())
}

/// Locks the row of a file that is not dropped. Returns its object, and whether it has a lease.
async fn lock(transaction: &mut Transaction, name: &str) -> kitbag_database::Result<Option<(String, bool)>> {
    sql("UPDATE files SET kept_until = kept_until WHERE name = $1 AND NOT dropped
         RETURNING object, kept_until > (SELECT now FROM clock)")
    .bind(name)
    .fetch_optional(transaction)
    .await
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).expect("it is less than an hour")
}
