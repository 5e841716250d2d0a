//! From the URL of a server to whoever signs people in for it (RFC 9728, RFC 8414, RFC 7591).

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{Http, expect_protected, is_protected};
use crate::cli::CliError;
use crate::identity::metadata_urls;

/// What the server's scopes are called where it lists none.
const DEFAULT_SCOPE: &str = "profile email offline_access";

/// An authorization server, and what it gives tokens for.
#[derive(Debug)]
pub(in crate::cli) struct AuthorizationServer {
    /// Its identifier, letter for letter.
    pub(in crate::cli) issuer: String,
    /// The resource that tokens are asked for: the server's MCP endpoint.
    pub(in crate::cli) resource: String,
    /// Scopes to ask for, separated by spaces.
    pub(in crate::cli) scope: String,
    pub(in crate::cli) authorization_endpoint: Url,
    pub(in crate::cli) token_endpoint: Url,
    pub(in crate::cli) revocation_endpoint: Option<Url>,
    /// Whether its answers always name it (RFC 9207, section 3).
    pub(in crate::cli) names_itself: bool,
    registration_endpoint: Option<Url>,
}

/// Protected resource metadata (RFC 9728, section 2).
#[derive(Deserialize)]
struct ProtectedResource {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

/// Authorization server metadata (RFC 8414, section 2).
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: Url,
    token_endpoint: Url,
    registration_endpoint: Option<Url>,
    revocation_endpoint: Option<Url>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// What is read of a registration (RFC 7591, section 3.2.1).
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    token_endpoint_auth_method: Option<String>,
}

/// Finds the authorization server of `server`.
pub(in crate::cli) async fn discover(http: &Http, server: &Url) -> Result<AuthorizationServer, CliError> {
    expect_protected(server)?;
    let resource = resource(http, server).await?;
    let [issuer, ..] = resource.authorization_servers.as_slice() else {
        return Err(CliError::new(format!("{server} names nobody who signs people in")));
    };
    let metadata = metadata(http, server, issuer).await?;
    let endpoints = [
        Some(&metadata.authorization_endpoint),
        Some(&metadata.token_endpoint),
        metadata.registration_endpoint.as_ref(),
        metadata.revocation_endpoint.as_ref(),
    ];
    if let Some(open) = endpoints.into_iter().flatten().find(|endpoint| !is_protected(endpoint, server)) {
        return Err(CliError::new(format!("{issuer} wants secrets at {open}, which is not protected")));
    }
    // OAuth 2.1 demands it of every server; one that does not say so may ignore the challenge.
    if !metadata.code_challenge_methods_supported.iter().any(|method| method == "S256") {
        return Err(CliError::new(format!("{issuer} does not support PKCE with S256")));
    }
    let scope = match resource.scopes_supported.as_slice() {
        [] => DEFAULT_SCOPE.to_owned(),
        listed => listed.join(" "),
    };
    Ok(AuthorizationServer {
        issuer: metadata.issuer,
        resource: resource.resource,
        scope,
        authorization_endpoint: metadata.authorization_endpoint,
        token_endpoint: metadata.token_endpoint,
        revocation_endpoint: metadata.revocation_endpoint,
        names_itself: metadata.authorization_response_iss_parameter_supported,
        registration_endpoint: metadata.registration_endpoint,
    })
}

impl AuthorizationServer {
    /// Registers this program as a public client that is answered at `redirect_uri` (RFC 8252), and
    /// returns its identifier.
    pub(in crate::cli) async fn register(&self, http: &Http, redirect_uri: &str) -> Result<String, CliError> {
        let Some(endpoint) = &self.registration_endpoint else {
            return Err(CliError::new(format!("{} lets no program register by itself", self.issuer))
                .hint("register one there as a public client, and name it with --client-id"));
        };
        let client = json!({
            "client_name": "Kitbag command line",
            "application_type": "native",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": self.scope,
        });
        let answer = http.post_json(endpoint, &client).await?;
        if !answer.status.is_success() {
            let refusal = super::ErrorResponse::of(&answer);
            return Err(CliError::new(format!(
                "{} refused to register this program: {refusal}",
                self.issuer
            )));
        }
        let registered: Registered = serde_json::from_slice(&answer.body)
            .map_err(|error| CliError::new(format!("{endpoint} answered something else: {error}")))?;
        match registered.token_endpoint_auth_method.as_deref() {
            None | Some("none") => Ok(registered.client_id),
            Some(_) => Err(CliError::new(format!(
                "{} registers only clients that keep a secret, and a program at a terminal cannot",
                self.issuer
            ))),
        }
    }
}

async fn resource(http: &Http, server: &Url) -> Result<ProtectedResource, CliError> {
    let at = |path: &str| server.join(path).map_err(|error| CliError::new(error.to_string()));
    let place = at("/.well-known/oauth-protected-resource/mcp")?;
    let found: ProtectedResource = http.document(&place).await?.ok_or_else(|| {
        CliError::new(format!("{server} does not say how to sign in")).hint("is it a Kitbag server?")
    })?;
    // RFC 9728, section 3.3: with another name in it, the document may be about another server, and
    // the tokens with it.
    if found.resource != at("/mcp")?.as_str() {
        let itself = found.resource.trim_end_matches("/mcp").escape_debug();
        return Err(CliError::new(format!("{server} calls itself {itself}"))
            .hint(format!("if you trust that name, run `kitbag login --server {itself}`")));
    }
    Ok(found)
}

async fn metadata(http: &Http, server: &Url, issuer: &str) -> Result<Metadata, CliError> {
    // The URL parser would encode control characters, and a terminal would obey them.
    let places = metadata_urls(issuer)
        .filter(|_| !issuer.contains(char::is_control))
        .ok_or_else(|| CliError::new(format!("{issuer:?} names nobody who could sign people in")))?;
    // What says where codes and tokens go must not be changed on its way either.
    if places.iter().any(|place| !is_protected(place, server)) {
        return Err(CliError::new(format!("{issuer}, who signs people in for {server}, is not protected"))
            .hint("the server has to name an issuer with an https URL"));
    }
    for place in &places {
        let Some(found) = http.document::<Metadata>(place).await? else { continue };
        if found.issuer != issuer {
            return Err(CliError::new(format!("{place} is about another issuer, {:?}", found.issuer)));
        }
        return Ok(found);
    }
    Err(CliError::new(format!("{issuer} does not say how it signs people in")))
}
