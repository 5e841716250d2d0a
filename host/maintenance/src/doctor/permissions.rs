//! Permissions of all files in a data directory, except keys.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use kitbag_base::ownership::{KEY_FILES, shell_quoted};

use super::{Examples, Report};

/// All permissions for group and others.
const OPEN_TO_OTHERS: u32 = 0o077;

pub(super) fn check(data: &Path, report: &mut Report) -> io::Result<()> {
    let user = fs::metadata(data)?.uid();
    let mut open = Examples::default();
    let mut foreign = Examples::default();
    let mut links = Examples::default();
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // The folder was removed meanwhile, or belongs to another user, which is reported.
            Err(_) if folder != data => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
            let shown = || path.strip_prefix(data).unwrap_or(&path).display().to_string();
            let is_key = folder == data && KEY_FILES.iter().any(|key| entry.file_name() == *key);
            if metadata.is_symlink() {
                links.push(shown());
                continue;
            }
            if metadata.uid() != user {
                foreign.push(shown());
            }
            if metadata.mode() & OPEN_TO_OTHERS != 0 && !is_key {
                open.push(shown());
            }
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    let quoted = shell_quoted(data);
    report.add(
        open,
        "files or folders can be accessed by other users of this machine as soon as they can enter the data directory",
        format!("run: chmod -R go-rwx {quoted} (the next start of the server does so too)"),
    );
    report.add(
        foreign,
        "files or folders do not belong to the owner of the data directory, so that the server may be unable to use them",
        format!("run as root: chown -R --reference={quoted} {quoted}"),
    );
    report.add(
        links,
        "files or folders are symbolic links; backups do not follow them, and nobody checks where they lead",
        "put the files themselves in their place, or mount another disk there",
    );
    Ok(())
}
