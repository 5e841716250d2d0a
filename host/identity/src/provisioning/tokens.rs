//! All SQL about tokens of providers. Times are milliseconds since 1970.

use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, sql};

use super::{MAX_TOKENS, ProvisioningError, ProvisioningToken, now, time};

/// Resolution of the recorded last use, in milliseconds: at most one write per token and minute.
const USE_INTERVAL: i64 = 60_000;

/// The tokens.
#[derive(Clone, Debug)]
pub(super) struct TokenStore(Database);

#[derive(FromRow)]
struct TokenRow {
    digest: Vec<u8>,
    name: String,
    created_by: String,
    created_at: i64,
    used_at: Option<i64>,
}

impl TokenStore {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    pub(super) async fn all(&self) -> kitbag_database::Result<Vec<ProvisioningToken>> {
        let rows: Vec<TokenRow> =
            sql("SELECT digest, name, created_by, created_at, used_at FROM scim_tokens ORDER BY name")
                .fetch_all(self.0.readers())
                .await?;
        Ok(rows.into_iter().map(ProvisioningToken::from).collect())
    }

    /// Returns the token with this digest, and records that it is used.
    pub(super) async fn find(&self, digest: &[u8]) -> kitbag_database::Result<Option<ProvisioningToken>> {
        let row: Option<TokenRow> =
            sql("SELECT digest, name, created_by, created_at, used_at FROM scim_tokens WHERE digest = $1")
                .bind(digest)
                .fetch_optional(self.0.readers())
                .await?;
        let Some(row) = row else { return Ok(None) };
        let now = now();
        if row.used_at.is_none_or(|used| used < now - USE_INTERVAL) {
            let mut transaction = self.0.begin(Scope::Sessions).await?;
            sql("UPDATE scim_tokens SET used_at = $2 WHERE digest = $1")
                .bind(digest)
                .bind(now)
                .execute(&mut transaction)
                .await?;
            transaction.commit().await?;
        }
        Ok(Some(row.into()))
    }

    pub(super) async fn insert(
        &self,
        digest: Vec<u8>,
        name: &str,
        by: &Actor,
    ) -> Result<ProvisioningToken, ProvisioningError> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        kitbag_database::refuse_ended(&mut transaction, by.user()).await?;
        let names: Vec<String> = sql("SELECT name FROM scim_tokens").fetch_values(&mut transaction).await?;
        if names.iter().any(|taken| taken == name) {
            return Err(ProvisioningError::NameTaken(name.to_owned()));
        }
        if i64::try_from(names.len()).is_ok_and(|count| count >= MAX_TOKENS) {
            return Err(ProvisioningError::Full("tokens"));
        }
        let row = TokenRow {
            digest,
            name: name.to_owned(),
            created_by: by.user().to_owned(),
            created_at: now(),
            used_at: None,
        };
        sql("INSERT INTO scim_tokens (digest, name, created_by, created_at) VALUES ($1, $2, $3, $4)")
            .bind(&row.digest)
            .bind(&row.name)
            .bind(&row.created_by)
            .bind(row.created_at)
            .execute(&mut transaction)
            .await?;
        let made = ProvisioningToken::from(row);
        let what = described(&made);
        audit::append(&mut transaction, &Entry::new(Act::ScimTokenCreated, by).name(&what)).await?;
        transaction.commit().await?;
        Ok(made)
    }

    pub(super) async fn delete(&self, id: &str, by: &Actor) -> kitbag_database::Result<bool> {
        let Some(token) = self.all().await?.into_iter().find(|token| token.id == id) else {
            return Ok(false);
        };
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        // The name is unique.
        let deleted = sql("DELETE FROM scim_tokens WHERE name = $1")
            .bind(&token.name)
            .execute(&mut transaction)
            .await?;
        if deleted > 0 {
            let what = described(&token);
            audit::append(&mut transaction, &Entry::new(Act::ScimTokenRevoked, by).name(&what)).await?;
        }
        transaction.commit().await?;
        Ok(deleted > 0)
    }
}

/// Id and name of a token, for the audit log.
fn described(token: &ProvisioningToken) -> String {
    format!("{} {}", token.id, token.name)
}

impl From<TokenRow> for ProvisioningToken {
    fn from(row: TokenRow) -> Self {
        Self {
            id: hex::encode(&row.digest[..8]),
            name: row.name,
            created_by: row.created_by,
            created_at: time(row.created_at),
            used_at: row.used_at.map(time),
        }
    }
}
