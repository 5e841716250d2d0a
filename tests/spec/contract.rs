//! Versions of the contracts (WIT) with toolkits and extractors: a frozen version never changes, and only the
//! module of a version names it.

use std::fs;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};

use crate::harness::root;

/// SHA-256 of each WIT file of a frozen version. Invariant: from the first release on, these lines never
/// change; a new version has its own folder.
const FROZEN: [(&str, &str); 2] = [
    ("v0_2/extractor/extractor.wit", "c1b5c9ce156208fc9aebdccacb70331e87efcfc20b03c1951828bc6dda52bfe2"),
    ("v0_2/toolkit.wit", "c02f8f6c3c582a8c7f3c5438561cfece780d19c97dd33c349c25db89265d034c"),
];

/// Spellings of a version: folder or module, generated names, WASI import.
const VERSION_SPELLINGS: [&str; 4] = ["v0_2", "_0_2_0", "020Call", "wasi:http/types@"];

/// Start of the name of a package or interface of a contract, which a version may follow.
const CONTRACT_PREFIXES: [&str; 2] = ["kitbag:toolkit", "kitbag:extractor"];

/// Paths that may name a version: the contracts, the copy of one in the TypeScript SDK, the modules of the
/// versions, toolkits without an SDK, and this test.
const ALLOWED_PATHS: [&str; 7] = [
    "wit",
    "guest-sdk/typescript/wit",
    "host/sandbox/src/contract.rs",
    "host/sandbox/src/contract",
    "tests/languages",
    "tests/spec/contract.rs",
    "toolkits/dates",
];

/// Names of folders without source code of this repository.
const SKIPPED_FOLDERS: [&str; 12] = [
    ".git",
    ".tools",
    ".venv",
    "artifacts",
    "corpus",
    "deps",
    "dist",
    "docs",
    "found",
    "node_modules",
    "target",
    "target-guests",
];

#[test]
fn no_frozen_contract_has_changed() {
    let wit = root().join("wit");
    let mut files = Vec::new();
    for entry in fs::read_dir(&wit).expect("a folder").flatten() {
        // Skips `current`, a symbolic link to one of the versions, and `deps`, the WIT files of WASI.
        if !entry.path().is_symlink() && entry.file_name() != "deps" {
            collect(&entry.path(), &mut files);
        }
    }
    // Only WIT files are frozen; the schema of the manifest may be extended.
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wit"));
    files.sort();

    let found: Vec<_> = files
        .iter()
        .map(|file| {
            let name = file.strip_prefix(&wit).expect("it was found there").to_str().expect("UTF-8");
            (name, hex::encode(digest(&SHA256, &fs::read(file).expect("a file"))))
        })
        .collect();

    let expected: Vec<_> = FROZEN.iter().map(|(name, digest)| (*name, (*digest).to_owned())).collect();
    assert_eq!(found, expected, "a frozen contract has changed, or one is not frozen yet");
}

#[test]
fn no_file_names_a_version_of_a_contract_but_the_module_of_that_version() {
    let mut files = Vec::new();
    collect(&root(), &mut files);
    assert!(files.len() > 300, "only {} files were found", files.len());

    files.retain(|file| {
        let name = file.strip_prefix(root()).expect("it was found there");
        let may = ALLOWED_PATHS.iter().any(|place| name.starts_with(place));
        !may && fs::read_to_string(file).is_ok_and(|text| names_a_version(&text))
    });

    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn a_version_is_found_however_it_is_named() {
    for text in [
        "path: \"../wit/v0_2\",",
        "import kitbag:toolkit/log@0.2.0;",
        "const CALL = /^async function (export_tools_0_2_0\\$call)/;",
        "linker.instance(\"wasi:http/types@0.2.12\")",
    ] {
        assert!(names_a_version(text), "{text}");
    }
    for text in [
        "wit/current",
        "kitbag:toolkit/log",
        "wasi:io/poll@0.2.12",
        "version = \"0.1.0\"",
        "`wasi:http/types`",
    ] {
        assert!(!names_a_version(text), "{text}");
    }
}

fn names_a_version(text: &str) -> bool {
    let is_version = |rest: &str| {
        let rest = rest
            .trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || matches!(letter, '/' | '-'));
        rest.starts_with("@0.")
    };
    let mut contracts = CONTRACT_PREFIXES.iter().flat_map(|prefix| text.split(prefix).skip(1));
    VERSION_SPELLINGS.iter().any(|name| text.contains(name)) || contracts.any(is_version)
}

/// Collects all files below a folder, except symbolic links, skipped folders, and lock files, which name
/// versions of other packages.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_symlink() || name.contains("lock") || SKIPPED_FOLDERS.contains(&name.as_ref()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
