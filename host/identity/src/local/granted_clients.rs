//! The programs that may renew their tokens for a user, as the user sees them.

use jiff::Timestamp;
use tracing::info;

use super::AuthorizationServer;
use super::store::GrantedClientRow;

/// A registered client with grants of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedClient {
    /// Its identifier, chosen by the server.
    pub id: String,
    /// Its name for itself.
    pub name: Option<String>,
    /// Sign-ins of the user that have not ended.
    pub grants: usize,
    /// When the last of them ends, unless it is used.
    pub expires_at: Timestamp,
}

impl AuthorizationServer {
    /// The clients that hold grants of a user, at most two hundred, the last used one first.
    pub async fn granted_clients(&self, user: &str) -> kitbag_database::Result<Vec<GrantedClient>> {
        Ok(self.store.granted_clients(user).await?.into_iter().map(GrantedClient::from).collect())
    }

    /// Ends all grants of a user to a client. Access tokens stay valid until they expire.
    pub async fn revoke_client(&self, user: &str, client: &str) -> kitbag_database::Result<()> {
        self.store.revoke_client(user, client).await?;
        info!(user.id = user, client.id = client, "a user has revoked the grants of a client");
        Ok(())
    }
}

impl From<GrantedClientRow> for GrantedClient {
    fn from(row: GrantedClientRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            grants: usize::try_from(row.grants).unwrap_or_default(),
            expires_at: Timestamp::from_millisecond(row.expires_at).unwrap_or_default(),
        }
    }
}
