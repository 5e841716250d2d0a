//! Collections: documents that a team keeps, with readers and curators (docs/collections.md).
//!
//! Invariants:
//! - who may read a collection is looked up in memory, in a directory that is as new as the database when a request
//!   starts (docs/decisions/0032);
//! - a collection has a curator for as long as it exists.

mod directory;
mod store;
#[cfg(test)]
mod tests;

use std::ops::Not;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kitbag_base::rate::TooManyRequests;
use kitbag_base::tasks::{Interrupted, to_its_end};
use kitbag_database::audit::Actor;
use kitbag_database::{Database, DatabaseError};
use kitbag_identity::{InvalidSubject, Subject};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::Mutex;

pub use self::directory::{Collection, Directory};
use self::store::CollectionStore;
use super::search::operators::MINE;

/// Maximum number of grants of a collection.
const MAX_GRANTS: usize = 200;
/// Maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 64;
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// Maximum length of a description, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 2000;
/// Maximum number of collections that a user has made, deleted ones included.
const MAX_CREATED: i64 = 20;

/// Value of `deleted_at` while a collection is removed for good: before any time, so that the janitor finishes what a crash
/// has interrupted.
const PURGING: i64 = 0;

/// What a member may do with a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Finds, reads and downloads documents.
    Reader,
    /// Also adds, changes and deletes them, and shares the collection.
    Curator,
}

/// A membership of a collection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "MembershipRecord", try_from = "MembershipRecord")]
pub struct Membership {
    /// The users to whom it applies.
    pub subject: Subject,
    /// What they may do.
    pub role: Role,
}

/// A membership as JSON, with one of `user`, `group` and `everyone`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MembershipRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(default, skip_serializing_if = "Not::not")]
    everyone: bool,
    role: Role,
}

impl From<Membership> for MembershipRecord {
    fn from(Membership { subject, role }: Membership) -> Self {
        let (user, group, everyone) = subject.into_members();
        Self { user, group, everyone, role }
    }
}

impl TryFrom<MembershipRecord> for Membership {
    type Error = InvalidSubject;

    fn try_from(record: MembershipRecord) -> Result<Self, InvalidSubject> {
        let MembershipRecord { user, group, everyone, role } = record;
        Ok(Self { subject: Subject::named(user, group, everyone)?, role })
    }
}

/// What a collection is called, as its curators change it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Name for people.
    pub name: String,
    /// What is in it; may be empty.
    pub description: String,
}

/// Collections of which a user was a member until they left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftCollections {
    /// Ids of all of them.
    pub ids: Vec<String>,
    /// Ids of those of which the user was the last curator.
    pub passed: Vec<String>,
}

/// Reason why an act on a collection failed.
#[derive(Debug, Error)]
pub enum CollectionError {
    /// No such collection that the user may see.
    #[error("there is no collection {0}")]
    Unknown(String),
    /// The user may read the collection, but not keep it.
    #[error("only curators of {0} may do that")]
    NotCurator(String),
    /// The user may not make collections.
    #[error("only operators may make collections here (setting collections)")]
    NotCreator,
    /// A value breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// Another collection has the id.
    #[error("a collection {0} exists already, or is in the bin; choose another id")]
    Exists(String),
    /// The user has made as many as they may.
    #[error(
        "you have made {MAX_CREATED} collections, as many as you may; delete one, or ask another user to make this one"
    )]
    TooMany,
    /// Too many grants.
    #[error("a collection is shared with at most {MAX_GRANTS} users and groups; share it with a group")]
    TooManyGrants,
    /// There is no such grant.
    #[error("{id} is not shared with {with}")]
    NotShared {
        /// Id of the collection.
        id: String,
        /// Subject, in words.
        with: String,
    },
    /// Nobody could change the collection afterwards.
    #[error(
        "the last curator of {id} is {with}; make another one first: kitbag collection share {id} --curator --user NAME"
    )]
    LastCurator {
        /// Id of the collection.
        id: String,
        /// Subject, in words.
        with: String,
    },
    /// The user has changed collections too often.
    #[error(transparent)]
    TooManyRequests(#[from] TooManyRequests),
    /// The database failed; the cause is for the log.
    #[error("storage failed: {0}")]
    Storage(#[from] DatabaseError),
    /// The act was interrupted.
    #[error("the act was interrupted; try again")]
    Interrupted(#[from] Interrupted),
}

/// All collections, and who may read them. Clones share their state.
#[derive(Clone)]
pub struct Collections(Arc<Parts>);

struct Parts {
    store: CollectionStore,
    directory: ArcSwap<Directory>,
    /// Locked while the directory is read and replaced: an older one must not replace a newer one.
    publishing: Mutex<()>,
}

impl Collections {
    /// Reads the collections of `database`.
    pub async fn open(database: Database) -> Result<Self, CollectionError> {
        let store = CollectionStore::new(database);
        let directory = ArcSwap::from_pointee(store.directory().await?);
        Ok(Self(Arc::new(Parts { store, directory, publishing: Mutex::new(()) })))
    }

    /// The current collections, and who may read them.
    pub fn directory(&self) -> Arc<Directory> {
        self.0.directory.load_full()
    }

    /// Reads the collections again, unless they are of this generation.
    pub async fn catch_up(&self, generation: i64) -> Result<(), CollectionError> {
        if self.0.directory.load().is_of(generation) { Ok(()) } else { self.publish().await }
    }

    /// Reads the collections again.
    pub async fn publish(&self) -> Result<(), CollectionError> {
        let parts = self.0.clone();
        // Not cancelled with the request, because the next request would have to start again.
        to_its_end(async move {
            let _publishing = parts.publishing.lock().await;
            parts.directory.store(Arc::new(parts.store.directory().await?));
            Ok(())
        })
        .await?
    }

    /// Makes a collection, of which the user is the curator.
    pub async fn create(&self, id: &str, about: &Description, by: &Actor) -> Result<(), CollectionError> {
        check_id(id)?;
        check_description(about)?;
        self.changed(self.0.store.create(id, about, by).await).await
    }

    /// Renames and describes a collection.
    pub async fn describe(&self, id: &str, about: &Description, by: &Actor) -> Result<(), CollectionError> {
        check_description(about)?;
        self.changed(self.0.store.describe(id, about, by).await).await
    }

    /// Shares a collection; replaces the roles of subjects that have one.
    pub async fn share(&self, id: &str, with: &[Membership], by: &Actor) -> Result<(), CollectionError> {
        if with.len() > MAX_GRANTS {
            return Err(CollectionError::TooManyGrants);
        }
        self.changed(self.0.store.share(id, with, by).await).await
    }

    /// Ends the membership of a subject.
    pub async fn unshare(&self, id: &str, subject: &Subject, by: &Actor) -> Result<(), CollectionError> {
        self.changed(self.0.store.unshare(id, subject, by).await).await
    }

    /// Makes an operator a curator.
    pub async fn take_over(&self, id: &str, by: &Actor) -> Result<(), CollectionError> {
        self.changed(self.0.store.take_over(id, by).await).await
    }

    /// Ends the memberships that a user has by name, deleted collections included. `by` becomes the curator of those that
    /// nobody would keep any more.
    pub async fn leave(&self, user: &str, by: &Actor) -> Result<LeftCollections, CollectionError> {
        let collections = self.clone();
        let user = user.to_owned();
        let by = by.clone();
        to_its_end(async move {
            let left = collections.0.store.leave(&user, &by).await?;
            if !left.ids.is_empty() {
                collections.publish().await?;
            }
            Ok(left)
        })
        .await?
    }

    /// Replaces the name of a user who made, deleted or shared collections. Returns the number of places.
    pub async fn anonymise(&self, user: &str) -> Result<u64, CollectionError> {
        let collections = self.clone();
        let user = user.to_owned();
        to_its_end(async move {
            let changed = collections.0.store.anonymise(&user).await?;
            if changed > 0 {
                collections.publish().await?;
            }
            Ok(changed)
        })
        .await?
    }

    /// Puts a collection into the bin, with all its documents.
    pub async fn delete(&self, id: &str, by: &Actor) -> Result<(), CollectionError> {
        self.changed(self.0.store.delete(id, by).await).await
    }

    /// Gets a collection back from the bin.
    pub async fn restore(&self, id: &str, by: &Actor) -> Result<(), CollectionError> {
        self.changed(self.0.store.restore(id, by).await).await
    }

    /// Begins to remove a deleted collection for good: from now on it cannot be restored.
    pub(super) async fn begin_purge(&self, id: &str, by: &Actor) -> Result<(), CollectionError> {
        self.changed(self.0.store.begin_purge(id, by).await).await
    }

    /// Removes a collection for good, once its documents are purged. Returns whether it had none left.
    pub(super) async fn end_purge(&self, id: &str, by: &Actor) -> Result<bool, CollectionError> {
        let is_purged = self.0.store.end_purge(id, by).await?;
        self.publish().await?;
        Ok(is_purged)
    }

    /// Collections that have been in the bin for longer than this.
    pub async fn deleted_before(&self, age: Duration) -> Result<Vec<String>, CollectionError> {
        Ok(self.0.store.deleted_before(age).await?)
    }

    /// Publishes a change.
    async fn changed(&self, changed: Result<(), CollectionError>) -> Result<(), CollectionError> {
        changed?;
        self.publish().await
    }
}

/// Checks an id, which is chosen once.
fn check_id(id: &str) -> Result<(), CollectionError> {
    let is_slug = id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    let problem = if id == MINE {
        "`mine` means a user's own documents in queries; choose another id"
    } else if id.is_empty() || id.len() > MAX_ID_BYTES || !is_slug {
        "an id has 1 to 64 of the characters a-z, 0-9 and -, such as handbook"
    } else {
        return Ok(());
    };
    Err(CollectionError::Invalid(problem.to_owned()))
}

fn check_description(Description { name, description }: &Description) -> Result<(), CollectionError> {
    let is_line = |text: &str| !text.contains(char::is_control);
    let problem = if name.trim().is_empty() || name.len() > MAX_NAME_BYTES || !is_line(name) {
        format!("a name is one line of 1 to {MAX_NAME_BYTES} bytes")
    } else if description.len() > MAX_DESCRIPTION_BYTES || description.contains('\0') {
        format!("a description has at most {MAX_DESCRIPTION_BYTES} bytes, and no NUL")
    } else {
        return Ok(());
    };
    Err(CollectionError::Invalid(problem))
}
