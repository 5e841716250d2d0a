//! Runs the conformance suite and reads its results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

use crate::harness::root;

/// Results of one scenario.
#[derive(Debug, Default)]
pub(super) struct Scenario {
    pub(super) checks: Vec<Check>,
}

/// Result of one check of a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    pub(super) id: String,
    pub(super) status: Status,
    #[serde(default)]
    pub(super) error_message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    Info,
}

impl Scenario {
    /// Returns the checks that failed.
    pub(super) fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.status == Status::Failure)
    }
}

/// Time limit for all scenarios of a revision together.
const SUITE_TIMEOUT: Duration = Duration::from_mins(5);

/// Runs every scenario for servers that applies to `revision`; returns the results by name.
pub(super) async fn run(url: &str, revision: &str) -> BTreeMap<String, Scenario> {
    let folder = root().join("tests/conformance");
    let node = folder.join("node_modules/.bin/node");
    assert!(node.exists(), "run `just install`");
    let results = tempfile::tempdir().expect("a scratch directory");
    let mut command = Command::new(node);
    command
        .current_dir(&folder)
        .arg("node_modules/@modelcontextprotocol/conformance/dist/index.js")
        .args(["server", "--url", url, "--suite", "all", "--spec-version", revision, "--output-dir"])
        .arg(results.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ran =
        timeout(SUITE_TIMEOUT, command.output()).await.expect("the suite ends").expect("node can be started");

    let scenarios = read(results.path());
    assert!(scenarios.len() > 20, "the suite did not run: {ran:?}");
    scenarios
}

/// Reads the results by scenario. Each run of a scenario has a folder `server-NAME-TIME` with `checks.json`.
fn read(results: &Path) -> BTreeMap<String, Scenario> {
    let mut scenarios = BTreeMap::<String, Scenario>::new();
    for file in files_named(results, "checks.json") {
        let folder =
            file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).expect("a folder");
        let checks = fs::read(&file).expect("a file");
        let checks: Vec<Check> = serde_json::from_slice(&checks).expect("checks as they were");
        scenarios.entry(name_of(folder).to_owned()).or_default().checks.extend(checks);
    }
    scenarios
}

/// Returns the scenario of a folder: `server-tools-list-2026-01-01T00-00-00-000Z` → `tools-list`.
fn name_of(folder: &str) -> &str {
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    let time = name.rfind('T').and_then(|at| name[..at].rmatch_indices('-').nth(2));
    time.map_or(name, |(at, _)| &name[..at])
}

fn files_named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(name) {
                found.push(path);
            }
        }
    }
    found
}
