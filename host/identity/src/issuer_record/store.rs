//! All SQL about the table of issuers.

use jiff::Timestamp;
use kitbag_database::{Database, Scope, Transaction, sql};

/// The record, locked against other writers by a transaction.
pub(super) struct Record(Transaction);

impl Record {
    pub(super) async fn open(database: &Database) -> kitbag_database::Result<Self> {
        Ok(Self(database.begin(Scope::Processes).await?))
    }

    /// Returns the current issuer; `None` before the first start.
    pub(super) async fn last(&mut self) -> kitbag_database::Result<Option<String>> {
        last(&mut self.0).await
    }

    /// Records the new current issuer.
    pub(super) async fn append(mut self, issuer: &str) -> kitbag_database::Result<()> {
        append(&mut self.0, issuer).await?;
        self.0.commit().await
    }
}

/// Returns the current issuer; `None` before the first start.
pub(super) async fn last(transaction: &mut Transaction) -> kitbag_database::Result<Option<String>> {
    sql("SELECT issuer FROM issuers ORDER BY sequence DESC LIMIT 1").fetch_optional_value(transaction).await
}

/// Records the new current issuer.
pub(super) async fn append(transaction: &mut Transaction, issuer: &str) -> kitbag_database::Result<()> {
    sql("INSERT INTO issuers (issuer, since) VALUES ($1, $2)")
        .bind(issuer)
        .bind(Timestamp::now().as_millisecond())
        .execute(transaction)
        .await?;
    Ok(())
}
