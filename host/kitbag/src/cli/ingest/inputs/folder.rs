//! The files of a folder with its subfolders, and what is left out of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, Walk, WalkBuilder};

use crate::cli::error::CliError;

/// How deep folders are followed.
const MAX_FOLDER_DEPTH: usize = 64;

/// Folders of what programs fetch and generate.
const GENERATED_FOLDERS: [&str; 7] =
    ["__MACOSX", "__pycache__", "bower_components", "dist", "node_modules", "site-packages", "venv"];
/// Files in which programs note the versions that they have fetched.
const LOCK_FILES: [&str; 12] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "composer.lock",
    "flake.lock",
    "go.sum",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];
/// Ends of the names of bundles that no person has written.
const BUNDLES: [&str; 6] = [".min.js", ".min.css", ".min.mjs", ".bundle.js", ".js.map", ".css.map"];

/// What was left out of folders, with how often.
#[derive(Clone, Default)]
pub(in crate::cli::ingest) struct LeftOut(Arc<Mutex<BTreeMap<(Why, String), usize>>>);

/// Why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cli::ingest) enum Why {
    /// Its extension is of no kind that is read.
    UnknownKind,
    /// Programs fetch and generate it.
    Generated,
}

impl LeftOut {
    pub(super) fn add(&self, why: Why, what: impl Into<String>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((why, what.into())).or_default() += 1;
    }

    /// What was left out for this reason, with how often.
    pub(in crate::cli::ingest) fn by(&self, why: Why) -> Vec<(String, usize)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_reason = counts.iter().filter(|((reason, _), _)| *reason == why);
        of_reason.map(|((_, what), count)| (what.clone(), *count)).collect()
    }
}

/// Which files of folders to leave out.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    /// Patterns as in `.gitignore`.
    pub(super) exclude: &'a [String],
    /// Whether to take what `.gitignore` and `.ignore` name, and what programs generate.
    pub(super) takes_ignored: bool,
}

/// A folder that is walked, file by file in the order of their names. Hidden files are skipped, the locks of office
/// programs, and symbolic links, which may lead out of the folder or to a cycle.
pub(super) struct Folder {
    root: PathBuf,
    walk: Walk,
}

impl Folder {
    pub(super) fn open(root: &Path, rules: Rules<'_>, left_out: &LeftOut) -> Result<Self, CliError> {
        let invalid = |error: ignore::Error| CliError::new(format!("--exclude: {error}"));
        let mut exclude = OverrideBuilder::new(root);
        for pattern in rules.exclude {
            exclude.add(&format!("!{pattern}")).map_err(invalid)?;
        }
        let (left_out, takes_ignored) = (left_out.clone(), rules.takes_ignored);
        let walk = WalkBuilder::new(root)
            .standard_filters(false)
            .hidden(true)
            .ignore(!takes_ignored)
            .git_ignore(!takes_ignored)
            .require_git(false)
            .overrides(exclude.build().map_err(invalid)?)
            .max_depth(Some(MAX_FOLDER_DEPTH + 1))
            .sort_by_file_name(Ord::cmp)
            .filter_entry(move |entry| {
                let generated = generated(entry).filter(|_| !takes_ignored);
                generated.inspect(|what| left_out.add(Why::Generated, *what)).is_none()
            })
            .build();
        Ok(Self { root: root.to_owned(), walk })
    }
}

impl Iterator for Folder {
    /// A file with its path within the folder, or what cannot be read and why.
    type Item = Result<(PathBuf, PathBuf), (String, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.walk.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err((self.root.display().to_string(), error.to_string()))),
            };
            let is = |wanted: fn(&std::fs::FileType) -> bool| entry.file_type().as_ref().is_some_and(wanted);
            if is(std::fs::FileType::is_dir) && entry.depth() > MAX_FOLDER_DEPTH {
                let reason = format!("is more than {MAX_FOLDER_DEPTH} folders deep");
                return Some(Err((entry.path().display().to_string(), reason)));
            }
            let is_lock = entry.file_name().to_string_lossy().starts_with("~$");
            if is(std::fs::FileType::is_file) && !is_lock {
                let within = entry.path().strip_prefix(&self.root).unwrap_or(entry.path()).to_owned();
                return Some(Ok((entry.into_path(), within)));
            }
        }
    }
}

/// What an entry is, in words for a person, if programs have generated it.
fn generated(entry: &DirEntry) -> Option<&'static str> {
    let name = entry.file_name().to_string_lossy();
    // The folder that was named is wanted, whatever its name.
    if entry.depth() == 0 {
        return None;
    }
    if entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return GENERATED_FOLDERS.into_iter().find(|known| *known == name);
    }
    if LOCK_FILES.contains(&&*name) {
        return Some("lock files");
    }
    BUNDLES.iter().any(|end| name.ends_with(end)).then_some("minified bundles")
}
