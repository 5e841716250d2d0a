//! One run of cargo: its progress, its errors, and its output files.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{env, io};

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use super::recipe::{Recipe, TARGET};
use super::{BuildOptions, Step, ToolchainError};

/// Interval of progress lines while cargo prints nothing.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// HTTP clients that compile for WebAssembly but fail in the sandbox: they open sockets, or call a browser.
const UNUSABLE_CLIENTS: [&str; 4] = ["attohttpc", "minreq", "reqwest", "ureq"];

/// Compiles the libraries of `packages` with a stack of `stack_bytes`. Returns their WebAssembly files, by
/// manifest path of the package.
pub(super) async fn compile(
    root: &Path,
    packages: &[&str],
    stack_bytes: u32,
    recipe: &Recipe,
    options: &BuildOptions,
    target_directory: &Path,
    progress: &impl Fn(&str),
) -> Result<HashMap<PathBuf, PathBuf>, ToolchainError> {
    let failed_to_run = |reason| ToolchainError::Run { step: Step::Compile, program: "cargo".into(), reason };

    let mut command = recipe.cargo(root);
    command
        .args(["build", "--release", "--lib", "--color=never", "--message-format=json-render-diagnostics"])
        .args(["--target", TARGET])
        .arg("--target-dir")
        .arg(target_directory)
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .args(options.features.iter().flat_map(|feature| ["--features", feature]))
        .env("CARGO_BUILD_RUSTFLAGS", rustflags(stack_bytes))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed_to_run)?;
    let mut stdout = child.stdout.take().expect("stdout is piped");
    let stderr = child.stderr.take().expect("stderr is piped");

    // Read concurrently: cargo would block on a full pipe.
    let mut messages = Vec::new();
    let (_, diagnostics) = tokio::try_join!(stdout.read_to_end(&mut messages), relay(stderr, progress))
        .map_err(failed_to_run)?;
    let status = child.wait().await.map_err(failed_to_run)?;

    if !status.success() {
        return Err(ToolchainError::Cargo { step: Step::Compile, status, output: diagnostics.join("\n") });
    }
    for line in &diagnostics {
        progress(line);
    }
    for client in unusable_clients(&messages) {
        progress(&format!(
            "warning: requests of the crate {client} fail in the sandbox: use `ctx.fetch`, or wasi:http itself"
        ));
    }
    Ok(modules(&messages))
}

/// Returns rustc's flags: the inherited ones and the stack size. Cargo adds them to the flags of the workspace's
/// configuration under the same key. It uses the flags of one key only, and prefers those for a target: an author's
/// flags for the target override the stack size.
fn rustflags(stack_bytes: u32) -> String {
    let inherited = env::var("CARGO_BUILD_RUSTFLAGS").unwrap_or_default();
    format!("{inherited} -Clink-arg=-zstack-size={stack_bytes}").trim_start().to_owned()
}

/// Forwards cargo's status lines as they arrive. Returns all other lines: the compiler's diagnostics.
async fn relay(stderr: impl AsyncRead + Unpin, progress: &impl Fn(&str)) -> io::Result<Vec<String>> {
    let started = Instant::now();
    let mut lines = BufReader::new(stderr).split(b'\n');
    let mut diagnostics = Vec::new();
    loop {
        match tokio::time::timeout(HEARTBEAT_INTERVAL, lines.next_segment()).await {
            Err(_) => progress(&format!("     Waiting for the compiler ({} s)", started.elapsed().as_secs())),
            Ok(Ok(None)) => return Ok(diagnostics),
            Ok(line) => {
                let line = line?.unwrap_or_default();
                let line = String::from_utf8_lossy(&line);
                if is_status(&line) { progress(&line) } else { diagnostics.push(line.into_owned()) }
            }
        }
    }
}

/// Whether the line is one of cargo's status lines: a capitalised verb that ends in column 12.
fn is_status(line: &str) -> bool {
    let Some((verb, rest)) = line.split_at_checked(12) else { return false };
    let verb = verb.trim_start();
    verb.starts_with(|first: char| first.is_ascii_uppercase())
        && verb.bytes().all(|byte| byte.is_ascii_alphabetic())
        && rest.starts_with(' ')
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
    #[serde(default)]
    target: Target,
}

#[derive(Default, Deserialize)]
struct Target {
    #[serde(default)]
    name: String,
}

/// Finds the WebAssembly files in cargo's messages, one JSON object per line.
fn modules(messages: &[u8]) -> HashMap<PathBuf, PathBuf> {
    artifacts(messages)
        .filter_map(|message| {
            let is_module = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "wasm");
            Some((message.manifest_path, message.filenames.into_iter().find(is_module)?))
        })
        .collect()
}

/// Returns the crates of [`UNUSABLE_CLIENTS`] among the compiled ones, including those that were already up
/// to date.
fn unusable_clients(messages: &[u8]) -> BTreeSet<&'static str> {
    let named = |name: &str| UNUSABLE_CLIENTS.into_iter().find(|client| *client == name);
    artifacts(messages).filter_map(|message| named(&message.target.name)).collect()
}

fn artifacts(messages: &[u8]) -> impl Iterator<Item = Message> {
    messages
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Message>(line).ok())
        .filter(|message| message.reason == "compiler-artifact")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const STDERR: &str = "   Compiling core v0.0.0
    Blocking waiting for file lock on build directory
error[E0308]: mismatched types
  --> src/lib.rs:1:1
   |
 1 | fn main() -> u8 {}
   |              ^^ expected `u8`, found `()`
            Some continuation
";

    #[tokio::test]
    async fn status_lines_are_progress_and_all_others_are_kept() {
        let seen = Mutex::new(Vec::new());

        let kept =
            relay(STDERR.as_bytes(), &|line: &str| seen.lock().expect("one thread").push(line.to_owned()))
                .await
                .expect("a slice can be read");

        let seen = seen.into_inner().expect("one thread");
        assert_eq!(
            seen,
            ["   Compiling core v0.0.0", "    Blocking waiting for file lock on build directory"]
        );
        assert_eq!(kept.len(), 6);
        assert_eq!(kept[0], "error[E0308]: mismatched types");
    }

    #[test]
    fn modules_are_found_by_manifest() {
        let messages =
            br#"{"reason":"compiler-artifact","manifest_path":"/a/Cargo.toml","filenames":["/t/a.rlib"]}
{"reason":"compiler-artifact","manifest_path":"/b/Cargo.toml","filenames":["/t/b.rlib","/t/b.wasm"]}
{"reason":"build-finished","success":true}"#;

        let found = modules(messages);

        assert_eq!(found, HashMap::from([(PathBuf::from("/b/Cargo.toml"), PathBuf::from("/t/b.wasm"))]));
    }

    #[test]
    fn clients_that_cannot_work_are_found_among_what_was_compiled() {
        let messages =
            br#"{"reason":"compiler-artifact","manifest_path":"/a/Cargo.toml","target":{"name":"reqwest"},"filenames":[]}
{"reason":"compiler-artifact","manifest_path":"/b/Cargo.toml","target":{"name":"http"},"filenames":[]}
{"reason":"build-script-executed","manifest_path":"/c/Cargo.toml","target":{"name":"ureq"}}"#;

        assert_eq!(unusable_clients(messages), BTreeSet::from(["reqwest"]));
    }
}
