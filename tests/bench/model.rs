//! Embedding model for search.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;

/// Fetches the default model if it is missing, and returns its folder.
pub(crate) fn fetch() -> Outcome<PathBuf> {
    // A separate folder: a data directory must be private to its owner.
    let data = &Path::new(env!("CARGO_TARGET_TMPDIR")).join("search");
    let fetched =
        Command::new(env!("CARGO_BIN_EXE_kitbag")).args(["model", "fetch", "--data"]).arg(data).status()?;
    if fetched.success() {
        Ok(data.join("models/all-MiniLM-L6-v2"))
    } else {
        Err("there is no model; name one with --model".into())
    }
}
