//! `kitbag toolkit deploy`

use std::path::PathBuf;

use clap::Args;
use http::Method;

use super::{build, read};
use crate::cli::client::{Client, Connection};
use crate::cli::{CliError, print_json};
use crate::toolchain;
use crate::toolkits::Deployed;

/// Upload a component (or build it first) and make it live.
#[derive(Args, Debug)]
pub(in crate::cli) struct Deploy {
    /// A .wasm file, an extension.ts, or the directory of one or of a crate.
    path: PathBuf,
    /// Print the server's answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

impl Deploy {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let is_source = self.path.is_dir() || toolchain::is_typescript(&self.path);
        let component = if is_source { build::build(&self.path, None).await?.component } else { self.path };
        let bytes = read(&component)?;
        eprintln!("Uploading {} ({}) to {}", component.display(), size(&bytes), client.server());
        let deployed = upload(&client, bytes).await?;
        if self.json {
            return print_json(&deployed);
        }
        print(&deployed);
        Ok(())
    }
}

/// Deploys a component.
pub(in crate::cli) async fn upload(client: &Client, component: Vec<u8>) -> Result<Deployed, CliError> {
    client.send(Method::POST, "/toolkits", "application/wasm", component).await
}

/// Prints what became live and what it may do now.
pub(in crate::cli) fn print(deployed: &Deployed) {
    println!("{} {} is live: {}", deployed.id, deployed.version, deployed.tools.join(", "));
    for capability in &deployed.capabilities {
        let new = if deployed.changes.added.contains(capability) { " (new)" } else { "" };
        println!("  may {capability}{new}");
    }
    for capability in &deployed.changes.removed {
        println!("  may no longer {capability}");
    }
}

fn size(bytes: &[u8]) -> String {
    bytesize::ByteSize::b(bytes.len() as u64).to_string()
}
