//! Each finding, in a real data directory.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kitbag_base::sha256::Sha256;
use kitbag_database::Scope;
use kitbag_database::audit::{Act, Actor, Audit, CallEntries, Entry, Retention, append};
use kitbag_knowledge::model::{DEFAULT_NAME, located};
use kitbag_net::certificate::CertificateFiles;
use kitbag_net::certificate::testing::Authority;
use kitbag_net::egress::EgressSettings;
use kitbag_vault::{SecretSlot, Vault};

use super::*;

const TOOLKIT: &str =
    "INSERT INTO toolkit_versions VALUES ('books', '1.0.0', '{digest}', 1, '{}', '{}', '[]', 'op', 0);
    INSERT INTO toolkits VALUES ('books', 'op', '1.0.0');";
const DOCUMENT: &str = "INSERT INTO documents (id, holder, added_by, changed_by, number, source, identity, digest, title, capture_only,
        artifact, artifact_size, artifact_type, state, revision, created_at, updated_at, text)
    VALUES ('d', 'user:ana', 'ana', 'ana', 1, 'user', 'd', x'00', 'T', 0, '{digest}', 1, 'text/plain', 'ready', 1, 0, 0, 'text');";
const FILES: &str = "INSERT INTO files VALUES
    ('components/{digest}.wasm', 'components/{digest}', 0, 0),
    ('artifacts/' || substr('{digest}', 1, 2) || '/{digest}', 'artifacts/{digest}', 0, 0);";
const VALUE: &str = "canary-5ecret";

/// A data directory with a document, a toolkit and a secret, without problems.
struct Scratch {
    data: tempfile::TempDir,
    database: Database,
    artifact: PathBuf,
    component: PathBuf,
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

impl Scratch {
    async fn new() -> Self {
        let data = tempfile::tempdir().expect("a scratch directory");
        set_mode(data.path(), 0o700);
        let database = Database::open(data.path()).await.expect("a database");
        let vault = Vault::open(database.clone(), KeySource::File(data.path().join("master-key"))).await;
        let digest = hex::encode(Sha256::digest("bytes"));
        let artifact = data.path().join("artifacts").join(&digest[..2]).join(&digest);
        let component = data.path().join("components").join(format!("{digest}.wasm"));
        for file in [&artifact, &component] {
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, "bytes").expect("a file");
        }
        for sql in [TOOLKIT, DOCUMENT, FILES] {
            database.execute(&sql.replace("{digest}", &digest)).await;
        }
        let slot = SecretSlot {
            user: "ana".to_owned(),
            toolkit: "books".to_owned(),
            owner: "op".to_owned(),
            name: "API_KEY".to_owned(),
        };
        Arc::new(vault.expect("it opens"))
            .set(&Actor::server(), slot, &VALUE.into())
            .await
            .expect("it can be set");
        ownership::restrict_permissions(data.path()).expect("it is ours");
        Self { data, database, artifact, component }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    fn subject(&self) -> Subject {
        Subject {
            data: self.data.path().to_owned(),
            database: None,
            files: Location::Folder(self.data.path().to_owned()),
            egress: Egress::new(EgressSettings::default()),
            key_source: KeySource::File(self.path("master-key")),
            model: None,
            model_is_optional: true,
            free_disk_space: Some(1),
            audit_retention: Retention::of_all(Duration::from_hours(24)),
            certificate: None,
            depth: Depth::Full,
        }
    }

    async fn append_entry(&self) {
        let mut transaction = self.database.begin(Scope::Audit).await.expect("nobody keeps the writer");
        let by = Actor::server();
        append(&mut transaction, &Entry::new(Act::SecretSet, &by)).await.expect("there is room");
        transaction.commit().await.expect("there is room");
    }

    async fn examine(&self) -> Report {
        examine(&self.subject(), &mut |_, _, _| {}).await.expect("it can look")
    }

    /// Asserts that there is exactly one finding, which contains `words` and no secret. Returns it.
    async fn assert_finds(&self, words: &str) -> Finding {
        let report = self.examine().await;
        assert_finding(&report, words)
    }
}

#[track_caller]
fn assert_finding(report: &Report, words: &str) -> Finding {
    let all = serde_json::to_string(report).expect("JSON");
    assert!(!all.contains(VALUE), "{all}");
    let [finding] = report.findings.as_slice() else {
        panic!("not one finding about {words:?}: {report:#?}")
    };
    assert!(finding.what.contains(words), "no {words:?} in {finding:?}");
    assert!(!finding.remedy.is_empty());
    finding.clone()
}

fn make_old(path: &Path) {
    let file = File::options().write(true).open(path).expect("it is ours");
    file.set_modified(SystemTime::now() - Duration::from_hours(2)).expect("it is ours");
}

#[tokio::test]
async fn nothing_is_wrong_with_a_directory_that_is_in_order_and_nothing_is_changed() {
    let scratch = Scratch::new().await;
    let before = fs::read(scratch.path(Database::FILE)).expect("a file");

    let report = scratch.examine().await;

    assert_eq!(report.findings, []);
    assert!(report.notes.iter().any(|note| note == "secrets that open with the master key: 1"), "{report:?}");
    assert!(report.notes.iter().any(|note| note.contains("(2)")), "{report:?}");
    assert_eq!(fs::read(scratch.path(Database::FILE)).expect("a file"), before);
    assert!(!scratch.path("code.key").exists());
}

#[tokio::test]
async fn files_that_are_missing_damaged_or_no_files_are_found() {
    let scratch = Scratch::new().await;
    let shown =
        scratch.artifact.strip_prefix(scratch.data.path()).expect("it is there").display().to_string();

    fs::write(&scratch.artifact, "other bytes").expect("it is ours");
    assert_eq!(scratch.assert_finds("other bytes than").await.examples, std::slice::from_ref(&shown));
    let quick = Subject { depth: Depth::Quick, ..scratch.subject() };
    let report = examine(&quick, &mut |_, _, _| {}).await.expect("it can look");
    assert_eq!(report.findings, [], "a quick look does not read files");

    fs::remove_file(&scratch.artifact).expect("it is ours");
    assert_eq!(scratch.assert_finds("files to which rows refer are missing: 1").await.examples, [shown]);

    symlink(&scratch.component, &scratch.artifact).expect("a link");
    let report = scratch.examine().await;
    assert_eq!(report.findings.len(), 2, "{report:#?}");
    assert!(report.findings[0].what.contains("symbolic links"), "{report:#?}");
    assert!(report.findings[1].what.contains("cannot be read"), "{report:#?}");
}

#[tokio::test]
async fn files_without_rows_are_found_once_they_cannot_be_on_their_way() {
    let scratch = Scratch::new().await;
    let digest = hex::encode(Sha256::digest("stray"));
    for (stray, words) in [
        (scratch.component.with_file_name(format!("{digest}.wasm")), "components belong to no version"),
        (scratch.artifact.with_file_name(&digest), "captured files belong to no document"),
    ] {
        fs::write(&stray, "stray").expect("a file");
        set_mode(&stray, 0o600);
        assert_eq!(scratch.examine().await.findings, [], "a new file may be on its way");

        make_old(&stray);

        // In a folder of another hash prefix, no row refers to it.
        if stray.extension().is_some() {
            assert!(scratch.assert_finds(words).await.remedy.contains("no server needs them"));
        }
        fs::remove_file(stray).expect("it is ours");
    }
    let stray = scratch.path("artifacts").join(&digest[..2]).join(&digest);
    fs::create_dir_all(stray.parent().expect("a folder")).expect("a folder");
    set_mode(stray.parent().expect("a folder"), 0o700);
    fs::write(&stray, "stray").expect("a file");
    set_mode(&stray, 0o600);
    make_old(&stray);
    assert!(
        scratch
            .assert_finds("captured files belong to no document")
            .await
            .remedy
            .contains("no server needs them")
    );

    // A database that has never had a document may have replaced a lost one.
    scratch.database.forget_rows("documents").await;
    scratch.database.execute("DELETE FROM files WHERE name LIKE 'artifacts/%'").await;
    make_old(&scratch.artifact);
    assert!(
        scratch
            .assert_finds("captured files belong to no document: 2")
            .await
            .remedy
            .contains("find out before you delete anything")
    );
}

#[tokio::test]
async fn an_audit_log_that_somebody_has_changed_is_found_at_each_end_in_the_middle_and_all() {
    for (change, words) in [
        (
            "DELETE FROM audit WHERE sequence > 2;
             UPDATE audit_chains SET newest = 2, newest_hash = (SELECT hash FROM audit WHERE sequence = 2)",
            "chain file: the record of its ends was changed",
        ),
        (
            "UPDATE audit_chains SET removed = 2, removed_hash = (SELECT hash FROM audit WHERE sequence = 2);
             DELETE FROM audit WHERE sequence <= 2",
            "chain file: the record of its ends was changed",
        ),
        ("DELETE FROM audit WHERE sequence = 2", "chain file: the entries 2 to 2 were removed"),
        (
            "DELETE FROM audit; UPDATE audit_chains SET removed = newest, removed_hash = newest_hash",
            "chain file: the record of its ends was changed",
        ),
        ("DELETE FROM audit; DELETE FROM audit_chains", "the list of chains was changed"),
        (
            "DELETE FROM audit; DELETE FROM audit_chains; DELETE FROM audit_log",
            "the list of chains was removed",
        ),
    ] {
        let scratch = Scratch::new().await;
        for _ in 0..3 {
            scratch.append_entry().await;
        }
        assert_eq!(scratch.examine().await.findings, []);

        scratch.database.execute(change).await;

        let finding = scratch.assert_finds("chains of the audit log are broken").await;
        assert_eq!(finding.examples, [words], "{change}");
        // Nor does what the server writes next hide it.
        scratch.append_entry().await;
        scratch.assert_finds("chains of the audit log are broken").await;
    }
}

#[tokio::test]
async fn entries_that_were_removed_before_their_time_are_found() {
    let scratch = Scratch::new().await;
    let audit =
        Arc::new(Audit::new(scratch.database.clone(), Retention::of_all(Duration::ZERO), CallEntries::Off));

    // A server whose setting was shorter than what this command is given.
    audit.keep_removing();
    while scratch.examine().await.findings.is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let found = scratch.assert_finds("removed younger than audit-retention: 1").await;
    assert!(found.examples[0].starts_with("chain file: entries up to 1, the youngest of 2"), "{found:?}");
    let short = Subject { audit_retention: Retention::of_all(Duration::ZERO), ..scratch.subject() };
    assert_eq!(examine(&short, &mut |_, _, _| {}).await.expect("it can look").findings, []);
}

#[tokio::test]
async fn an_audit_log_whose_key_is_not_at_hand_is_said_to_be_unverified() {
    let scratch = Scratch::new().await;
    let other = Subject { key_source: KeySource::Text(hex::encode([7; 32]).into()), ..scratch.subject() };

    let report = examine(&other, &mut |_, _, _| {}).await.expect("it can look");

    assert_finding(&report, "which is not at hand");
    assert!(report.notes.iter().any(|note| note.contains("audit log were not verified")), "{report:?}");

    scratch.database.execute("DELETE FROM secrets").await;
    let report = examine(&other, &mut |_, _, _| {}).await.expect("it can look");
    let found = assert_finding(&report, "chains of the audit log are broken");
    assert!(found.examples.iter().all(|it| it.contains("is sealed with the master key")), "{found:?}");
    fs::remove_file(scratch.path("master-key")).expect("it is ours");
    scratch.assert_finds("there is no master key, and the audit log is sealed with").await;
}

#[tokio::test]
async fn secrets_that_do_not_open_and_keys_that_are_missing_or_exposed_are_found() {
    let scratch = Scratch::new().await;
    let key = scratch.path("master-key");

    set_mode(&key, 0o640);
    assert!(scratch.assert_finds("can read the key master-key").await.remedy.contains("kitbag vault rotate"));
    set_mode(&key, 0o600);

    let other = Subject { key_source: KeySource::Text(hex::encode([7; 32]).into()), ..scratch.subject() };
    let report = examine(&other, &mut |_, _, _| {}).await.expect("it can look");
    assert_finding(&report, "secrets are sealed with the master key");

    fs::rename(&key, scratch.path("away")).expect("it is ours");
    assert!(scratch.assert_finds("cannot use the master key file").await.remedy.contains("--master-key"));
    assert!(!key.exists(), "no key is made");
    fs::rename(scratch.path("away"), &key).expect("it is ours");

    scratch.database.execute("UPDATE secrets SET sealed = x'00'").await;
    let finding = scratch.assert_finds("secrets do not open").await;
    assert_eq!(finding.examples, ["API_KEY of the user ana for the toolkit books"]);
}

#[tokio::test]
async fn a_missing_key_of_local_sign_in_is_found_where_a_server_had_one() {
    let scratch = Scratch::new().await;
    fs::write(scratch.path("server-url"), "http://127.0.0.1:1").expect("a file");
    set_mode(&scratch.path("server-url"), 0o600);

    let finding = scratch.assert_finds("key of local sign-in is missing").await;

    assert_eq!(finding.examples, ["local-issuer.p8"]);
}

#[tokio::test]
async fn permissions_that_others_have_are_found() {
    let scratch = Scratch::new().await;

    set_mode(&scratch.artifact, 0o644);
    let finding = scratch.assert_finds("can be accessed by other users").await;
    assert!(finding.remedy.contains("chmod -R go-rwx") && finding.examples.len() == 1, "{finding:?}");
    set_mode(&scratch.artifact, 0o600);

    set_mode(scratch.data.path(), 0o750);
    assert!(scratch.assert_finds("the server does not start").await.remedy.starts_with("run: chmod 700"));
}

#[tokio::test]
async fn machine_code_without_a_valid_seal_is_found() {
    let scratch = Scratch::new().await;
    let digest = hex::encode(Sha256::digest("bytes"));
    let folder = scratch.path("code/engine");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(format!("{digest}.cwasm")), vec![0; 100]).expect("a file");
    ownership::restrict_permissions(scratch.data.path()).expect("it is ours");

    let finding = scratch.assert_finds("have no valid seal").await;

    assert!(finding.examples[0].starts_with("code/engine/"), "{finding:?}");
    assert!(!scratch.path("code.key").exists(), "no key is made");
}

#[tokio::test]
async fn a_disk_that_is_nearly_full_is_found() {
    let scratch = Scratch::new().await;
    let subject = Subject { free_disk_space: Some(u64::MAX / 2), ..scratch.subject() };

    let report = examine(&subject, &mut |_, _, _| {}).await.expect("it can look");

    assert_finding(&report, "less than the reserve");

    // The files are on another disk.
    let files = tempfile::tempdir().expect("a scratch directory");
    let subject = Subject { files: Location::Folder(files.path().to_owned()), ..subject };
    let report = examine(&subject, &mut |_, _, _| {}).await.expect("it can look");

    let words = format!("the disk of {} has", files.path().display());
    assert!(report.findings.iter().any(|finding| finding.what.starts_with(&words)), "{report:?}");
}

#[tokio::test]
async fn a_model_that_cannot_be_used_is_found_and_none_is_no_fault() {
    let scratch = Scratch::new().await;
    let folder = scratch.path("models").join(DEFAULT_NAME);
    let named = located(scratch.data.path(), Path::new(DEFAULT_NAME));
    let subject = Subject { model: Some(named), ..scratch.subject() };
    let report = examine(&subject, &mut |_, _, _| {}).await.expect("it can look");
    assert_eq!(report.findings, []);

    let other = located(scratch.data.path(), Path::new("bge-small-en-v1.5"));
    let required = Subject { model: Some(other), model_is_optional: false, ..scratch.subject() };
    let report = examine(&required, &mut |_, _, _| {}).await.expect("it can look");
    let finding = assert_finding(&report, "bge-small-en-v1.5 is not in");
    assert!(finding.remedy.contains("kitbag model fetch bge-small-en-v1.5"), "{finding:?}");

    fs::create_dir_all(&folder).expect("a folder");
    for private in [&folder, folder.parent().expect("it has one")] {
        set_mode(private, 0o700);
    }
    let named = located(scratch.data.path(), Path::new(DEFAULT_NAME));
    let subject = Subject { model: Some(named), ..scratch.subject() };

    let report = examine(&subject, &mut |_, _, _| {}).await.expect("it can look");
    assert!(assert_finding(&report, "cannot be used").remedy.contains("kitbag model fetch"));
}

#[tokio::test]
async fn other_schemas_are_found_and_what_cannot_be_checked_then_is_said() {
    let scratch = Scratch::new().await;
    scratch.database.claim_schema(0).await;
    assert!(scratch.assert_finds("has schema 0").await.remedy.contains("back it up"));

    scratch.database.claim_schema(9999).await;
    assert!(scratch.assert_finds("has schema 9999").await.remedy.contains("newer"));
    assert!(
        scratch.examine().await.notes.iter().any(|note| note.contains("not checked, because of the schema"))
    );
}

#[tokio::test]
async fn a_damaged_or_missing_database_is_found() {
    let scratch = Scratch::new().await;
    scratch.database.execute(&format!("UPDATE documents SET text = '{}'", "x".repeat(200_000))).await;
    scratch.database.close().await;
    let path = scratch.path(Database::FILE);
    let mut bytes = fs::read(&path).expect("a file");
    let half = bytes.len() / 2;
    bytes[half..].fill(0xff);
    fs::write(&path, bytes).expect("it is ours");
    let report = scratch.examine().await;
    assert!(report.findings.iter().any(|it| it.remedy.contains("restore the last backup")), "{report:#?}");

    fs::write(&path, "this is no database".repeat(100)).expect("it is ours");
    scratch.assert_finds("the database cannot be read").await;

    fs::remove_file(path).expect("it is ours");
    scratch.assert_finds("there is no database").await;
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_or_ends_soon_is_found() {
    let (scratch, folder) = (Scratch::new().await, tempfile::tempdir().expect("a scratch directory"));
    let authority = Authority::generate();
    let good = authority.issue(&["kb.example"]);
    let other = authority.issue(&["kb.example"]);
    let written = good.write(folder.path());
    let files = CertificateFiles { certificate: written.certificate.clone(), key: written.key.clone() };
    let examine = async |url: &str| {
        let url = Some(url.parse().expect("a URL"));
        let certificate = Some(Presented { files: files.clone(), url });
        let subject = Subject { certificate, ..scratch.subject() };
        examine(&subject, &mut |_, _, _| {}).await.expect("it can look")
    };
    let own = "https://kb.example:8787";

    let report = examine(own).await;
    assert_eq!(report.findings, []);
    assert!(report.notes.iter().any(|note| note.contains("is valid until 2")), "{report:?}");
    assert_finding(&examine("https://other.example").await, "not for the server's URL");

    set_mode(&files.key, 0o644);
    let finding = assert_finding(&examine(own).await, "can read the private key");
    assert!(finding.remedy.contains("revoked"), "{finding:?}");
    set_mode(&files.key, 0o600);

    fs::write(&files.key, &other.key).expect("it is ours");
    assert_finding(&examine(own).await, "is not that of the certificate");
    for (days, words) in [(13, "expires soon"), (-1, "is not valid")] {
        authority.issue_for_days(&["kb.example"], days).write_over(&written);
        assert_finding(&examine(own).await, words);
    }
    fs::remove_file(&files.certificate).expect("it is ours");
    assert_finding(&examine(own).await, "cannot read");
}

#[tokio::test]
async fn an_interrupted_restore_is_found() {
    let scratch = Scratch::new().await;
    fs::write(scratch.path("restore-unfinished"), "").expect("a file");
    set_mode(&scratch.path("restore-unfinished"), 0o600);

    assert!(scratch.assert_finds("was interrupted").await.remedy.contains("kitbag restore"));
}

#[tokio::test]
async fn what_is_no_directory_cannot_be_looked_at() {
    let scratch = Scratch::new().await;
    for data in [scratch.path("absent"), scratch.path("master-key")] {
        let subject = Subject { data, ..scratch.subject() };

        assert!(examine(&subject, &mut |_, _, _| {}).await.is_err());
    }
}

#[tokio::test]
async fn examples_are_few_however_much_is_wrong() {
    let mut examples = Examples::default();
    (0..1000).for_each(|number| examples.push(number.to_string()));

    assert_eq!((examples.shown.len(), examples.more, examples.count()), (10, 990, 1000));
}

#[tokio::test]
async fn code_in_the_database_that_is_not_the_programs_is_found() {
    let scratch = Scratch::new().await;
    let trigger = "CREATE TRIGGER evil AFTER INSERT ON documents BEGIN DELETE FROM documents; END";
    scratch.database.execute(trigger).await;

    let finding = scratch.assert_finds("are not this program's: 1").await;

    assert_eq!(finding.examples, ["trigger evil"]);
}
