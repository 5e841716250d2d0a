//! The model that search uses.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;

/// Fetches the model unless it is there, and returns its folder.
pub(crate) fn fetch() -> Outcome<PathBuf> {
    let data = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let fetched =
        Command::new(env!("CARGO_BIN_EXE_kitbag")).args(["model", "fetch", "--data"]).arg(data).status()?;
    if fetched.success() {
        Ok(data.join("model"))
    } else {
        Err("there is no model; name one with --model".into())
    }
}
