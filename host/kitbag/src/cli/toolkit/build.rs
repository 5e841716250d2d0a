//! `kitbag toolkit build`

use std::path::{Path, PathBuf};

use clap::Args;
use kitbag_manifest::portability;
use kitbag_toolchain::{BuildOptions, ToolchainError};
use serde_json::json;

use super::{inspect_locally, print_warnings, read};
use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::{note, say};

/// Turn a crate or an extension.ts into a component, and write manifest.json beside it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kitbag toolkit build\n  kitbag toolkit build toolkits/weather\n  \
                  kitbag toolkit build extension.ts --out /tmp/build\n\n\
                  What was built is checked as a deploy checks it: exit code 1 when one would refuse it.")]
pub(in crate::cli) struct Build {
    /// An extension.ts, or the directory of one or of a crate.
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Where the component and its manifest go; by default `dist` beside the sources.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Crates that do not compile for WebAssembly, because they need sockets or a system library.
const SOCKET_CRATES: [&str; 4] = ["mio", "openssl-sys", "socket2", "tokio"];

const NO_SOCKETS: &str = "there are no sockets in the sandbox: leave out the feature or the crate that needs them (of tokio, \
                          net), and make requests with `ctx.fetch`";

/// Output files of a build.
pub(in crate::cli) struct Built {
    /// Path of the component.
    pub(in crate::cli) component: PathBuf,
    /// Path of its manifest.
    pub(in crate::cli) manifest: PathBuf,
}

impl Build {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let built = build(&self.path, self.out).await?;
        report(&json!({ "component": built.component, "manifest": built.manifest }), || {
            say!("{}", built.component.display());
            say!("{}", built.manifest.display());
        })
    }
}

/// Fails if there are no sources to build at `path`.
pub(in crate::cli) fn expect_sources(path: &Path) -> Result<(), CliError> {
    if !path.exists() {
        return Err(CliError::new(format!("there is no {}", path.display())));
    }
    if kitbag_toolchain::is_typescript(path) || path.join("Cargo.toml").is_file() {
        return Ok(());
    }
    Err(CliError::new(format!("there is neither an extension.ts nor a crate in {}", path.display()))
        .hint("start a toolkit with `kitbag toolkit new ID`, or name its directory"))
}

/// Builds the toolkit at `path` into `out`, by default the folder `dist` beside its sources.
pub(in crate::cli) async fn build(path: &Path, out: Option<PathBuf>) -> Result<Built, CliError> {
    expect_sources(path)?;
    if kitbag_toolchain::is_typescript(path) {
        build_typescript(path, out).await
    } else {
        build_rust(path, out).await
    }
}

async fn build_typescript(path: &Path, out: Option<PathBuf>) -> Result<Built, CliError> {
    let built = kitbag_toolchain::build_typescript(path, out.as_deref(), progress)
        .await
        .map_err(|error| failed(&error))?;
    progress("checking it as a deploy does");
    inspect_locally(read(&built.component)?).await?;
    Ok(Built { component: built.component, manifest: built.manifest })
}

async fn build_rust(directory: &Path, out: Option<PathBuf>) -> Result<Built, CliError> {
    let component = kitbag_toolchain::build_rust(directory, &BuildOptions::default(), progress)
        .await
        .map_err(|error| failed(&error))?;
    let definition = inspect_locally(component.bytes.clone()).await?.definition;
    print_warnings(&portability::warnings(&definition));

    let out = out.unwrap_or_else(|| directory.join("dist"));
    let built =
        Built { component: out.join(format!("{}.wasm", definition.id)), manifest: out.join("manifest.json") };
    let manifest =
        serde_json::to_string_pretty(&*definition).map_err(|error| CliError::new(error.to_string()))?;
    std::fs::create_dir_all(&out)
        .and_then(|()| std::fs::write(&built.component, &component.bytes))
        .and_then(|()| std::fs::write(&built.manifest, manifest + "\n"))
        .map_err(|error| CliError::new(format!("cannot write to {}: {error}", out.display())))?;
    Ok(built)
}

fn progress(line: &str) {
    note!("{}", line);
}

fn failed(error: &ToolchainError) -> CliError {
    let lacks_sockets = matches!(error, ToolchainError::Cargo { output, .. } if needs_sockets(output));
    CliError::new(error.to_string()).hint_if(lacks_sockets.then_some(NO_SOCKETS))
}

/// Whether one of [`SOCKET_CRATES`] failed to compile.
fn needs_sockets(output: &str) -> bool {
    SOCKET_CRATES.iter().any(|name| output.contains(&format!("could not compile `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_needs_sockets_is_recognised_in_the_errors_of_a_build() {
        let tokio = "error: Only features sync,macros,io-util,rt,time are supported on wasm.\n\
                     error: could not compile `tokio` (lib) due to 1 previous error";

        assert!(needs_sockets(tokio));
        assert!(!needs_sockets(
            "error: could not compile `toolkit-tokio-notes` (lib) due to 1 previous error"
        ));
    }
}
