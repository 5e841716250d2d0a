//! Cargo's metadata of a workspace.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::recipe::Recipe;
use super::{Step, ToolchainError};

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
        program: recipe.cargo.clone(),
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

    /// Returns the package of that name.
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
}
