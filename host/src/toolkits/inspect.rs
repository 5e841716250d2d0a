//! Everything that is checked about a component before it may become live, without running it
//! further than its own declaration.

use std::path::Path;

use kitbag_manifest::{Problem, Problems, ToolkitDefinition, ValidDefinition, validate};
use tempfile::NamedTempFile;

use super::ToolkitError;
use super::artifacts::write_code;
use super::compiler::Compiler;
use crate::capabilities::Grants;
use crate::sandbox::{DescribeError, Imports, Sandbox};
use crate::tasks::Interrupted;

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
/// Reading, compiling and judging take seconds for a large component; they happen off the threads
/// that serve requests.
pub async fn inspect(
    compiler: &Compiler,
    component: Vec<u8>,
    folder: &Path,
) -> Result<Inspected, ToolkitError> {
    let (imports, code) = {
        let (compiler, folder) = (compiler.clone(), folder.to_owned());
        off_thread(move || read_and_compile(&compiler, &component, &folder)).await?
    };
    let sandbox = compiler.sandbox();
    let declared = sandbox.describe(code.path()).await.map_err(|error| match error {
        DescribeError::DuplicateKey(key) => {
            vec![problem(&format!("config.{key}"), "the key is declared twice")]
        }
        error => vec![problem("describe", error.to_string())],
    })?;
    let sandbox = sandbox.clone();
    off_thread(move || judge(&sandbox, declared, imports, code)).await
}

/// Reads what the component imports, and compiles it when nothing of that is out of the question.
fn read_and_compile(
    compiler: &Compiler,
    component: &[u8],
    folder: &Path,
) -> Result<(Imports, NamedTempFile), ToolkitError> {
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
    let code = compiler
        .compile(component)
        .map_err(|error| vec![problem("component", format!("it cannot be compiled: {error}"))])?;
    Ok((imports, write_code(folder, &code)?))
}

/// Checks the declaration, the imports against it, and that the two can be linked as a call would.
fn judge(
    sandbox: &Sandbox,
    declared: ToolkitDefinition,
    imports: Imports,
    code: NamedTempFile,
) -> Result<Inspected, ToolkitError> {
    let grants = Grants::of(&declared);
    let mut problems: Vec<_> = imports
        .ungranted(&grants)
        .into_iter()
        .map(|(name, missing)| {
            problem(&format!("imports.{name}"), format!("imported, but not granted: declare {missing}"))
        })
        .collect();
    match validate(declared) {
        Err(Problems(broken)) => problems.extend(broken),
        Ok(_) if !problems.is_empty() => {}
        Ok(definition) => match sandbox.load(code.path(), &grants) {
            Ok(_) => return Ok(Inspected { definition, imports, code }),
            Err(error) => problems.push(problem("imports", error.to_string())),
        },
    }
    Err(problems.into())
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolkitError> + Send + 'static,
) -> Result<T, ToolkitError> {
    tokio::task::spawn_blocking(work).await.map_err(Interrupted::from)?
}

fn problem(path: &str, message: impl Into<String>) -> Problem {
    Problem { path: path.to_owned(), message: message.into() }
}
