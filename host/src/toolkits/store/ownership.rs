//! To whom a toolkit belongs, and what others may do with it.
//!
//! Invariants:
//! - a private toolkit is changed by its owner alone, and a shared one becomes private by its owner alone;
//! - whenever a toolkit gets another owner, what users have set for it is gone, and a line says who took it
//!   from whom: what was given to one owner's code is not given to another's unseen;
//! - an id stays its owner's when the toolkit is removed: removing it and deploying it anew is no way around these.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use kitbag_manifest::{ToolkitDefinition, Visibility};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, SqliteConnection};

use super::Store;
use crate::database;
use crate::toolkits::ToolkitError;

/// Whether an operator means to have a toolkit that is another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// No: another's toolkit is refused, unless its owner has released it.
    OwnOnly,
    /// Yes, in so many words.
    TakeOver,
}

/// A toolkit that has got another owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TakenOver {
    /// Who owned it before.
    pub from: String,
    /// Secrets of users that were set for it, and are gone.
    pub removed_secrets: u64,
    /// Settings of users for it that are gone.
    pub removed_settings: u64,
}

/// One line of a toolkit's history.
#[derive(Clone, Debug, Serialize, FromRow)]
#[serde(rename_all = "camelCase")]
pub struct OwnershipRecord {
    /// `released`, `kept`, `taken-over` or `removed`.
    pub event: String,
    /// The owner until then.
    pub owner_before: String,
    /// Who did it.
    pub by: String,
    /// RFC 3339, UTC.
    #[sqlx(try_from = "Millis")]
    pub at: String,
}

impl OwnershipRecord {
    pub(super) fn is_release(&self) -> bool {
        self.event == RELEASED
    }
}

/// Since 1970.
#[derive(sqlx::Type)]
#[sqlx(transparent)]
struct Millis(i64);

impl From<Millis> for String {
    fn from(Millis(at): Millis) -> Self {
        Timestamp::from_millisecond(at).unwrap_or_default().to_string()
    }
}

/// How many lines of a toolkit's history are shown, newest first.
const SHOWN_EVENTS: u32 = 50;

const RELEASED: &str = "released";
const KEPT: &str = "kept";
const TAKEN_OVER: &str = "taken-over";
const REMOVED: &str = "removed";

/// To whom a toolkit belongs at the moment, or belonged when it was removed.
pub(super) struct Standing {
    id: String,
    owner: String,
    /// Of the live version; one that was removed is like a shared one.
    visibility: Visibility,
    is_released: bool,
    is_removed: bool,
}

impl Standing {
    /// Of a toolkit; nothing where there is none.
    pub(super) async fn of(
        transaction: &mut SqliteConnection,
        id: &str,
    ) -> Result<Option<Self>, ToolkitError> {
        #[derive(FromRow)]
        struct Row {
            owner: String,
            manifest: String,
            last_event: Option<String>,
        }
        let row: Option<Row> = sqlx::query_as(
            "SELECT t.owner, v.manifest,
                    (SELECT event FROM toolkit_ownership WHERE toolkit_id = t.id
                     ORDER BY sequence DESC LIMIT 1) AS last_event
             FROM toolkits t
             JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version WHERE t.id = ?",
        )
        .bind(id)
        .fetch_optional(transaction)
        .await?;
        Ok(row.map(|row| Self {
            id: id.to_owned(),
            owner: row.owner,
            visibility: visibility(&row.manifest),
            is_released: row.last_event.as_deref() == Some(RELEASED),
            is_removed: false,
        }))
    }

    /// Of a toolkit that was removed; nothing where there never was one.
    pub(super) async fn of_removed(
        transaction: &mut SqliteConnection,
        id: &str,
    ) -> Result<Option<Self>, ToolkitError> {
        let owner: Option<String> = sqlx::query_scalar(
            "SELECT owner_before FROM toolkit_ownership WHERE toolkit_id = ? AND event = ?
             ORDER BY sequence DESC LIMIT 1",
        )
        .bind(id)
        .bind(REMOVED)
        .fetch_optional(transaction)
        .await?;
        Ok(owner.map(|owner| Self {
            id: id.to_owned(),
            owner,
            visibility: Visibility::Shared,
            is_released: false,
            is_removed: true,
        }))
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Allows `by` to make a version of this visibility live, or refuses it. The toolkit becomes theirs
    /// where they take it over, or need to own what its owner has released.
    pub(super) async fn admit_version(
        &self,
        transaction: &mut SqliteConnection,
        by: &str,
        visibility: Visibility,
        claim: Claim,
    ) -> Result<Option<TakenOver>, ToolkitError> {
        if self.owner == by {
            if self.is_released {
                self.note(transaction, KEPT, by).await?;
            }
            return Ok(None);
        }
        let needs_owner = self.visibility == Visibility::Private || visibility == Visibility::Private;
        match claim {
            Claim::TakeOver => self.transfer(transaction, by).await.map(Some),
            Claim::OwnOnly if needs_owner && self.is_released => {
                self.transfer(transaction, by).await.map(Some)
            }
            Claim::OwnOnly if needs_owner => Err(self.refusal()),
            Claim::OwnOnly => Ok(None),
        }
    }

    /// Allows `by` to remove the toolkit, or refuses it.
    pub(super) async fn admit_removal(
        &self,
        transaction: &mut SqliteConnection,
        by: &str,
    ) -> Result<(), ToolkitError> {
        if self.owner != by && self.visibility == Visibility::Private {
            return Err(self.refusal());
        }
        self.note(transaction, REMOVED, by).await
    }

    fn refusal(&self) -> ToolkitError {
        let (id, owner) = (self.id.clone(), self.owner.clone());
        if self.is_removed {
            ToolkitError::RemovedOfOther { id, owner }
        } else {
            ToolkitError::NotOwner { id, owner }
        }
    }

    async fn transfer(
        &self,
        transaction: &mut SqliteConnection,
        to: &str,
    ) -> Result<TakenOver, ToolkitError> {
        sqlx::query("UPDATE toolkits SET owner = ? WHERE id = ?")
            .bind(to)
            .bind(&self.id)
            .execute(&mut *transaction)
            .await?;
        let removed_secrets = self.delete(transaction, "DELETE FROM secrets WHERE toolkit_id = ?").await?;
        let removed_settings =
            self.delete(transaction, "DELETE FROM user_config WHERE toolkit_id = ?").await?;
        self.note(transaction, TAKEN_OVER, to).await?;
        Ok(TakenOver { from: self.owner.clone(), removed_secrets, removed_settings })
    }

    async fn delete(
        &self,
        transaction: &mut SqliteConnection,
        sql: &'static str,
    ) -> Result<u64, ToolkitError> {
        let deleted = sqlx::query(sql).bind(&self.id).execute(transaction).await?;
        Ok(deleted.rows_affected())
    }

    async fn note(
        &self,
        transaction: &mut SqliteConnection,
        event: &str,
        by: &str,
    ) -> Result<(), ToolkitError> {
        sqlx::query(
            "INSERT INTO toolkit_ownership (toolkit_id, event, owner_before, by_user, at) VALUES (?, ?, ?, ?, ?)",
        )
        .bind(&self.id)
        .bind(event)
        .bind(&self.owner)
        .bind(by)
        .bind(Timestamp::now().as_millisecond())
        .execute(transaction)
        .await?;
        Ok(())
    }
}

impl Store {
    /// Lets any operator have a toolkit of `by`.
    pub(in crate::toolkits) async fn release(&self, id: &str, by: &str) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin().await?;
        let standing = Standing::of(&mut transaction, id).await?;
        let standing = standing.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        if standing.owner != by {
            return Err(standing.refusal());
        }
        if !standing.is_released {
            standing.note(&mut transaction, RELEASED, by).await?;
            transaction.commit().await?;
        }
        Ok(())
    }

    /// Makes a toolkit of somebody else belong to `by`.
    pub(in crate::toolkits) async fn take_over(&self, id: &str, by: &str) -> Result<TakenOver, ToolkitError> {
        let mut transaction = self.0.begin().await?;
        let standing = Standing::of(&mut transaction, id).await?;
        let standing = standing.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        if standing.owner == by {
            return Err(ToolkitError::AlreadyOwner(id.to_owned()));
        }
        let taken_over = standing.transfer(&mut transaction, by).await?;
        transaction.commit().await?;
        Ok(taken_over)
    }

    /// What became of a toolkit's ownership, newest first.
    pub(super) async fn ownership(&self, id: &str) -> database::Result<Vec<OwnershipRecord>> {
        Ok(sqlx::query_as(
            "SELECT event, owner_before, by_user AS \"by\", at FROM toolkit_ownership
             WHERE toolkit_id = ? ORDER BY sequence DESC LIMIT ?",
        )
        .bind(id)
        .bind(SHOWN_EVENTS)
        .fetch_all(self.0.readers())
        .await?)
    }
}

/// What a stored manifest says; one that cannot be read is for its owner alone.
pub(super) fn visibility(manifest: &str) -> Visibility {
    let definition = serde_json::from_str::<ToolkitDefinition>(manifest);
    definition.map_or(Visibility::Private, |definition| definition.visibility)
}
