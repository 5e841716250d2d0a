//! Which captured files documents have. The same file may belong to several, also of different users: these
//! statements alone look at all of them.

use std::collections::HashSet;
use std::future::Future;

use tracing::warn;

use super::Store;
use super::rows::artifact;
use crate::database::{self, Scope, Transaction, sql};
use crate::knowledge::artifacts::Artifacts;
use crate::knowledge::document::Artifact;

impl Store {
    /// The captured file of one document of the user.
    pub(in crate::knowledge) async fn artifact(
        &self,
        user_id: &str,
        id: &str,
    ) -> database::Result<Option<Artifact>> {
        let row: Option<(Option<String>, Option<i64>, Option<String>)> = sql(
            "SELECT artifact, artifact_size, artifact_type FROM documents WHERE user_id = $1 AND id = $2",
        )
        .bind(user_id)
        .bind(id)
        .fetch_optional(self.0.readers())
        .await?;
        Ok(row.and_then(|(digest, size, media_type)| artifact(digest, size, media_type)))
    }

    /// The digests of all captured files; nothing where there never was a document: a database that
    /// knows nothing may be one that got lost.
    pub(in crate::knowledge) async fn artifacts(&self) -> database::Result<Option<HashSet<String>>> {
        // A user's usage is counted from their first document on.
        let had_documents: bool =
            sql("SELECT EXISTS (SELECT 1 FROM knowledge_usage)").fetch_value(self.0.readers()).await?;
        if !had_documents {
            return Ok(None);
        }
        let digests: Vec<String> = sql("SELECT DISTINCT artifact FROM documents WHERE artifact IS NOT NULL")
            .fetch_values(self.0.readers())
            .await?;
        Ok(Some(digests.into_iter().collect()))
    }

    /// Removes captured files that no document has any more. What fails is made up for at the next start.
    pub(in crate::knowledge) async fn remove_files(&self, artifacts: &Artifacts, digests: &[String]) {
        for digest in digests {
            let removed = self.unless_referenced(digest, artifacts.remove(digest)).await;
            match removed {
                Ok(None | Some(Ok(()))) => {}
                Ok(Some(Err(cause))) => warn!(%cause, digest, "a captured file was not removed"),
                Err(cause) => warn!(%cause, digest, "a captured file was not removed"),
            }
        }
    }

    /// Does something with a file that no document has; nobody can begin to have it meanwhile.
    async fn unless_referenced<T>(
        &self,
        digest: &str,
        act: impl Future<Output = T>,
    ) -> database::Result<Option<T>> {
        let mut transaction = self.0.begin(Scope::AllUsers).await?;
        if Self::is_referenced(&mut transaction, digest).await? {
            return Ok(None);
        }
        let done = act.await;
        transaction.roll_back().await?;
        Ok(Some(done))
    }

    pub(super) async fn is_referenced(transaction: &mut Transaction, digest: &str) -> database::Result<bool> {
        sql("SELECT EXISTS (SELECT 1 FROM documents WHERE artifact = $1)")
            .bind(digest)
            .fetch_value(transaction)
            .await
    }
}
