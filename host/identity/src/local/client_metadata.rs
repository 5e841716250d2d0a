//! Client metadata (RFC 7591, section 2), from a registration or a metadata document.

use kitbag_base::visible::has_hidden;
use serde::Deserialize;

use super::oauth_error::{ErrorCode, OAuthError};
use super::redirect_uri::RedirectUri;

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
