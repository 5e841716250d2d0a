//! Acts with its user's account at one host, with a key at another one and with a password at a third one, and tries to read
//! what it is given. All are names or ports of this machine.

use guest_support::{
    ApiKey, Auth, Auths, BasicAuth, Invocation, OAuth2AuthorizationCode, Outcome, ToolkitDefinition,
    arguments, definition, error, http, secrets, serde_json::json, structured, tool, unknown,
};

guest_support::toolkit!(describe, call);

/// A provider whose userinfo endpoint is the API.
const PROVIDER: &str = "127.0.0.1:18997";

fn describe() -> ToolkitDefinition {
    let tools = vec![
        tool("fetch", "Sends {method?, url, headers?, body?}; returns status, headers and body."),
        tool("read", "Tries to read the secret {name}."),
    ];
    let account = OAuth2AuthorizationCode {
        authorization_url: format!("http://{PROVIDER}/auth"),
        token_url: format!("http://{PROVIDER}/token"),
        client_id_secret: "CLIENT_ID".to_owned(),
        client_secret_secret: Some("CLIENT_SECRET".to_owned()),
        scope: Some("openid offline_access".to_owned()),
        authorization_params: [("prompt".to_owned(), "consent".to_owned())].into(),
        revocation_url: Some(format!("http://{PROVIDER}/token/revocation")),
        api_host: PROVIDER.to_owned(),
        ..OAuth2AuthorizationCode::default()
    };
    let key = ApiKey {
        secret: "SERVICE_KEY".to_owned(),
        name: Some("X-Api-Key".to_owned()),
        prefix: Some("Key ".to_owned()),
        api_host: "127.0.0.1:18999".to_owned(),
        ..ApiKey::default()
    };
    let basic = BasicAuth {
        username_secret: "USERNAME".to_owned(),
        password_secret: "PASSWORD".to_owned(),
        api_host: "localhost:18999".to_owned(),
    };
    ToolkitDefinition {
        secrets: vec!["OWN".to_owned()],
        egress: [PROVIDER, "127.0.0.1:18999", "localhost:18999", "[::1]:18999"].map(str::to_owned).into(),
        auth: Auths(vec![Auth::AuthorizationCode(account), Auth::ApiKey(key), Auth::Basic(basic)]),
        ..definition("account", tools)
    }
}

fn call(invocation: &Invocation) -> Outcome {
    match invocation.tool.as_str() {
        "fetch" => http::fetch(invocation),
        "read" => {
            let name = arguments(invocation)["name"].as_str().unwrap_or_default().to_owned();
            match secrets::get(&name) {
                Ok(value) => structured(&json!({ "value": value })),
                Err(refusal) => error(format!("{refusal:?}")),
            }
        }
        other => unknown(other),
    }
}
