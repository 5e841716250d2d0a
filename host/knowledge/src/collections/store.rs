//! All SQL about collections and their members.
//!
//! Invariant: every change is audited, and counts in `registry.collections`, in its transaction.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, ERASED_USER, FromRow, Holder, Scope, Transaction, refuse_ended, sql};
use kitbag_identity::Subject;

use super::{
    Collection, CollectionError, Description, Directory, LeftCollections, MAX_CREATED, MAX_GRANTS,
    Membership, PURGING, Role,
};
use crate::document::Deletion;

#[derive(FromRow)]
struct CollectionRow {
    id: String,
    name: String,
    description: String,
    created_by: String,
    created_at: i64,
    deleted_by: Option<String>,
    deleted_at: Option<i64>,
}

#[derive(FromRow)]
struct MemberRow {
    collection: String,
    user_id: String,
    group_name: String,
    role: String,
}

/// Collections and their members.
#[derive(Clone, Debug)]
pub(super) struct CollectionStore(Database);

impl Role {
    /// Name in the database.
    fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Curator => "curator",
        }
    }
}

impl From<MemberRow> for Membership {
    fn from(MemberRow { user_id, group_name, role, .. }: MemberRow) -> Self {
        let role = if role == Role::Curator.as_str() { Role::Curator } else { Role::Reader };
        Self { subject: Subject::of_columns(user_id, group_name), role }
    }
}

impl CollectionStore {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// All collections.
    pub(super) async fn directory(&self) -> kitbag_database::Result<Directory> {
        let mut snapshot = self.0.snapshot().await?;
        let generation = sql("SELECT collections FROM registry").fetch_value(&mut snapshot).await?;
        let rows: Vec<CollectionRow> = sql(
            "SELECT id, name, description, created_by, created_at, deleted_by, deleted_at FROM collections",
        )
        .fetch_all(&mut snapshot)
        .await?;
        let grants: Vec<MemberRow> =
            sql("SELECT collection, user_id, group_name, role FROM collection_grants")
                .fetch_all(&mut snapshot)
                .await?;
        snapshot.commit().await?;
        let mut members: HashMap<String, Vec<Membership>> = HashMap::new();
        for row in grants {
            members.entry(row.collection.clone()).or_default().push(row.into());
        }
        let collections = rows.into_iter().map(|row| {
            let mut members = members.remove(&row.id).unwrap_or_default();
            members.sort();
            Collection {
                id: row.id,
                name: row.name,
                description: row.description,
                created_by: row.created_by,
                created_at: row.created_at,
                deleted: row.deleted_by.zip(row.deleted_at).map(|(by, at)| Deletion { by, at }),
                members,
            }
        });
        Ok(Directory::new(generation, collections))
    }

    pub(super) async fn create(
        &self,
        id: &str,
        Description { name, description }: &Description,
        by: &Actor,
    ) -> Result<(), CollectionError> {
        let mut transaction = self.0.begin(Scope::Collections).await?;
        let created: i64 = sql("SELECT COUNT(*) FROM collections WHERE created_by = $1")
            .bind(by.user())
            .fetch_value(&mut transaction)
            .await?;
        if created >= MAX_CREATED {
            return Err(CollectionError::TooMany);
        }
        let added = sql("INSERT INTO collections (id, name, description, created_by, created_at)
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING")
        .bind(id)
        .bind(name)
        .bind(description)
        .bind(by.user())
        .bind(now())
        .execute(&mut transaction)
        .await?;
        if added == 0 {
            return Err(CollectionError::Exists(id.to_owned()));
        }
        let curator = Membership { subject: Subject::User(by.user().to_owned()), role: Role::Curator };
        put_member(&mut transaction, id, &curator, by).await?;
        commit(transaction, &Entry::new(Act::CollectionCreated, by).name(id)).await
    }

    pub(super) async fn describe(
        &self,
        id: &str,
        Description { name, description }: &Description,
        by: &Actor,
    ) -> Result<(), CollectionError> {
        let mut transaction = self.0.begin(Scope::Collections).await?;
        let changed = sql("UPDATE collections SET name = $2, description = $3
             WHERE id = $1 AND deleted_at IS NULL")
        .bind(id)
        .bind(name)
        .bind(description)
        .execute(&mut transaction)
        .await?;
        expect_one(changed, id)?;
        commit(transaction, &Entry::new(Act::CollectionDescribed, by).name(id)).await
    }

    pub(super) async fn share(
        &self,
        id: &str,
        members: &[Membership],
        by: &Actor,
    ) -> Result<(), CollectionError> {
        let mut transaction = self.begin(id).await?;
        for member in members {
            if put_member(&mut transaction, id, member, by).await? {
                let words = format!("{id} {} {}", member.subject, member.role.as_str());
                let entry = Entry::new(Act::CollectionShared, by).name(&words);
                audit::append(&mut transaction, &entry).await?;
            }
        }
        let (all, curators) = count(&mut transaction, id).await?;
        if all > MAX_GRANTS {
            return Err(CollectionError::TooManyGrants);
        }
        if curators == 0 {
            let with = members.last().map(|member| member.subject.to_string()).unwrap_or_default();
            return Err(CollectionError::LastCurator { id: id.to_owned(), with });
        }
        count_change(&mut transaction).await?;
        Ok(transaction.commit().await?)
    }

    pub(super) async fn unshare(
        &self,
        id: &str,
        subject: &Subject,
        by: &Actor,
    ) -> Result<(), CollectionError> {
        let mut transaction = self.begin(id).await?;
        let removed = remove_member(&mut transaction, id, subject).await?;
        let with = subject.to_string();
        if removed == 0 {
            return Err(CollectionError::NotShared { id: id.to_owned(), with });
        }
        if count(&mut transaction, id).await?.1 == 0 {
            return Err(CollectionError::LastCurator { id: id.to_owned(), with });
        }
        let words = format!("{id} {with}");
        commit(transaction, &Entry::new(Act::CollectionUnshared, by).name(&words)).await
    }

    pub(super) async fn take_over(&self, id: &str, by: &Actor) -> Result<(), CollectionError> {
        let mut transaction = self.begin(id).await?;
        let curator = Membership { subject: Subject::User(by.user().to_owned()), role: Role::Curator };
        put_member(&mut transaction, id, &curator, by).await?;
        commit(transaction, &Entry::new(Act::CollectionTakenOver, by).name(id)).await
    }

    /// Ends the memberships of a user, a transaction for each. `by` becomes the curator of what nobody else keeps.
    pub(super) async fn leave(&self, user: &str, by: &Actor) -> Result<LeftCollections, CollectionError> {
        let ids: Vec<String> =
            sql("SELECT collection FROM collection_grants WHERE user_id = $1 ORDER BY collection")
                .bind(user)
                .fetch_values(self.0.readers())
                .await?;
        let subject = Subject::User(user.to_owned());
        let mut left = LeftCollections::default();
        for id in ids {
            let mut transaction = self.0.begin(Scope::Collections).await?;
            refuse_ended(&mut transaction, by.user()).await?;
            if remove_member(&mut transaction, &id, &subject).await? == 0 {
                continue;
            }
            let words = format!("{id} {subject}");
            let unshared = Entry::new(Act::CollectionUnshared, by).name(&words);
            audit::append(&mut transaction, &unshared).await?;
            if count(&mut transaction, &id).await?.1 == 0 {
                let curator =
                    Membership { subject: Subject::User(by.user().to_owned()), role: Role::Curator };
                put_member(&mut transaction, &id, &curator, by).await?;
                let taken_over = Entry::new(Act::CollectionTakenOver, by).name(&id);
                audit::append(&mut transaction, &taken_over).await?;
                left.passed.push(id.clone());
            }
            count_change(&mut transaction).await?;
            transaction.commit().await?;
            left.ids.push(id);
        }
        Ok(left)
    }

    /// Replaces the name of a user who made, deleted or shared collections. Returns the number of changed rows.
    pub(super) async fn anonymise(&self, user: &str) -> Result<u64, CollectionError> {
        let mut transaction = self.0.begin(Scope::Collections).await?;
        let mut changed = 0;
        for statement in [
            "UPDATE collections SET created_by = $2 WHERE created_by = $1",
            "UPDATE collections SET deleted_by = $2 WHERE deleted_by = $1",
            "UPDATE collection_grants SET shared_by = $2 WHERE shared_by = $1",
        ] {
            changed += sql(statement).bind(user).bind(ERASED_USER).execute(&mut transaction).await?;
        }
        if changed > 0 {
            count_change(&mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(changed)
    }

    pub(super) async fn delete(&self, id: &str, by: &Actor) -> Result<(), CollectionError> {
        let mut transaction = self.0.begin(Scope::Collections).await?;
        let deleted = sql("UPDATE collections SET deleted_by = $2, deleted_at = $3
             WHERE id = $1 AND deleted_at IS NULL")
        .bind(id)
        .bind(by.user())
        .bind(now())
        .execute(&mut transaction)
        .await?;
        expect_one(deleted, id)?;
        commit(transaction, &Entry::new(Act::CollectionDeleted, by).name(id)).await
    }

    pub(super) async fn restore(&self, id: &str, by: &Actor) -> Result<(), CollectionError> {
        let mut transaction = self.0.begin(Scope::Collections).await?;
        let restored = sql("UPDATE collections SET deleted_by = NULL, deleted_at = NULL
             WHERE id = $1 AND deleted_at > 0")
        .bind(id)
        .execute(&mut transaction)
        .await?;
        expect_one(restored, id)?;
        commit(transaction, &Entry::new(Act::CollectionRestored, by).name(id)).await
    }

    /// Begins to remove a deleted collection for good: from now on it cannot be restored.
    pub(super) async fn begin_purge(&self, id: &str, by: &Actor) -> Result<(), CollectionError> {
        let mut transaction = self.0.begin(Scope::Collections).await?;
        refuse_ended(&mut transaction, by.user()).await?;
        let begun = sql("UPDATE collections SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NOT NULL")
            .bind(id)
            .bind(PURGING)
            .execute(&mut transaction)
            .await?;
        expect_one(begun, id)?;
        count_change(&mut transaction).await?;
        Ok(transaction.commit().await?)
    }

    /// Removes a collection whose documents are purged. Returns whether it had none left.
    pub(super) async fn end_purge(&self, id: &str, by: &Actor) -> Result<bool, CollectionError> {
        let holder = Holder::collection(id);
        let bin = holder.bin();
        // Whoever adds a document has the same lock, and looks whether the collection is there.
        let mut transaction = self.0.begin(Scope::Holders(&[&holder, &bin])).await?;
        let has_some: bool = sql("SELECT EXISTS (SELECT 1 FROM documents WHERE holder IN ($1, $2))")
            .bind(&holder)
            .bind(&bin)
            .fetch_value(&mut transaction)
            .await?;
        if has_some {
            return Ok(false);
        }
        let purged = sql("DELETE FROM collections WHERE id = $1 AND deleted_at = $2")
            .bind(id)
            .bind(PURGING)
            .execute(&mut transaction)
            .await?;
        expect_one(purged, id)?;
        commit(transaction, &Entry::new(Act::CollectionPurged, by).name(id)).await?;
        Ok(true)
    }

    pub(super) async fn deleted_before(&self, age: Duration) -> kitbag_database::Result<Vec<String>> {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        sql("SELECT id FROM collections WHERE deleted_at < $1")
            .bind(now().saturating_sub(age))
            .fetch_values(self.0.readers())
            .await
    }

    /// Begins a transaction about a collection that is not deleted.
    async fn begin(&self, id: &str) -> Result<Transaction, CollectionError> {
        let mut transaction = self.0.begin(Scope::Collections).await?;
        let is_there: bool =
            sql("SELECT EXISTS (SELECT 1 FROM collections WHERE id = $1 AND deleted_at IS NULL)")
                .bind(id)
                .fetch_value(&mut transaction)
                .await?;
        if is_there { Ok(transaction) } else { Err(CollectionError::Unknown(id.to_owned())) }
    }
}

/// Adds a member, or changes its role. Returns whether anything changed.
async fn put_member(
    transaction: &mut Transaction,
    id: &str,
    Membership { subject, role }: &Membership,
    by: &Actor,
) -> kitbag_database::Result<bool> {
    refuse_ended(transaction, by.user()).await?;
    let (user, group) = subject.columns();
    let written =
        sql("INSERT INTO collection_grants (collection, user_id, group_name, role, shared_by, shared_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (collection, user_id, group_name) DO UPDATE SET
             role = excluded.role, shared_by = excluded.shared_by, shared_at = excluded.shared_at
         WHERE collection_grants.role <> excluded.role")
        .bind(id)
        .bind(user)
        .bind(group)
        .bind(role.as_str())
        .bind(by.user())
        .bind(now())
        .execute(transaction)
        .await?;
    Ok(written > 0)
}

/// Removes a member. Returns the number of removed rows.
async fn remove_member(
    transaction: &mut Transaction,
    id: &str,
    subject: &Subject,
) -> kitbag_database::Result<u64> {
    let (user, group) = subject.columns();
    sql("DELETE FROM collection_grants WHERE collection = $1 AND user_id = $2 AND group_name = $3")
        .bind(id)
        .bind(user)
        .bind(group)
        .execute(transaction)
        .await
}

/// Number of members, and of curators.
async fn count(transaction: &mut Transaction, id: &str) -> kitbag_database::Result<(usize, usize)> {
    let (all, curators): (i64, i64) = sql("SELECT COUNT(*), COUNT(CASE WHEN role = 'curator' THEN 1 END)
         FROM collection_grants WHERE collection = $1")
    .bind(id)
    .fetch_one(transaction)
    .await?;
    let number = |count| usize::try_from(count).unwrap_or(usize::MAX);
    Ok((number(all), number(curators)))
}

/// Counts a change, records it, and commits, unless the user who made it was ended.
async fn commit(mut transaction: Transaction, entry: &Entry<'_>) -> Result<(), CollectionError> {
    refuse_ended(&mut transaction, entry.actor().user()).await?;
    count_change(&mut transaction).await?;
    audit::append(&mut transaction, entry).await?;
    Ok(transaction.commit().await?)
}

async fn count_change(transaction: &mut Transaction) -> kitbag_database::Result<()> {
    sql("UPDATE registry SET collections = collections + 1").execute(transaction).await?;
    Ok(())
}

fn expect_one(changed: u64, id: &str) -> Result<(), CollectionError> {
    if changed > 0 { Ok(()) } else { Err(CollectionError::Unknown(id.to_owned())) }
}

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
