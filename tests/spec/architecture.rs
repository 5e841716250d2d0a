//! Dependencies of the host's crates, according to their manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::root;

/// Substring of a dependency's name, and the crates that may depend on it.
const FENCES: [(&str, &[&str]); 9] = [
    ("async-graphql", &["web"]),
    ("axum", &["kitbag", "web"]),
    ("memmap2", &["knowledge"]),
    ("object_store", &["files"]),
    ("rmcp", &["web"]),
    ("rusqlite", &["database"]),
    ("rustls", &["kitbag", "net"]),
    ("sqlx", &["database", "row"]),
    ("wasmtime", &["sandbox"]),
];
/// Crates on which `web` must not depend: routes use them through `access` only (docs/decisions/0017).
const HIDDEN: [&str; 7] = ["database", "files", "knowledge", "maintenance", "sandbox", "toolkits", "vault"];

/// Normal dependencies (not dev or build) of each crate of the host. Names lack the prefix `kitbag-`.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
    let output =
        Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo describes the workspace");
    let short = |it: &Value| it["name"].as_str().expect("a name").trim_start_matches("kitbag-").to_owned();
    let host = root().join("host");
    let is_host =
        |it: &&Value| Path::new(it["manifest_path"].as_str().unwrap_or_default()).starts_with(&host);
    let packages = metadata["packages"].as_array().expect("packages").iter().filter(is_host);
    let used = |it: &Value| it["dependencies"].as_array().expect("dependencies").clone().into_iter();
    packages
        .map(|it| (short(it), used(it).filter(|it| it["kind"].is_null()).map(|it| short(&it)).collect()))
        .collect()
}

#[test]
fn no_crate_leaves_its_fence_and_the_map_for_readers_is_right() {
    let crates = crates();
    assert!(HIDDEN.iter().all(|it| crates.contains_key(*it) && !crates["web"].contains(*it)));
    for (name, used) in &crates {
        for (part, allowed) in FENCES.iter().filter(|(part, _)| used.iter().any(|it| it.contains(part))) {
            assert!(allowed.contains(&name.as_str()), "{name} uses {part}, which is for {allowed:?}");
        }
    }
    let map = crates.iter().map(|(name, used)| {
        let own: Vec<_> = used.iter().filter(|it| crates.contains_key(*it)).map(String::as_str).collect();
        format!("{name} → {}\n", own.join(", ")).replace(" → \n", "\n")
    });
    let map: String = map.collect();
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("text");
    assert!(page.contains(&format!("```\n{map}```")), "docs/architecture.md has another map than\n{map}");
}
