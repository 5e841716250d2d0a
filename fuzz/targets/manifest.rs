//! Manifests of backups: an accepted one names no file outside its backup.

use kitbag::fuzzing::backup::manifest as read;

const NEWEST_FORMAT: u32 = 1;

/// Input: the text of a manifest.
///
/// Checks that an accepted one is of a known format, names files of a backup only, and means the same when it is written
/// again; and that a refusal says what is wrong.
pub fn manifest(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match read(text) {
        Ok(manifest) => {
            assert!(manifest.format <= NEWEST_FORMAT);
            assert_eq!(manifest.database.name, "kitbag.sqlite");
            for key in &manifest.keys {
                assert!(!key.name.contains(['/', '\\', '\0']) && !key.name.starts_with('.'), "{key:?}");
            }
            let written = serde_json::to_string(&manifest).expect("it is JSON");
            assert_eq!(read(&written).as_ref(), Ok(&manifest));
        }
        Err(reason) => assert!(reason.starts_with("the backup "), "{reason}"),
    }
}
