//! Files to which rows refer (components of toolkits and captured files), in a folder or a bucket that
//! several processes may share ([decision
//! 0036](../../docs/decisions/0036-objects-have-names-of-their-own.md)).
//!
//! ```text
//! put    insert or extend the row (object, name, lease of 31 minutes) → commit → write the object, unless it exists
//! refer  in the transaction that adds the reference: `kept_until` = 0, unless the file was dropped; then put it again
//! end    without references and leases: mark as dropped → commit → delete the object → delete the row
//! ```
//!
//! Invariants:
//! - a row refers to a file only if the file is complete and no process deletes it: each of the three operations
//!   locks the file's row in `files`, and that suffices. No process waits for the store of files under this lock;
//! - object names are never reused, so a delayed deletion cannot hit a newer object;
//! - after a crash, the janitor removes files that were put and never referred to, and objects that were dropped
//!   and not deleted. Nothing is deleted because it was found without a row.

mod bucket;
mod error;
mod identity;
mod janitor;
mod s3;
mod sending;
mod store;
#[cfg(any(test, feature = "testing"))]
mod testing;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use kitbag_base::tasks::to_its_end;
use kitbag_database::{Database, Transaction};
use kitbag_net::egress::Egress;
use tokio::time::timeout;
use tracing::warn;

use crate::stored_files::FileKind;
use bucket::Bucket;
pub use bucket::Location;
pub use error::ObjectsError;
pub use s3::BucketLocation;
pub use sending::Sent;
use store::{Lease, Rows};

/// Lease of a file that was put, for the caller to refer to it. Longer than any capture takes.
const HOLD: Duration = Duration::from_mins(31);
/// Time limit for callers that wait for a deletion. The deletion continues in the background.
const DELETION_PATIENCE: Duration = Duration::from_secs(1);

/// All files to which rows refer. Clones share the store and the database.
#[derive(Clone, Debug)]
pub struct Objects {
    rows: Rows,
    bucket: Bucket,
}

/// All files of one kind.
#[derive(Clone, Debug)]
pub struct Files {
    kind: FileKind,
    objects: Objects,
}

/// A file that was put. Its lease prevents deletion for about half an hour.
#[derive(Debug)]
pub struct FileLease {
    digest: String,
    lease: Lease,
}

/// A file opened for reading.
pub struct Opened {
    /// Size in bytes.
    pub size: u64,
    /// Content, in chunks.
    pub bytes: BoxStream<'static, io::Result<Bytes>>,
}

impl Objects {
    /// Opens the store of files. Requests to a bucket go through `egress`.
    pub async fn open(
        database: Database,
        location: &Location,
        egress: &Egress,
    ) -> Result<Self, ObjectsError> {
        let objects = Self { rows: Rows::new(database), bucket: Bucket::open(location, egress)? };
        // The only process has put no files yet, so all leases are from earlier runs.
        objects.rows.release_all_if_alone().await?;
        Ok(objects)
    }

    /// Opens the store of files for commands that copy or check a service. Changes nothing there.
    pub fn as_it_is(database: Database, location: &Location, egress: &Egress) -> Result<Self, ObjectsError> {
        Ok(Self { rows: Rows::new(database), bucket: Bucket::open(location, egress)? })
    }

    /// Returns the size of an object in bytes; `None` if it does not exist.
    pub async fn size(&self, object: &str) -> Result<Option<u64>, ObjectsError> {
        self.bucket.size(object).await
    }

    /// Returns the SHA-256 of an object, hexadecimal; `None` if it does not exist.
    pub async fn digest(&self, object: &str) -> Result<Option<String>, ObjectsError> {
        self.bucket.digest(object).await
    }

    /// Returns the components of toolkits.
    pub fn components(&self) -> Files {
        Files { kind: FileKind::Component, objects: self.clone() }
    }

    /// Returns the captured files of documents.
    pub fn artifacts(&self) -> Files {
        Files { kind: FileKind::Artifact, objects: self.clone() }
    }
}

impl Files {
    /// Puts a file with this digest. Reads `source` only if the file does not exist yet.
    pub async fn put(&self, digest: &str, source: &Path) -> Result<FileLease, ObjectsError> {
        let lease = self.objects.rows.keep(self.kind, digest, HOLD).await?;
        let held = FileLease { digest: digest.to_owned(), lease };
        match self.write(&held, source).await {
            Ok(()) => Ok(held),
            Err(error) => {
                self.give_up(held).await;
                Err(error)
            }
        }
    }

    async fn write(&self, held: &FileLease, source: &Path) -> Result<(), ObjectsError> {
        let bucket = &self.objects.bucket;
        let object = &held.lease.object;
        let is_there = match self.kind {
            // A component may be deployed again because the stored file is damaged, so its content is
            // checked.
            FileKind::Component => bucket.digest(object).await?.as_ref() == Some(&held.digest),
            FileKind::Artifact => {
                let size = tokio::fs::metadata(source).await.map_err(ObjectsError::Source)?.len();
                bucket.size(object).await? == Some(size)
            }
        };
        if is_there { Ok(()) } else { bucket.put(object, source).await }
    }

    /// Opens a file; `None` if there is none with this digest.
    pub async fn open(&self, digest: &str) -> Result<Option<Opened>, ObjectsError> {
        let Objects { rows, bucket } = &self.objects;
        let mut before = None;
        loop {
            let object = rows.object(self.kind, digest).await?;
            // The file may be dropped, and put again as another object, before it is opened.
            let Some(object) = object.filter(|object| before.as_ref() != Some(object)) else {
                return Ok(None);
            };
            if let Some(opened) = bucket.get(&object).await? {
                return Ok(Some(opened));
            }
            before = Some(object);
        }
    }

    /// Reads the first `longest` bytes of a file. Fails if it does not exist.
    pub async fn read(&self, digest: &str, longest: u64) -> Result<Bytes, ObjectsError> {
        let object = self.objects.rows.object(self.kind, digest).await?;
        let object = object.ok_or(ObjectsError::Missing)?;
        self.objects.bucket.read(&object, longest).await
    }

    /// Ends a lease that has led to no reference. Deletes the file unless it is still needed.
    pub async fn give_up(&self, held: FileLease) {
        match self.objects.rows.release(&held.lease).await {
            Ok(true) => self.end(&[held.digest]).await,
            // A late write may have recreated a deleted object.
            Ok(false) => self.objects.delete(&held.lease.object).await,
            Err(cause) => {
                warn!(%cause, digest = held.digest, "a file that is not needed is kept for half an hour");
            }
        }
    }

    /// Puts a file again that was dropped before a row referred to it.
    pub async fn put_again(&self, dropped: FileLease, source: &Path) -> Result<FileLease, ObjectsError> {
        let digest = dropped.digest.clone();
        self.give_up(dropped).await;
        self.put(&digest, source).await
    }

    /// Deletes the files that have neither references nor leases. The janitor retries failed deletions.
    pub async fn end(&self, digests: &[String]) {
        let mut dropped = Vec::new();
        for digest in digests {
            match self.objects.rows.drop_unless_needed(self.kind, digest).await {
                Ok(object) => dropped.extend(object),
                Err(cause) => warn!(%cause, digest, "a file that nothing refers to is left to the janitor"),
            }
        }
        if dropped.is_empty() {
            return;
        }
        let objects = self.objects.clone();
        let deletion = to_its_end(async move {
            for object in dropped {
                objects.delete(&object).await;
            }
        });
        // A late deletion continues in the background.
        let _ = timeout(DELETION_PATIENCE, deletion).await;
    }
}

impl Objects {
    /// Deletes an object that was dropped, and its row.
    async fn delete(&self, object: &str) {
        let deleted = match self.bucket.delete(object).await {
            Ok(()) => self.rows.forget(object).await.map_err(ObjectsError::from),
            Err(error) => Err(error),
        };
        if let Err(cause) = deleted {
            warn!(%cause, object, "a file was not deleted; the janitor tries again");
        }
    }
}

/// Updates references in the transaction that changes rows: marks `referred` as needed, and the files with
/// the digests `let_go` as possibly unneeded. After the commit, [`Files::end`] deletes the unneeded ones.
/// Returns `false` if `referred` was dropped: rows may not refer to it before it is put again.
pub async fn change_references(
    transaction: &mut Transaction,
    kind: FileKind,
    referred: Option<&FileLease>,
    let_go: &[String],
) -> kitbag_database::Result<bool> {
    // Sorted, so that concurrent transactions lock rows in the same order and cannot deadlock.
    let mut let_go: Vec<_> = let_go.iter().map(String::as_str).collect();
    let_go.sort_unstable();
    let_go.dedup();
    let Some(referred) = referred else {
        store::let_go(transaction, kind, &let_go).await?;
        return Ok(true);
    };
    let before = let_go.partition_point(|digest| *digest <= referred.digest.as_str());
    store::let_go(transaction, kind, &let_go[..before]).await?;
    let is_there = store::refer(transaction, &referred.lease.object).await?;
    store::let_go(transaction, kind, &let_go[before..]).await?;
    Ok(is_there)
}
