//! The owner of a toolkit, and the permissions of other operators.
//!
//! Invariants:
//! - only its owner can change a private toolkit, or make a shared one private;
//! - when another operator takes a toolkit over, users' secrets and settings for it are deleted, and the change is
//!   recorded: users gave them to the former owner's code, and the new owner's code must not get them
//!   unnoticed. A toolkit whose owner has left passes on with all of them (docs/decisions/0100);
//! - the owner retains the id when the toolkit is removed, so removing and redeploying it does not bypass
//!   these rules.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, refuse_ended, sql};
use kitbag_identity::revoke_keys_for;
use kitbag_manifest::{ToolkitDefinition, Visibility};
use serde::{Deserialize, Serialize};

use super::{code_tools, revisions};
use crate::error::ToolkitError;

/// Whether a deploy may take over another operator's toolkit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The deploy is refused, unless the owner has released the toolkit.
    OwnOnly,
    /// The operator has explicitly requested to take over the toolkit.
    TakeOver,
}

/// The result of a take-over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TakenOver {
    /// User id of the former owner.
    pub from: String,
    /// Number of users' secrets that were deleted.
    pub removed_secrets: u64,
    /// Number of users' settings that were deleted.
    pub removed_settings: u64,
}

/// One event in the history of a toolkit's ownership.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnershipRecord {
    /// Name of the event: `released`, `kept`, `taken-over`, `passed` or `removed`.
    pub event: String,
    /// The owner before the event.
    pub owner_before: String,
    /// The operator who caused the event.
    pub by: String,
    /// Time of the event: RFC 3339, UTC.
    pub at: String,
}

impl OwnershipRecord {
    pub(super) fn is_release(&self) -> bool {
        self.event == RELEASED
    }
}

/// Maximum number of events shown, newest first.
const MAX_SHOWN_EVENTS: u32 = 50;

const RELEASED: &str = "released";
const KEPT: &str = "kept";
const TAKEN_OVER: &str = "taken-over";
const PASSED: &str = "passed";
const REMOVED: &str = "removed";

/// The current ownership of a toolkit, or the ownership at its removal.
pub(super) struct CurrentOwnership {
    id: String,
    owner: String,
    /// Visibility of the live version; `Shared` for a removed toolkit.
    visibility: Visibility,
    is_released: bool,
    is_removed: bool,
}

impl CurrentOwnership {
    /// Reads the ownership of a toolkit; `None` if there is no such toolkit.
    pub(super) async fn of(transaction: &mut Transaction, id: &str) -> Result<Option<Self>, ToolkitError> {
        #[derive(FromRow)]
        struct Row {
            owner: String,
            manifest: String,
            last_event: Option<String>,
        }
        let row: Option<Row> = sql("SELECT t.owner, v.manifest,
                    (SELECT event FROM toolkit_ownership WHERE toolkit_id = t.id
                     ORDER BY sequence DESC LIMIT 1) AS last_event
             FROM toolkits t
             JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version WHERE t.id = $1")
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

    /// Reads the ownership of a removed toolkit; `None` if there never was one.
    async fn of_removed(transaction: &mut Transaction, id: &str) -> Result<Option<Self>, ToolkitError> {
        let owner: Option<String> =
            sql("SELECT owner_before FROM toolkit_ownership WHERE toolkit_id = $1 AND event = $2
             ORDER BY sequence DESC LIMIT 1")
            .bind(id)
            .bind(REMOVED)
            .fetch_optional_value(transaction)
            .await?;
        Ok(owner.map(|owner| Self {
            id: id.to_owned(),
            owner,
            visibility: Visibility::Shared,
            is_released: false,
            is_removed: true,
        }))
    }

    /// Reads the ownership of a toolkit, which may have been removed; `None` if there never was one.
    pub(super) async fn of_any(
        transaction: &mut Transaction,
        id: &str,
    ) -> Result<Option<Self>, ToolkitError> {
        match Self::of(transaction, id).await? {
            Some(ownership) => Ok(Some(ownership)),
            None => Self::of_removed(transaction, id).await,
        }
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether only the owner and the users of its audience may use the live version.
    pub(super) fn is_private(&self) -> bool {
        self.visibility == Visibility::Private
    }

    pub(super) fn is_released(&self) -> bool {
        self.is_released
    }

    /// Whether only the owner may make a version with this visibility live.
    pub(super) fn needs_owner(&self, visibility: Visibility) -> bool {
        self.visibility == Visibility::Private || visibility == Visibility::Private
    }

    /// Checks whether `by` may make a version with this visibility live. `by` becomes the owner by taking
    /// over the toolkit, or if it is released and the version needs its owner.
    pub(super) async fn admit_version(
        &self,
        transaction: &mut Transaction,
        by: &Actor,
        visibility: Visibility,
        claim: Claim,
    ) -> Result<Option<TakenOver>, ToolkitError> {
        if self.owner == by.user() {
            if self.is_released {
                self.record(transaction, KEPT, by.user()).await?;
            }
            return Ok(None);
        }
        let needs_owner = self.needs_owner(visibility);
        match claim {
            Claim::TakeOver => self.transfer(transaction, by).await.map(Some),
            Claim::OwnOnly if needs_owner && self.is_released => {
                self.transfer(transaction, by).await.map(Some)
            }
            Claim::OwnOnly if needs_owner => Err(self.refusal()),
            Claim::OwnOnly => Ok(None),
        }
    }

    /// Checks whether `by` may remove the toolkit, and records the removal.
    pub(super) async fn admit_removal(
        &self,
        transaction: &mut Transaction,
        by: &str,
    ) -> Result<(), ToolkitError> {
        self.admit_management(by)?;
        self.record(transaction, REMOVED, by).await
    }

    /// Checks whether `by` may change the audience of the toolkit.
    pub(super) fn admit_management(&self, by: &str) -> Result<(), ToolkitError> {
        if self.owner != by && self.visibility == Visibility::Private { Err(self.refusal()) } else { Ok(()) }
    }

    fn refusal(&self) -> ToolkitError {
        let id = self.id.clone();
        let owner = self.owner.clone();
        if self.is_removed {
            ToolkitError::RemovedOfOther { id, owner }
        } else {
            ToolkitError::NotOwner { id, owner }
        }
    }

    async fn transfer(&self, transaction: &mut Transaction, to: &Actor) -> Result<TakenOver, ToolkitError> {
        refuse_ended(transaction, to.user()).await?;
        sql("UPDATE toolkits SET owner = $1 WHERE id = $2")
            .bind(to.user())
            .bind(&self.id)
            .execute(&mut *transaction)
            .await?;
        let removed_secrets = self.change(transaction, "DELETE FROM secrets WHERE toolkit_id = $1").await?;
        let removed_settings =
            self.change(transaction, "DELETE FROM user_config WHERE toolkit_id = $1").await?;
        code_tools::forget(transaction, &self.id).await?;
        self.change(transaction, "DELETE FROM cached_values WHERE toolkit_id = $1").await?;
        // The operator vouched for the former owner's toolkit.
        self.change(transaction, "UPDATE toolkit_activations SET vouched = NULL WHERE toolkit_id = $1")
            .await?;
        revoke_keys_for(transaction, &self.id).await?;
        self.record(transaction, TAKEN_OVER, to.user()).await?;
        revisions::count_removal(transaction).await?;
        let taken_over = Entry::new(Act::ToolkitTakenOver, to).toolkit(self.id.as_str()).affects(&self.owner);
        audit::append(transaction, &taken_over).await?;
        Ok(TakenOver { from: self.owner.clone(), removed_secrets, removed_settings })
    }

    /// Makes `to` the owner after the present one has left. Nothing that users have given it is lost, and what they have
    /// agreed to counts for the new owner.
    async fn pass(&self, transaction: &mut Transaction, to: &Actor) -> Result<(), ToolkitError> {
        refuse_ended(transaction, to.user()).await?;
        sql("UPDATE toolkits SET owner = $1 WHERE id = $2")
            .bind(to.user())
            .bind(&self.id)
            .execute(&mut *transaction)
            .await?;
        sql("UPDATE consents SET owner = $1 WHERE toolkit_id = $2 AND owner = $3")
            .bind(to.user())
            .bind(&self.id)
            .bind(&self.owner)
            .execute(&mut *transaction)
            .await?;
        self.record(transaction, PASSED, to.user()).await?;
        let passed = Entry::new(Act::ToolkitPassed, to).toolkit(self.id.as_str()).affects(&self.owner);
        Ok(audit::append(transaction, &passed).await?)
    }

    /// Runs a statement about this toolkit. Returns the number of changed rows.
    async fn change(
        &self,
        transaction: &mut Transaction,
        statement: &'static str,
    ) -> Result<u64, ToolkitError> {
        Ok(sql(statement).bind(&self.id).execute(transaction).await?)
    }

    async fn record(&self, transaction: &mut Transaction, event: &str, by: &str) -> Result<(), ToolkitError> {
        sql(
            "INSERT INTO toolkit_ownership (toolkit_id, event, owner_before, by_user, at) VALUES ($1, $2, $3, $4, $5)",
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

/// Owners of toolkits, and the history of their ownership.
#[derive(Clone, Debug)]
pub(crate) struct OwnershipStore(Database);

impl OwnershipStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Releases a toolkit of `by`. See [`Owners::release`](crate::owners::Owners::release).
    pub(crate) async fn release(&self, id: &str, by: &Actor) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let ownership = CurrentOwnership::of(&mut transaction, id).await?;
        let ownership = ownership.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        if ownership.owner != by.user() {
            return Err(ownership.refusal());
        }
        if !ownership.is_released {
            refuse_ended(&mut transaction, by.user()).await?;
            ownership.record(&mut transaction, RELEASED, by.user()).await?;
            audit::append(&mut transaction, &Entry::new(Act::ToolkitReleased, by).toolkit(id)).await?;
            transaction.commit().await?;
        }
        Ok(())
    }

    /// Returns the ids of a user's toolkits.
    pub(crate) async fn owned(&self, user: &str) -> kitbag_database::Result<Vec<String>> {
        sql("SELECT id FROM toolkits WHERE owner = $1 ORDER BY id")
            .bind(user)
            .fetch_values(self.0.readers())
            .await
    }

    /// Makes `by` the owner of a toolkit of a user who has left. Returns whether it was theirs until then.
    pub(crate) async fn pass(&self, id: &str, from: &str, by: &Actor) -> Result<bool, ToolkitError> {
        // What is cached under the former owner would not be found any more.
        kitbag_vault::forget_most(&self.0, id).await?;
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let ownership = CurrentOwnership::of(&mut transaction, id).await?;
        let Some(ownership) = ownership.filter(|it| it.owner == from) else { return Ok(false) };
        ownership.pass(&mut transaction, by).await?;
        revisions::count_change(&mut transaction).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Makes `by` the owner of another operator's toolkit.
    pub(crate) async fn take_over(&self, id: &str, by: &Actor) -> Result<TakenOver, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let ownership = CurrentOwnership::of(&mut transaction, id).await?;
        let ownership = ownership.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        if ownership.owner == by.user() {
            return Err(ToolkitError::AlreadyOwner(id.to_owned()));
        }
        let taken_over = ownership.transfer(&mut transaction, by).await?;
        revisions::count_change(&mut transaction).await?;
        transaction.commit().await?;
        Ok(taken_over)
    }
}

/// Returns the history of a toolkit's ownership, newest first.
pub(super) async fn history(database: &Database, id: &str) -> kitbag_database::Result<Vec<OwnershipRecord>> {
    let rows: Vec<(String, String, String, i64)> =
        sql("SELECT event, owner_before, by_user, at FROM toolkit_ownership
             WHERE toolkit_id = $1 ORDER BY sequence DESC LIMIT $2")
        .bind(id)
        .bind(MAX_SHOWN_EVENTS)
        .fetch_all(database.readers())
        .await?;
    let records = rows.into_iter().map(|(event, owner_before, by, at)| {
        let at = Timestamp::from_millisecond(at).unwrap_or_default().to_string();
        OwnershipRecord { event, owner_before, by, at }
    });
    Ok(records.collect())
}

/// Returns the visibility in a stored manifest; `Private` if the manifest cannot be read.
pub(super) fn visibility(manifest: &str) -> Visibility {
    let definition = serde_json::from_str::<ToolkitDefinition>(manifest);
    definition.map_or(Visibility::Private, |definition| definition.visibility)
}
