//! `kitbag toolkit check`

use std::path::PathBuf;

use clap::Args;

use super::{inspect_locally, read};
use crate::cli::{CliError, print_json};
use crate::toolkits::{Inspected, capabilities, listed_name};

/// Print what a component declares and imports, and everything that is wrong with it.
#[derive(Args, Debug)]
#[command(
    after_help = "Runs the checks of a deploy, on this machine. Exit code 1 when a deploy would refuse it."
)]
pub(in crate::cli) struct Check {
    /// The component, a .wasm file.
    component: PathBuf,
    /// Print the manifest as JSON.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) async fn run(self) -> Result<(), CliError> {
        if self.component.is_dir() {
            return Err(CliError::new(format!("{} is a directory", self.component.display()))
                .hint("build it first: `kitbag toolkit build` checks what it made in the same way"));
        }
        let inspected = inspect_locally(read(&self.component)?).await?;
        if self.json {
            return print_json(&*inspected.definition);
        }
        print(&inspected);
        Ok(())
    }
}

/// Prints what an operator wants to know before a deploy.
fn print(inspected: &Inspected) {
    let it = &inspected.definition;
    println!("{} {} {} — {}", it.icon, it.id, it.version, it.description);
    println!("\ntools");
    for tool in &it.tools {
        let kind = if tool.annotations.read_only_hint == Some(true) { "reads" } else { "writes" };
        println!("  {:<32} {kind:<7} {}", listed_name(&it.id, &tool.name), first_line(&tool.description));
    }
    println!("\nmay");
    let granted = capabilities(it);
    if granted.is_empty() {
        println!("  nothing beyond computing and its own log");
    }
    for capability in granted {
        println!("  {capability}");
    }
    println!("\nimports");
    for import in inspected.imports.iter() {
        println!("  {import}");
    }
    println!("\nA deploy would accept it.");
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
