//! What each crate of the host depends on, as its manifest says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::harness::root;

/// Libraries, by the beginning of their names, each with the crates that may use it.
const FENCES: [(&str, &[&str]); 7] = [
    ("async-graphql", &["web"]),
    ("axum", &["kitbag", "web"]),
    ("memmap2", &["knowledge"]),
    ("rmcp", &["web"]),
    ("rustls", &["kitbag", "net"]),
    ("sqlx", &["database", "row"]),
    ("wasmtime", &["sandbox"]),
];
/// What routes reach through `access` alone (docs/decisions/0017).
const BEHIND_ACCESS: [&str; 6] = ["database", "files", "knowledge", "sandbox", "toolkits", "vault"];

/// Each crate below `host`, with what it depends on. Kitbag's own crates are named as their folders.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
    let output =
        Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let short = |name: &Value| {
        let name = name.as_str().expect("a name");
        name.strip_prefix("kitbag-").unwrap_or(name).to_owned()
    };
    let ours = metadata["packages"].as_array().expect("packages").iter();
    let ours = ours.filter(|it| it["manifest_path"].as_str().is_some_and(|path| path.contains("/host/")));
    ours.map(|package| {
        let all = package["dependencies"].as_array().expect("dependencies").iter();
        (
            short(&package["name"]),
            all.filter(|it| it["kind"].is_null()).map(|it| short(&it["name"])).collect(),
        )
    })
    .collect()
}

#[test]
fn no_crate_leaves_its_fence() {
    let crates = crates();
    assert_eq!(crates["web"].iter().filter(|it| BEHIND_ACCESS.contains(&it.as_str())).count(), 0);
    for (name, used) in &crates {
        for (library, allowed) in
            FENCES.iter().filter(|(library, _)| used.iter().any(|it| it.starts_with(library)))
        {
            assert!(allowed.contains(&name.as_str()), "{name} uses {library}, which is for {allowed:?}");
        }
    }
}

#[test]
fn the_map_for_readers_is_this_one() {
    let crates = crates();
    let map = crates.iter().fold(String::new(), |mut map, (name, used)| {
        let used: Vec<_> = used.iter().filter(|it| crates.contains_key(*it)).map(String::as_str).collect();
        writeln!(map, "{name} → {}", used.join(", ")).expect("a string takes everything");
        map
    });
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("text");
    assert!(page.contains(&format!("```\n{map}```")), "docs/architecture.md has another map than\n{map}");
}
