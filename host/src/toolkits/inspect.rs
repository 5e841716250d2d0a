//! Everything that is checked about a component before it may become live, without running it
//! further than its own declaration.

use std::path::Path;

use kitbag_manifest::{Problem, Problems, ValidDefinition, validate};
use tempfile::NamedTempFile;

use super::ToolkitError;
use super::artifacts::write_code;
use crate::capabilities::Grants;
use crate::sandbox::{DescribeError, Imports, Sandbox};

/// A component that keeps every rule.
pub struct Inspected {
    /// What it declares.
    pub definition: ValidDefinition,
    /// What it imports: no more than it declares.
    pub imports: Imports,
    /// Its machine code, in a file that goes away unless it is kept.
    pub code: NamedTempFile,
}

/// Inspects a component. Machine code is written to `folder`.
///
/// Compiling takes seconds for a large component; it happens off the threads that serve requests.
pub async fn inspect(sandbox: &Sandbox, component: &[u8], folder: &Path) -> Result<Inspected, ToolkitError> {
    let imports =
        Imports::inspect(component).map_err(|error| vec![problem("component", error.to_string())])?;
    let unknown: Vec<_> = imports
        .unknown()
        .into_iter()
        .map(|name| problem(&format!("imports.{name}"), "no toolkit may use this interface"))
        .collect();
    // What is never linked cannot be instantiated, not even to ask for the declaration.
    if !unknown.is_empty() {
        return Err(unknown.into());
    }
    let code = compile(sandbox, component, folder).await?;

    let mut problems = Vec::new();
    match sandbox.describe(code.path()).await {
        Ok(declared) => {
            let grants = Grants::of(&declared);
            problems.extend(imports.ungranted(&grants).into_iter().map(|(name, missing)| {
                problem(&format!("imports.{name}"), format!("imported, but not granted: declare {missing}"))
            }));
            match validate(declared) {
                Ok(definition) if problems.is_empty() => return Ok(Inspected { definition, imports, code }),
                Ok(_) => {}
                Err(Problems(broken)) => problems.extend(broken),
            }
        }
        Err(DescribeError::DuplicateKey(key)) => {
            problems.push(problem(&format!("config.{key}"), "the key is declared twice"));
        }
        Err(error) => problems.push(problem("describe", error.to_string())),
    }
    Err(problems.into())
}

async fn compile(sandbox: &Sandbox, component: &[u8], folder: &Path) -> Result<NamedTempFile, ToolkitError> {
    let sandbox = sandbox.clone();
    let component = component.to_vec();
    let folder = folder.to_owned();
    let compiled = tokio::task::spawn_blocking(move || {
        let code = sandbox
            .compile(&component)
            .map_err(|error| vec![problem("component", format!("it cannot be compiled: {error}"))])?;
        Ok(write_code(&folder, &code)?)
    });
    compiled.await.map_err(|panic| ToolkitError::Storage(panic.to_string()))?
}

fn problem(path: &str, message: impl Into<String>) -> Problem {
    Problem { path: path.to_owned(), message: message.into() }
}
