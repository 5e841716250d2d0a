//! `kitbag tool call`

use std::fs;
use std::io::{self, Read};

use clap::{Args, Subcommand};
use http::Method;
use serde::Deserialize;
use serde_json::Value;

use super::client::Connection;
use super::documents::path_segment;
use super::error::{CliError, Exit};
use super::output::report;
use super::terminal::{Text, note, say};

/// Call tools of toolkits.
#[derive(Debug, Subcommand)]
pub(super) enum Tool {
    /// Call a tool, and print its result.
    Call(Call),
}

/// Call a tool, and print its result.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kitbag tool call weather current '{\"place\": \"Lisbon\"}'
  kitbag tool call notes add @note.json
  jq -n '{place: \"Lisbon\"}' | kitbag tool call weather current - --json | jq .structuredContent

`kitbag toolkit show TOOLKIT --json` has the schema of each tool's arguments (inputSchema). Where a tool fails, its \
message goes to standard error, and the exit code is 1, or 3 where the same call may succeed later. Ctrl-C ends the call.")]
pub(super) struct Call {
    /// The toolkit's id.
    toolkit: String,
    /// The tool's name.
    tool: String,
    /// The arguments: a JSON object, `@` and a file that holds one, or `-` for standard input.
    #[arg(default_value = "{}", value_name = "JSON|@FILE|-")]
    arguments: String,
    #[command(flatten)]
    connection: Connection,
}

/// Reply to a tool call.
#[derive(Deserialize)]
struct Reply {
    ok: bool,
    #[serde(default)]
    text: String,
    #[serde(default)]
    content: Vec<Block>,
    #[serde(default)]
    error: String,
    #[serde(default)]
    retryable: bool,
}

/// Content block of a result.
#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
}

impl Tool {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Call(command) => command.run().await,
        }
    }
}

impl Call {
    async fn run(self) -> Result<(), CliError> {
        let arguments = read(&self.arguments)?;
        let client = self.connection.open().await?;
        let path = format!("/toolkits/{}/tools/{}", path_segment(&self.toolkit), path_segment(&self.tool));
        let whole: Value = client.send(Method::POST, &path, "application/json", arguments).await?;
        let reply = Reply::deserialize(&whole)
            .map_err(|error| CliError::new(format!("the server's answer cannot be read: {error}")))?;
        report(&whole, || {
            if !reply.ok {
                return;
            }
            // Indented, so that no line of the text looks like a line of the program.
            say!("  {}", Text::indented(&reply.text, 2));
            for block in &reply.content {
                note!("(and content of the type {}, which --json prints)", block.kind);
            }
        })?;
        if reply.ok { Ok(()) } else { Err(reply.failure()) }
    }
}

impl Reply {
    fn failure(self) -> CliError {
        let error = CliError::new(self.error);
        if self.retryable {
            error.exit(Exit::Unavailable).hint("the same call may succeed later")
        } else {
            error
        }
    }
}

/// Reads the arguments named on the command line, unvalidated: the server checks them.
fn read(arguments: &str) -> Result<Vec<u8>, CliError> {
    if arguments == "-" {
        let mut input = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut input);
        return read.map(|_| input).map_err(|error| CliError::new(format!("standard input: {error}")));
    }
    match arguments.strip_prefix('@') {
        Some(file) => fs::read(file).map_err(|error| CliError::new(format!("{file}: {error}"))),
        None => Ok(arguments.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_text_or_a_file() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let file = folder.path().join("a.json");
        fs::write(&file, "{\"a\": 1}").expect("a file");

        assert_eq!(read("{}").expect("text"), b"{}");
        assert_eq!(read(&format!("@{}", file.display())).expect("a file"), b"{\"a\": 1}");
        assert!(read("@/nowhere").expect_err("there is none").to_string().contains("/nowhere"));
    }
}
