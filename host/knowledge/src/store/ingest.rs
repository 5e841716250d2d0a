//! Stores a batch in one transaction, with few statements, however many documents it has.

use std::collections::HashMap;

use kitbag_database::{FromRow, Scope, StatementBuilder, Transaction, list, refuse_ended, sql};
use kitbag_files::objects::{FileLease, change_references};
use kitbag_files::stored_files::FileKind;

use super::jobs::Kind;
use super::moves::expect_there;
use super::usage::usage;
use super::{Store, as_i64, now, versions};
use crate::KnowledgeError;
use crate::document::{Change, Ingested, Origin, TitleOrigin};
use crate::ingest::{Batch, ValidDocument};

/// Largest number of rows per insert statement.
const ROWS: usize = 128;

/// Result of storing a batch.
#[derive(Debug)]
pub(crate) struct Stored {
    /// Results, one for each document that was passed in.
    pub(crate) ingested: Vec<Ingested>,
    /// Kinds of the jobs that were created.
    pub(crate) jobs: Vec<Kind>,
    /// Digests of captured files to which documents no longer refer.
    pub(crate) let_go: Vec<String>,
}

/// Document that is stored already.
#[derive(FromRow)]
struct Existing {
    sequence: i64,
    id: String,
    feed_id: Option<i64>,
    identity: String,
    digest: Vec<u8>,
    url: Option<String>,
    author: Option<String>,
    file_url: Option<String>,
    claimed_type: Option<String>,
    capture_only: bool,
    failed_job: Option<String>,
    #[sqlx(rename = "lacking")]
    missing_dependency: Option<String>,
    artifact: Option<String>,
    has_captured: bool,
}

/// Update of a stored document.
struct Update<'d> {
    existing: &'d Existing,
    document: &'d ValidDocument,
    /// Kind of the job to queue, if any.
    job: Option<Kind>,
    /// Whether the captured text belongs to another file, or the file has to be downloaded again.
    forgets_file: bool,
    /// Whether the document is unchanged, and a failed job is retried.
    is_retry: bool,
}

impl Store {
    /// Stores a batch and its jobs, or nothing if that would exceed the quota; `None` if `file`, which came
    /// with the batch, was deleted meanwhile.
    pub(crate) async fn ingest(
        &self,
        origin: &Origin,
        batch: &Batch,
        file: Option<&FileLease>,
    ) -> Result<Option<Stored>, KnowledgeError> {
        let now = now();
        let mut transaction = self.0.begin(Scope::Holders(&[&origin.holder])).await?;
        expect_there(&mut transaction, &origin.holder).await?;
        refuse_ended(&mut transaction, &origin.user_id).await?;
        let before = usage(&mut transaction, &origin.holder).await?;
        let feeds = batch.documents.iter().filter_map(|document| document.feed.as_ref());
        let feeds = Self::put_feeds(&mut transaction, origin, feeds).await?;
        let feed_of = |document: &ValidDocument| {
            document.feed.as_ref().map(|feed| *feeds.get(&feed.key).expect("it was just put there"))
        };
        let existing =
            find(&mut transaction, origin, batch.documents.iter().map(|it| (feed_of(it), it))).await?;

        let mut done = Vec::with_capacity(batch.documents.len());
        let (mut new, mut updates) = (Vec::new(), Vec::new());
        for document in &batch.documents {
            let feed_id = feed_of(document);
            // Two lookups avoid a copy of the key.
            let known = existing.get(&feed_id.unwrap_or_default()).and_then(|of| of.get(&document.identity));
            done.push(match known {
                None => {
                    let id = new_id();
                    new.push((id.clone(), feed_id, document));
                    Ingested { id, change: Change::Created }
                }
                Some(existing) => match Update::of(existing, document) {
                    None => Ingested { id: existing.id.clone(), change: Change::Unchanged },
                    Some(update) => {
                        let change = if update.is_retry { Change::Unchanged } else { Change::Updated };
                        updates.push(update);
                        Ingested { id: existing.id.clone(), change }
                    }
                },
            });
        }
        insert(&mut transaction, origin, &new, now).await?;
        let mut let_go = Vec::new();
        for update in &updates {
            update.write(&mut transaction, origin, now).await?;
            let_go.extend(update.drops_artifact().map(str::to_owned));
        }
        self.check_quota(&mut transaction, &origin.holder, before).await??;
        // Either the document refers to `file` now, or it did before.
        if !change_references(&mut transaction, FileKind::Artifact, file, &let_go).await? {
            return Ok(None);
        }
        transaction.commit().await?;

        let jobs = new.iter().map(|(_, _, document)| Kind::first(document));
        let mut jobs: Vec<_> = jobs.chain(updates.iter().filter_map(|update| update.job)).collect();
        jobs.sort_unstable();
        jobs.dedup();
        let ingested = batch.places.iter().map(|place| done[*place].clone()).collect();
        Ok(Some(Stored { ingested, jobs, let_go }))
    }
}

/// 128 random bits: ids reveal nothing, and cannot be guessed.
fn new_id() -> String {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    hex::encode(bytes)
}

/// Documents of the batch that are stored already, by feed id (0: none) and identity.
async fn find<'d>(
    transaction: &mut Transaction,
    origin: &Origin,
    documents: impl Iterator<Item = (Option<i64>, &'d ValidDocument)>,
) -> kitbag_database::Result<HashMap<i64, HashMap<String, Existing>>> {
    let wanted: Vec<_> =
        documents.map(|(feed, document)| (feed.unwrap_or_default(), &document.identity)).collect();
    let mut found: HashMap<i64, HashMap<String, Existing>> = HashMap::new();
    for some in wanted.chunks(ROWS) {
        // The requested keys are on the left: each is looked up in the index, and no other document is read.
        let mut statement = StatementBuilder::new("WITH wanted (feed, identity) AS (");
        statement.push_values(some, |mut row, (feed, identity)| {
            row.push_bind(*feed).push_bind(*identity);
        });
        statement
            .push(
                ") SELECT d.sequence, d.id, d.feed_id, d.identity, d.digest, d.url, d.author, d.file_url,
                     d.claimed_type, d.capture_only, d.failed_job, d.lacking, d.artifact,
                     d.captured IS NOT NULL AS has_captured
                 FROM wanted CROSS JOIN documents d
                 WHERE COALESCE(d.feed_id, 0) = wanted.feed AND d.identity = wanted.identity
                     AND d.deleted_at IS NULL AND d.holder = ",
            )
            .push_bind(&origin.holder)
            .push(" AND d.source = ")
            .push_bind(&origin.source);
        let rows: Vec<Existing> = statement.build().uncached().fetch_all(&mut *transaction).await?;
        for row in rows {
            found.entry(row.feed_id.unwrap_or_default()).or_default().insert(row.identity.clone(), row);
        }
    }
    Ok(found)
}

/// Inserts documents, each with its first job.
async fn insert(
    transaction: &mut Transaction,
    origin: &Origin,
    new: &[(String, Option<i64>, &ValidDocument)],
    now: i64,
) -> kitbag_database::Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let last: i64 = sql("SELECT COALESCE(MAX(number), 0) FROM documents WHERE holder = $1")
        .bind(&origin.holder)
        .fetch_value(&mut *transaction)
        .await?;
    for (rows, first) in new.chunks(ROWS).zip((last + 1..).step_by(ROWS)) {
        let mut statement = StatementBuilder::new(
            "INSERT INTO documents (id, holder, added_by, changed_by, number, source, feed_id, identity, digest, title, title_origin, file_name, url, author,
                 author_folded, file_url, claimed_type, capture_only, artifact, artifact_size, artifact_type,
                 state, revision, created_at, updated_at, text) ",
        );
        statement.push_values(rows.iter().zip(first..), |mut row, ((id, feed_id, it), number)| {
            row.push_bind(id)
                .push_bind(&origin.holder)
                .push_bind(&origin.user_id)
                .push_bind(&origin.user_id)
                .push_bind(number)
                .push_bind(&origin.source)
                .push_bind(*feed_id)
                .push_bind(&it.identity)
                .push_bind(it.digest.as_slice())
                .push_bind(&it.title)
                .push_bind(origin_of_title(it).as_str())
                .push_bind(file_name(it))
                .push_bind(&it.url)
                .push_bind(&it.author)
                .push_bind(folded(it.author.as_deref()))
                .push_bind(&it.file_url)
                .push_bind(&it.claimed_type)
                .push_bind(it.capture_only)
                .push_bind(it.upload.as_ref().map(|file| file.digest.as_str()))
                .push_bind(it.upload.as_ref().map(|file| as_i64(file.size)))
                .push_bind(it.upload.as_ref().map(|file| file.media_type.as_str()))
                .push_bind("pending")
                .push_bind(1_i64)
                .push_bind(now)
                .push_bind(now)
                .push_bind(&it.text);
        });
        statement.build().uncached().execute(&mut *transaction).await?;
    }
    let ids: Vec<_> = new.iter().map(|(id, ..)| id).collect();
    // A subquery looks each one up in the index: for a join, PostgreSQL would read all documents of the user.
    sql("INSERT INTO knowledge_jobs (document, holder, kind, tries, run_at)
         SELECT (SELECT d.sequence FROM documents d WHERE d.holder = $1 AND d.id = new.value), $1,
                (SELECT CASE WHEN d.file_url IS NULL AND d.artifact IS NULL THEN 'index' ELSE 'capture' END
                 FROM documents d WHERE d.holder = $1 AND d.id = new.value), 0, $3
         FROM json_each($2) new")
    .bind(&origin.holder)
    .bind(list(&ids))
    .bind(now)
    .execute(transaction)
    .await?;
    Ok(())
}

fn origin_of_title(document: &ValidDocument) -> TitleOrigin {
    if document.title_is_name { TitleOrigin::FileName } else { TitleOrigin::Given }
}

fn file_name(document: &ValidDocument) -> Option<&str> {
    document.title_is_name.then_some(&document.title)
}

/// Lower-case form, for comparison by filters.
fn folded(author: Option<&str>) -> Option<String> {
    author.map(str::to_lowercase)
}

impl<'d> Update<'d> {
    /// Computes the update; `None` if nothing changes.
    fn of(existing: &'d Existing, document: &'d ValidDocument) -> Option<Self> {
        let content = existing.digest != document.digest;
        let had_file = existing.file_url.is_some() || existing.artifact.is_some();
        let upload = document.upload.as_ref().map(|file| file.digest.as_str());
        let file = existing.file_url != document.file_url
            || existing.capture_only != document.capture_only
            || had_file != document.has_file()
            || upload.is_some_and(|digest| existing.artifact.as_deref() != Some(digest));
        let failed = existing.failed_job.as_deref().and_then(Kind::parse);
        let metadata = existing.url != document.url
            || existing.author != document.author
            || existing.claimed_type != document.claimed_type;
        // Without any text, a document is indexed by its metadata.
        let is_record = document.text.is_empty() && !existing.has_captured;
        let waits = existing.missing_dependency.is_some();
        let job = match failed {
            _ if document.has_file() && file => Some(Kind::Capture),
            // Another try would lack the same dependency.
            Some(Kind::Capture) if waits && !file && !content && !metadata => None,
            Some(Kind::Capture) if document.has_file() => Some(Kind::Capture),
            Some(_) => Some(Kind::Index),
            None if file || content || (metadata && is_record) => Some(Kind::Index),
            None => None,
        };
        // A capture that failed without a missing dependency failed because of the file, which may have
        // changed.
        let forgets_file = file || (job == Some(Kind::Capture) && !waits);
        let is_retry = !(metadata || content || file);
        (metadata || job.is_some()).then_some(Self { existing, document, job, forgets_file, is_retry })
    }

    fn is_new_content(&self) -> bool {
        self.existing.digest != self.document.digest
    }

    /// Digest of the file to which the document no longer refers.
    fn drops_artifact(&self) -> Option<&str> {
        let upload = self.document.upload.as_ref().map(|file| file.digest.as_str());
        self.existing.artifact.as_deref().filter(|digest| self.forgets_file && upload != Some(digest))
    }

    async fn write(
        &self,
        transaction: &mut Transaction,
        origin: &Origin,
        now: i64,
    ) -> kitbag_database::Result<()> {
        let Self { existing, document, job, .. } = self;
        if self.is_new_content() || self.forgets_file {
            versions::keep(transaction, existing.sequence, now).await?;
        }
        let mut statement = StatementBuilder::new("UPDATE documents SET url = ");
        statement.push_bind(&document.url);
        statement.push(", author = ").push_bind(&document.author);
        statement.push(", author_folded = ").push_bind(folded(document.author.as_deref()));
        statement.push(", file_url = ").push_bind(&document.file_url);
        statement.push(", claimed_type = ").push_bind(&document.claimed_type);
        statement.push(", capture_only = ").push_bind(document.capture_only);
        statement.push(", changed_by = ").push_bind(&origin.user_id);
        statement.push(", updated_at = ").push_bind(now);
        if job.is_some() {
            statement.push(
                ", revision = revision + 1, state = 'pending', failed_job = NULL, reason = NULL, lacking = NULL",
            );
        }
        // Otherwise the title is unchanged; it may be the one found in the file.
        if self.is_new_content() || self.forgets_file {
            statement.push(", title = ").push_bind(&document.title);
            statement.push(", title_origin = ").push_bind(origin_of_title(document).as_str());
            statement.push(", file_name = ").push_bind(file_name(document));
            statement.push(", digest = ").push_bind(document.digest.as_slice());
            statement.push(", text = ").push_bind(&document.text);
        }
        if self.forgets_file {
            let file = document.upload.as_ref();
            statement
                .push(", captured = NULL, encoding = NULL, artifact = ")
                .push_bind(file.map(|file| file.digest.as_str()));
            statement.push(", artifact_size = ").push_bind(file.map(|file| as_i64(file.size)));
            statement.push(", artifact_type = ").push_bind(file.map(|file| file.media_type.as_str()));
        }
        statement.push(" WHERE sequence = ").push_bind(existing.sequence);
        statement.push(" AND holder = ").push_bind(&origin.holder);
        statement.build().execute(&mut *transaction).await?;
        if let Some(kind) = job {
            Store::put_job(transaction, &origin.holder, existing.sequence, *kind, now).await?;
        }
        Ok(())
    }
}
