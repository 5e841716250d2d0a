//! Types of the manifest field `auth`: sign-ins that the server performs for a toolkit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Parameters of an authorization request that a declaration must not set: the server sets them itself (RFC
/// 6749, section 4.1.1; RFC 7636, section 4.3; `OpenID` Connect Core, section 3.1.2.1), or they would
/// override those that it sets (RFC 9101, section 5).
pub const OWN_PARAMETERS: [&str; 11] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "nonce",
    "request",
    "request_uri",
    "response_mode",
];

/// One sign-in: the credential that the server attaches to requests to one host. The toolkit never sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Auth {
    /// Access token of the toolkit's own account, from a client-credentials grant.
    #[serde(rename = "oauth2_client_credentials")]
    ClientCredentials(OAuth2ClientCredentials),
    /// Access token of the calling user's connected account.
    #[serde(rename = "oauth2_authorization_code")]
    AuthorizationCode(OAuth2AuthorizationCode),
    /// API key in a header or in the query.
    #[serde(rename = "api_key")]
    ApiKey(ApiKey),
    /// HTTP Basic.
    #[serde(rename = "basic")]
    Basic(BasicAuth),
}

impl Auth {
    /// Returns the only host that receives the credential.
    pub fn api_host(&self) -> &str {
        match self {
            Self::ClientCredentials(it) => &it.api_host,
            Self::AuthorizationCode(it) => &it.api_host,
            Self::ApiKey(it) => &it.api_host,
            Self::Basic(it) => &it.api_host,
        }
    }

    /// Returns the secrets that the sign-in uses, as pairs of the declaring field and the secret's name.
    pub fn secrets(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::ClientCredentials(it) => {
                vec![
                    ("clientIdSecret", &it.client_id_secret),
                    ("clientSecretSecret", &it.client_secret_secret),
                ]
            }
            Self::AuthorizationCode(it) => {
                let secret = it.client_secret_secret.as_deref().map(|name| ("clientSecretSecret", name));
                [("clientIdSecret", it.client_id_secret.as_str())].into_iter().chain(secret).collect()
            }
            Self::ApiKey(it) => vec![("secret", &it.secret)],
            Self::Basic(it) => {
                vec![("usernameSecret", &it.username_secret), ("passwordSecret", &it.password_secret)]
            }
        }
    }
}

/// Client-credentials grant (RFC 6749, section 4.4) that the host carries out for the toolkit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OAuth2ClientCredentials {
    /// Token endpoint; its host is listed in `egress`.
    pub token_url: String,
    /// Name of the secret that holds the client id; it is listed in `secrets`.
    pub client_id_secret: String,
    /// Name of the secret that holds the client secret; it is listed in `secrets`.
    pub client_secret_secret: String,
    /// Space-delimited scopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The one host that receives the token; it is listed in `egress`.
    pub api_host: String,
}

/// Authorization-code grant (RFC 6749, section 4.1, with PKCE, RFC 7636): a user connects an account once, and the server
/// attaches its token to that user's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OAuth2AuthorizationCode {
    /// Authorization endpoint, which the user's browser opens.
    pub authorization_url: String,
    /// Token endpoint; its host is listed in `egress`.
    pub token_url: String,
    /// Name of the secret that holds the client id.
    pub client_id_secret: String,
    /// Name of the secret that holds the client secret; absent for a public client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_secret: Option<String>,
    /// Space-delimited scopes to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// How the client authenticates at the token endpoint.
    #[serde(default, skip_serializing_if = "ClientAuth::is_default")]
    pub client_auth: ClientAuth,
    /// Further parameters of the authorization request, such as `prompt`; at most 8, none of [`OWN_PARAMETERS`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub authorization_params: BTreeMap<String, String>,
    /// Revocation endpoint (RFC 7009); its host is listed in `egress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation_url: Option<String>,
    /// Where the API says whose account it is. Without it, the name is that of the provider's ID token, if it sends one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_name: Option<Box<AccountName>>,
    /// The one host that receives the token; it is listed in `egress`.
    pub api_host: String,
}

/// Where the API says whose account it is: asked once, when a user connects it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountName {
    /// URL of a JSON document about the user, which the server gets with their token; at `apiHost`.
    pub url: String,
    /// JSON pointer (RFC 6901) to the name in that document, such as `/login`.
    pub pointer: String,
}

impl OAuth2AuthorizationCode {
    /// Returns the grant without what only says whose account it is.
    #[must_use]
    pub fn without_account_name(&self) -> Self {
        Self { account_name: None, ..self.clone() }
    }
}

/// How a client authenticates at a token endpoint (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ClientAuth {
    /// HTTP Basic.
    #[default]
    Basic,
    /// `client_id` and `client_secret` in the body.
    Post,
}

impl ClientAuth {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A key that the server puts into a header or into the query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiKey {
    /// Name of the secret that holds the key.
    pub secret: String,
    /// Where the key goes.
    #[serde(default, rename = "in", skip_serializing_if = "KeyPlace::is_default")]
    pub place: KeyPlace,
    /// Name of the header, `Authorization` by default, or of the query parameter, which has no default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Text before the key in a header, such as `Bearer ` with its space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The one host that receives the key; it is listed in `egress`.
    pub api_host: String,
}

impl ApiKey {
    /// Returns the name of the header or query parameter.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("Authorization")
    }
}

/// Where a key goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum KeyPlace {
    /// A header of each request.
    #[default]
    Header,
    /// A parameter of each URL's query.
    Query,
}

impl KeyPlace {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// HTTP Basic (RFC 7617).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BasicAuth {
    /// Name of the secret that holds the user name.
    pub username_secret: String,
    /// Name of the secret that holds the password.
    pub password_secret: String,
    /// The one host that receives both; it is listed in `egress`.
    pub api_host: String,
}

/// Sign-ins of a toolkit. Serialized as one object or a list of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OneOrMany", into = "OneOrMany")]
pub struct Auths(pub Vec<Auth>);

impl Auths {
    /// Maximum number of sign-ins.
    pub const MAX: usize = 8;

    /// Returns whether the toolkit declares no sign-in.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the sign-ins.
    pub fn iter(&self) -> impl Iterator<Item = &Auth> {
        self.0.iter()
    }

    /// Returns the authorization-code grant of the connected account. If a toolkit has several such grants,
    /// they differ only in `api_host`.
    pub fn account(&self) -> Option<&OAuth2AuthorizationCode> {
        self.0.iter().find_map(|it| match it {
            Auth::AuthorizationCode(grant) => Some(grant),
            _ => None,
        })
    }
}

impl From<Auth> for Auths {
    fn from(auth: Auth) -> Self {
        Self(vec![auth])
    }
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    Many(Vec<Auth>),
    One(Auth),
}

impl From<OneOrMany> for Auths {
    fn from(auths: OneOrMany) -> Self {
        match auths {
            OneOrMany::Many(all) => Self(all),
            OneOrMany::One(auth) => auth.into(),
        }
    }
}

impl From<Auths> for OneOrMany {
    fn from(Auths(mut all): Auths) -> Self {
        match (all.pop(), all.is_empty()) {
            (Some(only), true) => Self::One(only),
            (last, _) => {
                all.extend(last);
                Self::Many(all)
            }
        }
    }
}

#[cfg(feature = "rules")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde_json::{Value, json};

    use super::{ApiKey, Auth, Auths, BasicAuth, OAuth2AuthorizationCode, OAuth2ClientCredentials};

    // `if`/`then` instead of `oneOf`: a validator then reports the problems of the intended type only.

    impl JsonSchema for Auth {
        fn schema_name() -> Cow<'static, str> {
            "Auth".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let types = [
                ("oauth2_client_credentials", OAuth2ClientCredentials::json_schema(generator)),
                ("oauth2_authorization_code", OAuth2AuthorizationCode::json_schema(generator)),
                ("api_key", ApiKey::json_schema(generator)),
                ("basic", BasicAuth::json_schema(generator)),
            ];
            let names: Vec<_> = types.iter().map(|(name, _)| *name).collect();
            let conditions: Vec<_> = types.iter().map(|(name, schema)| condition(name, schema)).collect();
            json_schema!({
                "description": "What the server attaches to requests to one host. The toolkit never sees it.",
                "type": "object",
                "properties": { "type": { "description": "Kind of sign-in.", "enum": names } },
                "required": ["type"],
                "allOf": conditions,
            })
        }
    }

    fn condition(name: &str, schema: &Schema) -> Value {
        let mut schema = schema.clone().to_value();
        schema["properties"]["type"] = json!({ "const": name });
        let is_meant =
            json!({ "type": "object", "properties": { "type": { "const": name } }, "required": ["type"] });
        json!({ "if": is_meant, "then": schema })
    }

    impl JsonSchema for Auths {
        fn schema_name() -> Cow<'static, str> {
            "Auths".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let auth = generator.subschema_for::<Auth>();
            json_schema!({
                "description": "One sign-in, or a list of them, each with another `apiHost`.",
                "if": { "type": "array" },
                "then": { "items": auth, "minItems": 1, "maxItems": Auths::MAX },
                "else": auth,
            })
        }
    }
}
