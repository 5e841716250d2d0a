//! Dynamic client registration (RFC 7591).

use kitbag_base::json_object::JsonObject;
use kitbag_base::visible::has_hidden;
use serde::{Deserialize, Serialize};

use super::authorization_server::{Client, ClientSource};
use super::redirect_uri::RedirectUri;
use super::scopes::Scopes;
use super::secret::random_text;
use super::{AuthorizationServer, EndpointError, ErrorCode, OAuthError};

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

/// Parsed members of client metadata (section 2); others are ignored, as section 2 requires.
#[derive(Deserialize)]
pub(super) struct Metadata {
    redirect_uris: Option<Vec<String>>,
    client_name: Option<String>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

/// Maximum number of redirect URIs per client.
const MAX_REDIRECT_URIS: usize = 20;

/// Maximum length of a client's name, in characters.
const MAX_NAME_CHARACTERS: usize = 100;

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

impl Metadata {
    /// Checks the metadata, and returns name and redirect URIs.
    pub(super) fn check(self) -> Result<(Option<String>, Vec<String>), OAuthError> {
        let refused = |description| Err(ErrorCode::InvalidClientMetadata.because(description));
        let method = self.token_endpoint_auth_method.as_deref().unwrap_or("none");
        if !["none", "client_secret_basic", "client_secret_post"].contains(&method) {
            return refused("clients are public: use token_endpoint_auth_method none");
        }
        if self.grant_types.is_some_and(|types| !types.iter().any(|kind| kind == "authorization_code")) {
            return refused("grant_types must include authorization_code");
        }
        if self.response_types.is_some_and(|types| !types.iter().any(|kind| kind == "code")) {
            return refused("response_types must include code");
        }
        let name = self.client_name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        if name.as_ref().is_some_and(|name| name.chars().count() > MAX_NAME_CHARACTERS || has_hidden(name)) {
            return refused("client_name has at most 100 characters, and no control or invisible characters");
        }
        let redirect_uris = self.redirect_uris.unwrap_or_default();
        if !(1..=MAX_REDIRECT_URIS).contains(&redirect_uris.len()) {
            return Err(ErrorCode::InvalidRedirectUri.because("redirect_uris must hold 1 to 20 URIs"));
        }
        for uri in &redirect_uris {
            RedirectUri::parse(uri)?;
        }
        Ok((name, redirect_uris))
    }
}
