//! All SQL about users' consents. Times are in milliseconds since 1970.

use jiff::Timestamp;
use kitbag_base::sha256::Sha256;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, refuse_ended, sql};

/// The act by which a user first agrees to a toolkit's reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstAct {
    /// Call of a version that takes no documents: no consent, but the called version's reach is recorded.
    Call,
    /// Call of a version that takes documents.
    CallWithDocuments,
    /// Giving the toolkit a secret, a setting or an account.
    Gift,
}

/// A stored consent of a user to a toolkit's reach.
#[derive(Clone, Debug, FromRow)]
pub(crate) struct StoredConsent {
    pub(crate) owner: String,
    /// Reach as JSON.
    pub(crate) reach: String,
    pub(crate) version: String,
    pub(crate) agreed_at: i64,
    /// 0 if the user has only called the toolkit.
    pub(crate) given: i64,
}

/// A consent to be stored.
#[derive(Clone, Copy)]
pub(crate) struct NewConsent<'a> {
    pub(crate) user: &'a str,
    pub(crate) toolkit: &'a str,
    pub(crate) owner: &'a str,
    /// Reach as JSON.
    pub(crate) reach: &'a str,
    pub(crate) version: &'a str,
    /// The activation that made the version live.
    pub(crate) activation: i64,
    /// The act by which the user agrees.
    pub(crate) act: FirstAct,
}

/// A reach of a toolkit to which some users have agreed.
#[derive(FromRow)]
pub(crate) struct AgreedReach {
    pub(crate) toolkit_id: String,
    /// The owner at that time.
    pub(crate) owner: String,
    /// Reach as JSON.
    pub(crate) reach: String,
    /// 0 if the users have only called the toolkit.
    pub(crate) given: i64,
    /// Number of users with this consent.
    pub(crate) users: i64,
}

/// Users' consents to the reach of toolkits.
#[derive(Clone, Debug)]
pub(crate) struct ConsentStore(Database);

impl ConsentStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns a user's consent for a toolkit.
    pub(crate) async fn of_user(
        &self,
        user: &str,
        toolkit: &str,
    ) -> kitbag_database::Result<Option<StoredConsent>> {
        sql("SELECT c.owner, r.reach, c.version, c.agreed_at, c.given
             FROM consents c JOIN agreed_reaches r ON r.digest = c.digest
             WHERE c.user_id = $1 AND c.toolkit_id = $2")
        .bind(user)
        .bind(toolkit)
        .fetch_optional(self.0.readers())
        .await
    }

    /// Stores the reach to which a user agrees by giving a toolkit something, or the reach of a toolkit that
    /// the user calls without giving anything. An existing consent is replaced only by a gift, and only if
    /// the user has only called the toolkit before. Returns whether a consent is stored, for a gift one that
    /// covers gifts. Nothing is stored for a version that is no longer live.
    pub(crate) async fn agree_first(&self, consent: NewConsent<'_>) -> kitbag_database::Result<bool> {
        let is_gift = i64::from(consent.act == FirstAct::Gift);
        let mut transaction = self.0.begin(Scope::Vault).await?;
        refuse_ended(&mut transaction, consent.user).await?;
        let digest = keep_reach(&mut transaction, consent.reach).await?;
        sql("INSERT INTO consents (user_id, toolkit_id, owner, digest, version, agreed_at, given)
             SELECT $1, t.id, t.owner, $4, t.live_version, $5, CAST($7 AS BIGINT) FROM toolkits t
             WHERE t.id = $2 AND t.owner = $3
                 AND $6 = COALESCE((SELECT max(sequence) FROM toolkit_activations WHERE toolkit_id = t.id), 0)
             ON CONFLICT (user_id, toolkit_id) DO UPDATE
             SET owner = excluded.owner, digest = excluded.digest, version = excluded.version,
                 agreed_at = excluded.agreed_at, given = 1
             WHERE consents.given = 0 AND $8 = 1")
        .bind(consent.user)
        .bind(consent.toolkit)
        .bind(consent.owner)
        .bind(&digest)
        .bind(Timestamp::now().as_millisecond())
        .bind(consent.activation)
        .bind(i64::from(consent.act != FirstAct::Call))
        .bind(is_gift)
        .execute(&mut transaction)
        .await?;
        let is_stored: bool = sql(
            "SELECT EXISTS (SELECT 1 FROM consents WHERE user_id = $1 AND toolkit_id = $2 AND given >= $3)",
        )
        .bind(consent.user)
        .bind(consent.toolkit)
        .bind(is_gift)
        .fetch_value(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(is_stored)
    }

    /// Replaces a user's consent.
    pub(crate) async fn agree(&self, consent: NewConsent<'_>, by: &Actor) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Vault).await?;
        refuse_ended(&mut transaction, consent.user).await?;
        let digest = keep_reach(&mut transaction, consent.reach).await?;
        sql("INSERT INTO consents (user_id, toolkit_id, owner, digest, version, agreed_at, given)
             VALUES ($1, $2, $3, $4, $5, $6, 1)
             ON CONFLICT (user_id, toolkit_id) DO UPDATE
             SET owner = excluded.owner, digest = excluded.digest, version = excluded.version,
                 agreed_at = excluded.agreed_at, given = 1")
        .bind(consent.user)
        .bind(consent.toolkit)
        .bind(consent.owner)
        .bind(&digest)
        .bind(consent.version)
        .bind(Timestamp::now().as_millisecond())
        .execute(&mut transaction)
        .await?;
        let given = Entry::new(Act::ConsentGiven, by).toolkit(consent.toolkit).version(consent.version);
        audit::append(&mut transaction, &given.digest(&digest)).await?;
        transaction.commit().await
    }

    /// Returns the consents of users for one toolkit, or for all.
    pub(crate) async fn agreed_reaches(
        &self,
        toolkit: Option<&str>,
    ) -> kitbag_database::Result<Vec<AgreedReach>> {
        sql("SELECT c.toolkit_id, c.owner, r.reach, c.given, c.users FROM (
                 SELECT toolkit_id, owner, digest, given, count(*) AS users FROM consents
                 WHERE CAST($1 AS TEXT) IS NULL OR toolkit_id = $1 GROUP BY toolkit_id, owner, digest, given
             ) c JOIN agreed_reaches r ON r.digest = c.digest")
        .bind(toolkit)
        .fetch_all(self.0.readers())
        .await
    }
}

/// Stores a reach, unless it is stored already. Returns its digest.
async fn keep_reach(transaction: &mut Transaction, reach: &str) -> kitbag_database::Result<String> {
    let digest = hex::encode(Sha256::digest(reach));
    sql("INSERT INTO agreed_reaches (digest, reach) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING")
        .bind(&digest)
        .bind(reach)
        .execute(transaction)
        .await?;
    Ok(digest)
}
