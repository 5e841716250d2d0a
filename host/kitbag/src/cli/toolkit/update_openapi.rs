//! `kitbag toolkit update-openapi`

use std::path::PathBuf;

use clap::Args;
use kitbag_toolchain::openapi;

use super::new::failed;
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Show what a newer OpenAPI document changes in a toolkit that was made from one.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kitbag toolkit update-openapi\n  \
                  kitbag toolkit update-openapi pets --openapi petstore-2.yaml --write\n\n\
                  extension.ts and api.ts are never changed. Generated files that were edited are not overwritten.")]
pub(in crate::cli) struct UpdateOpenApi {
    /// The toolkit's folder.
    #[arg(default_value = ".")]
    path: PathBuf,
    /// The newer document; by default the one that the toolkit was made from.
    #[arg(long, value_name = "FILE|URL")]
    openapi: Option<String>,
    /// Write the generated files anew.
    #[arg(long)]
    write: bool,
}

impl UpdateOpenApi {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let document = self.openapi.as_deref();
        let update = if self.write {
            openapi::compare_and_write(&self.path, document).await
        } else {
            openapi::compare(&self.path, document).await
        }
        .map_err(failed)?;
        report(&update, || {
            if update.is_same {
                say!("The document has not changed.");
            }
            for it in &update.added {
                let constant = it.constant.as_deref().unwrap_or_default();
                say!(
                    "added    {:<30} {}: list operations.{} in extension.ts",
                    it.tool,
                    it.operation,
                    constant
                );
            }
            for it in &update.changed {
                say!("changed  {:<30} {}", it.tool, it.operation);
            }
            for it in &update.removed {
                say!("removed  {:<30} {}: remove it from extension.ts", it.tool, it.operation);
            }
            for it in &update.not_made {
                say!("cannot be made: {}: {}", it.operation, it.reason);
            }
            for note in &update.notes {
                say!("note: {}", note);
            }
            for file in &update.written {
                say!("Wrote {}", file);
            }
            let has_changes =
                !(update.added.is_empty() && update.changed.is_empty() && update.removed.is_empty());
            if has_changes && update.written.is_empty() {
                say!("\n--write writes the generated files anew.");
            }
        })
    }
}
