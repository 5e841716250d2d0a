//! Sign-in: the verification of tokens, the authorization server of local mode, sessions of browsers, and keys
//! of programs; and the roles of users.

use std::sync::Arc;
use std::time::Duration;

use kitbag_access::Roles;
use kitbag_base::local_mode;
use kitbag_database::Database;
use kitbag_identity::{
    Algorithms, AuthorizationServer, BrowserSessions, Identity, IdentitySettings, IssuerChange, KeyGroups,
    KeyLimits, Lifetimes, LocalIssuer, ProgramKeys, ProviderSignIn, Provisioning, SessionAudience,
    SessionLifetime, SignInCode, UntypedTokens, UserIdAttribute, UserIdClaim, Users, WebClient, bind_issuer,
};
use kitbag_net::egress::Egress;
use kitbag_vault::Vault;
use url::Url;

use super::error::StartError;
use super::resources::Resources;
use crate::settings::{self, Creators, Issuer, Operator, ScimUserId, Settings, UserIdClaimSetting};

/// Everything that tells who sends a request.
pub(super) struct SignIn {
    pub(super) identity: Arc<Identity>,
    /// The authorization server of local mode.
    pub(super) authorization_server: Option<Arc<AuthorizationServer>>,
    /// Keys of programs; `None` if the operator disables them.
    pub(super) program_keys: Option<ProgramKeys>,
    pub(super) browser_sessions: Arc<BrowserSessions>,
    /// Sign-in of browsers with the identity provider, if this server is a client there.
    pub(super) provider: Option<Arc<ProviderSignIn>>,
}

impl SignIn {
    /// Opens sign-in for a server at `base_url`.
    pub(super) async fn open(
        settings: &Settings,
        base_url: &Url,
        resources: &Resources,
        vault: &Arc<Vault>,
        users: &Users,
    ) -> Result<Self, StartError> {
        let Resources { database, egress, .. } = resources;
        let program_keys = settings.keys.then(|| program_keys(settings, database));
        let (identity, authorization_server) =
            issuer(settings, base_url, egress.clone(), database, program_keys.clone()).await?;
        let browser_sessions = browser_sessions(settings, database);
        let provider = web_client(settings).map(|client| {
            Arc::new(ProviderSignIn::new(
                identity.clone(),
                browser_sessions.clone(),
                vault.clone(),
                database.clone(),
                egress.clone(),
                client,
                base_url.as_str().trim_end_matches('/'),
            ))
        });
        if let Some(provider) = &provider {
            provider.revoke_when_ended(users);
        }
        Ok(Self { identity, authorization_server, program_keys, browser_sessions, provider })
    }
}

/// Fails if the users in the database are those of another issuer than the configured one.
pub(super) async fn bind(settings: &Settings, database: &Database) -> Result<(), IssuerChange> {
    let replaced = settings.issuer_replaces.get().map(Issuer::name);
    bind_issuer(database, settings.issuer.name(), replaced).await
}

/// Converts the settings to operators and, in local mode, group memberships. In local mode, the user of this
/// machine's commands is an operator too.
pub(super) fn roles(settings: &Settings) -> Roles {
    let mut roles = Roles::default();
    for operator in settings.operators.iter().cloned() {
        match operator {
            Operator::User(id) => roles.operators.insert(id),
            Operator::Group(name) => roles.operator_groups.insert(name),
        };
    }
    if settings.issuer == Issuer::Local {
        roles.operators.insert(local_mode::USER.to_owned());
    }
    let creators = settings.collections.get().copied();
    roles.operators_make_collections = match creators {
        Some(creators) => creators == Creators::Operators,
        None => settings.issuer != Issuer::Local,
    };
    let groups = settings.local_groups.iter();
    roles.local_groups =
        groups.map(|(user, names)| (user.clone(), names.iter().cloned().collect())).collect();
    roles
}

/// Creates the token verifier and, in local mode, the authorization server.
async fn issuer(
    settings: &Settings,
    base_url: &Url,
    egress: Egress,
    database: &Database,
    keys: Option<ProgramKeys>,
) -> Result<(Arc<Identity>, Option<Arc<AuthorizationServer>>), StartError> {
    let mut identity = identity_settings(settings, base_url);
    let Issuer::External(issuer) = &settings.issuer else {
        // Must precede reading the key: a changed sign-in code replaces the key.
        let code = SignInCode::open(&settings.data, database).await?;
        let local = Arc::new(LocalIssuer::open(&settings.data, base_url.as_str())?);
        local_mode::announce(&settings.data, base_url)
            .map_err(|cause| StartError::Data { path: settings.data.clone(), cause })?;
        let identity = Identity::with_local_issuer(identity, local.clone())?.accepting(keys);
        let lifetimes = Lifetimes {
            access_token: settings.bounds.access_token_lifetime,
            replaced_token: settings.refresh_grace.get(),
            ..Lifetimes::default()
        };
        let server = AuthorizationServer::new(local, code, database.clone(), egress, lifetimes);
        return Ok((Arc::new(identity), Some(Arc::new(server))));
    };
    if !settings.token_algorithms.is_empty() {
        identity.algorithms = Algorithms::parse(settings.token_algorithms.iter())?;
    }
    Ok((Arc::new(Identity::with_provider(identity, issuer, egress)?.accepting(keys)), None))
}

fn identity_settings(settings: &Settings, base_url: &Url) -> IdentitySettings {
    IdentitySettings {
        base_url: base_url.to_string(),
        algorithms: Algorithms::default(),
        allowed_origins: settings.allowed_origins.to_vec(),
        session_audience: if settings.accept_missing_audience {
            SessionAudience::Optional
        } else {
            SessionAudience::Required
        },
        audiences: settings.audience.to_vec(),
        untyped_tokens: if settings.accept_untyped_tokens {
            UntypedTokens::Accepted
        } else {
            UntypedTokens::Refused
        },
        // OAuth separates scopes by blanks, and lists of settings have commas.
        scopes: settings
            .scopes
            .iter()
            .flat_map(|scopes| scopes.split_whitespace())
            .map(str::to_owned)
            .collect(),
        mcp_client_id: settings.mcp_client_id.get().cloned(),
        groups_claim: settings.groups_claim.get().cloned(),
        user_id_claim: match settings.user_id_claim.get() {
            Some(UserIdClaimSetting::Oid) => UserIdClaim::Oid,
            Some(UserIdClaimSetting::Sub) | None => UserIdClaim::Sub,
        },
    }
}

/// Creates the store of API keys for programs, also if the operator disables them.
pub(super) fn program_keys(settings: &Settings, database: &Database) -> ProgramKeys {
    let keys = ProgramKeys::new(database.clone(), settings.issuer.name());
    keys.limited(key_limits(settings)).with_groups(key_groups(settings))
}

/// Groups that count for keys.
fn key_groups(settings: &Settings) -> KeyGroups {
    if settings.scim_user_id.get().is_some() {
        return KeyGroups::Provisioned;
    }
    match settings.groups_remembered.get() {
        Duration::ZERO => KeyGroups::None,
        period => KeyGroups::Remembered(period),
    }
}

/// Opens what the identity provider maintains here.
pub(super) async fn provisioning(
    settings: &Settings,
    database: &Database,
    users: &Users,
) -> kitbag_database::Result<Provisioning> {
    let user_id = settings.scim_user_id.get().map(|attribute| match attribute {
        ScimUserId::ExternalId => UserIdAttribute::ExternalId,
        ScimUserId::UserName => UserIdAttribute::UserName,
        ScimUserId::Email => UserIdAttribute::Email,
    });
    Provisioning::open(database.clone(), users.clone(), user_id, settings.bounds.provisioning).await
}

/// Limits of keys. Whoever leaves a company no longer signs in at its provider. With local sign-in, nobody disables an
/// account, and who has the sign-in code has it for good: a missing sign-in says nothing.
fn key_limits(settings: &Settings) -> KeyLimits {
    const WITHOUT_SIGN_IN: Duration = Duration::from_hours(24 * 30);

    KeyLimits {
        lifetime: settings.key_lifetime.get(),
        without_sign_in: match settings.keys_without_sign_in.get() {
            Some(limit) => limit.get(),
            None => (settings.issuer != Issuer::Local).then_some(WITHOUT_SIGN_IN),
        },
    }
}

/// Creates the store of browser sessions.
fn browser_sessions(settings: &Settings, database: &Database) -> Arc<BrowserSessions> {
    let issuer = settings.issuer.name();
    let lifetime = session_lifetime(settings);
    Arc::new(BrowserSessions::new(database.clone(), issuer, lifetime))
}

/// Lifetime of browser sessions: by default 12 hours, or 30 days in local mode, which serves one machine and
/// whose sign-in code few users remember.
fn session_lifetime(settings: &Settings) -> SessionLifetime {
    const DEFAULT: Duration = Duration::from_hours(12);
    const DEFAULT_LOCAL: Duration = Duration::from_hours(24 * 30);

    let default = if settings.issuer == Issuer::Local { DEFAULT_LOCAL } else { DEFAULT };
    SessionLifetime::of(settings.web_session_lifetime.get().map_or(default, |span| span.get()))
}

/// OAuth client of the server's web pages at the identity provider, if one is configured.
fn web_client(settings: &Settings) -> Option<WebClient> {
    match settings.web_client_id.get()?.as_str() {
        settings::REGISTER => Some(WebClient::Registers),
        id => {
            let secret = settings.web_client_secret.get().map(|secret| secret.get().clone());
            Some(WebClient::Named { id: id.to_owned(), secret })
        }
    }
}
