//! All SQL about secrets.

use jiff::Timestamp;
use kitbag_database::audit::{self, Entry};
use kitbag_database::{Database, EVERYONE, Executor, FromRow, Scope, Transaction, refuse_ended, sql};
use secrecy::SecretString;

use super::account::{ACCOUNT, Once};
use super::cached;
use super::link::forgotten_before;
use super::master_key::MasterKeys;
use super::seal::{self, Broken, Sealed, SecretId};
use super::{SecretSlot, VaultError};

/// Access to the tables of secrets and accounts.
#[derive(Clone, Debug)]
pub(super) struct Store(Database);

/// An encrypted value of a user.
pub(super) struct Row {
    pub(super) user_id: String,
    pub(super) toolkit_id: String,
    pub(super) name: String,
    pub(super) master_key: String,
    pub(super) sealed: Sealed,
    pub(super) for_everyone: EveryoneOptions,
}

/// Options of a value for everyone.
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryoneOptions {
    /// The value overrides the users' own ones.
    pub only: bool,
    /// The toolkit may read the value; otherwise only the server uses it.
    pub readable: bool,
}

/// Content of a row to be written, with the conditions and records of the write.
pub(super) struct Write<'a> {
    /// Required owner of the toolkit; `None` for any.
    pub(super) owner: Option<&'a str>,
    pub(super) master_key: &'a str,
    pub(super) sealed: Sealed,
    /// Single-use link that this write uses up.
    pub(super) once: Option<&'a Once>,
    pub(super) options: EveryoneOptions,
    /// Audit entry of the write; `None` if it is not an act, such as the renewal of a token.
    pub(super) audit: Option<Entry<'a>>,
}

/// Columns of the table `secrets`.
#[derive(FromRow)]
struct Columns {
    user_id: String,
    toolkit_id: String,
    name: String,
    master_key: String,
    wrapped_key: Vec<u8>,
    sealed: Vec<u8>,
    overrides: i64,
    readable: i64,
}

/// Metadata of a value for everyone.
#[derive(FromRow)]
pub(super) struct Everyones {
    pub(super) name: String,
    /// Time at which the value was set, in milliseconds since 1970.
    pub(super) updated_at: i64,
    pub(super) overrides: i64,
}

impl From<Columns> for Row {
    fn from(it: Columns) -> Self {
        let sealed = Sealed { wrapped_key: it.wrapped_key, value: it.sealed };
        Self {
            user_id: it.user_id,
            toolkit_id: it.toolkit_id,
            name: it.name,
            master_key: it.master_key,
            sealed,
            for_everyone: EveryoneOptions { only: it.overrides != 0, readable: it.readable != 0 },
        }
    }
}

impl Row {
    pub(super) fn id(&self) -> SecretId<'_> {
        SecretId { user: &self.user_id, toolkit: &self.toolkit_id, name: &self.name }
    }

    pub(super) fn open(&self, keys: &MasterKeys) -> Result<SecretString, Broken> {
        seal::open(keys.named(&self.master_key).ok_or(Broken)?, self.id(), &self.sealed)
    }
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    pub(super) fn database(&self) -> &Database {
        &self.0
    }

    /// Returns all secrets of a user, and their revision before they were read.
    pub(super) async fn of_user(&self, user: &str) -> kitbag_database::Result<(i64, Vec<Row>)> {
        Ok((self.revision(user).await?, rows_of(self.0.readers(), user).await?))
    }

    /// Returns the revision of a user's secrets, the number of their changes.
    pub(super) async fn revision(&self, user: &str) -> kitbag_database::Result<i64> {
        let revision: Option<i64> = sql("SELECT revision FROM secret_revisions WHERE user_id = $1")
            .bind(user)
            .fetch_optional_value(self.0.readers())
            .await?;
        Ok(revision.unwrap_or_default())
    }

    /// Returns whether the link with this hash was used.
    pub(super) async fn is_spent(&self, digest: &[u8]) -> kitbag_database::Result<bool> {
        sql("SELECT EXISTS (SELECT 1 FROM spent_links WHERE digest = $1)")
            .bind(digest)
            .fetch_value(self.0.readers())
            .await
    }

    /// Returns the names of the secrets that a user has set for a toolkit, each with its time in milliseconds
    /// since 1970.
    pub(super) async fn names(
        &self,
        user: &str,
        toolkit: &str,
    ) -> kitbag_database::Result<Vec<(String, i64)>> {
        sql("SELECT name, updated_at FROM secrets WHERE user_id = $1 AND toolkit_id = $2 AND name <> $3")
            .bind(user)
            .bind(toolkit)
            .bind(ACCOUNT)
            .fetch_all(self.0.readers())
            .await
    }

    /// Returns toolkit, name and time in milliseconds since 1970 of everything that a user has set, accounts included.
    pub(super) async fn all_names(&self, user: &str) -> kitbag_database::Result<Vec<(String, String, i64)>> {
        sql("SELECT toolkit_id, name, updated_at FROM secrets WHERE user_id = $1 ORDER BY toolkit_id, name")
            .bind(user)
            .fetch_all(self.0.readers())
            .await
    }

    /// Returns the metadata of the values for everyone of a toolkit.
    pub(super) async fn for_everyone(&self, toolkit: &str) -> kitbag_database::Result<Vec<Everyones>> {
        sql("SELECT name, updated_at, overrides FROM secrets WHERE user_id = $1 AND toolkit_id = $2")
            .bind(EVERYONE)
            .bind(toolkit)
            .fetch_all(self.0.readers())
            .await
    }

    /// Returns the names of the secrets that users have set for a toolkit, each with the number of users.
    pub(super) async fn users(&self, toolkit: &str) -> kitbag_database::Result<Vec<(String, i64)>> {
        sql("SELECT name, count(*) FROM secrets
             WHERE toolkit_id = $1 AND user_id <> $2 AND name <> $3 GROUP BY name")
        .bind(toolkit)
        .bind(EVERYONE)
        .bind(ACCOUNT)
        .fetch_all(self.0.readers())
        .await
    }

    /// Inserts or replaces an encrypted value, if `check` accepts it beside all values of the user and the
    /// toolkit has the required owner. Returns `false` if the toolkit is missing or has another owner: it may
    /// have been taken over after the caller's check. Fails with [`VaultError::LinkSpent`] if `once` was used
    /// before. `check` returns whether to record the act; `false` if it was recorded before.
    pub(super) async fn put(
        &self,
        slot: &SecretSlot,
        Write { owner, master_key, sealed, once, options, audit }: Write<'_>,
        check: impl FnOnce(&[Row]) -> Result<bool, VaultError>,
    ) -> Result<bool, VaultError> {
        if slot.user == EVERYONE {
            cached::forget_most(&self.0, &slot.toolkit).await?;
        }
        // The renewal of a token deletes no cached values.
        let scope = if audit.is_some() { Scope::Secrets } else { Scope::Vault };
        let mut transaction = self.0.begin(scope).await?;
        refuse_ended(&mut transaction, &slot.user).await?;
        let is_act = check(&rows_of(&mut transaction, &slot.user).await?)?;
        if let Some(once) = once
            && !spend(&mut transaction, once).await?
        {
            return Err(VaultError::LinkSpent);
        }
        let written = sql("INSERT INTO secrets
                 (user_id, toolkit_id, name, master_key, wrapped_key, sealed, updated_at, overrides, readable)
             SELECT $1, id, $2, $3, $4, $5, $6, $9, $10 FROM toolkits
             WHERE id = $7 AND owner = COALESCE(CAST($8 AS TEXT), owner)
             ON CONFLICT (user_id, toolkit_id, name) DO UPDATE
             SET master_key = excluded.master_key, wrapped_key = excluded.wrapped_key,
                 sealed = excluded.sealed, updated_at = excluded.updated_at, overrides = excluded.overrides,
                 readable = excluded.readable")
        .bind(&slot.user)
        .bind(&slot.name)
        .bind(master_key)
        .bind(sealed.wrapped_key)
        .bind(sealed.value)
        .bind(Timestamp::now().as_millisecond())
        .bind(&slot.toolkit)
        .bind(owner)
        .bind(i64::from(options.only))
        .bind(i64::from(options.readable))
        .execute(&mut transaction)
        .await?;
        if written == 0 {
            return Ok(false);
        }
        count_change(&mut transaction, &slot.user).await?;
        // The renewal of a token is not recorded.
        if let Some(audit) = audit.as_ref().filter(|_| is_act) {
            cached::forget(&mut transaction, &slot.user, &slot.toolkit).await?;
            audit::append(&mut transaction, audit).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Deletes a value and records that. Returns whether there was one.
    pub(super) async fn delete(&self, id: SecretId<'_>, audit: &Entry<'_>) -> kitbag_database::Result<bool> {
        let mut transaction = self.0.begin(Scope::Secrets).await?;
        let deleted = delete(&mut transaction, id).await?;
        if deleted {
            cached::forget(&mut transaction, id.user, id.toolkit).await?;
            audit::append(&mut transaction, audit).await?;
        }
        transaction.commit().await?;
        Ok(deleted)
    }

    /// Returns one encrypted value.
    pub(super) async fn row(&self, id: SecretId<'_>) -> kitbag_database::Result<Option<Row>> {
        let row: Option<Columns> =
            sql("SELECT * FROM secrets WHERE user_id = $1 AND toolkit_id = $2 AND name = $3")
                .bind(id.user)
                .bind(id.toolkit)
                .bind(id.name)
                .fetch_optional(self.0.readers())
                .await?;
        Ok(row.map(Row::from))
    }

    /// Returns the accounts of up to `limit` users for a toolkit.
    pub(super) async fn accounts_of(&self, toolkit: &str, limit: u32) -> kitbag_database::Result<Vec<Row>> {
        let rows: Vec<Columns> =
            sql("SELECT * FROM secrets WHERE toolkit_id = $1 AND name = $2 ORDER BY user_id LIMIT $3")
                .bind(toolkit)
                .bind(ACCOUNT)
                .bind(limit)
                .fetch_all(self.0.readers())
                .await?;
        Ok(rows.into_iter().map(Row::from).collect())
    }

    /// Records the use of a single-use link or state. Returns whether it was unused until now.
    pub(super) async fn spend(&self, once: &Once) -> kitbag_database::Result<bool> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        let was_good = spend(&mut transaction, once).await?;
        transaction.commit().await?;
        Ok(was_good)
    }

    /// Returns the id of the attempt that currently renews an account's tokens.
    pub(super) async fn refresh_holder(
        &self,
        user: &str,
        toolkit: &str,
    ) -> kitbag_database::Result<Option<String>> {
        sql("SELECT holder FROM account_refreshes WHERE user_id = $1 AND toolkit_id = $2")
            .bind(user)
            .bind(toolkit)
            .fetch_optional_value(self.0.readers())
            .await
    }

    /// Claims the renewal of an account's tokens, if no attempt has claimed it, or only `ended`.
    pub(super) async fn take_refresh(
        &self,
        user: &str,
        toolkit: &str,
        holder: &str,
        ended: Option<&str>,
    ) -> kitbag_database::Result<bool> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        refuse_ended(&mut transaction, user).await?;
        let taken = sql("INSERT INTO account_refreshes (user_id, toolkit_id, holder)
             SELECT $1, id, $2 FROM toolkits WHERE id = $3
             ON CONFLICT (user_id, toolkit_id) DO UPDATE SET holder = excluded.holder
             WHERE account_refreshes.holder = $4")
        .bind(user)
        .bind(holder)
        .bind(toolkit)
        .bind(ended.unwrap_or_default())
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(taken > 0)
    }

    /// Releases the claim on the renewal, if `holder` still has it.
    pub(super) async fn end_refresh(
        &self,
        user: &str,
        toolkit: &str,
        holder: &str,
    ) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        sql("DELETE FROM account_refreshes WHERE user_id = $1 AND toolkit_id = $2 AND holder = $3")
            .bind(user)
            .bind(toolkit)
            .bind(holder)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await
    }

    /// Releases all claims on renewals of a user's accounts.
    pub(super) async fn end_refreshes_of(&self, user: &str) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        sql("DELETE FROM account_refreshes WHERE user_id = $1").bind(user).execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Releases all claims on renewals, left by an earlier process of a `SQLite` file. Does nothing for
    /// PostgreSQL.
    pub(super) async fn end_refreshes_of_the_last_process(&self) -> kitbag_database::Result<()> {
        if self.0.server().is_some() {
            return Ok(());
        }
        let mut transaction = self.0.begin(Scope::Vault).await?;
        sql("DELETE FROM account_refreshes").execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Deletes a value, records that, and returns the value, if it exists.
    pub(super) async fn take(
        &self,
        id: SecretId<'_>,
        audit: &Entry<'_>,
    ) -> kitbag_database::Result<Option<Row>> {
        let mut transaction = self.0.begin(Scope::Secrets).await?;
        let row: Option<Columns> =
            sql("SELECT * FROM secrets WHERE user_id = $1 AND toolkit_id = $2 AND name = $3")
                .bind(id.user)
                .bind(id.toolkit)
                .bind(id.name)
                .fetch_optional(&mut transaction)
                .await?;
        if row.is_some() {
            delete(&mut transaction, id).await?;
            cached::forget(&mut transaction, id.user, id.toolkit).await?;
            audit::append(&mut transaction, audit).await?;
        }
        transaction.commit().await?;
        Ok(row.map(Row::from))
    }

    /// Returns the names of the master keys that records refer to, each with the number of records.
    pub(super) async fn master_keys(&self) -> kitbag_database::Result<Vec<(String, i64)>> {
        sql("SELECT master_key, count(*) FROM secrets GROUP BY master_key").fetch_all(self.0.readers()).await
    }

    /// Returns the name of the master key of an arbitrary record, if there is one.
    pub(super) async fn any_master_key(&self) -> kitbag_database::Result<Option<String>> {
        sql("SELECT master_key FROM secrets LIMIT 1").fetch_optional_value(self.0.readers()).await
    }

    /// Returns up to `limit` records after `after` that are not wrapped by `current`, ordered by user,
    /// toolkit and name.
    pub(super) async fn not_wrapped_by(
        &self,
        current: &str,
        after: SecretId<'_>,
        limit: u32,
    ) -> kitbag_database::Result<Vec<Row>> {
        let rows: Vec<Columns> = sql("SELECT * FROM secrets
             WHERE master_key <> $1 AND (user_id, toolkit_id, name) > ($2, $3, $4)
             ORDER BY user_id, toolkit_id, name LIMIT $5")
        .bind(current)
        .bind(after.user)
        .bind(after.toolkit)
        .bind(after.name)
        .bind(limit)
        .fetch_all(self.0.readers())
        .await?;
        Ok(rows.into_iter().map(Row::from).collect())
    }

    /// Deletes the cached values of toolkits that are encrypted with another master key.
    pub(super) async fn forget_cached(&self, current: &str) -> kitbag_database::Result<()> {
        cached::forget_other_keys(&self.0, current).await
    }

    /// Records an act that took several transactions.
    pub(super) async fn record(&self, audit: &Entry<'_>) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        audit::append(&mut transaction, audit).await?;
        transaction.commit().await
    }

    /// Replaces the wrapped keys of records in one transaction. Records that were changed meanwhile are
    /// skipped.
    pub(super) async fn rewrap(
        &self,
        rewrapped: &[(&Row, Vec<u8>)],
        current: &str,
    ) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        for (row, wrapped_key) in rewrapped {
            sql("UPDATE secrets SET master_key = $1, wrapped_key = $2
                 WHERE user_id = $3 AND toolkit_id = $4 AND name = $5 AND wrapped_key = $6")
            .bind(current)
            .bind(wrapped_key)
            .bind(&row.user_id)
            .bind(&row.toolkit_id)
            .bind(&row.name)
            .bind(&row.sealed.wrapped_key)
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await
    }
}

async fn rows_of(executor: impl Into<Executor<'_>>, user: &str) -> kitbag_database::Result<Vec<Row>> {
    let rows: Vec<Columns> =
        sql("SELECT * FROM secrets WHERE user_id = $1").bind(user).fetch_all(executor).await?;
    Ok(rows.into_iter().map(Row::from).collect())
}

/// Deletes a value. Returns whether there was one.
async fn delete(transaction: &mut Transaction, id: SecretId<'_>) -> kitbag_database::Result<bool> {
    let deleted = sql("DELETE FROM secrets WHERE user_id = $1 AND toolkit_id = $2 AND name = $3")
        .bind(id.user)
        .bind(id.toolkit)
        .bind(id.name)
        .execute(&mut *transaction)
        .await?;
    if deleted > 0 {
        count_change(transaction, id.user).await?;
    }
    Ok(deleted > 0)
}

/// Records the use of a single-use link or state. Returns whether it was unused until now.
async fn spend(transaction: &mut Transaction, once: &Once) -> kitbag_database::Result<bool> {
    sql("DELETE FROM spent_links WHERE expires < $1")
        .bind(forgotten_before())
        .execute(&mut *transaction)
        .await?;
    let spent =
        sql("INSERT INTO spent_links (digest, expires) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING")
            .bind(&once.digest[..])
            .bind(once.expires)
            .execute(transaction)
            .await?;
    Ok(spent > 0)
}

/// Increments the revision of a user's secrets, in the transaction of the change: other processes compare it.
async fn count_change(transaction: &mut Transaction, user: &str) -> kitbag_database::Result<()> {
    sql("INSERT INTO secret_revisions (user_id, revision) VALUES ($1, 1)
         ON CONFLICT (user_id) DO UPDATE SET revision = secret_revisions.revision + 1")
    .bind(user)
    .execute(transaction)
    .await?;
    Ok(())
}
