//! Copies of whole services: from a file to a server and back, or, without `TEST_DATABASE`, between files.

mod failures;
mod users;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use kitbag_base::sha256::Sha256;
use kitbag_database::{Column, Row, Value, sql};
use kitbag_files::stored_files::FileKind;
use kitbag_vault::{SecretSlot, Vault, check_secrets};
use tempfile::TempDir;

use super::*;

const ISSUER: &str = "https://one.example";

/// A row for each table, except tables that the vault fills and those of files; with gaps in ids after
/// deletions, extreme values of types, and bytes that are not UTF-8.
const ROWS: &str = "
    INSERT INTO toolkits VALUES ('t', 'ben', '1.0.0');
    INSERT INTO toolkit_activations VALUES (3, 't', '1.0.0', 'ben', 0, 'read'), (9, 't', '1.0.0', 'ben', 0, NULL);
    DELETE FROM toolkit_activations WHERE sequence = 9;
    INSERT INTO toolkit_ownership VALUES (3, 't', 'taken-over', 'ana', 'ben', 9223372036854775807);
    INSERT INTO toolkit_icons VALUES ('t', '1.0.0', 'd', 'image/png', x'89504e470d0a1a0a00ff');
    INSERT INTO toolkit_provenance VALUES ('t', '1.0.0', 'oci://r.example/t:1', 'sha256:00', TRUE, 'acme', 'k');
    INSERT INTO registry_questions VALUES
        ('t', 'oci://r.example/t:1', 1, NULL, 'oci://r.example/t:2', 'sha256:01', 'd', NULL, 2, TRUE);
    INSERT INTO toolkit_publishers VALUES ('t', 'acme', 'k'), ('gone', 'acme', 'k');
    INSERT INTO publishers VALUES ('acme', x'3059', 'k', 'ben', 1);
    INSERT INTO spent_links VALUES (x'00ff', 4102444800);
    INSERT INTO asked_calls VALUES ('c', 'ana', NULL, NULL, 4102444800), ('d', 'ben', 5, 'sealed', 4102444800);
    INSERT INTO user_config VALUES ('ana', 't', 'unit', '\"µ''\"'), ('ben', 't', 'unit', 'null');
    INSERT INTO hidden_tools VALUES ('ana', 't', ''), ('ben', 'knowledge', 'fetch');
    INSERT INTO code_tools VALUES ('ana', 't', 'add', 1), ('ben', 't', 'add', 2);
    INSERT INTO toolkit_audience VALUES ('t', 'ana', '', 'find', 60, NULL, 0, 'ben', 1), ('t', '', 'sales', '', NULL, 9, 1, 'ben', 1);
    INSERT INTO limited_calls VALUES ('t', '', 'sales', '', 'day', 1, 2), ('t', 'ben', '', 'find', 'minute', 1, 2);
    INSERT INTO agreed_reaches VALUES ('d', '{}');
    INSERT INTO consents VALUES ('ana', 't', 'ben', 'd', '1.0.0', 1, 1), ('ben', 'gone', 'ana', 'd', '1.0.0', 2, 0);
    INSERT INTO invocations VALUES
        (3, 't', '1.0.0', 'tool', 'ana', 'client', NULL, NULL, NULL, -1, 1, 2, 'succeeded', NULL, 0, 0, 0, 0, 0, NULL, NULL, '[]', 1,
         NULL),
        (4, 't', '1.0.0', 'tool', 'ben', NULL, 'k', 'key', 'ben@crm', 0, 1, 2, 'limit', 'memory', 1, 2, 3, 4, 5, 'detail', '{}', '[1]',
         1, 'run');
    INSERT INTO running_calls VALUES ('c', NULL, 't', '1.0.0', 'tool', 'ben', NULL, 'k', 'key', 'ben@crm', 'run', 6);
    INSERT INTO audit_calls VALUES
        (7, 'c', 0, 'ben', NULL, 'k', 't', '1.0.0', 'tool', 'ben@crm', 'succeeded', 65536, 0, NULL, x'00');
    INSERT INTO call_counts VALUES (5, 't', 9223372036854775807, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    INSERT INTO toolkit_users VALUES ('t', 'ana', 5), ('t', 'ben', 6);
    INSERT INTO issuers VALUES (1, 'local', 0), (2, 'https://one.example', 1), (7, 'https://gone.example', 2);
    DELETE FROM issuers WHERE sequence = 7;
    INSERT INTO users VALUES ('ana', 1, 2, '[\"sales\"]', NULL, NULL), ('ben', 1, 5, '[]', 4, 'ana'),
        ('cleo', NULL, NULL, '[]', 9223372036854775807, '');
    INSERT INTO scim_users VALUES ('s1', 'ana', 'Ana@Example', 'ana@example', 'e1', TRUE, '{\"displayName\":\"Ana µ\"}', 1, 2),
        ('s2', 'ben', 'ben', 'ben', NULL, FALSE, '{}', 1, 1);
    INSERT INTO scim_groups VALUES ('g1', 'sales', NULL, 1, 2), ('g2', 'gone', 'e2', 1, 1);
    INSERT INTO scim_members VALUES ('g1', 's1'), ('g1', 's2');
    INSERT INTO scim_tokens VALUES (x'0a0b', 'entra', 'ana', 1, NULL), (x'0c', 'okta', 'ben', 1, 9);
    INSERT INTO browser_sessions VALUES (x'01', 'https://one.example', 'ana', 'Browser', 1, 2),
        (x'02', 'https://one.example', 'ben', '', 1, 2);
    INSERT INTO program_keys VALUES (x'03', 'https://one.example', 'ana', 'client', 'report', 't', 1, 9223372036854775807, 2),
        (x'04', 'https://one.example', 'ben', NULL, 'all', NULL, 1, NULL, NULL);
    INSERT INTO browser_session_grants VALUES (x'01', 3, '[\"sales\"]', 'k', x'01', x'02'), (x'02', 3, '[]', NULL, NULL, NULL);
    INSERT INTO web_clients VALUES ('https://one.example', 'http://127.0.0.1/', 'client', 0);
    INSERT INTO collections VALUES ('handbook', 'Handbook', 'How we work', 'ana', 1, NULL, NULL),
        ('old', 'Old', '', 'ben', 1, 'ana', 2);
    INSERT INTO collection_grants VALUES ('handbook', 'ana', '', 'curator', 'ana', 1), ('handbook', '', 'sales', 'reader', 'ana', 2);
    INSERT INTO document_versions VALUES (3, 1, 'Before', 1, 2, 'ben', 'text before');
    INSERT INTO feeds (id, holder, source, key, name, label)
        VALUES (3, 'user:ana', 'user', 'k', 'Feed', NULL), (5, 'user:ben', 't', 'k', 'Füd', 'label');
    INSERT INTO processes (id, job_settings) VALUES ('p', 'none');
    INSERT INTO knowledge_jobs VALUES (3, 'user:ana', 'index', 0, 0, 'p'), (4, 'user:ana', 'embed', 1, 2, NULL);
    INSERT INTO chunks VALUES (3, 'user:ana', 3, 0, 1, x'00', x'0000c07f000080ff01000000', 'm'),
        (4, 'user:ana', 4, 0, 1, x'', NULL, NULL);
    INSERT INTO chunk_texts VALUES (3, 'text 𝄞'), (4, '');
    INSERT INTO knowledge_revisions VALUES ('user:ana', 5, 2), ('collection:handbook', 1, 0), ('bin/user:ben', 1, 0);
    UPDATE registry SET generation = 7, removals = 3, collections = 4, user_ends = 5;
    UPDATE service SET job_settings = 'none', store = 'a store';
";

/// A document in a feed, and a removed one; files that are being deleted, and files that were put and have no
/// reference yet.
const LAST_ROWS: &str = "
    UPDATE documents SET feed_id = 3 WHERE sequence = 3;
    DELETE FROM documents WHERE sequence = 8;
    INSERT INTO files VALUES ('artifacts/aa/gone', 'artifacts/gone', 5, 1);
    INSERT INTO files VALUES ('artifacts/aa/new', 'artifacts/new', 99999999999999, 0);
";

/// A service in a folder.
struct Service {
    folder: TempDir,
    database: Database,
    objects: Objects,
}

fn name_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn keys(keys: &[u8]) -> KeySource {
    KeySource::Text(keys.iter().map(|key| hex::encode([*key; 32]) + "\n").collect::<String>().into())
}

impl Service {
    /// Creates an empty service with a file as its database.
    async fn in_file() -> Self {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let database = Database::open(folder.path()).await.expect("a database");
        let objects = Objects::of_test(folder.path(), &database).await;
        Self { folder, database, objects }
    }

    /// Creates an empty service with the tests' database.
    async fn elsewhere() -> Self {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(folder.path()).await;
        let objects = Objects::of_test(folder.path(), &database).await;
        Self { folder, database, objects }
    }

    /// Creates a service with rows in each table, two secrets, and three files.
    async fn filled() -> Self {
        let service = Self::in_file().await;
        let component = service.keep(FileKind::Component, b"component").await;
        let one = service.keep(FileKind::Artifact, b"one").await;
        let two = service.keep(FileKind::Artifact, b"two").await;
        let versions = format!(
            "INSERT INTO toolkit_versions VALUES ('t', '1.0.0', '{component}', 9, '{{}}', '{{}}', '[]', 'ben', 0);
             INSERT INTO toolkit_uploads VALUES ('{component}', 't', '2.0.0', 9, '{{}}', '[]', 'ben', 0, NULL, NULL, FALSE, 'acme', 'k');"
        );
        let documents = [(3, "ana", &one), (4, "ana", &two), (5, "ben", &one), (8, "ana", &two)];
        let documents = documents.map(|(sequence, user, artifact)| {
            format!(
                "INSERT INTO documents (sequence, id, holder, added_by, changed_by, number, source, feed_id, identity, digest, title,
                     capture_only, artifact, artifact_size, artifact_type, state, revision, created_at, updated_at, text)
                 VALUES ({sequence}, 'd{sequence}', 'user:{user}', '{user}', '{user}', {sequence}, 'user', NULL, 'url {sequence}', x'00', 'Title',
                     1, '{artifact}', 3, 'text/plain', 'ready', 1, 0, 0, 'text');"
            )
        });
        let rows = [versions, documents.concat(), ROWS.to_owned(), LAST_ROWS.to_owned()].concat();
        service.database.execute(&rows).await;
        service.set_secrets(&keys(&[1])).await;
        service
    }

    async fn set_secrets(&self, keys: &KeySource) {
        let vault = Arc::new(Vault::open(self.database.clone(), keys.clone()).await.expect("it opens"));
        for user in ["ana", "ben"] {
            let [user, toolkit, owner, name] = [user, "t", "ben", "API_KEY"].map(str::to_owned);
            vault
                .set(
                    &kitbag_database::audit::Actor::server(),
                    SecretSlot { user, toolkit, owner, name },
                    &"s3cr3t".into(),
                )
                .await
                .expect("it can be set");
        }
    }

    /// Writes a file, and the row with its object.
    async fn keep(&self, kind: FileKind, bytes: &[u8]) -> String {
        let digest = name_of(bytes);
        let object = kind.new_object(&digest);
        let path = self.folder.path().join(&object);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is ours");
        fs::write(path, bytes).expect("it is ours");
        let row = "INSERT INTO files (object, name, kept_until, dropped) VALUES ($1, $2, 0, $3)";
        self.database.write(sql(row).bind(&object).bind(kind.name(&digest)).bind(false)).await;
        digest
    }

    /// Returns the path of the file with this digest.
    async fn path(&self, kind: FileKind, bytes: &[u8]) -> PathBuf {
        let object = format!("SELECT object FROM files WHERE name = '{}'", kind.name(&name_of(bytes)));
        self.folder.path().join(self.database.column::<String>(&object).await.remove(0))
    }

    fn source(&self) -> Source {
        Source { database: self.database.clone(), objects: self.objects.clone() }
    }

    /// Returns a job to another service with the same issuer and the same key.
    fn job(&self, target: &Self) -> Job {
        let target = Target {
            database: target.database.clone(),
            objects: target.objects.clone(),
            issuer: ISSUER.to_owned(),
            issuer_replaces: None,
            keys: keys(&[1]),
        };
        Job { source: self.source(), target, users: None, missing: Missing::Refused }
    }

    /// Returns the rows of each table that would be copied, as texts.
    async fn rows(&self) -> Vec<(&'static str, Vec<String>)> {
        let [mut one, mut other] = [self.snapshot().await, self.snapshot().await];
        let mut all = Vec::new();
        for table in TABLES {
            let columns = table.columns(&mut one, &mut other).await.expect("it is there");
            let mut reader = table.read(&mut one, &columns);
            let mut rows = Vec::new();
            while let Some(batch) = reader.next_batch().await.expect("it can be read") {
                rows.extend(batch.iter().map(|row| shown(&columns, row)));
            }
            rows.sort();
            all.push((table.name, rows));
        }
        all
    }

    async fn snapshot(&self) -> Transaction {
        self.database.snapshot().await.expect("it can be read")
    }

    /// Returns all files, by path.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        for kind in FileKind::ALL {
            let mut folders = vec![self.folder.path().join(kind.folder())];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).into_iter().flatten() {
                    let path = entry.expect("an entry").path();
                    if path.is_dir() {
                        folders.push(path);
                    } else if !path.display().to_string().contains('#') {
                        // Other files are temporary ones of a write that is running or was interrupted.
                        let bytes = fs::read(&path).expect("a file");
                        files.push((
                            path.strip_prefix(self.folder.path()).expect("it is there").to_owned(),
                            bytes,
                        ));
                    }
                }
            }
        }
        files.sort();
        files
    }

    async fn is_empty(&self) -> bool {
        expect_empty(&mut self.snapshot().await).await.is_ok()
    }
}

/// Returns a row in the order of the column names, the same for both engines.
fn shown(columns: &[Column], row: &Row) -> String {
    let mut values: Vec<_> = columns
        .iter()
        .zip(row)
        .map(|(column, value)| {
            let value = match value {
                Value::Integer(value) => format!("{value:?}"),
                Value::Boolean(value) => format!("{:?}", Some(i64::from(*value))),
                Value::Text(value) => format!("{value:?}"),
                Value::Bytes(value) => format!("{value:?}"),
            };
            format!("{} {value}", column.name)
        })
        .collect();
    values.sort();
    values.join(", ")
}

async fn run(job: &Job) -> Result<Copied, TransferError> {
    copy(job, &mut |_, _, _| {}).await
}

#[tokio::test]
async fn everything_is_the_same_in_the_other_database_and_back_again() {
    let [first, second, third] =
        [Service::filled().await, Service::elsewhere().await, Service::in_file().await];
    let before = first.database.all_rows().await;
    for (table, rows) in first.rows().await {
        assert!(!rows.is_empty(), "{table}: a row is missing here");
    }

    let mut steps = Vec::new();
    let mut ends = Vec::new();
    let mut progress = |step: Step, done: u64, total: u64| {
        if !steps.contains(&step) {
            steps.push(step);
        }
        if done == total {
            ends.push(step);
        }
    };
    let copied = copy(&first.job(&second), &mut progress).await.expect("it can be copied");
    let back = run(&second.job(&third)).await.expect("it can be copied back");

    assert_eq!((steps.as_slice(), ends.as_slice()), (&[Step::CopyFiles, Step::CopyRows][..], &steps[..]));
    let counts = Counts { documents: 3, secrets: 2, toolkit_versions: 1, records: 2 };
    assert_eq!((copied.counts, back.counts), (counts, counts));
    assert_eq!((copied.files.written, copied.files.bytes, back.files.written), (3, 15, 3));
    assert_eq!(copied.rows, back.rows);
    assert_eq!(first.database.all_rows().await, before, "the source was changed");
    assert_eq!(first.rows().await, second.rows().await);
    assert_eq!((first.files(), first.files()), (second.files(), third.files()));
    let usage = "SELECT holder, documents, bytes FROM knowledge_usage ORDER BY holder";
    let usage_before: Vec<(String, i64, i64)> = first.database.rows(usage).await;
    assert_eq!(second.database.rows::<(String, i64, i64)>(usage).await, usage_before);
    assert_eq!(check_secrets(&second.database, &keys(&[1])).await.expect("keys").open, 2);

    // Rows that a copy omits: for the reasons that `NOT_COPIED` gives, and rows of `files` that are not
    // needed.
    first
        .database
        .execute("DELETE FROM processes; DELETE FROM files WHERE kept_until > 0; DELETE FROM service")
        .await;
    third.database.execute("DELETE FROM service").await;
    let rows = async |service: &Service| {
        let mut rows = service.database.all_rows().await;
        rows.retain(|(table, _)| !table.ends_with("_migrations"));
        rows
    };
    assert_eq!(rows(&first).await, rows(&third).await);
}

#[tokio::test]
async fn ids_that_were_given_are_not_given_again_after_a_copy() {
    let [first, second, third] =
        [Service::filled().await, Service::elsewhere().await, Service::in_file().await];
    run(&first.job(&second)).await.expect("it can be copied");
    run(&second.job(&third)).await.expect("it can be copied back");

    for service in [&second, &third] {
        service.database.execute("INSERT INTO issuers (issuer, since) VALUES ('new', 0)").await;
        let newest: Vec<i64> = service.database.column("SELECT max(sequence) FROM issuers").await;
        assert_eq!(newest, [8], "the id of a row that is gone");
        let feed = "INSERT INTO feeds (holder, source, key, name) VALUES ('new', 'user', 'k', 'n')";
        service.database.execute(feed).await;
        let newest: Vec<i64> = service.database.column("SELECT max(id) FROM feeds").await;
        assert_eq!(newest, [6]);
    }
}

#[tokio::test]
async fn a_long_table_is_copied_in_pieces() {
    let [first, second] = [Service::in_file().await, Service::elsewhere().await];
    let many = "INSERT INTO knowledge_revisions WITH RECURSIVE n (i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1700) SELECT 'user ' || i, i, 0 FROM n";
    first.database.execute(many).await;
    let large = "INSERT INTO chunk_texts WITH RECURSIVE n (i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7) SELECT i, hex(randomblob(700000)) FROM n";
    let chunks = "PRAGMA defer_foreign_keys = ON; INSERT INTO documents (sequence, id, holder, added_by, changed_by, number, source, identity,
            digest, title, capture_only, state, revision, created_at, updated_at, text)
        VALUES (1, 'd', 'user:ana', 'ana', 'ana', 1, 'user', 'i', x'00', 'T', 0, 'ready', 1, 0, 0, '');
        INSERT INTO chunks WITH RECURSIVE n (i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7) SELECT i, 'user:ana', 1, i, 1, x'00', NULL, NULL FROM n;";
    first.database.execute(&format!("{chunks} {large}")).await;

    let mut reports = Vec::new();
    let copied =
        copy(&first.job(&second), &mut |_, done, _| reports.push(done)).await.expect("it can be copied");

    assert_eq!(copied.rows, 1700 + 7 + 7 + 1 + 1 + 1);
    assert!(reports.len() >= 4 + 4 + 3 && reports.is_sorted(), "{reports:?}");
    assert_eq!(first.rows().await, second.rows().await);
}

#[tokio::test]
async fn a_text_with_nul_is_told_where_the_other_database_has_none() {
    let [first, second] = [Service::filled().await, Service::elsewhere().await];
    let title = "UPDATE documents SET title = $1 WHERE sequence = 3";
    first.database.write(sql(title).bind("a\0b")).await;

    let copied = run(&first.job(&second)).await.expect("it can be copied");

    let has_nul = second.database.is_file();
    assert_eq!(copied.changed_texts, u64::from(!has_nul));
    let titles: Vec<String> = second.database.column("SELECT title FROM documents WHERE sequence = 3").await;
    assert_eq!(titles, [if has_nul { "a\0b" } else { "a\u{fffd}b" }]);
    // The same number of bytes as in the source.
    let counted = "SELECT u.bytes - (SELECT sum(d.bytes) FROM documents d WHERE d.holder = 'user:ana')
        - (SELECT sum(f.bytes) FROM feeds f WHERE f.holder = 'user:ana') FROM knowledge_usage u WHERE u.holder = 'user:ana'";
    let counted = format!("SELECT CAST(({counted}) AS BIGINT)");
    assert_eq!(second.database.column::<i64>(&counted).await, [0]);
}
