//! `kitbag toolkit allow-in-code`

use clap::Args;
use http::Method;
use serde_json::json;

use crate::cli::client::Connection;
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Let code of your models call a tool that may change something; without a tool, list those that it may.
#[derive(Args, Debug)]
#[command(
    after_help = "Clients at /mcp?mode=code run code that calls tools. Tools that only read need no permission; your client cannot \
                  ask you before each call that code makes, so those that may change something need yours.\n\n\
                  Examples:\n  kitbag toolkit allow-in-code notes add\n  kitbag toolkit allow-in-code notes add --revoke\n  \
                  kitbag toolkit allow-in-code notes"
)]
pub(in crate::cli) struct AllowInCode {
    /// The toolkit's id.
    id: String,
    /// The tool's name.
    tool: Option<String>,
    /// No longer let code call the tool.
    #[arg(long, requires = "tool")]
    revoke: bool,
    #[command(flatten)]
    connection: Connection,
}

impl AllowInCode {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Self { id, tool, revoke, connection } = self;
        let client = connection.open().await?;
        let path = format!("/toolkits/{}/code-tools", path_segment(&id));
        if let Some(tool) = &tool {
            let path = format!("{path}/{}", path_segment(tool));
            if revoke { client.delete(&path).await? } else { client.post(&path).await? }
        }
        let allowed: Vec<String> = client.send(Method::GET, &path, "application/json", "").await?;
        report(&json!({ "toolkit": id, "tools": allowed }), || {
            if allowed.is_empty() {
                say!("Code may call the tools of {} that only read.", id);
            } else {
                say!("Besides those that only read, code may call of {}: {}", id, allowed.join(", "));
            }
        })
    }
}
