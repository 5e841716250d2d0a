//! Example toolkits in TypeScript that need no account. Building them takes minutes in a new checkout.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::{deploy, step};
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::terminal::say;

/// Folders in the checkout.
const TOOLKITS: [&str; 2] = ["toolkits/feeds", "toolkits/papers"];

/// Builds and deploys the toolkits. Reports the result.
pub(super) async fn deploy_all(checkout: &Path, client: &Client) {
    step("Building toolkits in TypeScript, for feeds and for papers; everything else works meanwhile");
    if let Err(error) = try_deploy_all(checkout, client).await {
        say!("  {}\n  Try again with `kitbag toolkit deploy toolkits/feeds`.", error);
    }
}

async fn try_deploy_all(checkout: &Path, client: &Client) -> Result<(), CliError> {
    install_packages(checkout).await?;
    for toolkit in TOOLKITS {
        let built =
            kitbag_toolchain::build_typescript(&checkout.join(toolkit), None, |line| say!("  {}", line))
                .await;
        let built = built.map_err(|error| CliError::new(error.to_string()))?;
        deploy(client, &built.component).await?;
    }
    Ok(())
}

/// Installs the npm packages of the SDK and the toolkits.
async fn install_packages(checkout: &Path) -> Result<(), CliError> {
    let mut command = Command::new(checkout.join("scripts/install-node-packages"));
    command.current_dir(checkout).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    let status = command.status().await;
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(CliError::new(format!("scripts/install-node-packages failed: {status}"))),
        Err(error) => Err(CliError::new(format!("scripts/install-node-packages cannot be run: {error}"))),
    }
}
