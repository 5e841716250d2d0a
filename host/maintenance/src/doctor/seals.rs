//! The seals of compiled machine code.

use std::path::Path;

use kitbag_files::machine_code;

use super::{Examples, Finding, Report};

/// Folders with machine code.
const FOLDERS: [&str; 3] = ["code", "extractor-code", "code-runner"];

pub(super) fn check(data: &Path, report: &mut Report) {
    let mut broken = Examples::default();
    let mut checked = 0;
    for folder in FOLDERS {
        let found = machine_code::check_seals(data, folder, |path, error| {
            broken.push(format!("{}: {error}", path.strip_prefix(data).unwrap_or(path).display()));
        });
        match found {
            Ok(count) => checked += count,
            Err(error) => report.findings.push(Finding::new(
                format!("the machine code in {folder} cannot be checked: {error}"),
                "delete the folder: the server compiles its toolkits again at their first call",
            )),
        }
    }
    if checked > 0 && broken.count() == 0 {
        report.notes.push(format!("files of machine code with a valid seal: {checked}"));
    }
    report.add(
        broken,
        "files of machine code have no valid seal; the server does not run them",
        "delete them: each is compiled again at the first call. If you have not moved or restored this directory, find \
         out who has changed them",
    );
}
