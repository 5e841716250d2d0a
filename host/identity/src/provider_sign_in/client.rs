//! Registration of this server as a client of its provider.

mod store;

use std::time::{Duration, Instant};

use kitbag_database::Database;
use tokio::sync::Mutex;
use tracing::info;

use self::store::Store;
use super::ProviderError;
use crate::client::{AuthorizationServer, Http, Registration};

/// Minimum interval between registration attempts after a failure. Limits requests to the provider, since
/// anybody can begin a sign-in.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// The registered client, stored in the database.
pub(super) struct RegisteredClients {
    store: Store,
    /// Locked during a registration.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    client_id: Option<String>,
    last_failure: Option<Instant>,
}

impl RegisteredClients {
    pub(super) fn new(database: Database) -> Self {
        Self { store: Store::new(database), state: Mutex::default() }
    }

    /// Returns the client's identifier; registers the client at the first call.
    pub(super) async fn get_or_register(
        &self,
        http: &Http,
        server: &AuthorizationServer,
        redirect_uri: &str,
        logout_uri: &str,
    ) -> Result<String, ProviderError> {
        let mut state = self.state.lock().await;
        if let Some(id) = &state.client_id {
            return Ok(id.clone());
        }
        if let Some(id) = self.store.find(&server.issuer, redirect_uri).await? {
            state.client_id = Some(id.clone());
            return Ok(id);
        }
        if state.last_failure.is_some_and(|failure| failure.elapsed() < RETRY_INTERVAL) {
            return Err(ProviderError::Unavailable);
        }
        // Record a failure in advance: the calling future may be dropped during the request.
        state.last_failure = Some(Instant::now());
        let program = Registration {
            name: "Kitbag",
            application_type: "web",
            redirect_uri,
            backchannel_logout_uri: Some(logout_uri),
            alternative: "register a client there, and name it with --web-client-id",
        };
        let id = server.register(http, &program).await?;
        self.store.insert(&server.issuer, redirect_uri, &id).await?;
        info!(client.id = id, "registered the pages as a client of the provider");
        *state = State { client_id: Some(id.clone()), last_failure: None };
        Ok(id)
    }
}
