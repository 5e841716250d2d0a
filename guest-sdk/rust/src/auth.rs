//! Sign-ins that the host carries out for a toolkit.

use kitbag_manifest::{
    self as manifest, Auth as Definition, ClientAuth, OAuth2AuthorizationCode, OAuth2ClientCredentials,
};

/// One sign-in of a toolkit, for [`Toolkit::auth`](crate::Toolkit::auth). Converted from
/// [`ClientCredentials`], [`AuthorizationCode`], [`ApiKey`] or [`BasicAuth`].
///
/// The host attaches a token or a secret to requests to `api_host`, over `https` (`http` on loopback only), and
/// nowhere else. A header or query parameter that a handler sets itself is not replaced.
#[derive(Clone, Debug)]
pub struct Auth(Definition);

/// An OAuth 2.0 client-credentials grant (RFC 6749, section 4.4) that the host carries out.
///
/// The host obtains the token, caches it and attaches it to requests to `api_host`; the toolkit never
/// sees it. An `Authorization` header that a handler sets is not replaced.
#[derive(Clone, Debug, Default)]
pub struct ClientCredentials {
    /// Token endpoint; its host is listed in `egress`.
    pub token_url: &'static str,
    /// Name of the declared secret that holds the client id.
    pub client_id_secret: &'static str,
    /// Name of the declared secret that holds the client secret.
    pub client_secret_secret: &'static str,
    /// Space-delimited scopes sent with the grant.
    pub scope: Option<&'static str>,
    /// The one host that receives the token; listed in `egress`.
    pub api_host: &'static str,
}

/// The calling user's account at an API, which the user connects once in a browser: an OAuth 2.0
/// authorization-code grant (RFC 6749, section 4.1) with PKCE (RFC 7636).
///
/// The host attaches the access token to the user's requests to `api_host` and renews it; the toolkit never sees
/// it. The redirect URI to register at the provider is `{base_url}/ui/toolkits/{id}/auth/callback`.
///
/// ```
/// # use kitbag_toolkit::prelude::*;
/// # async fn issues(_: NoArgs, ctx: Ctx) -> Result<String> {
/// #     Ok(ctx.fetch("https://api.github.com/issues").await?.text().await?)
/// # }
/// let toolkit = Toolkit::new("github", "GitHub")
///     .description("Lists issues.")
///     .icon("🐙")
///     .version("1.0.0")
///     .egress("github.com")
///     .egress("api.github.com")
///     .auth(AuthorizationCode {
///         authorization_url: "https://github.com/login/oauth/authorize",
///         token_url: "https://github.com/login/oauth/access_token",
///         client_id_secret: "GITHUB_CLIENT_ID",
///         client_secret_secret: Some("GITHUB_CLIENT_SECRET"),
///         scope: Some("repo"),
///         api_host: "api.github.com",
///         ..AuthorizationCode::default()
///     })
///     .tool(Tool::new("issues", issues).description("Lists the user's issues."));
///
/// let call = Call::new("issues").account("token-of-ana").fetch(|request| {
///     assert_eq!(request.headers()["authorization"], "Bearer token-of-ana");
///     Response::new(200, "none")
/// });
/// assert_eq!(dispatch(&toolkit, call).text(), "none");
/// ```
#[derive(Clone, Debug, Default)]
pub struct AuthorizationCode {
    /// Authorization endpoint, which the user's browser opens.
    pub authorization_url: &'static str,
    /// Token endpoint; its host is listed in `egress`.
    pub token_url: &'static str,
    /// Name of the secret that holds the client id.
    pub client_id_secret: &'static str,
    /// Name of the secret that holds the client secret; `None` for a public client.
    pub client_secret_secret: Option<&'static str>,
    /// Space-delimited scopes to request.
    pub scope: Option<&'static str>,
    /// Client authentication method at the token endpoint.
    pub client_auth: ClientAuth,
    /// Further parameters of the authorization request as pairs of name and value, such as
    /// `("prompt", "consent")`; at most 8.
    pub authorization_params: &'static [(&'static str, &'static str)],
    /// Revocation endpoint (RFC 7009); its host is listed in `egress`.
    pub revocation_url: Option<&'static str>,
    /// Where the API says whose account it is, so that pages and records can. Without it, the name is that of the provider's
    /// ID token, if it sends one.
    pub account_name: Option<AccountName>,
    /// The one host that receives the token; listed in `egress`.
    pub api_host: &'static str,
}

/// Where the API says whose account it is: asked once, when a user connects it.
#[derive(Clone, Debug, Default)]
pub struct AccountName {
    /// URL of a JSON document about the user, which the host gets with their token; at `api_host`.
    pub url: &'static str,
    /// JSON pointer (RFC 6901) to the name in that document, such as `/login`.
    pub pointer: &'static str,
}

/// An API key that the host puts into a header or into the query.
///
/// If only `auth` names the secret, the toolkit cannot read it.
///
/// ```
/// # use kitbag_toolkit::prelude::*;
/// # async fn look_up(_: NoArgs, ctx: Ctx) -> Result<String> {
/// #     Ok(ctx.fetch("https://maps.example/place?q=Bonn").await?.text().await?)
/// # }
/// let toolkit = Toolkit::new("maps", "Maps")
///     .description("Finds places.")
///     .icon("🗺️")
///     .version("1.0.0")
///     .egress("maps.example")
///     .egress("translate.example")
///     .auth(ApiKey {
///         secret: "MAPS_KEY",
///         place: KeyPlace::Query { name: "key" },
///         api_host: "maps.example",
///     })
///     .auth(ApiKey {
///         secret: "TRANSLATE_KEY",
///         place: KeyPlace::Header { name: "Authorization", prefix: "Bearer " },
///         api_host: "translate.example",
///     })
///     .tool(Tool::new("look_up", look_up).description("Looks a place up."));
///
/// let call = Call::new("look_up").secret("MAPS_KEY", "k-1").fetch(|request| {
///     assert_eq!(request.url(), "https://maps.example/place?q=Bonn&key=k-1");
///     Response::new(200, "on the Rhine")
/// });
/// assert_eq!(dispatch(&toolkit, call).text(), "on the Rhine");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ApiKey {
    /// Name of the secret that holds the key.
    pub secret: &'static str,
    /// Location of the key in the request.
    pub place: KeyPlace,
    /// The one host that receives the key; listed in `egress`.
    pub api_host: &'static str,
}

/// Location of an [`ApiKey`] in the request; by default the header `Authorization`, without a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// A header of each request.
    Header {
        /// Name of the header.
        name: &'static str,
        /// Text before the key, such as `Bearer ` with its space; may be empty.
        prefix: &'static str,
    },
    /// A parameter of each URL's query.
    Query {
        /// Name of the parameter.
        name: &'static str,
    },
}

/// User name and password that the host sends with HTTP Basic authentication (RFC 7617).
///
/// The toolkit cannot read secrets that only `auth` names.
///
/// ```
/// # use kitbag_toolkit::prelude::*;
/// # async fn tickets(_: NoArgs, ctx: Ctx) -> Result<String> {
/// #     Ok(ctx.fetch("https://tickets.example/").await?.text().await?)
/// # }
/// let toolkit = Toolkit::new("tickets", "Tickets")
///     .description("Lists tickets.")
///     .icon("🎫")
///     .version("1.0.0")
///     .egress("tickets.example")
///     .auth(BasicAuth { username_secret: "USER", password_secret: "PASSWORD", api_host: "tickets.example" })
///     .tool(Tool::new("tickets", tickets).description("Lists open tickets."));
///
/// let call = Call::new("tickets").secret("USER", "ana").secret("PASSWORD", "p").fetch(|request| {
///     assert_eq!(request.headers()["authorization"], "Basic YW5hOnA=");
///     Response::new(200, "none")
/// });
/// assert_eq!(dispatch(&toolkit, call).text(), "none");
/// ```
#[derive(Clone, Debug, Default)]
pub struct BasicAuth {
    /// Name of the secret that holds the user name.
    pub username_secret: &'static str,
    /// Name of the secret that holds the password.
    pub password_secret: &'static str,
    /// The one host that receives both; listed in `egress`.
    pub api_host: &'static str,
}

impl Auth {
    pub(crate) fn definition(&self) -> Definition {
        self.0.clone()
    }
}

impl Default for KeyPlace {
    fn default() -> Self {
        Self::Header { name: "Authorization", prefix: "" }
    }
}

impl From<ClientCredentials> for Auth {
    fn from(it: ClientCredentials) -> Self {
        Self(Definition::ClientCredentials(OAuth2ClientCredentials {
            token_url: it.token_url.to_owned(),
            client_id_secret: it.client_id_secret.to_owned(),
            client_secret_secret: it.client_secret_secret.to_owned(),
            scope: it.scope.map(str::to_owned),
            api_host: it.api_host.to_owned(),
        }))
    }
}

impl From<AuthorizationCode> for Auth {
    fn from(it: AuthorizationCode) -> Self {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self(Definition::AuthorizationCode(OAuth2AuthorizationCode {
            authorization_url: it.authorization_url.to_owned(),
            token_url: it.token_url.to_owned(),
            client_id_secret: it.client_id_secret.to_owned(),
            client_secret_secret: it.client_secret_secret.map(str::to_owned),
            scope: it.scope.map(str::to_owned),
            client_auth: it.client_auth,
            authorization_params: it.authorization_params.iter().map(pair).collect(),
            revocation_url: it.revocation_url.map(str::to_owned),
            account_name: it.account_name.map(|name| {
                let [url, pointer] = [name.url, name.pointer].map(str::to_owned);
                Box::new(kitbag_manifest::AccountName { url, pointer })
            }),
            api_host: it.api_host.to_owned(),
        }))
    }
}

impl From<ApiKey> for Auth {
    fn from(it: ApiKey) -> Self {
        let (place, name, prefix) = match it.place {
            KeyPlace::Header { name, prefix } => (manifest::KeyPlace::Header, name, prefix),
            KeyPlace::Query { name } => (manifest::KeyPlace::Query, name, ""),
        };
        Self(Definition::ApiKey(manifest::ApiKey {
            secret: it.secret.to_owned(),
            place,
            name: Some(name.to_owned()),
            prefix: (!prefix.is_empty()).then(|| prefix.to_owned()),
            api_host: it.api_host.to_owned(),
        }))
    }
}

impl From<BasicAuth> for Auth {
    fn from(it: BasicAuth) -> Self {
        Self(Definition::Basic(manifest::BasicAuth {
            username_secret: it.username_secret.to_owned(),
            password_secret: it.password_secret.to_owned(),
            api_host: it.api_host.to_owned(),
        }))
    }
}
