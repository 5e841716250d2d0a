//! Keys: whether they exist, are readable by their owner only, and decrypt the secrets.

use std::path::Path;

use kitbag_base::folder::Folder;
use kitbag_base::local_mode;
use kitbag_base::ownership::{KEY_FILES, shell_quoted};
use kitbag_database::Database;
use kitbag_vault::{KeySource, MasterKeyError, OpenError, SecretsCheck};

use super::{Examples, Finding, Report};

/// All permissions for group and others.
const OPEN_TO_OTHERS: u32 = 0o077;
/// Signing key of local mode.
const SIGNING_KEY: &str = "local-issuer.p8";

/// Checks whether the master key decrypts the secrets.
pub(super) async fn check_secrets(
    source: &KeySource,
    database: &Database,
    report: &mut Report,
) -> kitbag_database::Result<()> {
    let needed = kitbag_vault::master_key_names(database).await?;
    if needed.is_empty() && matches!(source, KeySource::File(path) if !path.exists()) {
        let sealing = database.audit_key_names().await?.join(", ");
        if sealing.is_empty() {
            report.notes.push("there are no secrets, and no master key yet".to_owned());
        } else {
            report.findings.push(Finding::new(
                format!("there is no master key, and the audit log is sealed with {sealing}"),
                "put the key in place before the server starts, or give this command the server's setting (--master-key); \
                 a server without it makes a new one, and records in the log that its ends cannot be verified",
            ));
        }
        return Ok(());
    }
    match kitbag_vault::check_secrets(database, source).await {
        Ok(check) => report_secrets(check, report),
        // `check_files` reports this problem with those of other keys.
        Err(OpenError::Key(MasterKeyError::Exposed { path })) if path.ends_with(KEY_FILES[0]) => {}
        Err(error) => {
            let what = format!("{error}; secrets were not checked, and the server does not start");
            let needed = needed.join(", ");
            report.findings.push(Finding::new(
                what,
                format!("give this command the server's setting (--master-key); if the key is lost, take the key {needed} from a backup"),
            ));
        }
    }
    Ok(())
}

fn report_secrets(check: SecretsCheck, report: &mut Report) {
    let SecretsCheck { open, broken, examples, missing_keys } = check;
    report.notes.push(format!("secrets that open with the master key: {open}"));
    for (name, secrets) in missing_keys {
        report.findings.push(Finding::new(
            format!("secrets are sealed with the master key {name}, which is not at hand, so that the server does not start: {secrets}"),
            "give the server, and this command, that key too, after the current one (--master-key); it is in older \
             copies of the key",
        ));
    }
    if broken > 0 {
        let more = broken.saturating_sub(examples.len() as u64);
        let what = format!(
            "secrets do not open, although their master key is there, because their rows are damaged: {broken}"
        );
        let remedy = "their users cannot make calls until they set them again (`kitbag secret set`), or a backup is restored";
        report.findings.push(Finding { examples, more, ..Finding::new(what, remedy) });
    }
}

/// Checks the permissions and the existence of key files.
pub(super) fn check_files(data: &Path, folder: &Folder, report: &mut Report) {
    for name in KEY_FILES {
        let Ok(status) = folder.status(name) else { continue };
        if status.file_type.is_file() && status.mode & OPEN_TO_OTHERS != 0 {
            let path = data.join(name);
            report.findings.push(Finding::new(
                format!(
                    "other users of this machine can read the key {name} (its mode is {:04o})",
                    status.mode
                ),
                format!("run: chmod 600 {}; {}", shell_quoted(&path), after_exposure(name)),
            ));
        }
    }
    let mut missing = Examples::default();
    if local_mode::was_announced(data) && folder.status(SIGNING_KEY).is_err() {
        missing.push(SIGNING_KEY);
    }
    report.add(
        missing,
        "a key of local sign-in is missing; the next start makes a new one, and everybody has to sign in again",
        "take it from a backup that was made with --keys, or start the server without it",
    );
}

/// Returns the remedy for a key that others may have read.
fn after_exposure(name: &str) -> &'static str {
    match name {
        "master-key" => {
            "others may have read it: run `kitbag vault rotate`, and replace the secrets themselves"
        }
        "code.key" => "the server replaces it at its next start, and compiles the toolkits again",
        _ => "others may have read it: delete it and start the server again; everybody signs in anew",
    }
}
