//! A real MCP client: the TypeScript SDK from the folder `clients` of the checkout.

use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::Value;
use tokio::process::Command;
use url::Url;

use crate::cli::error::CliError;
use crate::cli::terminal::say;

/// Output of the client program.
#[derive(Deserialize)]
struct Exchange {
    #[serde(rename = "protocolVersion")]
    protocol_version: String,
    request: Value,
    reply: Option<Value>,
    error: Option<Value>,
}

/// Calls `tool` and formats request and reply for people.
pub(super) async fn call(
    checkout: &Path,
    base_url: &Url,
    token: &str,
    tool: &str,
    arguments: &Value,
) -> Result<String, CliError> {
    let clients = checkout.join("clients");
    if !clients.join("node_modules").is_dir() {
        say!("  installing the client from npm");
        run(Command::new("npm").args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(&clients))
            .await?;
    }
    let endpoint = base_url.join("mcp").map_err(|error| CliError::new(error.to_string()))?;
    let mut client = Command::new("node");
    client
        .arg(clients.join("call.mjs"))
        .args(["current", endpoint.as_str(), tool, &arguments.to_string()])
        .env("KITBAG_TOKEN", token);
    let printed = run(&mut client).await?;

    let exchange: Exchange = serde_json::from_slice(&printed)
        .map_err(|error| CliError::new(format!("the MCP client printed something unexpected: {error}")))?;
    let reply = exchange.reply.or(exchange.error).unwrap_or_default();
    Ok(format!(
        "MCP {}\nrequest  tools/call {:#}\nreply    {reply:#}",
        exchange.protocol_version, exchange.request
    ))
}

/// Runs a program until it exits, and returns its output.
async fn run(command: &mut Command) -> Result<Vec<u8>, CliError> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(|error| {
        CliError::new(format!("cannot run {program}: {error}")).hint("install Node 20 or newer")
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(CliError::new(format!("{program} failed:\n{}", String::from_utf8_lossy(&output.stderr).trim())))
}
