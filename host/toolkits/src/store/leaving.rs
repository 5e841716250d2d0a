//! All SQL that removes what users who have left had set about toolkits.

use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, ERASED_USER, Scope, Transaction, refuse_ended, sql};
use kitbag_identity::Subject;
use serde::{Deserialize, Serialize};

use super::ownership::CurrentOwnership;
use super::revisions;
use crate::error::ToolkitError;

/// Rows of a user who has left, which were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Forgotten {
    /// Settings of toolkits.
    pub settings: u64,
    /// Hidden tools and toolkits.
    pub hidden_tools: u64,
    /// Tools that the user's code could call.
    pub code_tools: u64,
    /// Consents to what toolkits reach.
    pub consents: u64,
    /// Calls that could continue with an answer.
    pub asked_calls: u64,
    /// Toolkits that were shared with the user by name.
    pub grants: u64,
}

/// What users have set about toolkits.
#[derive(Clone, Debug)]
pub(crate) struct LeavingStore(Database);

impl LeavingStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Removes what a user has set about toolkits, and grants to the user.
    pub(crate) async fn forget(&self, user: &str, by: &Actor) -> Result<Forgotten, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        refuse_ended(&mut transaction, by.user()).await?;
        let forgotten = Forgotten {
            settings: delete(&mut transaction, "DELETE FROM user_config WHERE user_id = $1", user).await?,
            hidden_tools: delete(&mut transaction, "DELETE FROM hidden_tools WHERE user_id = $1", user)
                .await?,
            code_tools: delete(&mut transaction, "DELETE FROM code_tools WHERE user_id = $1", user).await?,
            consents: delete(&mut transaction, "DELETE FROM consents WHERE user_id = $1", user).await?,
            asked_calls: delete(&mut transaction, "DELETE FROM asked_calls WHERE user_id = $1", user).await?,
            grants: unshare_all(&mut transaction, user, by).await?,
        };
        delete(&mut transaction, "DELETE FROM limited_calls WHERE user_id = $1", user).await?;
        if forgotten != Forgotten::default() {
            revisions::count_change(&mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(forgotten)
    }

    /// Replaces the name of a user in what says who did what with toolkits. Returns the number of changed rows.
    ///
    /// What others have agreed to of toolkits that the user owned, which are gone, stays: it counts for no other owner.
    pub(crate) async fn anonymise(&self, user: &str) -> Result<u64, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let mut changed = 0;
        for statement in [
            "UPDATE toolkit_versions SET deployed_by = $2 WHERE deployed_by = $1",
            "UPDATE toolkit_activations SET activated_by = $2 WHERE activated_by = $1",
            "UPDATE toolkit_ownership SET owner_before = $2 WHERE owner_before = $1",
            "UPDATE toolkit_ownership SET by_user = $2 WHERE by_user = $1",
            "UPDATE toolkit_uploads SET uploaded_by = $2 WHERE uploaded_by = $1",
            "UPDATE toolkit_audience SET shared_by = $2 WHERE shared_by = $1",
            "UPDATE publishers SET added_by = $2 WHERE added_by = $1",
            "UPDATE consents SET owner = $2 WHERE owner = $1",
        ] {
            changed += sql(statement).bind(user).bind(ERASED_USER).execute(&mut transaction).await?;
        }
        if changed > 0 {
            revisions::count_change(&mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(changed)
    }
}

async fn delete(
    transaction: &mut Transaction,
    statement: &'static str,
    user: &str,
) -> kitbag_database::Result<u64> {
    sql(statement).bind(user).execute(transaction).await
}

/// Ends all grants of toolkits to a user. The last grant of a shared toolkit becomes one to its owner: without any it would
/// be for everyone. Returns the number of toolkits.
async fn unshare_all(transaction: &mut Transaction, user: &str, by: &Actor) -> Result<u64, ToolkitError> {
    let toolkits: Vec<String> =
        sql("SELECT DISTINCT toolkit_id FROM toolkit_audience WHERE user_id = $1 ORDER BY toolkit_id")
            .bind(user)
            .fetch_values(&mut *transaction)
            .await?;
    for id in &toolkits {
        sql("DELETE FROM toolkit_audience WHERE toolkit_id = $1 AND user_id = $2")
            .bind(id)
            .bind(user)
            .execute(&mut *transaction)
            .await?;
        let was = Subject::User(user.to_owned()).to_string();
        let unshared = Entry::new(Act::ToolkitUnshared, by).toolkit(id.as_str()).name(&was);
        audit::append(transaction, &unshared).await?;
        let Some(ownership) = CurrentOwnership::of(transaction, id).await? else { continue };
        let is_last: bool = sql("SELECT NOT EXISTS (SELECT 1 FROM toolkit_audience WHERE toolkit_id = $1)")
            .bind(id)
            .fetch_value(&mut *transaction)
            .await?;
        if !is_last || ownership.is_private() {
            continue;
        }
        sql("INSERT INTO toolkit_audience
                 (toolkit_id, user_id, group_name, tool, each_member, shared_by, shared_at)
             VALUES ($1, $2, '', '', 0, $3, $4)")
        .bind(id)
        .bind(ownership.owner())
        .bind(by.user())
        .bind(jiff::Timestamp::now().as_millisecond())
        .execute(&mut *transaction)
        .await?;
        let owner = Subject::User(ownership.owner().to_owned()).to_string();
        let shared = Entry::new(Act::ToolkitShared, by).toolkit(id.as_str()).name(&owner);
        audit::append(transaction, &shared).await?;
    }
    Ok(toolkits.len() as u64)
}
