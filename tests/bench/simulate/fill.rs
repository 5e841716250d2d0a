//! Fills the database with many users: copies of one whose rows the server has written.
//!
//! All rows of the user `template` are copied for `user-1`, `user-2`, and so on. Rows of different users
//! alternate, as if all had been written at the same time: rows of one user are far apart in the table.

use super::database::Database;
use super::server::Simulated;
use super::work::DOCUMENTS;
use crate::Outcome;

/// User id of the template.
pub(crate) const TEMPLATE: &str = "template";
/// User id of a user with as many documents as there are users.
pub(crate) const LARGE: &str = "large";
/// Number of users whose requests are measured: the first copies. They have no copied secrets, which could
/// not be decrypted.
pub(crate) const MEASURED: u64 = 40;
/// Minimum number of users.
pub(crate) const MIN_USERS: u64 = 2 * MEASURED;
/// Number of users per private toolkit.
pub(crate) const USERS_PER_TOOLKIT: u64 = 10;
/// Users whose calls were all to the one shared toolkit. Each has eleven records, and the server keeps 10,000
/// per toolkit.
const CALLERS_OF_ONE: u64 = 800;

/// Assignment of ids to copies: copies of the same row have consecutive ids.
struct Ids {
    /// First free id.
    first: u64,
    /// Lowest id of the copied rows.
    lowest: u64,
    copies: u64,
    first_user: u64,
}

impl Ids {
    /// SQL expression for the value of `column` in a copy.
    fn copied(&self, column: &str) -> String {
        let Self { first, lowest, copies, first_user } = self;
        format!("{first} + (t.{column} - {lowest}) * {copies} + n.n - {first_user}")
    }
}

/// Increases the number of users from `before` to `users`.
pub(crate) async fn grow(
    database: &mut Database,
    simulated: &Simulated,
    before: u64,
    users: u64,
) -> Outcome<()> {
    let (first_user, copies) = (before + 1, users - before);
    database.run("BEGIN").await?;
    database.run("CREATE TEMPORARY TABLE numbers (n INTEGER PRIMARY KEY)").await?;
    let numbers = format!(
        "INSERT INTO numbers WITH RECURSIVE counted (n) AS
             (SELECT {first_user} UNION ALL SELECT n + 1 FROM counted WHERE n < {users})
         SELECT n FROM counted"
    );
    database.run(&numbers).await?;

    let user = ("user_id", "'user-' || n.n");
    let of_template = format!("t.user_id = '{TEMPLATE}'");
    let holder = ("holder", "'user:user-' || n.n");
    let held = format!("t.holder = 'user:{TEMPLATE}'");
    let feeds = ids(database, "feeds", "id", &held, first_user, copies).await?;
    let documents = ids(database, "documents", "sequence", &held, first_user, copies).await?;
    let chunks = ids(database, "chunks", "id", &held, first_user, copies).await?;
    let records = ids(database, "invocations", "id", &of_template, first_user, copies).await?;
    let (feed, sequence) = (feeds.copied("id"), documents.copied("sequence"));
    let (chunk, record) = (chunks.copied("id"), records.copied("id"));

    copy_toolkits(database, before, users).await?;
    copy(database, "feeds", &[("id", &feed), holder], &held, "t.id, n.n").await?;
    let (feed_id, of_document) = (feeds.copied("feed_id"), documents.copied("document"));
    // Different users have different files.
    let artifact = "substr(t.artifact, 1, 54) || substr(CAST(10000000000 + n.n AS TEXT), 2)";
    let changed = [("sequence", sequence.as_str()), holder, ("feed_id", &feed_id), ("artifact", artifact)];
    copy(database, "documents", &changed, &held, "t.sequence, n.n").await?;
    let first_document = documents.first;
    let files = format!(
        "INSERT INTO files (object, name, kept_until, dropped)
         SELECT 'artifacts/' || substr(artifact, 1, 2) || '/' || artifact || '-0', 'artifacts/' || artifact, 0, FALSE
         FROM documents WHERE sequence >= {first_document} AND artifact IS NOT NULL"
    );
    database.run(&files).await?;
    let changed = [("id", chunk.as_str()), holder, ("document", &of_document)];
    copy(database, "chunks", &changed, &held, "t.id, n.n").await?;
    let texts = format!("t.chunk IN (SELECT id FROM chunks WHERE holder = 'user:{TEMPLATE}')");
    copy(database, "chunk_texts", &[("chunk", &chunks.copied("chunk"))], &texts, "t.chunk, n.n").await?;
    copy(database, "knowledge_revisions", &[holder], &held, "n.n").await?;
    copy(database, "user_config", &[user], &of_template, "n.n").await?;
    copy(database, "secret_revisions", &[user], &of_template, "n.n").await?;
    let others = format!("{of_template} AND n.n > {MEASURED}");
    copy(database, "secrets", &[user], &others, "n.n").await?;

    // Some users' calls were within the last day, others in the two weeks before.
    let toolkit = format!(
        "CASE WHEN n.n <= {CALLERS_OF_ONE} THEN t.toolkit_id
         ELSE 'toolkit-' || (n.n % {} + 1) END",
        users / USERS_PER_TOOLKIT
    );
    let earlier = |column| {
        format!(
            "t.{column} - 86400000 * CASE WHEN n.n <= {CALLERS_OF_ONE} THEN n.n % 12 ELSE 1 + n.n % 12 END"
        )
    };
    let (started_at, ended_at) = (earlier("started_at"), earlier("ended_at"));
    let changed = [
        ("id", record.as_str()),
        user,
        ("toolkit_id", &toolkit),
        ("started_at", &started_at),
        ("ended_at", &ended_at),
    ];
    copy(database, "invocations", &changed, &of_template, "t.id, n.n").await?;
    add_sessions(database, simulated.issuer()).await?;
    database.run("DROP TABLE numbers").await?;
    continue_ids(database).await?;
    grow_large(database, before, users).await?;
    continue_ids(database).await?;
    database.run("COMMIT").await
}

/// Increases the number of the large user's documents from `before` to `documents`: copies of one without a
/// file.
async fn grow_large(database: &mut Database, before: u64, documents: u64) -> Outcome<()> {
    let numbers = format!(
        "CREATE TEMPORARY TABLE numbers AS WITH RECURSIVE counted (n) AS
             (SELECT {before} + 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {documents}) SELECT n FROM counted"
    );
    database.run(&numbers).await?;
    let holder = ("holder", "'user:large'");
    let of_template = format!("t.holder = 'user:{TEMPLATE}'");
    if before == 0 {
        let once = format!("{of_template} AND n.n = 1");
        let id = format!("{} + t.id", database.number("SELECT MAX(id) FROM feeds").await?);
        copy(database, "feeds", &[("id", &id), holder], &once, "t.id").await?;
        copy(database, "knowledge_revisions", &[holder], &once, "n.n").await?;
    }
    let first = database.number("SELECT MAX(sequence) FROM documents").await?;
    let sequence = format!("{first} + n.n - {before}");
    let feed = "(SELECT f.id FROM feeds f JOIN feeds o ON o.key = f.key
                 WHERE f.holder = 'user:large' AND o.id = t.feed_id)";
    let changed = [
        ("sequence", sequence.as_str()),
        holder,
        ("id", "substr(t.id, 1, 22) || substr(CAST(10000000000 + n.n AS TEXT), 2)"),
        ("number", "n.n"),
        ("identity", "t.identity || '-' || n.n"),
        ("feed_id", feed),
    ];
    // Copies the template's documents without a file in turn.
    let one = format!("{of_template} AND t.artifact IS NULL AND t.number = n.n % {DOCUMENTS} + 1");
    copy(database, "documents", &changed, &one, "n.n").await?;
    let chunks = format!(
        "CREATE TEMPORARY TABLE copied AS
         SELECT c.id AS chunk, d.sequence AS document, ROW_NUMBER() OVER (ORDER BY d.sequence, c.position) AS place
         FROM documents d
         JOIN documents o ON o.holder = 'user:{TEMPLATE}' AND o.number = d.number % {DOCUMENTS} + 1
         JOIN chunks c ON c.document = o.sequence
         WHERE d.holder = 'user:large' AND d.sequence > {first}"
    );
    database.run(&chunks).await?;
    let last = database.number("SELECT MAX(id) FROM chunks").await?;
    let columns = database.columns("chunks").await?;
    let value = |column: &String| match column.as_str() {
        "id" => format!("{last} + copied.place"),
        "holder" => "'user:large'".to_owned(),
        "document" => "copied.document".to_owned(),
        _ => format!("c.{column}"),
    };
    let values: Vec<_> = columns.iter().map(value).collect();
    let insert = format!(
        "INSERT INTO chunks ({}) SELECT {} FROM copied JOIN chunks c ON c.id = copied.chunk ORDER BY copied.place",
        columns.join(", "),
        values.join(", ")
    );
    database.run(&insert).await?;
    let texts = format!(
        "INSERT INTO chunk_texts (chunk, text)
         SELECT {last} + copied.place, t.text FROM copied JOIN chunk_texts t ON t.chunk = copied.chunk"
    );
    database.run(&texts).await?;
    database.run("DROP TABLE copied").await?;
    database.run("DROP TABLE numbers").await
}

/// Schedules another capture, tomorrow, of the files of every tenth user. A server that starts alone would
/// run deferred jobs at once.
pub(crate) async fn put_jobs_off(database: &mut Database) -> Outcome<()> {
    let jobs = "INSERT INTO knowledge_jobs (document, holder, kind, tries, run_at)
        SELECT sequence, holder, 'capture', 1, created_at + 86400000
        FROM documents WHERE artifact IS NOT NULL AND holder LIKE 'user:user-%0'";
    database.run(jobs).await?;
    database.analyze().await
}

/// Removes all knowledge jobs.
pub(crate) async fn remove_jobs(database: &mut Database) -> Outcome<()> {
    database.run("DELETE FROM knowledge_jobs").await
}

/// Determines the ids for copies of the template's rows.
async fn ids(
    database: &mut Database,
    table: &str,
    column: &str,
    condition: &str,
    first_user: u64,
    copies: u64,
) -> Outcome<Ids> {
    let first = database.number(&format!("SELECT MAX({column}) + 1 FROM {table}")).await?;
    let lowest = database.number(&format!("SELECT MIN(t.{column}) FROM {table} t WHERE {condition}")).await?;
    Ok(Ids { first, lowest, copies, first_user })
}

/// Copies rows once per number, with some columns changed.
async fn copy(
    database: &mut Database,
    table: &str,
    changed: &[(&str, &str)],
    condition: &str,
    order: &str,
) -> Outcome<()> {
    let columns = database.columns(table).await?;
    let values: Vec<_> = columns
        .iter()
        .map(|column| match changed.iter().find(|(name, _)| name == column) {
            Some((_, value)) => (*value).to_owned(),
            None => format!("t.{column}"),
        })
        .collect();
    let insert = format!(
        "INSERT INTO {table} ({}) SELECT {} FROM {table} t CROSS JOIN numbers n WHERE {condition} ORDER BY {order}",
        columns.join(", "),
        values.join(", ")
    );
    database.run(&insert).await
}

/// Adds private toolkits, visible only to their owners.
async fn copy_toolkits(database: &mut Database, before: u64, users: u64) -> Outcome<()> {
    let (before, after) = (before / USERS_PER_TOOLKIT, users / USERS_PER_TOOLKIT);
    let condition = |column: &str| format!("t.{column} = 'weather' AND n.n > {before} AND n.n <= {after}");
    let (id, owner) = ("'toolkit-' || n.n", "'user-' || n.n");
    let manifest = "replace(replace(t.manifest, '\"id\":\"weather\"', '\"id\":\"toolkit-' || n.n || '\"'),
                    '\"shared\"', '\"private\"')";
    // Numbers of toolkits start at 1, independently of the users' numbers.
    database.run("ALTER TABLE numbers RENAME TO numbers_of_users").await?;
    let numbers = format!(
        "CREATE TEMPORARY TABLE numbers AS WITH RECURSIVE counted (n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {after}) SELECT n FROM counted"
    );
    database.run(&numbers).await?;
    copy(database, "toolkits", &[("id", id), ("owner", owner)], &condition("id"), "n.n").await?;
    let changed = [("toolkit_id", id), ("manifest", manifest), ("deployed_by", owner)];
    copy(database, "toolkit_versions", &changed, &condition("toolkit_id"), "n.n").await?;
    let first = database.number("SELECT MAX(sequence) FROM toolkit_activations").await?;
    let sequence = format!("{first} + n.n");
    let changed = [("sequence", sequence.as_str()), ("toolkit_id", id), ("activated_by", owner)];
    copy(database, "toolkit_activations", &changed, &condition("toolkit_id"), "n.n").await?;
    database.run("DROP TABLE numbers").await?;
    database.run("ALTER TABLE numbers_of_users RENAME TO numbers").await
}

/// Adds a browser session for each user, last used within the last hours.
async fn add_sessions(database: &mut Database, issuer: &str) -> Outcome<()> {
    let (digest, now) = match database {
        Database::File(_) => ("randomblob(32)", "CAST(unixepoch('subsec') * 1000 AS INTEGER)"),
        Database::Server(_) => (
            "decode(md5('a' || n.n) || md5('b' || n.n), 'hex')",
            "CAST(extract(epoch FROM now()) * 1000 AS BIGINT)",
        ),
    };
    let sessions = format!(
        "INSERT INTO browser_sessions (digest, issuer, user_id, agent, created_at, used_at)
         SELECT {digest}, '{issuer}', 'user-' || n.n, 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
                {now} - n.n % 5 * 3600000, {now} - n.n % 100 * 60000
         FROM numbers n"
    );
    database.run(&sessions).await?;
    let grants = format!(
        "INSERT INTO browser_session_grants (digest, expires_at)
         SELECT digest, {now} + 3600000 FROM browser_sessions s
         WHERE NOT EXISTS (SELECT 1 FROM browser_session_grants g WHERE g.digest = s.digest)"
    );
    database.run(&grants).await
}

/// Advances the id sequences past the ids of the copies.
async fn continue_ids(database: &mut Database) -> Outcome<()> {
    let Database::Server(_) = database else { return Ok(()) };
    for (table, column) in [
        ("feeds", "id"),
        ("documents", "sequence"),
        ("chunks", "id"),
        ("invocations", "id"),
        ("toolkit_activations", "sequence"),
    ] {
        let next = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), (SELECT MAX({column}) FROM {table}))"
        );
        database.run(&next).await?;
    }
    Ok(())
}
