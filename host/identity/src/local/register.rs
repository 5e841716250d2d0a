//! Dynamic client registration (RFC 7591).

use kitbag_base::json_object::JsonObject;
use serde::Serialize;

use super::authorization_server::AuthorizationServer;
use super::client::{Client, ClientSource};
use super::client_metadata::Metadata;
use super::oauth_error::{EndpointError, ErrorCode};
use super::scopes::Scopes;
use super::secret::random_text;

/// Registration response (section 3.2.1).
///
/// All clients are public: a program on a user's machine cannot protect a secret. A client that requests a
/// secret is registered without one, as section 3.2.1 allows; the response says so.
#[derive(Clone, Debug, Serialize)]
pub struct Registration {
    /// Client identifier.
    pub client_id: String,
    /// Time of registration, in seconds since 1970.
    pub client_id_issued_at: i64,
    /// Client name from the request, trimmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_name: Option<String>,
    /// Redirect URIs, as in the request.
    pub redirect_uris: Vec<String>,
    /// Client authentication method: always `none`.
    pub token_endpoint_auth_method: &'static str,
    /// Always `authorization_code` and `refresh_token`.
    pub grant_types: [&'static str; 2],
    /// Always `code`.
    pub response_types: [&'static str; 1],
    /// Scopes that the client may request, separated by spaces.
    pub scope: String,
}

impl AuthorizationServer {
    /// Registers a client. `body` is its metadata, a JSON object.
    pub async fn register(&self, body: &[u8]) -> Result<Registration, EndpointError> {
        let JsonObject::<Metadata>(metadata) = serde_json::from_slice(body).map_err(|_unreadable| {
            ErrorCode::InvalidClientMetadata.because("the body is not client metadata as JSON")
        })?;
        let (client_name, redirect_uris) = metadata.check()?;
        let client = Client {
            id: random_text::<16>(),
            name: client_name,
            redirect_uris,
            source: ClientSource::Registration,
        };
        self.store.insert_client(&(&client).into()).await?;
        Ok(Registration {
            client_id: client.id,
            client_id_issued_at: jiff::Timestamp::now().as_second(),
            client_name: client.name,
            redirect_uris: client.redirect_uris,
            token_endpoint_auth_method: "none",
            grant_types: ["authorization_code", "refresh_token"],
            response_types: ["code"],
            scope: Scopes::all().to_string(),
        })
    }
}
