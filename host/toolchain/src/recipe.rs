//! Finds an installed compiler for WebAssembly.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::ToolchainError;

/// Target of rustup that is compiled for.
pub(super) const TARGET: &str = "wasm32-wasip2";

/// Time limit for `rustc` to print its sysroot; a slower compiler is ignored. Rustup's proxy for `rustc` may
/// try to download a toolchain first.
const PROBE_TIMEOUT: Duration = Duration::from_mins(1);

/// Instructions to compile for WebAssembly.
#[derive(Debug)]
pub(super) struct Recipe {
    /// Additional environment variables.
    pub(super) environment: &'static [(&'static str, &'static str)],
}

impl Recipe {
    /// Returns a command that runs cargo in `directory`, without a subcommand.
    pub(super) fn cargo(&self, directory: &Path) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(directory).stdin(Stdio::null()).kill_on_drop(true);
        // Flags for native builds (`-Ctarget-cpu=native`, clippy's wrapper) do not fit WebAssembly.
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER"] {
            command.env_remove(variable);
        }
        command.envs(self.environment.iter().copied());
        command
    }
}

/// Finds the target for a crate in `directory`, respecting its `rust-toolchain.toml`.
pub(super) async fn find(directory: &Path) -> Result<Recipe, ToolchainError> {
    installed(sysroot(directory).await.as_deref())
}

fn installed(sysroot: Option<&Path>) -> Result<Recipe, ToolchainError> {
    let libraries = sysroot.map(|sysroot| sysroot.join("lib/rustlib").join(TARGET).join("lib"));
    let is_there = libraries.is_some_and(|libraries| libraries.is_dir());
    if is_there { Ok(Recipe { environment: &[] }) } else { Err(ToolchainError::NoCompiler) }
}

/// Returns the sysroot of the first `rustc` on `PATH`, if there is one.
async fn sysroot(directory: &Path) -> Option<PathBuf> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "sysroot"]).current_dir(directory).stdin(Stdio::null()).kill_on_drop(true);

    let output = tokio::time::timeout(PROBE_TIMEOUT, rustc.output()).await.ok()?.ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(path.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_missing_is_named_in_one_sentence() {
        let sysroot = tempfile::tempdir().expect("a scratch directory");

        for nothing in [installed(None), installed(Some(sysroot.path()))] {
            let error = nothing.expect_err("there is no target").to_string();
            assert!(
                error.ends_with("rustup target add wasm32-wasip2") && error.lines().count() == 1,
                "{error}"
            );
        }

        let libraries = sysroot.path().join("lib/rustlib").join(TARGET).join("lib");
        std::fs::create_dir_all(libraries).expect("a scratch directory");
        assert!(installed(Some(sysroot.path())).is_ok());
    }
}
