//! Finds an installed compiler for WebAssembly.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::{ToolchainError, debian};

/// Time limit for `rustc` to print its sysroot; a slower compiler is ignored. Rustup's proxy for `rustc` may
/// try to download a toolchain first.
const PROBE_TIMEOUT: Duration = Duration::from_mins(1);

/// Instructions to compile for WebAssembly with one compiler.
#[derive(Debug)]
pub(super) struct Recipe {
    /// Path of cargo.
    pub(super) cargo: PathBuf,
    /// Value of `--target`.
    pub(super) target: &'static str,
    /// Additional arguments.
    pub(super) arguments: &'static [&'static str],
    /// Additional environment variables.
    pub(super) environment: Vec<(&'static str, OsString)>,
    /// Additional flags for rustc.
    pub(super) rustflags: Vec<String>,
    /// Environment variables to remove.
    pub(super) removed_variables: &'static [&'static str],
    /// Description, shown after "Building with".
    pub(super) summary: String,
}

impl Recipe {
    fn of_installed_target(target: &'static str) -> Self {
        Self {
            cargo: PathBuf::from("cargo"),
            target,
            arguments: &[],
            environment: Vec::new(),
            rustflags: Vec::new(),
            removed_variables: &[],
            summary: format!("the installed target {target}"),
        }
    }

    /// Returns a command that runs cargo in `directory`, without a subcommand.
    pub(super) fn cargo(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(directory).stdin(Stdio::null()).kill_on_drop(true);
        // Flags for native builds (`-Ctarget-cpu=native`, clippy's wrapper) do not fit WebAssembly, and
        // would silently override those of the recipe.
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER"] {
            command.env_remove(variable);
        }
        for variable in self.removed_variables {
            command.env_remove(variable);
        }
        for (variable, value) in &self.environment {
            command.env(variable, value);
        }
        command
    }
}

/// Finds the first usable compiler for a crate in `directory`, respecting its `rust-toolchain.toml`.
pub(super) async fn find(directory: &Path) -> Result<Recipe, ToolchainError> {
    let sysroot = sysroot(directory).await;
    let installed = ["wasm32-wasip2", "wasm32-wasip1"]
        .into_iter()
        .find(|target| sysroot.as_deref().is_some_and(|sysroot| has_target(sysroot, target)));

    match installed {
        Some(target) => Ok(Recipe::of_installed_target(target)),
        None => debian::recipe(Path::new("/"), sysroot.as_deref()),
    }
}

/// Returns the sysroot of the first `rustc` on `PATH`, if there is one.
async fn sysroot(directory: &Path) -> Option<PathBuf> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "sysroot"]).current_dir(directory).stdin(Stdio::null()).kill_on_drop(true);

    let output = tokio::time::timeout(PROBE_TIMEOUT, rustc.output()).await.ok()?.ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(path.trim_end()))
}

fn has_target(sysroot: &Path, target: &str) -> bool {
    sysroot.join("lib/rustlib").join(target).join("lib").is_dir()
}
