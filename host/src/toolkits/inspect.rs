//! Everything that is checked about a component before it may become live, without running it
//! further than its own declaration.

use std::fs::File;
use std::path::Path;

use kitbag_manifest::{Problem, Problems, ToolkitDefinition, ValidDefinition, validate};
use tempfile::NamedTempFile;

use super::ToolkitError;
use crate::capabilities::Grants;
use crate::compiler::{Compiler, Described, Job};
use crate::sandbox::{Imports, Sandbox};
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

/// Inspects a component of `operator`, which is open for reading. Machine code for `sandbox` is written to
/// `folder`.
pub async fn inspect(
    sandbox: &Sandbox,
    compiler: &Compiler,
    component: File,
    folder: &Path,
    operator: &str,
) -> Result<Inspected, ToolkitError> {
    let code = NamedTempFile::new_in(folder)?;
    let job = Job { component, code_version: sandbox.code_version(), code: code.as_file() };
    let Described { imports, definition } =
        compiler.describe(job, sandbox.describe_limits(), operator).await?;
    let sandbox = sandbox.clone();
    off_thread(move || judge(&sandbox, definition, imports, code)).await
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
