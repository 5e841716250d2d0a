//! `kitbag toolkit hide | show-again`

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use crate::cli::client::{Client, Connection};
use crate::cli::documents::path_segment;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Hide a toolkit, or one of its tools, from your models; without a toolkit, list what is hidden.
#[derive(Args, Debug)]
#[command(
    after_help = "Your MCP clients do not list what is hidden, and cannot call it. You still can: on the pages, and by \
                  `kitbag tool call`. `knowledge` is what the server's own tools are called by, `search` and `fetch`.\n\n\
                  Examples:\n  kitbag toolkit hide weather\n  kitbag toolkit hide notes remove\n  kitbag toolkit hide"
)]
pub(in crate::cli) struct Hide {
    /// The toolkit's id.
    id: Option<String>,
    /// The tool's name; by default all of the toolkit.
    tool: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// Show your models again what you have hidden.
#[derive(Args, Debug)]
#[command(after_help = "`kitbag toolkit hide` lists what is hidden.")]
pub(in crate::cli) struct ShowAgain {
    /// The toolkit's id.
    id: String,
    /// The tool's name; by default whatever is hidden of the toolkit.
    tool: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

impl Hide {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        match &self.id {
            Some(id) => put(&client, "hide", id, self.tool.as_deref(), "is hidden from your models.").await,
            None => list(&client).await,
        }
    }
}

impl ShowAgain {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        put(&client, "show-again", &self.id, self.tool.as_deref(), "is shown to your models.").await
    }
}

async fn put(client: &Client, what: &str, id: &str, tool: Option<&str>, said: &str) -> Result<(), CliError> {
    let query = tool.map(|tool| format!("?tool={}", path_segment(tool))).unwrap_or_default();
    client.post(&format!("/toolkits/{}/{what}{query}", path_segment(id))).await?;
    report(&json!({ "toolkit": id, "tool": tool }), || match tool {
        Some(tool) => say!("{} of {} {}", tool, id, said),
        None => say!("{} {}", id, said),
    })
}

async fn list(client: &Client) -> Result<(), CliError> {
    let hidden: Vec<Value> = client.send(Method::GET, "/hidden-tools", "application/json", "").await?;
    report(&hidden, || {
        if hidden.is_empty() {
            say!("Nothing is hidden from your models.");
        }
        for part in &hidden {
            let toolkit = part["toolkit"].as_str().unwrap_or_default();
            let tools = part["tools"]
                .as_array()
                .map(|tools| tools.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
            say!("{:<24} {}", toolkit, tools.as_deref().unwrap_or("all of it"));
        }
    })
}
