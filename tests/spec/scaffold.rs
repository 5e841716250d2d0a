//! `kitbag toolkit new`: the created toolkit builds, passes its tests and deploys without changes.
//!
//! These tests are slow, as they run two compilers. The build output stays in cargo's folder for test files
//! (`target/tmp`), so that only the first run takes minutes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::harness::{Kitbag, kitbag, root};

/// Time limit for a build. Compiling the standard library and the SDK takes minutes on a busy machine.
const BUILD_TIMEOUT: Duration = Duration::from_mins(20);

#[tokio::test]
async fn a_new_toolkit_passes_its_own_tests_builds_and_deploys() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scaffold");
    clear_all_but_compiler_output(&directory);

    run(kitbag(["toolkit", "new", "word-count", "--directory"]).arg(&directory)).await;
    // Use the dependency versions that are already downloaded.
    fs::copy(root().join("Cargo.lock"), directory.join("Cargo.lock")).expect("the workspace has one");
    run(cargo().arg("test").current_dir(&directory)).await;
    let built = run(kitbag(["toolkit", "build"]).arg(&directory)).await;

    let (component, manifest) =
        (directory.join("dist/word-count.wasm"), directory.join("dist/manifest.json"));
    assert_eq!(built.lines().map(PathBuf::from).collect::<Vec<_>>(), [component.clone(), manifest.clone()]);
    let manifest: Value = serde_json::from_slice(&fs::read(manifest).expect("a manifest")).expect("JSON");
    assert_eq!((&manifest["id"], &manifest["visibility"]), (&json!("word-count"), &json!("private")));
    let server = Kitbag::start().await;
    let operator = server.as_operator();
    operator.deploy(fs::read(component).expect("a component")).await.assert_status(201);
    let greeted = operator.call("word-count__greet", json!({ "name": "Ana", "tone": "formal" })).await;
    assert_eq!(greeted.structured(), &json!({ "greeting": "Good day, Ana.", "letters": 3 }));
}

#[tokio::test]
async fn a_new_toolkit_in_typescript_passes_its_own_tests_builds_and_deploys() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let directory = folder.path().join("word-count");
    let npm = |arguments: &[&str]| {
        let mut command = Command::new("npm");
        command.args(arguments).current_dir(&directory).stdin(Stdio::null()).kill_on_drop(true);
        command
    };

    run(kitbag(["toolkit", "new", "word-count", "--lang", "ts", "--directory"]).arg(&directory)).await;
    run(&mut npm(&["install", "--no-audit", "--no-fund"])).await;
    run(&mut npm(&["test"])).await;
    let built = run(kitbag(["toolkit", "build"]).arg(&directory)).await;

    let paths = ["dist/word-count.wasm", "dist/manifest.json"].map(|path| directory.join(path));
    assert_eq!(built.lines().map(PathBuf::from).collect::<Vec<_>>(), paths);
    let server = Kitbag::start().await;
    let operator = server.as_operator();
    let deploy = async || {
        let mut command = kitbag(["toolkit", "deploy", "--data"]);
        command.arg(server.data()).arg(&directory);
        crate::harness::run(command).await
    };
    deploy().await.succeeded();
    let greeted = operator.call("word-count__greet", json!({ "name": "Ana", "tone": "formal" })).await;
    assert_eq!(greeted.structured(), &json!({ "greeting": "Good day, Ana.", "letters": 3 }));

    let source = directory.join("extension.ts");
    let other = fs::read_to_string(&source).expect("it was made").replace("Good day", "Good evening");
    fs::write(&source, other).expect("it is ours");
    let refused = deploy().await;
    assert!(!refused.stderr.contains("Uploading"), "{}", refused.stderr);
    refused.assert_failed("version 0.1.0 of word-count is already deployed with other contents");
}

fn clear_all_but_compiler_output(directory: &Path) {
    fs::create_dir_all(directory).expect("the target folder can be written");
    for entry in fs::read_dir(directory).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.ends_with("target") || path.ends_with("target-guests") {
            continue;
        }
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.expect("what an earlier run made can be removed");
    }
}

fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.env_remove("CARGO_TARGET_DIR").stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs a command, which must succeed, and returns its standard output.
async fn run(command: &mut Command) -> String {
    let output =
        timeout(BUILD_TIMEOUT, command.output()).await.expect("the command ends").expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}
