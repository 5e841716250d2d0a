//! The checks of a component before it may become live. Of its code, only `describe` runs.

use std::fs::File;
use std::path::Path;

use kitbag_base::tasks::Interrupted;
use kitbag_manifest::{Problem, Problems, ValidDefinition, validate};
use kitbag_sandbox::capabilities::Grants;
use kitbag_sandbox::compiler::{Compiler, Described, Job};
use kitbag_sandbox::contract;
use kitbag_sandbox::{Imports, Sandbox};
use tempfile::NamedTempFile;

use super::error::ToolkitError;

/// A component that has passed all checks.
pub struct Inspected {
    /// The declaration.
    pub definition: ValidDefinition,
    /// The imports: granted by the declaration, in need of no grant, or always refused.
    pub imports: Imports,
    /// Exports that the host does not use, for display.
    pub unused_exports: Vec<String>,
    /// Machine code, in a file that is deleted on drop unless it is persisted.
    pub code: NamedTempFile,
}

/// Inspects a component uploaded by `operator`. Its machine code for `sandbox` is written to `folder`.
pub async fn inspect(
    sandbox: &Sandbox,
    compiler: &Compiler,
    component: File,
    folder: &Path,
    operator: &str,
) -> Result<Inspected, ToolkitError> {
    let code = NamedTempFile::new_in(folder)?;
    let job = Job { component, code_version: sandbox.code_version(), code: code.as_file() };
    let described = compiler.describe(job, sandbox.describe_limits(), operator).await?;
    let sandbox = sandbox.clone();
    off_thread(move || check(&sandbox, described, code)).await
}

/// Checks the declaration, the imports against it, and that the code can be linked as for a call.
fn check(sandbox: &Sandbox, described: Described, code: NamedTempFile) -> Result<Inspected, ToolkitError> {
    let Described { imports, optional_exports, unused_exports, definition: declared } = described;
    let grants = Grants::of(&declared);
    let mut problems: Vec<_> = imports
        .ungranted(&grants)
        .into_iter()
        .map(|(name, remedy)| {
            problem(&format!("imports.{name}"), format!("imported, but not granted: {remedy}"))
        })
        .collect();
    let needed = [
        (!declared.prompts.is_empty(), "prompts", contract::PROMPTS),
        (!declared.resources.is_empty(), "resources", contract::RESOURCES),
        (declared.completes(), "completions", contract::COMPLETION),
    ];
    for (_, what, interface) in needed
        .into_iter()
        .filter(|(is_needed, _, interface)| *is_needed && !optional_exports.contains(*interface))
    {
        let message = format!("{what} are declared, and the component does not export this interface");
        problems.push(problem(&format!("exports.{interface}"), message));
    }
    match validate(declared) {
        Err(Problems(broken)) => problems.extend(broken),
        Ok(_) if !problems.is_empty() => {}
        Ok(definition) => match sandbox.load(code.path(), &grants) {
            Ok(_) => return Ok(Inspected { definition, imports, unused_exports, code }),
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
