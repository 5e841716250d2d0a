//! Cost of attached credentials: a call with one request to a server on this machine, with a token of the
//! toolkit's own grant, and with the account of its user.

use std::path::Path;
use std::sync::Arc;

use kitbag::app;
use kitbag::settings::{Settings, Sources};
use kitbag_database::Database;
use kitbag_database::audit::Actor;
use kitbag_manifest::{Auth, OAuth2AuthorizationCode, OAuth2ClientCredentials, ToolkitDefinition};
use kitbag_net::egress::{Egress, EgressSettings};
use kitbag_sandbox::capabilities::Services;
use kitbag_sandbox::{Background, Loaded, Sandbox};
use kitbag_vault::outbound_auth::Accounts;
use kitbag_vault::{Account, AccountState, KeySource, SecretSlot, Tokens, UserSecrets, Vault};
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Executor};

use crate::Outcome;
use crate::child::Server;
use crate::components::Components;
use crate::report::Effort;
use crate::sandbox_share::{self, invocation, times};

/// User id of the invocations.
const USER: &str = "local";
const TOOLKIT: &str = "probe";

/// Measures the median duration, in µs, of a call that fetches with a token of the toolkit's own grant, and
/// of one with its user's account.
pub(crate) async fn measure(
    components: &Components,
    upstream: &Server,
    effort: &Effort,
) -> Outcome<[f64; 2]> {
    let data = tempfile::tempdir()?;
    let vault = vault(data.path()).await?;
    let address = upstream.address().to_string();
    let grant = OAuth2ClientCredentials {
        token_url: format!("http://{address}/token"),
        client_id_secret: "CLIENT_ID".to_owned(),
        client_secret_secret: "CLIENT_SECRET".to_owned(),
        scope: None,
        api_host: address.clone(),
    };
    let account = OAuth2AuthorizationCode {
        authorization_url: format!("http://{address}/authorize"),
        token_url: format!("http://{address}/token"),
        client_id_secret: "CLIENT_ID".to_owned(),
        client_secret_secret: Some("CLIENT_SECRET".to_owned()),
        api_host: address,
        ..OAuth2AuthorizationCode::default()
    };
    connect(&vault, &account).await?;
    let mut medians = [0.0; 2];
    for (median, auth) in
        medians.iter_mut().zip([Auth::ClientCredentials(grant), Auth::AuthorizationCode(account)])
    {
        let toolkit = load(&components.probe, upstream, &vault, auth).await?;
        let url = format!("http://{}/", upstream.address());
        let mut invocation = invocation("fetch", &json!({ "method": "POST", "url": url, "body": "{}" }));
        invocation.secrets = Arc::new(secrets());
        *median = times(&toolkit, &invocation, effort.calls / 10).await?.p50_us;
    }
    Ok(medians)
}

/// Opens the vault of a service that has the toolkit.
async fn vault(data: &Path) -> Outcome<Arc<Vault>> {
    let database = Database::open(data).await?;
    let file = SqliteConnectOptions::new().filename(data.join("kitbag.sqlite")).foreign_keys(false);
    let toolkit =
        "INSERT INTO toolkit_versions VALUES ('probe', '1.0.0', 'd', 1, '{}', '{}', '[]', 'local', 0);
                   INSERT INTO toolkits VALUES ('probe', 'local', '1.0.0');";
    file.connect().await?.execute(toolkit).await?;
    Ok(Arc::new(Vault::open(database, KeySource::File(data.join("master-key"))).await?))
}

async fn connect(vault: &Arc<Vault>, grant: &OAuth2AuthorizationCode) -> Outcome<()> {
    let tokens = Tokens {
        access_token: "a-token-of-the-benchmark".into(),
        refresh_token: Some("another-token-of-the-benchmark".into()),
        expires_at: Some(i64::MAX),
        renew_at: Some(i64::MAX),
        scope: None,
    };
    let account = Account {
        grants: vec![grant.clone()],
        connected_at: 0,
        name: None,
        state: AccountState::Connected(tokens),
    };
    Ok(vault.put_account(&Actor::server(), SecretSlot::account(USER, TOOLKIT, USER), &account).await?)
}

fn secrets() -> UserSecrets {
    let of_toolkit = |name: &str| (TOOLKIT.to_owned(), name.to_owned());
    let named = [("CLIENT_ID", "an-id-of-the-benchmark"), ("CLIENT_SECRET", "a-secret-of-the-benchmark")];
    UserSecrets::of(named.map(|(name, value)| (of_toolkit(name), value.into())).into())
}

async fn load(component: &[u8], upstream: &Server, vault: &Arc<Vault>, auth: Auth) -> Outcome<Loaded> {
    let settings = Settings::load(Sources::default(), None)?;
    let toolkit_ranges = std::iter::once("127.0.0.0/8".parse()?).collect();
    let egress = Egress::new(EgressSettings { toolkit_ranges, ..EgressSettings::default() });
    let accounts = Accounts::new(egress.clone(), vault.clone());
    let services = Services::new(egress).with_accounts(accounts);
    let sandbox = Sandbox::new(app::limits(&settings), services, Background::start()?)?;
    let declare = |declared| ToolkitDefinition {
        egress: vec![upstream.address().to_string()],
        auth: auth.into(),
        ..declared
    };
    sandbox_share::load(&sandbox, component, declare).await
}
