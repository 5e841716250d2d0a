//! All SQL about audiences.

use std::collections::HashMap;
use std::num::NonZeroU32;

use jiff::Timestamp;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, refuse_ended, sql};
use kitbag_identity::Subject;

use super::ownership::CurrentOwnership;
use super::revisions;
use crate::audience::{Audience, CallLimits, Grant, MAX_GRANTS};
use crate::error::ToolkitError;

#[derive(FromRow)]
struct Row {
    toolkit_id: String,
    user_id: String,
    group_name: String,
    tool: String,
    per_minute: Option<i64>,
    per_day: Option<i64>,
    each_member: i64,
}

impl From<Row> for Grant {
    fn from(row: Row) -> Self {
        let limit = |limit: Option<i64>| NonZeroU32::new(u32::try_from(limit?).ok()?);
        Self {
            subject: Subject::of_columns(row.user_id, row.group_name),
            tool: Some(row.tool).filter(|tool| !tool.is_empty()),
            limits: CallLimits {
                per_minute: limit(row.per_minute),
                per_day: limit(row.per_day),
                each: row.each_member != 0,
            },
        }
    }
}

/// Returns the audiences of all toolkits that have one.
pub(super) async fn audiences(
    snapshot: &mut Transaction,
) -> kitbag_database::Result<HashMap<String, Audience>> {
    let rows: Vec<Row> = sql("SELECT * FROM toolkit_audience").fetch_all(snapshot).await?;
    let mut grants: HashMap<String, Vec<Grant>> = HashMap::new();
    for row in rows {
        grants.entry(row.toolkit_id.clone()).or_default().push(row.into());
    }
    Ok(grants.into_iter().map(|(id, grants)| (id, Audience::of(grants))).collect())
}

/// Grants of toolkits to users and groups.
#[derive(Clone, Debug)]
pub(crate) struct AudienceStore(Database);

impl AudienceStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Adds grants, and replaces the limits of existing ones. Returns whether anything has changed.
    pub(crate) async fn share(&self, id: &str, grants: &[Grant], by: &Actor) -> Result<bool, ToolkitError> {
        if grants.len() > MAX_GRANTS {
            return Err(ToolkitError::TooManyGrants);
        }
        let (mut transaction, _) = self.begin_as_manager(id, by).await?;
        let mut changed = 0;
        for grant in grants {
            let (user, group) = grant.subject.columns();
            let CallLimits { per_minute, per_day, each } = grant.limits;
            let limit = |limit: Option<NonZeroU32>| limit.map(|limit| i64::from(limit.get()));
            let written = sql("INSERT INTO toolkit_audience
                     (toolkit_id, user_id, group_name, tool, per_minute, per_day, each_member, shared_by, shared_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                 ON CONFLICT (toolkit_id, user_id, group_name, tool) DO UPDATE SET
                     per_minute = excluded.per_minute, per_day = excluded.per_day,
                     each_member = excluded.each_member, shared_by = excluded.shared_by, shared_at = excluded.shared_at
                 WHERE COALESCE(toolkit_audience.per_minute, 0) <> COALESCE(excluded.per_minute, 0)
                     OR COALESCE(toolkit_audience.per_day, 0) <> COALESCE(excluded.per_day, 0)
                     OR toolkit_audience.each_member <> excluded.each_member")
            .bind(id)
            .bind(user)
            .bind(group)
            .bind(grant.tool.as_deref().unwrap_or_default())
            .bind(limit(per_minute))
            .bind(limit(per_day))
            .bind(i64::from(each))
            .bind(by.user())
            .bind(Timestamp::now().as_millisecond())
            .execute(&mut transaction)
            .await?;
            if written > 0 {
                let words = grant.in_words();
                let entry = Entry::new(Act::ToolkitShared, by).toolkit(id).name(&words);
                audit::append(&mut transaction, &entry).await?;
            }
            changed += written;
        }
        if changed > 0 && count(&mut transaction, id).await? > MAX_GRANTS {
            return Err(ToolkitError::TooManyGrants);
        }
        if changed > 0 {
            revisions::count_change(&mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(changed > 0)
    }

    /// Removes the grant to a subject for one tool, or without a tool all to that subject. Refused if
    /// afterwards more users could use the toolkit, or more of it.
    pub(crate) async fn unshare(
        &self,
        id: &str,
        subject: &Subject,
        tool: Option<&str>,
        by: &Actor,
    ) -> Result<(), ToolkitError> {
        let (mut transaction, ownership) = self.begin_as_manager(id, by).await?;
        let (user, group) = subject.columns();
        let removed: Vec<Row> =
            sql("DELETE FROM toolkit_audience WHERE toolkit_id = $1 AND user_id = $2 AND group_name = $3
             AND (CAST($4 AS TEXT) IS NULL OR tool = $4) RETURNING *")
            .bind(id)
            .bind(user)
            .bind(group)
            .bind(tool)
            .fetch_all(&mut transaction)
            .await?;
        let words =
            Grant { subject: subject.clone(), tool: tool.map(str::to_owned), limits: CallLimits::default() }
                .in_words();
        if removed.is_empty() {
            return Err(ToolkitError::NotShared { id: id.to_owned(), with: words });
        }
        // Removing an unlimited grant to everyone changes nothing: without any grant a shared toolkit is open
        // to everyone too.
        let is_unlimited = |grant: Grant| grant.tool.is_none() && grant.limits == CallLimits::default();
        let was_whole =
            *subject == Subject::Everyone && removed.into_iter().map(Grant::from).any(is_unlimited);
        if !ownership.is_private() && !was_whole && count(&mut transaction, id).await? == 0 {
            return Err(ToolkitError::LastGrant { id: id.to_owned(), owner: ownership.owner().to_owned() });
        }
        let entry = Entry::new(Act::ToolkitUnshared, by).toolkit(id).name(&words);
        audit::append(&mut transaction, &entry).await?;
        revisions::count_change(&mut transaction).await?;
        Ok(transaction.commit().await?)
    }

    /// Begins a transaction that changes the audience: allowed for the owner or, if the toolkit is shared,
    /// for any operator.
    async fn begin_as_manager(
        &self,
        id: &str,
        by: &Actor,
    ) -> Result<(Transaction, CurrentOwnership), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        refuse_ended(&mut transaction, by.user()).await?;
        let ownership = CurrentOwnership::of(&mut transaction, id).await?;
        let ownership = ownership.ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        ownership.admit_management(by.user())?;
        Ok((transaction, ownership))
    }
}

/// Returns the number of grants of a toolkit.
async fn count(transaction: &mut Transaction, id: &str) -> kitbag_database::Result<usize> {
    let count: i64 = sql("SELECT COUNT(*) FROM toolkit_audience WHERE toolkit_id = $1")
        .bind(id)
        .fetch_value(transaction)
        .await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}
