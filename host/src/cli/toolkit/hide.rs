//! `kitbag toolkit hide | show-again`

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use crate::cli::CliError;
use crate::cli::client::Connection;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Hide a toolkit, or one of its tools, from your models.
#[derive(Args, Debug)]
#[command(
    after_help = "Your MCP clients do not list what is hidden, and cannot call it. You still can: on the pages, and by \
                  `kitbag tool call`. `knowledge` is what the server's own tools are called by, `search` and `fetch`.\n\n\
                  Examples:\n  kitbag toolkit hide weather\n  kitbag toolkit hide notes remove"
)]
pub(in crate::cli) struct Hide {
    #[command(flatten)]
    part: Part,
}

/// Show your models again what you have hidden.
#[derive(Args, Debug)]
#[command(after_help = "`kitbag toolkit list` names what is hidden.")]
pub(in crate::cli) struct ShowAgain {
    #[command(flatten)]
    part: Part,
}

#[derive(Args, Debug)]
struct Part {
    /// The toolkit's id.
    id: String,
    /// The tool's name; by default all of the toolkit.
    tool: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

impl Part {
    /// Its name, and whether it is in the state that was asked for now.
    async fn put(self, what: &str, said: &str) -> Result<(), CliError> {
        let Self { id, tool, connection } = self;
        let query =
            tool.as_ref().map(|tool| format!("?tool={}", utf8_percent_encode(tool, NON_ALPHANUMERIC)));
        connection.open().await?.post(&format!("/toolkits/{id}/{what}{}", query.unwrap_or_default())).await?;
        report(&json!({ "toolkit": id, "tool": tool }), || match &tool {
            Some(tool) => say!("{} of {} {}", tool, id, said),
            None => say!("{} {}", id, said),
        })
    }
}

impl Hide {
    pub(super) async fn run(self) -> Result<(), CliError> {
        self.part.put("hide", "is hidden from your models.").await
    }
}

impl ShowAgain {
    pub(super) async fn run(self) -> Result<(), CliError> {
        self.part.put("show-again", "is shown to your models.").await
    }
}
