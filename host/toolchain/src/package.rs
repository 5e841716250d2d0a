//! Cargo's metadata of a workspace.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::recipe::Recipe;
use super::{Step, ToolchainError};

/// Default stack size of a guest. The stack is part of the guest's memory, which is restored after each call,
/// so a small stack makes calls faster. rustc's default is 1 MiB.
const DEFAULT_STACK_KIB: u32 = 128;
const MIN_STACK_KIB: u32 = 16;
const MAX_STACK_KIB: u32 = 16 * 1024;

/// The packages of a workspace. A crate without a workspace is a workspace of one package.
#[derive(Debug, Deserialize)]
pub(super) struct Workspace {
    #[serde(rename = "workspace_root")]
    pub(super) root: PathBuf,
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) manifest_path: PathBuf,
    targets: Vec<Target>,
    /// The manifest's `[package.metadata]`.
    metadata: Option<Metadata>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    /// Unparsed: [`Package::stack_bytes`] validates it only for packages that are built.
    kitbag: Option<Value>,
}

/// The manifest's `[package.metadata.kitbag]`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Settings {
    stack_kib: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { stack_kib: DEFAULT_STACK_KIB }
    }
}

#[derive(Debug, Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

/// Reads the workspace that `directory` belongs to. Needs no network: dependencies are not resolved.
pub(super) async fn read(directory: &Path, recipe: &Recipe) -> Result<Workspace, ToolchainError> {
    let mut command = recipe.cargo(directory);
    command.args(["metadata", "--no-deps", "--format-version=1", "--color=never"]);

    let output = command.output().await.map_err(|reason| ToolchainError::Run {
        step: Step::Manifest,
        program: "cargo".into(),
        reason,
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        return Err(ToolchainError::Cargo { step: Step::Manifest, status: output.status, output: said });
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| ToolchainError::Unexpected { step: Step::Manifest, reason: error.to_string() })
}

impl Workspace {
    /// Returns the package whose manifest is in `directory`.
    pub(super) fn package_in(&self, directory: &Path) -> Result<&Package, ToolchainError> {
        let directory = directory
            .canonicalize()
            .map_err(|reason| ToolchainError::File { path: directory.to_owned(), reason })?;

        self.packages
            .iter()
            .find(|package| {
                let parent = package.manifest_path.parent();
                parent.and_then(|parent| parent.canonicalize().ok()).is_some_and(|parent| parent == directory)
            })
            .ok_or(ToolchainError::NoPackage { directory })
    }

    /// Returns the package with this name.
    pub(super) fn package_named(&self, name: &str) -> Result<&Package, ToolchainError> {
        self.packages
            .iter()
            .find(|package| package.name == name)
            .ok_or_else(|| ToolchainError::UnknownPackage { root: self.root.clone(), name: name.to_owned() })
    }
}

impl Package {
    pub(super) fn check_is_cdylib(&self) -> Result<(), ToolchainError> {
        if self.targets.iter().any(|target| target.crate_types.iter().any(|it| it == "cdylib")) {
            return Ok(());
        }
        Err(ToolchainError::NotACdylib { package: self.name.clone(), manifest: self.manifest_path.clone() })
    }

    /// Returns the stack size of the package's calls, in bytes.
    pub(super) fn stack_bytes(&self) -> Result<u32, ToolchainError> {
        let declared = self.metadata.as_ref().and_then(|metadata| metadata.kitbag.as_ref());
        let settings = match declared {
            None => Ok(Settings::default()),
            Some(declared) => Settings::deserialize(declared).map_err(|error| error.to_string()),
        };
        let settings = settings.and_then(|it| match it.stack_kib {
            MIN_STACK_KIB..=MAX_STACK_KIB => Ok(it),
            other => Err(format!("stack-kib is {other}; it can be from {MIN_STACK_KIB} to {MAX_STACK_KIB}")),
        });
        settings.map(|it| it.stack_kib * 1024).map_err(|reason| ToolchainError::Settings {
            package: self.name.clone(),
            manifest: self.manifest_path.clone(),
            reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(metadata: &Value) -> Package {
        let described = json!({
            "name": "notes", "manifest_path": "/notes/Cargo.toml", "targets": [], "metadata": metadata,
        });
        serde_json::from_value(described).expect("cargo describes packages like this")
    }

    #[test]
    fn a_package_may_ask_for_another_stack() {
        for (metadata, expected) in [
            (Value::Null, DEFAULT_STACK_KIB),
            (json!({ "docs": {} }), DEFAULT_STACK_KIB),
            (json!({ "kitbag": {} }), DEFAULT_STACK_KIB),
            (json!({ "kitbag": { "stack-kib": 512 } }), 512),
        ] {
            let stack = package(&metadata).stack_bytes().expect("it is a valid setting");

            assert_eq!(stack, expected * 1024, "{metadata}");
        }
    }

    #[test]
    fn settings_that_mean_nothing_are_refused() {
        for (settings, reason) in [
            (json!({ "stack": 512 }), "unknown field `stack`"),
            (json!({ "stack-kib": "512" }), "invalid type: string"),
            (json!({ "stack-kib": 8 }), "it can be from 16 to 16384"),
            (json!({ "stack-kib": 1_000_000 }), "it can be from 16 to 16384"),
        ] {
            let error = package(&json!({ "kitbag": settings })).stack_bytes().expect_err("it is refused");

            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
