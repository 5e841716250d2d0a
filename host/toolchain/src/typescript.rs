//! Builds a component from an `extension.ts`, with the builder of the npm package `kitbag`, run by Node.js.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;

use super::{Step, ToolchainError};

/// Entry file of a toolkit. A folder that contains it is a TypeScript toolkit.
const ENTRY: &str = "extension.ts";
/// Path of the builder in the npm package.
const BUILDER: &str = "bin/kitbag-build.js";
/// Path of the command line program in the npm package.
pub(super) const COMMANDS: &str = "bin/kitbag.js";
/// Time limit for the server to shut down after its standard input was closed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Output of the package's own build. Without it the builder does not start.
const BUILT_FILE: &str = "dist/build/cli.js";

/// Output files of the builder.
#[derive(Clone, Debug, Deserialize)]
pub struct BuiltToolkit {
    /// Path of the component.
    pub component: PathBuf,
    /// Path of its manifest.
    pub manifest: PathBuf,
}

/// Whether `path` is a TypeScript toolkit: a source file, or a folder with an entry file.
pub fn is_typescript(path: &Path) -> bool {
    let is_source = path
        .extension()
        .is_some_and(|extension| ["ts", "mts", "js", "mjs"].iter().any(|it| extension == *it));
    is_source || path.join(ENTRY).is_file()
}

/// Builds the toolkit at `path`. Writes to `out`, by default to the folder `dist` beside its entry file.
///
/// `progress` receives lines without line ends. Dropping the future ends the builder.
pub async fn build_typescript(
    path: &Path,
    out: Option<&Path>,
    progress: impl Fn(&str),
) -> Result<BuiltToolkit, ToolchainError> {
    let package = package_for(path)?;
    let mut command = Command::new("node");
    command.arg(package.join(BUILDER)).arg("--json").arg(path);
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    let mut builder = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed_to_start)?;
    let events = builder.stdout.take().expect("stdout is piped");
    let mut complaints = builder.stderr.take().expect("stderr is piped");

    // Read concurrently: the builder would block on a full pipe.
    let mut said = String::new();
    let (outcome, _) = tokio::try_join!(relay(events, &progress), complaints.read_to_string(&mut said))
        .map_err(failed_to_run)?;
    let status = builder.wait().await.map_err(failed_to_run)?;
    outcome.unwrap_or_else(|| {
        let reason = format!("the builder ended without a result ({status})\n{}", said.trim_end());
        Err(ToolchainError::Unexpected { step: Step::Component, reason })
    })
}

/// Serves the toolkit at `path` with the npm package's command `dev` and these `arguments`, until `stop`
/// resolves or that server ends. It inherits standard output and standard error.
pub async fn serve_typescript(
    path: &Path,
    arguments: &[OsString],
    stop: impl Future<Output = ()>,
) -> Result<ExitStatus, ToolchainError> {
    let package = package_for(path)?;
    let mut server = Command::new("node")
        // Without it Node.js 20 interprets `--env-file` itself, at any position.
        .arg("--")
        .arg(package.join(COMMANDS))
        .args(["dev", "--until-eof"])
        .args(arguments)
        .arg("--")
        .arg(path)
        // The server ends when its standard input is closed, and so with this process.
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed_to_start)?;
    let input = server.stdin.take();
    tokio::select! {
        status = server.wait() => return status.map_err(failed_to_run),
        () = stop => drop(input),
    }
    match tokio::time::timeout(SHUTDOWN_TIMEOUT, server.wait()).await {
        Ok(status) => status.map_err(failed_to_run),
        Err(_elapsed) => {
            server.kill().await.map_err(failed_to_run)?;
            server.wait().await.map_err(failed_to_run)
        }
    }
}

/// A message of the builder, one JSON object per line.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    Step { text: String },
    Warning { text: String },
    Printed { text: String },
    Failed { message: String },
    Done(BuiltToolkit),
}

/// Forwards the builder's messages until its output ends. Returns its result; `None` if it sent none.
async fn relay(
    events: impl tokio::io::AsyncRead + Unpin,
    progress: &impl Fn(&str),
) -> io::Result<Option<Result<BuiltToolkit, ToolchainError>>> {
    let mut lines = BufReader::new(events).lines();
    let mut outcome = None;
    while let Some(line) = lines.next_line().await? {
        match serde_json::from_str(&line) {
            Ok(Event::Step { text }) => progress(&text),
            Ok(Event::Warning { text }) => progress(&format!("warning: {text}")),
            Ok(Event::Printed { text }) => progress(&format!("  | {text}")),
            Ok(Event::Failed { message }) => outcome = Some(Err(ToolchainError::TypeScript(message))),
            Ok(Event::Done(built)) => outcome = Some(Ok(built)),
            Err(_) => progress(&line),
        }
    }
    Ok(outcome)
}

/// Returns the npm package that builds the toolkit at `path`: the installed one, or else that of the checkout
/// from which this program was built.
pub(super) fn package_for(path: &Path) -> Result<PathBuf, ToolchainError> {
    let start =
        path.canonicalize().map_err(|reason| ToolchainError::File { path: path.to_owned(), reason })?;
    let installed = start.ancestors().map(|folder| folder.join("node_modules/kitbag"));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-sdk/typescript");
    installed
        .chain([own])
        .find(|package| package.join(BUILT_FILE).is_file())
        .ok_or_else(|| ToolchainError::NoTypeScriptSdk { path: path.to_owned() })
}

pub(super) fn failed_to_start(reason: io::Error) -> ToolchainError {
    match reason.kind() {
        io::ErrorKind::NotFound => ToolchainError::NoNode,
        _ => failed_to_run(reason),
    }
}

fn failed_to_run(reason: io::Error) -> ToolchainError {
    ToolchainError::Run { step: Step::Component, program: PathBuf::from("node"), reason }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_toolkit_in_typescript_is_known_by_its_entry() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        assert!(!is_typescript(folder.path()));
        assert!(is_typescript(Path::new("some/where.ts")) && !is_typescript(Path::new("toolkit.wasm")));

        fs::write(folder.path().join(ENTRY), "").expect("a scratch file");
        assert!(is_typescript(folder.path()));
    }

    #[tokio::test]
    async fn what_the_builder_says_is_passed_on_and_its_failure_is_an_error() {
        let said = "{\"event\":\"step\",\"text\":\"bundling\"}\nnoise\n\
                    {\"event\":\"failed\",\"kind\":\"source\",\"message\":\"no default export\"}\n";
        let heard = std::cell::RefCell::new(Vec::new());

        let outcome = relay(said.as_bytes(), &|line: &str| heard.borrow_mut().push(line.to_owned())).await;

        assert_eq!(*heard.borrow(), ["bundling", "noise"]);
        let outcome = outcome.expect("memory can be read").expect("it has ended");
        assert_eq!(outcome.expect_err("it failed").to_string(), "no default export");
        assert!(relay(&b"{}"[..], &|_: &str| ()).await.expect("memory can be read").is_none());
    }
}
