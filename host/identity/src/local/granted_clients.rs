//! Clients with grants of a user: programs that may renew their tokens.

use jiff::Timestamp;
use tracing::info;

use super::authorization_server::AuthorizationServer;
use super::store::GrantedClientRow;

/// An OAuth client with grants of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedClient {
    /// Client identifier: issued at registration, or the URL of the client's metadata document.
    pub id: String,
    /// Name that the client claims; not verified.
    pub name: Option<String>,
    /// Number of unexpired grants.
    pub grants: usize,
    /// Expiry of the last of these grants, if none is used before.
    pub expires_at: Timestamp,
}

impl AuthorizationServer {
    /// Returns the clients with grants of a user, most recently used first; at most 200.
    pub async fn granted_clients(&self, user: &str) -> kitbag_database::Result<Vec<GrantedClient>> {
        Ok(self.store.granted_clients(user).await?.into_iter().map(GrantedClient::from).collect())
    }

    /// Revokes all grants of a user to a client, and the keys that the user created with it. Access tokens
    /// stay valid until they expire.
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
