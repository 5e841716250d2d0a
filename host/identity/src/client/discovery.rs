//! Discovery of a server's authorization server, and client registration there (RFC 9728, RFC 8414, RFC
//! 7591).

use kitbag_base::base_url::{below, path_of, well_known};
use kitbag_base::mcp_clients::is_client_id;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{
    Client, ClientAuthentication, ClientError, Http, beginning, expect_protected, is_protected, malformed,
};
use crate::well_known::metadata_urls;

/// Scopes to request if the server lists none.
pub const DEFAULT_SCOPE: &str = "profile email offline_access";

/// An authorization server, with the resource and the scopes to request.
#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    /// Issuer identifier, letter for letter.
    pub issuer: String,
    /// Resource indicator of the tokens (RFC 8707): the server's MCP endpoint.
    pub resource: String,
    /// Scopes to request, separated by spaces.
    pub(crate) scope: String,
    pub(crate) authorization_endpoint: Url,
    /// Token endpoint (RFC 6749, section 3.2).
    pub token_endpoint: Url,
    /// Token revocation endpoint (RFC 7009).
    pub revocation_endpoint: Option<Url>,
    /// Whether authorization responses always contain `iss` (RFC 9207, section 3).
    pub names_itself: bool,
    /// Logout page of the provider (OpenID Connect RP-Initiated Logout 1.0, section 2.1).
    pub(crate) end_session_endpoint: Option<Url>,
    registration_endpoint: Option<Url>,
    /// Client that programs of users are at this server, if it lets them share one.
    pub shared_client_id: Option<String>,
    /// Whether the token endpoint supports `client_secret_post` and not `client_secret_basic`.
    wants_posted_secrets: bool,
}

/// Client metadata for dynamic registration (RFC 7591, section 2).
#[derive(Clone, Copy, Debug)]
pub struct Registration<'a> {
    /// Client name.
    pub name: &'a str,
    /// `native` or `web` (OpenID Connect Dynamic Client Registration 1.0, section 2).
    pub application_type: &'a str,
    /// Redirect URI of authorization responses.
    pub redirect_uri: &'a str,
    /// URL that the provider tells of logouts (`OpenID` Connect Back-Channel Logout 1.0, section 2.2).
    pub backchannel_logout_uri: Option<&'a str>,
    /// Hint for servers without dynamic registration of public clients.
    pub alternative: &'a str,
}

/// Protected resource metadata (RFC 9728, section 2).
#[derive(Deserialize)]
struct ProtectedResource {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    /// Kitbag's own parameter.
    kitbag_mcp_client_id: Option<String>,
}

/// Authorization server metadata (RFC 8414, section 2).
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    registration_endpoint: Option<Url>,
    revocation_endpoint: Option<Url>,
    end_session_endpoint: Option<Url>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Parsed members of a registration response (RFC 7591, section 3.2.1).
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    token_endpoint_auth_method: Option<String>,
}

/// Discovers the authorization server of the Kitbag server at `server`.
pub async fn discover(http: &Http, server: &Url) -> Result<AuthorizationServer, ClientError> {
    expect_protected(server)?;
    let resource = resource(http, server).await?;
    let [issuer, ..] = resource.authorization_servers.as_slice() else {
        return Err(ClientError::new(format!("{server} names nobody who signs people in")));
    };
    let metadata = metadata(http, server, issuer).await?;
    let scope = match resource.scopes_supported.as_slice() {
        [] => DEFAULT_SCOPE.to_owned(),
        listed => listed.join(" "),
    };
    let discovered = metadata.checked(server, resource.resource, scope)?;
    Ok(AuthorizationServer { shared_client_id: resource.kitbag_mcp_client_id, ..discovered })
}

/// Returns the client that MCP clients sign in as at the Kitbag server at `server`; `None` if they register.
pub async fn mcp_client_id(http: &Http, server: &Url) -> Result<Option<String>, ClientError> {
    Ok(resource(http, server).await?.kitbag_mcp_client_id)
}

impl Metadata {
    /// Checks the endpoints and returns the server. All endpoints must be protected, given that the user
    /// trusts `trusted`.
    fn checked(
        self,
        trusted: &Url,
        resource: String,
        scope: String,
    ) -> Result<AuthorizationServer, ClientError> {
        let metadata = &self;
        let issuer = &self.issuer;
        let endpoints = [
            Some(&metadata.authorization_endpoint),
            Some(&metadata.token_endpoint),
            metadata.registration_endpoint.as_ref(),
            metadata.revocation_endpoint.as_ref(),
            metadata.end_session_endpoint.as_ref(),
        ];
        if let Some(open) = endpoints.into_iter().flatten().find(|endpoint| !is_protected(endpoint, trusted))
        {
            return Err(ClientError::new(format!(
                "{issuer} wants secrets at {open}, which is not protected"
            )));
        }
        // OAuth 2.1 requires PKCE of every server; one that does not list S256 may ignore the challenge.
        if !metadata.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            return Err(ClientError::new(format!("{issuer} does not support PKCE with S256")));
        }
        let methods = &self.token_endpoint_auth_methods_supported;
        let lists = |name: &str| methods.iter().any(|method| method == name);
        // RFC 8414, section 2: without a list, the method is `client_secret_basic`.
        let wants_posted_secrets = lists("client_secret_post") && !lists("client_secret_basic");
        Ok(AuthorizationServer {
            wants_posted_secrets,
            issuer: self.issuer,
            resource,
            scope,
            authorization_endpoint: self.authorization_endpoint,
            token_endpoint: self.token_endpoint,
            revocation_endpoint: self.revocation_endpoint,
            end_session_endpoint: self.end_session_endpoint,
            names_itself: self.authorization_response_iss_parameter_supported,
            registration_endpoint: self.registration_endpoint,
            shared_client_id: None,
        })
    }
}

impl AuthorizationServer {
    /// Parses the metadata of an issuer that the operator trusts.
    pub(crate) fn of_issuer(
        issuer: &str,
        metadata: &[u8],
        resource: String,
        scope: &str,
    ) -> Result<Self, ClientError> {
        let trusted = Url::parse(issuer)
            .map_err(|error| ClientError::new(format!("{issuer} cannot be used for sign-in: {error}")))?;
        let metadata: Metadata = serde_json::from_slice(metadata)
            .map_err(|error| malformed(&format_args!("the metadata of {issuer}"), &error))?;
        if metadata.issuer != issuer {
            let other = beginning(&metadata.issuer);
            return Err(ClientError::new(format!(
                "the metadata of {issuer} is about another issuer, {other:?}"
            )));
        }
        metadata.checked(&trusted, resource, scope.to_owned())
    }

    /// Client with this identifier, public or with a secret.
    pub(crate) fn client(&self, id: String, secret: Option<SecretString>) -> Client {
        let authentication = match secret {
            None => ClientAuthentication::None,
            Some(secret) if self.wants_posted_secrets => ClientAuthentication::Post(secret),
            Some(secret) => ClientAuthentication::Basic(secret),
        };
        Client { id, authentication }
    }

    /// Registers this program as a public client, and returns its identifier.
    pub async fn register(&self, http: &Http, program: &Registration<'_>) -> Result<String, ClientError> {
        let Some(endpoint) = &self.registration_endpoint else {
            return Err(ClientError::new(format!("{} lets no program register by itself", self.issuer))
                .hint(program.alternative));
        };
        let mut client = json!({
            "client_name": program.name,
            "application_type": program.application_type,
            "redirect_uris": [program.redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": self.scope,
        });
        if let Some(uri) = program.backchannel_logout_uri {
            client["backchannel_logout_uri"] = uri.into();
        }
        let answer = http.post_json(endpoint, &client).await?;
        if !answer.status.is_success() {
            let refusal = super::ErrorResponse::of(&answer);
            return Err(ClientError::new(format!(
                "{} refused to register this program: {refusal}",
                self.issuer
            )));
        }
        let registered: Registered = serde_json::from_slice(&answer.body)
            .map_err(|error| malformed(&format_args!("the answer of {endpoint}"), &error))?;
        match registered.token_endpoint_auth_method.as_deref() {
            None | Some("none") => Ok(registered.client_id),
            Some(_) => Err(ClientError::new(format!(
                "{} registers only clients that keep a secret, and this program cannot",
                self.issuer
            ))
            .hint(program.alternative)),
        }
    }
}

async fn resource(http: &Http, server: &Url) -> Result<ProtectedResource, ClientError> {
    let at =
        |path: &str| below(server, path).parse::<Url>().map_err(|error| ClientError::new(error.to_string()));
    let place = well_known(server, "oauth-protected-resource", "/mcp");
    let mut found: Option<ProtectedResource> = http.document(&place).await?;
    if found.is_none() && !path_of(server).is_empty() {
        // A reverse proxy may forward only requests below the server's path.
        found = http.document(&at("/.well-known/oauth-protected-resource/mcp")?).await?;
    }
    let found = found.ok_or_else(|| {
        ClientError::new(format!("{server} does not say how to sign in")).hint("is it a Kitbag server?")
    })?;
    // RFC 9728, section 3.3: with another `resource`, the document and the tokens may be for another server.
    if found.resource != at("/mcp")?.as_str() {
        let itself = found.resource.trim_end_matches("/mcp").escape_debug();
        return Err(ClientError::new(format!("{server} calls itself {itself}"))
            .hint(format!("if you trust that name, run `kitbag login --server {itself}`")));
    }
    // It becomes part of commands and configuration files.
    if found.kitbag_mcp_client_id.as_deref().is_some_and(|id| !is_client_id(id)) {
        return Err(ClientError::new(format!("{server} names a client whose identifier is invalid")));
    }
    Ok(found)
}

async fn metadata(http: &Http, server: &Url, issuer: &str) -> Result<Metadata, ClientError> {
    // The URL parser accepts control characters by encoding them; printed, they would control the terminal.
    let places = metadata_urls(issuer)
        .filter(|_| !issuer.contains(char::is_control))
        .ok_or_else(|| ClientError::new(format!("{issuer:?} names nobody who could sign people in")))?;
    // The metadata determines where codes and tokens are sent: it must not be modified in transit either.
    if places.iter().any(|place| !is_protected(place, server)) {
        return Err(ClientError::new(format!(
            "{issuer}, who signs people in for {server}, is not protected"
        ))
        .hint("the server has to name an issuer with an https URL"));
    }
    for place in &places {
        let Some(found) = http.document::<Metadata>(place).await? else { continue };
        if found.issuer != issuer {
            let other = beginning(&found.issuer);
            return Err(ClientError::new(format!("{place} is about another issuer, {other:?}")));
        }
        return Ok(found);
    }
    Err(ClientError::new(format!("{issuer} does not say how it signs people in")))
}
