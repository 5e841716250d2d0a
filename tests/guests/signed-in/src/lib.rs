//! Has the Kitbag host sign in for it, by the client-credentials grant, at one of the two hosts that it may
//! reach. The other one must never receive the token. Both are names of a server on this machine.

use guest_support::{
    Auth, Invocation, OAuth2ClientCredentials, Outcome, ToolkitDefinition, definition, http, tool, unknown,
};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    let tools =
        vec![tool("fetch", "Sends {method?, url, headers?, body?}; returns status, headers and body.")];
    ToolkitDefinition {
        secrets: vec!["CLIENT_ID".to_owned(), "CLIENT_SECRET".to_owned()],
        egress: vec!["127.0.0.1:18999".to_owned(), "localhost:18999".to_owned()],
        auth: Auth::ClientCredentials(OAuth2ClientCredentials {
            token_url: "http://127.0.0.1:18999/token".to_owned(),
            client_id_secret: "CLIENT_ID".to_owned(),
            client_secret_secret: "CLIENT_SECRET".to_owned(),
            scope: Some("read write".to_owned()),
            api_host: "127.0.0.1:18999".to_owned(),
        })
        .into(),
        ..definition("signed-in", tools)
    }
}

fn call(invocation: &Invocation) -> Outcome {
    match invocation.tool.as_str() {
        "fetch" => http::fetch(invocation),
        other => unknown(other),
    }
}
