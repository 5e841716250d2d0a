//! The table of issuers: all SQL about it.

use jiff::Timestamp;

use crate::database::{self, Database, Transaction};

/// The record, while nobody else writes to it.
pub(super) struct Record(Transaction);

impl Record {
    pub(super) async fn open(database: &Database) -> database::Result<Self> {
        Ok(Self(database.begin().await?))
    }

    /// The issuer that counts, once there is one.
    pub(super) async fn last(&mut self) -> database::Result<Option<String>> {
        let last = sqlx::query_scalar("SELECT issuer FROM issuers ORDER BY sequence DESC LIMIT 1");
        Ok(last.fetch_optional(&mut *self.0).await?)
    }

    /// Records the issuer that counts from now on.
    pub(super) async fn append(mut self, issuer: &str) -> database::Result<()> {
        sqlx::query("INSERT INTO issuers (issuer, since) VALUES (?, ?)")
            .bind(issuer)
            .bind(Timestamp::now().as_millisecond())
            .execute(&mut *self.0)
            .await?;
        self.0.commit().await
    }
}
