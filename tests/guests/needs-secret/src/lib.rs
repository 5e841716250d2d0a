//! Uses credentials: one that is required, one that is optional, and two with which the host signs in for the
//! toolkit.

use kitbag_toolkit::prelude::*;

kitbag_toolkit::export!(toolkit);

const API_KEY: &str = "API_KEY";
const EXTRA_KEY: &str = "EXTRA_KEY";

fn toolkit() -> Toolkit {
    Toolkit::new("needy", "Needy <Tools>")
        .description("Asks for credentials.")
        .icon("🔑")
        .version("1.0.0")
        .visibility(Visibility::Shared)
        .secret(API_KEY)
        .secret(EXTRA_KEY)
        .secret("CLIENT_ID")
        .secret("CLIENT_SECRET")
        .egress("127.0.0.1:18998")
        .auth(ClientCredentials {
            token_url: "http://127.0.0.1:18998/token",
            client_id_secret: "CLIENT_ID",
            client_secret_secret: "CLIENT_SECRET",
            scope: None,
            api_host: "127.0.0.1:18998",
        })
        .tool(
            Tool::new("need", need)
                .description("Returns the length of the credential that it needs, and the credential."),
        )
        .tool(Tool::new("look", look).description("Looks for a credential, and fails for another reason."))
        .tool(Tool::new("sign_in", sign_in).description("Sends a request for which the host has to sign in."))
}

async fn need(_: NoArgs, ctx: Ctx) -> Result<String> {
    let key = ctx.require_secret(API_KEY).await?;
    Ok(format!("{} bytes: {key}", key.len()))
}

async fn look(_: NoArgs, ctx: Ctx) -> Result<String> {
    let found = ctx.secret(EXTRA_KEY).await?.is_some();
    Err(ToolError::new(format!("There is no book 7, found: {found}.")).into())
}

async fn sign_in(_: NoArgs, ctx: Ctx) -> Result<String> {
    let response = ctx.fetch("http://127.0.0.1:18998/").await?;
    Ok(response.status().to_string())
}
