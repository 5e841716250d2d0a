//! `kitbag toolkit check`

use std::path::PathBuf;

use clap::Args;
use kitbag_manifest::ToolkitDefinition;
use kitbag_manifest::offers::resource_uri;
use kitbag_manifest::portability;
use kitbag_sandbox::is_always_refused;
use kitbag_toolkits::{Inspected, capabilities, listed_name};

use super::{inspect_locally, print_warnings, read};
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{Text, say};

/// Longest description, in characters, so that it does not push everything else off the screen.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// Print what a component declares and imports, and everything that is wrong with it.
#[derive(Args, Debug)]
#[command(
    after_help = "Runs the checks of a deploy, on this machine. Exit code 1 when a deploy would refuse it."
)]
pub(in crate::cli) struct Check {
    /// The component, a .wasm file.
    component: PathBuf,
}

impl Check {
    pub(super) async fn run(self) -> Result<(), CliError> {
        if self.component.is_dir() {
            return Err(CliError::new(format!("{} is a directory", self.component.display()))
                .hint("build it first: `kitbag toolkit build` checks what it made in the same way"));
        }
        let inspected = inspect_locally(read(&self.component)?).await?;
        report(&*inspected.definition, || print(&inspected))
    }
}

/// Prints what an operator should know before a deploy.
fn print(inspected: &Inspected) {
    let it = &inspected.definition;
    say!("{} {} {}\n    {}", it.icon, it.id, it.version, described(&it.description, 4));
    say!("\ntools");
    for tool in &it.tools {
        let kind = if tool.annotations.read_only_hint == Some(true) { "reads" } else { "writes" };
        let description = tool.description.lines().next().unwrap_or_default();
        say!("  {:<32} {}\n      {}", listed_name(&it.id, &tool.name), kind, described(description, 6));
    }
    print_offers(
        "prompts",
        it.prompts.iter().map(|prompt| (listed_name(&it.id, &prompt.name), prompt.description.as_str())),
    );
    print_offers(
        "resources",
        it.resources.iter().map(|offered| (resource_uri(&it.id, &offered.uri), offered.description.as_str())),
    );
    say!("\nmay");
    let granted = capabilities(it);
    if granted.is_empty() {
        say!("  nothing beyond computing and its own log");
    }
    for capability in granted {
        say!("  {}", capability);
    }
    let (refused, linked): (Vec<_>, Vec<_>) = inspected.imports.iter().partition(|it| is_always_refused(it));
    print_names("imports", linked);
    print_names("imported, always refused: a call of any of these ends the tool's call", refused);
    print_names("exported, never used", inspected.unused_exports.iter().map(String::as_str).collect());
    print_warnings(&portability::warnings(it));
    ask_about_reads(it);
    say!("\nA deploy would accept it.");
}

/// Asks about what no check can see: whether a request to a declared host changes something there.
fn ask_about_reads(definition: &ToolkitDefinition) {
    let reads = definition.tools.iter().filter(|tool| tool.annotations.read_only_hint == Some(true));
    let reads: Vec<_> = reads.map(|tool| tool.name.as_str()).collect();
    if !definition.egress.is_empty() && !reads.is_empty() {
        say!(
            "\nClients are told that these only read, and need not ask their user:\n  {}\nOne that changes something \
             at a host (POST, PUT, DELETE) declares `mutating`.",
            described(&reads.join(", "), 2)
        );
    }
}

fn print_offers<'a>(title: &'static str, mut offers: impl Iterator<Item = (String, &'a str)>) {
    let Some(first) = offers.next() else { return };
    say!("\n{}", title);
    for (name, description) in std::iter::once(first).chain(offers) {
        say!("  {}\n      {}", name, described(description.lines().next().unwrap_or_default(), 6));
    }
}

fn print_names(title: &'static str, names: Vec<&str>) {
    if names.is_empty() {
        return;
    }
    say!("\n{}", title);
    for name in names {
        say!("  {}", name);
    }
}

/// Formats the author's text on separate lines, indented further than the program's.
fn described(description: &str, indent: usize) -> Text {
    Text::wrapped(&Text::clipped_prose(description, MAX_DESCRIPTION_CHARS), indent)
}
