//! The model that search uses.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;

/// Fetches the default model unless it is there, and returns its folder.
pub(crate) fn fetch() -> Outcome<PathBuf> {
    // A folder of its own: a data directory is for its owner alone.
    let data = &Path::new(env!("CARGO_TARGET_TMPDIR")).join("search");
    let fetched =
        Command::new(env!("CARGO_BIN_EXE_kitbag")).args(["model", "fetch", "--data"]).arg(data).status()?;
    if fetched.success() {
        Ok(data.join("models/all-MiniLM-L6-v2"))
    } else {
        Err("there is no model; name one with --model".into())
    }
}
