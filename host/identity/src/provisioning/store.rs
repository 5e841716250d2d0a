//! All SQL about provisioned users and groups. Times are milliseconds since 1970.

use std::collections::BTreeSet;

use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, Executor, FromRow, Scope, Transaction, list, sql};
use serde_json::Map;

use super::{
    GroupChange, MemberChange, Page, ProvisionedGroup, ProvisionedUser, Provisioner, ProvisioningError,
    ProvisioningLimits, Selection, UserContent, new_id, now, time,
};
use crate::groups::{Groups, MAX_GROUPS};
use crate::users::{DEACTIVATED, Ended, Until, Users};

/// The provisioned users and groups.
#[derive(Clone, Debug)]
pub(super) struct Store {
    database: Database,
    users: Users,
    limits: ProvisioningLimits,
}

#[derive(Clone, FromRow)]
struct UserRow {
    id: String,
    user_id: String,
    user_name: String,
    external_id: Option<String>,
    is_active: bool,
    attributes: String,
    created_at: i64,
    changed_at: i64,
}

#[derive(Clone, FromRow)]
struct GroupRow {
    id: String,
    name: String,
    external_id: Option<String>,
    created_at: i64,
    changed_at: i64,
}

/// Changes of accesses that a transaction makes, which take effect after its commit.
#[derive(Default)]
struct AccessChanges {
    ended: Vec<(String, Ended)>,
    is_reactivated: bool,
}

/// Returns the groups of a user who is provisioned and active; none if there are more than may count.
pub(crate) async fn groups_of(
    executor: impl Into<Executor<'_>>,
    user: &str,
) -> kitbag_database::Result<Groups> {
    let limit = i64::try_from(MAX_GROUPS + 1).unwrap_or(i64::MAX);
    let names: Vec<String> = sql("SELECT g.name FROM scim_users u
             JOIN scim_members m ON m.member_id = u.id JOIN scim_groups g ON g.id = m.group_id
         WHERE u.user_id = $1 AND u.is_active LIMIT $2")
    .bind(user)
    .bind(limit)
    .fetch_values(executor)
    .await?;
    if names.len() > MAX_GROUPS { Ok(Groups::default()) } else { Ok(names.into_iter().collect()) }
}

impl Store {
    pub(super) fn new(database: Database, users: Users, limits: ProvisioningLimits) -> Self {
        Self { database, users, limits }
    }

    /// Begins a transaction, of which there is one at a time: what it reads is as it is until its commit.
    async fn begin(&self) -> Result<Transaction, ProvisioningError> {
        Ok(self.database.begin(Scope::Sessions).await?)
    }

    /// Deactivates users whom the provider has deactivated, and reactivates all others; without provisioning, reactivates
    /// all.
    pub(super) async fn align(&self, is_on: bool) -> kitbag_database::Result<()> {
        let by = Actor::server();
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        let mut changes = AccessChanges::default();
        if is_on {
            let inactive: Vec<String> = sql("SELECT s.user_id FROM scim_users s
                 WHERE NOT s.is_active AND NOT EXISTS
                     (SELECT 1 FROM users u WHERE u.user_id = s.user_id AND u.ended_at = $1)")
            .bind(DEACTIVATED)
            .fetch_values(&mut transaction)
            .await?;
            for user in inactive {
                changes.deactivate(&self.users, &mut transaction, &user, &by).await?;
            }
        } else {
            let deactivated: Vec<String> = sql("SELECT user_id FROM users WHERE ended_at = $1")
                .bind(DEACTIVATED)
                .fetch_values(&mut transaction)
                .await?;
            for user in deactivated {
                changes.reactivate(&self.users, &mut transaction, &user, &by).await?;
            }
        }
        transaction.commit().await?;
        self.apply(changes).await;
        Ok(())
    }

    pub(super) async fn count_users(&self, of: &Selection) -> kitbag_database::Result<u64> {
        let (condition, value) = user_condition(of);
        let statement = format!("SELECT COUNT(*) FROM scim_users WHERE {condition}");
        let count: i64 = sql(kitbag_database::AssertSqlSafe(statement))
            .bind(value)
            .fetch_value(self.database.readers())
            .await?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    pub(super) async fn users(
        &self,
        of: &Selection,
        page: Page<'_>,
    ) -> kitbag_database::Result<Vec<ProvisionedUser>> {
        let (condition, value) = user_condition(of);
        let statement = format!(
            "SELECT id, user_id, user_name, external_id, is_active, attributes, created_at, changed_at
             FROM scim_users WHERE {condition} AND id > $2 ORDER BY id LIMIT $3 OFFSET $4"
        );
        let rows: Vec<UserRow> = sql(kitbag_database::AssertSqlSafe(statement))
            .bind(value)
            .bind(page.after)
            .bind(page.limit)
            .bind(page.offset)
            .fetch_all(self.database.readers())
            .await?;
        Ok(rows.into_iter().map(ProvisionedUser::from).collect())
    }

    pub(super) async fn create_user(
        &self,
        content: UserContent,
        user_id: String,
        by: &Actor,
    ) -> Result<ProvisionedUser, ProvisioningError> {
        let mut transaction = self.begin().await?;
        let count: i64 = sql("SELECT COUNT(*) FROM scim_users").fetch_value(&mut transaction).await?;
        if count >= i64::from(self.limits.users) {
            return Err(ProvisioningError::Full("users"));
        }
        let now = now();
        let row = UserRow::new(new_id(), content, user_id, now);
        row.expect_unique(&mut transaction).await?;
        sql("INSERT INTO scim_users (id, user_id, user_name, user_name_key, external_id, is_active, attributes,
                 created_at, changed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)")
        .bind(&row.id)
        .bind(&row.user_id)
        .bind(&row.user_name)
        .bind(row.user_name.to_lowercase())
        .bind(&row.external_id)
        .bind(row.is_active)
        .bind(&row.attributes)
        .bind(now)
        .execute(&mut transaction)
        .await?;
        let entry = Entry::new(Act::UserProvisioned, by).affects(&row.user_id);
        audit::append(&mut transaction, &entry.name("added")).await?;
        let mut changes = AccessChanges::default();
        changes.follow(&self.users, &mut transaction, &row, by).await?;
        transaction.commit().await?;
        self.apply(changes).await;
        Ok(row.into())
    }

    pub(super) async fn change_user<E: From<ProvisioningError>>(
        &self,
        id: &str,
        provisioner: &Provisioner,
        change: impl FnOnce(&ProvisionedUser) -> Result<UserContent, E>,
    ) -> Result<ProvisionedUser, E> {
        let mut transaction = self.begin().await?;
        let before = user_row(&mut transaction, id).await?;
        let content = change(&before.clone().into())?;
        let user_id = provisioner.checked(&content)?;
        let row = UserRow {
            created_at: before.created_at,
            changed_at: before.changed_at,
            ..UserRow::new(before.id.clone(), content, user_id, now())
        };
        Ok(self.store_user(transaction, &before, row, &provisioner.by).await?)
    }

    /// Stores a user in place of `before`.
    async fn store_user(
        &self,
        mut transaction: Transaction,
        before: &UserRow,
        mut row: UserRow,
        by: &Actor,
    ) -> Result<ProvisionedUser, ProvisioningError> {
        let mut changes = AccessChanges::default();
        if row.differs(before) {
            row.expect_unique(&mut transaction).await?;
            row.changed_at = now();
            sql("UPDATE scim_users SET user_id = $2, user_name = $3, user_name_key = $4, external_id = $5,
                     is_active = $6, attributes = $7, changed_at = $8 WHERE id = $1")
            .bind(&row.id)
            .bind(&row.user_id)
            .bind(&row.user_name)
            .bind(row.user_name.to_lowercase())
            .bind(&row.external_id)
            .bind(row.is_active)
            .bind(&row.attributes)
            .bind(row.changed_at)
            .execute(&mut transaction)
            .await?;
            let entry = Entry::new(Act::UserProvisioned, by).affects(&row.user_id);
            audit::append(&mut transaction, &entry.name("changed")).await?;
        }
        if before.user_id != row.user_id {
            changes.deactivate(&self.users, &mut transaction, &before.user_id, by).await?;
        }
        changes.follow(&self.users, &mut transaction, &row, by).await?;
        transaction.commit().await?;
        self.apply(changes).await;
        Ok(row.into())
    }

    pub(super) async fn delete_user(&self, id: &str, by: &Actor) -> Result<(), ProvisioningError> {
        let mut transaction = self.begin().await?;
        let row = user_row(&mut transaction, id).await?;
        sql("DELETE FROM scim_users WHERE id = $1").bind(id).execute(&mut transaction).await?;
        let mut changes = AccessChanges::default();
        changes.deactivate(&self.users, &mut transaction, &row.user_id, by).await?;
        let entry = Entry::new(Act::UserDeprovisioned, by).affects(&row.user_id);
        audit::append(&mut transaction, &entry).await?;
        transaction.commit().await?;
        self.apply(changes).await;
        Ok(())
    }

    pub(super) async fn count_groups(&self, of: &Selection) -> kitbag_database::Result<u64> {
        let (condition, value) = group_condition(of);
        let statement = format!("SELECT COUNT(*) FROM scim_groups WHERE {condition}");
        let count: i64 = sql(kitbag_database::AssertSqlSafe(statement))
            .bind(value)
            .fetch_value(self.database.readers())
            .await?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    pub(super) async fn groups(
        &self,
        of: &Selection,
        page: Page<'_>,
    ) -> kitbag_database::Result<Vec<ProvisionedGroup>> {
        let (condition, value) = group_condition(of);
        let statement = format!(
            "SELECT id, name, external_id, created_at, changed_at FROM scim_groups
             WHERE {condition} AND id > $2 ORDER BY id LIMIT $3 OFFSET $4"
        );
        let rows: Vec<GroupRow> = sql(kitbag_database::AssertSqlSafe(statement))
            .bind(value)
            .bind(page.after)
            .bind(page.limit)
            .bind(page.offset)
            .fetch_all(self.database.readers())
            .await?;
        Ok(rows.into_iter().map(ProvisionedGroup::from).collect())
    }

    pub(super) async fn members(&self, group: &str) -> kitbag_database::Result<Vec<String>> {
        sql("SELECT member_id FROM scim_members WHERE group_id = $1 ORDER BY member_id")
            .bind(group)
            .fetch_values(self.database.readers())
            .await
    }

    /// Groups with the numbers of their active members, by name.
    pub(super) async fn group_sizes(&self) -> kitbag_database::Result<Vec<(String, i64)>> {
        sql("SELECT g.name, COUNT(u.id) FROM scim_groups g LEFT JOIN scim_members m ON m.group_id = g.id
                 LEFT JOIN scim_users u ON u.id = m.member_id AND u.is_active
             GROUP BY g.name ORDER BY g.name")
        .fetch_all(self.database.readers())
        .await
    }

    pub(super) async fn create_group(
        &self,
        change: GroupChange,
        by: &Actor,
    ) -> Result<ProvisionedGroup, ProvisioningError> {
        let mut transaction = self.begin().await?;
        let count: i64 = sql("SELECT COUNT(*) FROM scim_groups").fetch_value(&mut transaction).await?;
        if count >= i64::from(self.limits.groups) {
            return Err(ProvisioningError::Full("groups"));
        }
        let now = now();
        let row = GroupRow {
            id: new_id(),
            name: change.name.unwrap_or_default(),
            external_id: change.external_id.flatten(),
            created_at: now,
            changed_at: now,
        };
        row.expect_unique(&mut transaction).await?;
        sql("INSERT INTO scim_groups (id, name, external_id, created_at, changed_at) VALUES ($1, $2, $3, $4, $4)")
            .bind(&row.id)
            .bind(&row.name)
            .bind(&row.external_id)
            .bind(now)
            .execute(&mut transaction)
            .await?;
        let entry = Entry::new(Act::GroupProvisioned, by).name(&row.name);
        audit::append(&mut transaction, &entry).await?;
        self.change_members(&mut transaction, &row, &change.members, by).await?;
        transaction.commit().await?;
        Ok(row.into())
    }

    pub(super) async fn change_group(
        &self,
        id: &str,
        change: GroupChange,
        by: &Actor,
    ) -> Result<ProvisionedGroup, ProvisioningError> {
        let mut transaction = self.database.begin(Scope::Sessions).await?;
        let before = group_row(&mut transaction, id).await?;
        let mut row = before.clone();
        row.name = change.name.unwrap_or(row.name);
        row.external_id = change.external_id.unwrap_or(row.external_id);
        let is_renamed = row.name != before.name;
        if is_renamed {
            row.expect_unique(&mut transaction).await?;
            let what = format!("{} → {}", before.name, row.name);
            let entry = Entry::new(Act::GroupProvisioned, by).name(&what);
            audit::append(&mut transaction, &entry).await?;
        }
        let are_changed = self.change_members(&mut transaction, &row, &change.members, by).await?;
        if is_renamed || are_changed || row.external_id != before.external_id {
            row.changed_at = now();
            sql("UPDATE scim_groups SET name = $2, external_id = $3, changed_at = $4 WHERE id = $1")
                .bind(&row.id)
                .bind(&row.name)
                .bind(&row.external_id)
                .bind(row.changed_at)
                .execute(&mut transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(row.into())
    }

    pub(super) async fn delete_group(&self, id: &str, by: &Actor) -> Result<(), ProvisioningError> {
        let mut transaction = self.begin().await?;
        let row = group_row(&mut transaction, id).await?;
        sql("DELETE FROM scim_groups WHERE id = $1").bind(id).execute(&mut transaction).await?;
        let entry = Entry::new(Act::GroupDeprovisioned, by).name(&row.name);
        audit::append(&mut transaction, &entry).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Changes the members of a group, and records each. Returns whether anything is different.
    async fn change_members(
        &self,
        transaction: &mut Transaction,
        group: &GroupRow,
        members: &[MemberChange],
        by: &Actor,
    ) -> Result<bool, ProvisioningError> {
        if members.is_empty() {
            return Ok(false);
        }
        let before: Vec<String> = sql("SELECT member_id FROM scim_members WHERE group_id = $1")
            .bind(&group.id)
            .fetch_values(&mut *transaction)
            .await?;
        let before: BTreeSet<String> = before.into_iter().collect();
        let mut after = before.clone();
        for change in members {
            match change {
                MemberChange::Add(ids) => after.extend(ids.iter().cloned()),
                MemberChange::Remove(ids) => {
                    for id in ids {
                        after.remove(id);
                    }
                }
                MemberChange::Replace(ids) => after = ids.iter().cloned().collect(),
            }
            // Not only at the end: the set is bounded at each step.
            if after.len() > self.limits.members as usize {
                return Err(ProvisioningError::Full("members of this group"));
            }
        }
        let added: Vec<&String> = after.difference(&before).collect();
        let removed: Vec<&String> = before.difference(&after).collect();
        let added_users = user_ids(transaction, &added).await?;
        if added_users.len() != added.len() {
            let why = "a member is no user that was provisioned here; groups have no groups as members";
            return Err(ProvisioningError::Invalid(why.to_owned()));
        }
        sql("INSERT INTO scim_members (group_id, member_id) SELECT $1, value FROM json_each($2)")
            .bind(&group.id)
            .bind(list(&added))
            .execute(&mut *transaction)
            .await?;
        let removed_users = user_ids(transaction, &removed).await?;
        sql(
            "DELETE FROM scim_members WHERE group_id = $1 AND member_id IN (SELECT value FROM json_each($2))",
        )
        .bind(&group.id)
        .bind(list(&removed))
        .execute(&mut *transaction)
        .await?;
        for (act, users) in [(Act::GroupMemberAdded, added_users), (Act::GroupMemberRemoved, removed_users)] {
            for user in users {
                audit::append(transaction, &Entry::new(act, by).name(&group.name).affects(&user)).await?;
            }
        }
        Ok(before != after)
    }

    /// Makes changes of accesses that were committed take effect in this process.
    async fn apply(&self, changes: AccessChanges) {
        for (user, ended) in changes.ended {
            self.users.apply(&user, ended).await;
        }
        if changes.is_reactivated
            && let Err(cause) = self.users.publish().await
        {
            // The next request reads it again: the number of ends has changed.
            tracing::warn!(%cause, "a user is not reactivated in this process yet");
        }
    }
}

impl AccessChanges {
    /// Makes the access of a user agree with the row.
    async fn follow(
        &mut self,
        users: &Users,
        transaction: &mut Transaction,
        row: &UserRow,
        by: &Actor,
    ) -> kitbag_database::Result<()> {
        if row.is_active {
            self.reactivate(users, transaction, &row.user_id, by).await
        } else {
            self.deactivate(users, transaction, &row.user_id, by).await
        }
    }

    async fn deactivate(
        &mut self,
        users: &Users,
        transaction: &mut Transaction,
        user: &str,
        by: &Actor,
    ) -> kitbag_database::Result<()> {
        let ended = users.end_in(transaction, user, by, Until::Reactivation).await?;
        self.ended.push((user.to_owned(), ended));
        Ok(())
    }

    async fn reactivate(
        &mut self,
        users: &Users,
        transaction: &mut Transaction,
        user: &str,
        by: &Actor,
    ) -> kitbag_database::Result<()> {
        self.is_reactivated |= users.reactivate_in(transaction, user, by).await?;
        Ok(())
    }
}

impl UserRow {
    fn new(id: String, content: UserContent, user_id: String, now: i64) -> Self {
        let UserContent { user_name, external_id, is_active, attributes } = content;
        let attributes = serde_json::to_string(&attributes).expect("it is JSON");
        Self { id, user_id, user_name, external_id, is_active, attributes, created_at: now, changed_at: now }
    }

    fn differs(&self, before: &Self) -> bool {
        let of =
            |row: &Self| (row.user_id.clone(), row.user_name.clone(), row.external_id.clone(), row.is_active);
        of(self) != of(before) || self.attributes != before.attributes
    }

    /// Fails if another user has the same user name, or the same id in tokens.
    async fn expect_unique(&self, transaction: &mut Transaction) -> Result<(), ProvisioningError> {
        let others: Vec<(String, String)> = sql("SELECT user_id, user_name_key FROM scim_users
             WHERE id <> $1 AND (user_id = $2 OR user_name_key = $3)")
        .bind(&self.id)
        .bind(&self.user_id)
        .bind(self.user_name.to_lowercase())
        .fetch_all(transaction)
        .await?;
        match others.first() {
            None => Ok(()),
            Some((user_id, _)) if *user_id == self.user_id => {
                Err(ProvisioningError::Conflict("id in tokens (setting scim-user-id)"))
            }
            Some(_) => Err(ProvisioningError::Conflict("userName")),
        }
    }
}

impl GroupRow {
    /// Fails if another group has the same name.
    async fn expect_unique(&self, transaction: &mut Transaction) -> Result<(), ProvisioningError> {
        if self.name.is_empty() {
            return Err(ProvisioningError::Invalid("displayName is needed".to_owned()));
        }
        let is_taken: bool = sql("SELECT EXISTS (SELECT 1 FROM scim_groups WHERE id <> $1 AND name = $2)")
            .bind(&self.id)
            .bind(&self.name)
            .fetch_value(transaction)
            .await?;
        if is_taken { Err(ProvisioningError::Conflict("displayName")) } else { Ok(()) }
    }
}

async fn user_row(transaction: &mut Transaction, id: &str) -> Result<UserRow, ProvisioningError> {
    let row: Option<UserRow> =
        sql("SELECT id, user_id, user_name, external_id, is_active, attributes, created_at, changed_at
             FROM scim_users WHERE id = $1")
        .bind(id)
        .fetch_optional(transaction)
        .await?;
    row.ok_or(ProvisioningError::Unknown("user"))
}

async fn group_row(transaction: &mut Transaction, id: &str) -> Result<GroupRow, ProvisioningError> {
    let row: Option<GroupRow> =
        sql("SELECT id, name, external_id, created_at, changed_at FROM scim_groups WHERE id = $1")
            .bind(id)
            .fetch_optional(transaction)
            .await?;
    row.ok_or(ProvisioningError::Unknown("group"))
}

/// Returns the ids in tokens of those of these users who exist.
async fn user_ids(transaction: &mut Transaction, ids: &[&String]) -> kitbag_database::Result<Vec<String>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    sql("SELECT user_id FROM scim_users WHERE id IN (SELECT value FROM json_each($1)) ORDER BY user_id")
        .bind(list(ids))
        .fetch_values(transaction)
        .await
}

/// Condition of a selection of users, and the value of its parameter `$1`.
fn user_condition(of: &Selection) -> (&'static str, String) {
    match of {
        Selection::All => ("$1 = ''", String::new()),
        Selection::Id(id) => ("id = $1", id.clone()),
        Selection::Name(name) => ("user_name_key = $1", name.to_lowercase()),
        Selection::ExternalId(id) => ("external_id = $1", id.clone()),
        Selection::Member(_) => ("$1 <> ''", String::new()),
    }
}

/// Condition of a selection of groups, and the value of its parameter `$1`.
fn group_condition(of: &Selection) -> (&'static str, String) {
    match of {
        Selection::All => ("$1 = ''", String::new()),
        Selection::Id(id) => ("id = $1", id.clone()),
        Selection::Name(name) => ("LOWER(name) = LOWER($1)", name.clone()),
        Selection::ExternalId(id) => ("external_id = $1", id.clone()),
        Selection::Member(id) => {
            ("EXISTS (SELECT 1 FROM scim_members m WHERE m.group_id = id AND m.member_id = $1)", id.clone())
        }
    }
}

impl From<UserRow> for ProvisionedUser {
    fn from(row: UserRow) -> Self {
        let attributes = serde_json::from_str(&row.attributes).unwrap_or_else(|_| Map::new());
        Self {
            id: row.id,
            content: UserContent {
                user_name: row.user_name,
                external_id: row.external_id,
                is_active: row.is_active,
                attributes,
            },
            created_at: time(row.created_at),
            changed_at: time(row.changed_at),
        }
    }
}

impl From<GroupRow> for ProvisionedGroup {
    fn from(row: GroupRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            external_id: row.external_id,
            created_at: time(row.created_at),
            changed_at: time(row.changed_at),
        }
    }
}
