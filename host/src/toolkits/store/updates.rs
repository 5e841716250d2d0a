//! All SQL about what registries have said is newer. Times are milliseconds since 1970.

use std::time::Duration;

use jiff::Timestamp;

use super::{LIFETIME, Store};
use crate::audit::{self, Act, Actor, Entry};
use crate::database::{self, FromRow, Scope, sql};
use crate::oci::PinnedReference;
use crate::toolkits::ToolkitError;

/// How long a registry is not asked again for the same reference.
const QUESTION_INTERVAL: Duration = Duration::from_hours(1);
/// Newer versions that wait at the same time. Other uploads have the rest of the places.
const MAX_WAITING: i64 = 4;

/// A toolkit whose live version came from a registry, and what the registry has said.
#[derive(Clone, Debug, FromRow)]
pub(in crate::toolkits) struct TrackedRow {
    pub(in crate::toolkits) id: String,
    pub(in crate::toolkits) version: String,
    /// Where the live version came from, without the digest, and the digest.
    pub(in crate::toolkits) reference: String,
    pub(in crate::toolkits) digest: String,
    pub(in crate::toolkits) asked_at: Option<i64>,
    pub(in crate::toolkits) problem: Option<String>,
    /// What is newer, without the digest, and the digest.
    pub(in crate::toolkits) newer: Option<String>,
    pub(in crate::toolkits) newer_digest: Option<String>,
    /// SHA-256 of its component, once it was pulled.
    pub(in crate::toolkits) component: Option<String>,
    pub(in crate::toolkits) refusal: Option<String>,
    pub(in crate::toolkits) pulled_at: Option<i64>,
    pub(in crate::toolkits) discarded: Option<bool>,
    /// The version as which it waits.
    pub(in crate::toolkits) waiting: Option<String>,
    /// The version as which it was deployed.
    pub(in crate::toolkits) deployed: Option<String>,
    /// Whether the live version has the same component.
    pub(in crate::toolkits) is_live: bool,
}

/// A newer version that was pulled.
pub(in crate::toolkits) struct FoundNewer<'a> {
    pub(in crate::toolkits) newest: &'a PinnedReference,
    pub(in crate::toolkits) component: Option<String>,
    pub(in crate::toolkits) refusal: Option<String>,
}

impl Store {
    /// The toolkits whose live version came from a registry, by id.
    pub(in crate::toolkits) async fn tracked(&self) -> database::Result<Vec<TrackedRow>> {
        sql("SELECT t.id, t.live_version AS version, p.source AS reference, p.source_digest AS digest,
                    q.asked_at, q.problem, q.newer, q.newer_digest, q.component, q.refusal, q.pulled_at, q.discarded,
                    u.version AS waiting,
                    COALESCE(
                        (SELECT min(o.version) FROM toolkit_provenance o
                         WHERE o.toolkit_id = t.id AND o.source_digest = q.newer_digest),
                        (SELECT min(w.version) FROM toolkit_versions w
                         WHERE w.toolkit_id = t.id AND w.digest = q.component)) AS deployed,
                    COALESCE(v.digest = q.component, FALSE) AS is_live
             FROM toolkits t
             JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version
             JOIN toolkit_provenance p ON p.toolkit_id = t.id AND p.version = t.live_version
             LEFT JOIN registry_questions q ON q.reference = p.source
             LEFT JOIN toolkit_uploads u ON u.digest = q.component AND u.toolkit_id = t.id AND u.uploaded_at > $1
             WHERE p.source IS NOT NULL AND p.source_digest IS NOT NULL ORDER BY t.id")
        .bind(before(LIFETIME))
        .fetch_all(self.0.readers())
        .await
    }

    /// Whether a registry is to be asked now for this reference. If so, no process asks it again for an hour.
    pub(in crate::toolkits) async fn take_question(&self, reference: &str) -> Result<bool, ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        let taken =
            sql("INSERT INTO registry_questions (reference, asked_at, discarded) VALUES ($1, $2, FALSE)
             ON CONFLICT (reference) DO UPDATE SET asked_at = excluded.asked_at
             WHERE registry_questions.asked_at <= $3")
            .bind(reference)
            .bind(Timestamp::now().as_millisecond())
            .bind(before(QUESTION_INTERVAL))
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(taken > 0)
    }

    /// Removes what was said of references from which nothing is live any more.
    pub(in crate::toolkits) async fn forget_questions(&self) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        sql("DELETE FROM registry_questions WHERE asked_at <= $1 AND NOT EXISTS (
                 SELECT 1 FROM toolkits t
                 JOIN toolkit_provenance p ON p.toolkit_id = t.id AND p.version = t.live_version
                 WHERE p.source = registry_questions.reference)")
        .bind(before(QUESTION_INTERVAL))
        .execute(&mut transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    /// Whether an artifact is to be pulled: one that is not live and was not, and that was neither discarded nor pulled lately.
    pub(in crate::toolkits) async fn is_wanted(
        &self,
        row: &TrackedRow,
        digest: &str,
    ) -> Result<bool, ToolkitError> {
        if digest == row.digest {
            return Ok(false);
        }
        let is_known = row.newer_digest.as_deref() == Some(digest);
        let is_recent = row.pulled_at.is_some_and(|at| at > before(LIFETIME));
        if is_known && (is_recent || row.discarded == Some(true)) {
            return Ok(false);
        }
        let deployed: i64 =
            sql("SELECT count(*) FROM toolkit_provenance WHERE toolkit_id = $1 AND source_digest = $2")
                .bind(&row.id)
                .bind(digest)
                .fetch_value(self.0.readers())
                .await?;
        Ok(deployed == 0)
    }

    /// Whether a version of a toolkit has this component.
    pub(in crate::toolkits) async fn was_deployed(
        &self,
        id: &str,
        component: &str,
    ) -> database::Result<bool> {
        let versions: i64 =
            sql("SELECT count(*) FROM toolkit_versions WHERE toolkit_id = $1 AND digest = $2")
                .bind(id)
                .bind(component)
                .fetch_value(self.0.readers())
                .await?;
        Ok(versions > 0)
    }

    /// Fails if as many newer versions wait as may.
    pub(in crate::toolkits) async fn has_place_for_newer(&self) -> Result<(), ToolkitError> {
        let waiting: i64 =
            sql("SELECT count(*) FROM toolkit_uploads WHERE source_pulled AND uploaded_at > $1")
                .bind(before(LIFETIME))
                .fetch_value(self.0.readers())
                .await?;
        if waiting < MAX_WAITING { Ok(()) } else { Err(ToolkitError::TooManyUploads) }
    }

    /// Keeps why a registry has not answered. What it said before stays.
    pub(in crate::toolkits) async fn keep_problem(
        &self,
        reference: &str,
        problem: &str,
    ) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        sql("UPDATE registry_questions SET problem = $2 WHERE reference = $1")
            .bind(reference)
            .bind(problem)
            .execute(&mut transaction)
            .await?;
        Ok(transaction.commit().await?)
    }

    /// Keeps what a registry has named, and why it was not pulled, if it should have been. What is known of the same stays.
    pub(in crate::toolkits) async fn keep_seen(
        &self,
        row: &TrackedRow,
        newest: &PinnedReference,
        problem: Option<&str>,
    ) -> Result<(), ToolkitError> {
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        sql("UPDATE registry_questions SET problem = $4, newer = $2, newer_digest = $3,
                 component = CASE WHEN newer_digest = $3 THEN component END,
                 refusal = CASE WHEN newer_digest = $3 THEN refusal END,
                 pulled_at = CASE WHEN newer_digest = $3 THEN pulled_at END,
                 discarded = discarded AND COALESCE(newer_digest = $3, FALSE)
             WHERE reference = $1")
        .bind(&row.reference)
        .bind(newest.reference().to_string())
        .bind(newest.digest().as_str())
        .bind(problem)
        .execute(&mut transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    /// Keeps what has become of an artifact that was pulled.
    pub(in crate::toolkits) async fn keep_found(
        &self,
        row: &TrackedRow,
        found: FoundNewer<'_>,
    ) -> Result<(), ToolkitError> {
        let FoundNewer { newest, component, refusal } = found;
        let mut transaction = self.0.begin(Scope::Toolkits).await?;
        sql("UPDATE registry_questions SET problem = NULL, newer = $2, newer_digest = $3, component = $4, refusal = $5,
                 pulled_at = $6, discarded = FALSE
             WHERE reference = $1")
        .bind(&row.reference)
        .bind(newest.reference().to_string())
        .bind(newest.digest().as_str())
        .bind(&component)
        .bind(&refusal)
        .bind(Timestamp::now().as_millisecond())
        .execute(&mut transaction)
        .await?;
        if refusal.is_some() {
            let (server, name) = (Actor::server(), newest.to_string());
            let refused = Entry::new(Act::ToolkitNewerRefused, &server).toolkit(row.id.as_str());
            let refused = component.iter().fold(refused, |entry, component| entry.digest(component));
            audit::append(&mut transaction, &refused.name(&name)).await?;
        }
        Ok(transaction.commit().await?)
    }
}

/// The time that was so long ago.
fn before(time: Duration) -> i64 {
    let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp::now().as_millisecond().saturating_sub(time)
}
