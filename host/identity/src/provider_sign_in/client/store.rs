//! All SQL about the table of registered clients.

use jiff::Timestamp;
use kitbag_database::{Database, Scope, sql};

pub(super) struct Store(Database);

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    pub(super) async fn find(
        &self,
        issuer: &str,
        redirect_uri: &str,
    ) -> kitbag_database::Result<Option<String>> {
        sql("SELECT client_id FROM web_clients WHERE issuer = $1 AND redirect_uri = $2")
            .bind(issuer)
            .bind(redirect_uri)
            .fetch_optional_value(self.0.readers())
            .await
    }

    pub(super) async fn insert(
        &self,
        issuer: &str,
        redirect_uri: &str,
        client_id: &str,
    ) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Sessions).await?;
        sql(
            "INSERT INTO web_clients (issuer, redirect_uri, client_id, registered_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (issuer, redirect_uri) DO UPDATE
             SET client_id = excluded.client_id, registered_at = excluded.registered_at",
        )
        .bind(issuer)
        .bind(redirect_uri)
        .bind(client_id)
        .bind(Timestamp::now().as_millisecond())
        .execute(&mut transaction)
        .await?;
        transaction.commit().await
    }
}
