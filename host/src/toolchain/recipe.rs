//! Which compiler for WebAssembly the machine offers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::{ToolchainError, debian};

/// A compiler that does not say within this time where it lives is left aside. Rustup's stand-in
/// for `rustc` may try to download a toolchain before it answers.
const PROBE_TIMEOUT: Duration = Duration::from_mins(1);

/// One way to compile for WebAssembly.
#[derive(Debug)]
pub(super) struct Recipe {
    /// The cargo to run.
    pub(super) cargo: PathBuf,
    /// Its `--target`.
    pub(super) target: &'static str,
    /// What its command line has beside what every build has.
    pub(super) arguments: &'static [&'static str],
    /// What its environment has beside our own.
    pub(super) environment: Vec<(&'static str, OsString)>,
    /// Flags for rustc, beside those that the workspace's own configuration has.
    pub(super) rustflags: Vec<String>,
    /// What its environment must not have.
    pub(super) hidden: &'static [&'static str],
    /// What a person reads about it, after "Building with".
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
            hidden: &[],
            summary: format!("the installed target {target}"),
        }
    }

    /// Returns cargo, ready for its subcommand, in `directory`.
    pub(super) fn cargo(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(directory).stdin(Stdio::null()).kill_on_drop(true);
        // Flags for the host's own builds (`-Ctarget-cpu=native`, clippy's wrapper) are not for
        // WebAssembly, and would silently take the place of the recipe's.
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER"] {
            command.env_remove(variable);
        }
        for variable in self.hidden {
            command.env_remove(variable);
        }
        for (variable, value) in &self.environment {
            command.env(variable, value);
        }
        command
    }
}

/// Finds the first way that works for a crate in `directory`, whose `rust-toolchain.toml` counts.
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

/// Returns where the compiler first on `PATH` lives, or nothing when there is no such compiler.
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
