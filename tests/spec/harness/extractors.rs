//! Extractors that `just build-extractors` installs beside the program.

use std::path::PathBuf;

/// Returns the folder of the extractors.
pub(crate) fn folder() -> PathBuf {
    let program = std::env::current_exe().expect("a running program has a path");
    // The test program is in a subfolder of that of `kitbag`.
    let folder = program.ancestors().nth(2).expect("two folders deep").join("extractors");
    assert!(folder.join("pdf.wasm").is_file(), "run `just build-extractors`: {}", folder.display());
    folder
}
