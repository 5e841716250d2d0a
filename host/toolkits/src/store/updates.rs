//! All SQL about newer versions in registries. Times are in milliseconds since 1970.

use std::time::Duration;

use jiff::Timestamp;
use kitbag_database::audit::{self, Act, Actor, Entry};
use kitbag_database::{Database, FromRow, Scope, sql};
use kitbag_net::oci::PinnedReference;

use super::uploads::{before, oldest};
use crate::error::ToolkitError;

/// Minimum interval between two requests for the same reference of the same toolkit.
const QUESTION_INTERVAL: Duration = Duration::from_hours(1);

/// A toolkit whose live version came from a registry, and the registry's last answer.
#[derive(Clone, Debug, FromRow)]
pub(crate) struct TrackedRow {
    pub(crate) id: String,
    pub(crate) version: String,
    /// Reference and digest of the live version's source; the reference is without the digest.
    pub(crate) reference: String,
    pub(crate) digest: String,
    pub(crate) asked_at: Option<i64>,
    pub(crate) problem: Option<String>,
    /// Reference and digest of the newer version; the reference is without the digest.
    pub(crate) newer: Option<String>,
    pub(crate) newer_digest: Option<String>,
    /// SHA-256 of the newer version's component, once it was pulled.
    pub(crate) component: Option<String>,
    pub(crate) refusal: Option<String>,
    pub(crate) pulled_at: Option<i64>,
    pub(crate) discarded: Option<bool>,
    /// Version number of the component that waits for review.
    pub(crate) waiting: Option<String>,
    /// Version number of the component that was deployed.
    pub(crate) deployed: Option<String>,
    /// Whether the live version has the same component.
    pub(crate) is_live: bool,
}

/// Outcome of the pull of a newer version.
pub(crate) struct FoundNewer<'a> {
    pub(crate) newest: &'a PinnedReference,
    /// SHA-256 of the component, hexadecimal; `None` if the artifact is not a component.
    pub(crate) component: Option<String>,
    /// Reason why it does not wait for review: a property of the artifact, or a failure of this server.
    pub(crate) refusal: Option<String>,
    pub(crate) problem: Option<String>,
}

impl TrackedRow {
    /// Whether the registry was not asked within the last hour, according to this row.
    pub(crate) fn is_due(&self) -> bool {
        self.asked_at.is_none_or(|at| at <= before(QUESTION_INTERVAL))
    }
}

/// Toolkits from registries, and what the registries have answered about newer versions.
#[derive(Clone, Debug)]
pub(crate) struct UpdateStore(Database);

impl UpdateStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the toolkits whose live version came from a registry, by id.
    pub(crate) async fn tracked(&self) -> kitbag_database::Result<Vec<TrackedRow>> {
        sql("SELECT t.id, t.live_version AS version, p.source AS reference, p.source_digest AS digest,
                    q.asked_at, q.problem, q.newer, q.newer_digest, q.component, q.refusal, q.pulled_at, q.discarded,
                    u.version AS waiting,
                    COALESCE(
                        (SELECT min(o.version) FROM toolkit_provenance o
                         WHERE o.toolkit_id = t.id AND o.source_digest = q.newer_digest AND o.source_pulled),
                        (SELECT min(w.version) FROM toolkit_versions w
                         WHERE w.toolkit_id = t.id AND w.digest = q.component)) AS deployed,
                    COALESCE(v.digest = q.component, FALSE) AS is_live
             FROM toolkits t
             JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version
             JOIN toolkit_provenance p ON p.toolkit_id = t.id AND p.version = t.live_version
             LEFT JOIN registry_questions q ON q.toolkit_id = t.id AND q.reference = p.source
             LEFT JOIN toolkit_uploads u ON u.digest = q.component AND u.toolkit_id = t.id AND u.uploaded_at > $1
             WHERE p.source IS NOT NULL AND p.source_digest IS NOT NULL ORDER BY t.id")
        .bind(oldest())
        .fetch_all(self.0.readers())
        .await
    }

    /// Claims the request for this toolkit. Returns whether it is due; if so, no process asks again for an
    /// hour.
    pub(crate) async fn take_question(&self, row: &TrackedRow) -> Result<bool, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let taken =
            sql("INSERT INTO registry_questions (toolkit_id, reference, asked_at, discarded) VALUES ($1, $2, $3, FALSE)
             ON CONFLICT (toolkit_id, reference) DO UPDATE SET asked_at = excluded.asked_at
             WHERE registry_questions.asked_at <= $4")
            .bind(&row.id)
            .bind(&row.reference)
            .bind(Timestamp::now().as_millisecond())
            .bind(before(QUESTION_INTERVAL))
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(taken > 0)
    }

    /// Removes answers about references that are no longer the source of a live version.
    pub(crate) async fn forget_questions(&self) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        sql("DELETE FROM registry_questions WHERE asked_at <= $1 AND NOT EXISTS (
                 SELECT 1 FROM toolkits t
                 JOIN toolkit_provenance p ON p.toolkit_id = t.id AND p.version = t.live_version
                 WHERE t.id = registry_questions.toolkit_id AND p.source = registry_questions.reference)")
        .bind(before(QUESTION_INTERVAL))
        .execute(&mut transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    /// Whether an artifact should be pulled: it is not live and has not been live, and was neither discarded
    /// nor recently pulled. A source that was only stated by an uploader does not count.
    pub(crate) async fn is_wanted(&self, row: &TrackedRow, digest: &str) -> Result<bool, ToolkitError> {
        if digest == row.digest {
            return Ok(false);
        }
        let is_known = row.newer_digest.as_deref() == Some(digest);
        let was_deployed = row.is_live || row.deployed.is_some();
        let is_recent = row.pulled_at.is_some_and(|at| at > oldest());
        if is_known && (was_deployed || is_recent || row.discarded == Some(true)) {
            return Ok(false);
        }
        let deployed: i64 = sql("SELECT count(*) FROM toolkit_provenance
             WHERE toolkit_id = $1 AND source_digest = $2 AND source_pulled")
        .bind(&row.id)
        .bind(digest)
        .fetch_value(self.0.readers())
        .await?;
        Ok(deployed == 0)
    }

    /// Whether a version of a toolkit, or a waiting upload, has this component, regardless of the uploader.
    pub(crate) async fn has_component(&self, id: &str, component: &str) -> kitbag_database::Result<bool> {
        let known: i64 =
            sql("SELECT (SELECT count(*) FROM toolkit_versions WHERE toolkit_id = $1 AND digest = $2)
                      + (SELECT count(*) FROM toolkit_uploads WHERE toolkit_id = $1 AND digest = $2 AND uploaded_at > $3)")
            .bind(id)
            .bind(component)
            .bind(oldest())
            .fetch_value(self.0.readers())
            .await?;
        Ok(known > 0)
    }

    /// Stores why a registry has not answered, or why nothing was pulled from it. Other stored values remain.
    pub(crate) async fn keep_problem(&self, row: &TrackedRow, problem: &str) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        sql("UPDATE registry_questions SET problem = $3 WHERE toolkit_id = $1 AND reference = $2")
            .bind(&row.id)
            .bind(&row.reference)
            .bind(problem)
            .execute(&mut transaction)
            .await?;
        Ok(transaction.commit().await?)
    }

    /// Stores the newest version that a registry has named. Values stored for the same digest remain.
    pub(crate) async fn keep_seen(
        &self,
        row: &TrackedRow,
        newest: &PinnedReference,
    ) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        sql("UPDATE registry_questions SET problem = NULL, newer = $3, newer_digest = $4,
                 component = CASE WHEN newer_digest = $4 THEN component END,
                 refusal = CASE WHEN newer_digest = $4 THEN refusal END,
                 pulled_at = CASE WHEN newer_digest = $4 THEN pulled_at END,
                 discarded = discarded AND COALESCE(newer_digest = $4, FALSE)
             WHERE toolkit_id = $1 AND reference = $2")
        .bind(&row.id)
        .bind(&row.reference)
        .bind(newest.reference().to_string())
        .bind(newest.digest().as_str())
        .execute(&mut transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    /// Stores the outcome of the pull of an artifact. Whether it was discarded meanwhile remains.
    pub(crate) async fn keep_found(
        &self,
        row: &TrackedRow,
        found: FoundNewer<'_>,
    ) -> Result<(), ToolkitError> {
        let FoundNewer { newest, component, refusal, problem } = found;
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        sql("UPDATE registry_questions SET component = $4, refusal = $5, problem = $6, pulled_at = $7
             WHERE toolkit_id = $1 AND reference = $2 AND newer_digest = $3")
        .bind(&row.id)
        .bind(&row.reference)
        .bind(newest.digest().as_str())
        .bind(&component)
        .bind(&refusal)
        .bind(&problem)
        .bind(Timestamp::now().as_millisecond())
        .execute(&mut transaction)
        .await?;
        if refusal.is_some() {
            let server = Actor::server();
            let name = newest.to_string();
            let refused = Entry::new(Act::ToolkitNewerRefused, &server).toolkit(row.id.as_str());
            let refused = component.iter().fold(refused, |entry, component| entry.digest(component));
            audit::append(&mut transaction, &refused.name(&name)).await?;
        }
        Ok(transaction.commit().await?)
    }
}
