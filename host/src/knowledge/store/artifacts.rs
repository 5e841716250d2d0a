//! Which captured files documents have. The same file may belong to several, also of different users: these
//! statements alone look at all of them.

use std::collections::HashSet;
use std::future::Future;

use sqlx::SqliteConnection;

use super::Store;
use super::rows::artifact;
use crate::knowledge::document::Artifact;

impl Store {
    /// The captured file of one document of the user.
    pub(in crate::knowledge) async fn artifact(
        &self,
        user_id: &str,
        id: &str,
    ) -> sqlx::Result<Option<Artifact>> {
        let row: Option<(Option<String>, Option<i64>, Option<String>)> = sqlx::query_as(
            "SELECT artifact, artifact_size, artifact_type FROM documents WHERE user_id = ? AND id = ?",
        )
        .bind(user_id)
        .bind(id)
        .fetch_optional(&self.0.readers)
        .await?;
        Ok(row.and_then(|(digest, size, media_type)| artifact(digest, size, media_type)))
    }

    /// The digests of all captured files.
    pub(in crate::knowledge) async fn artifacts(&self) -> sqlx::Result<HashSet<String>> {
        let digests: Vec<String> =
            sqlx::query_scalar("SELECT DISTINCT artifact FROM documents WHERE artifact IS NOT NULL")
                .fetch_all(&self.0.readers)
                .await?;
        Ok(digests.into_iter().collect())
    }

    /// Does something with a file that no document has; nobody can begin to have it meanwhile.
    pub(in crate::knowledge) async fn unless_referenced<T>(
        &self,
        digest: &str,
        act: impl Future<Output = T>,
    ) -> sqlx::Result<Option<T>> {
        let mut transaction = self.begin().await?;
        if Self::is_referenced(&mut transaction, digest).await? {
            return Ok(None);
        }
        let done = act.await;
        transaction.rollback().await?;
        Ok(Some(done))
    }

    pub(super) async fn is_referenced(connection: &mut SqliteConnection, digest: &str) -> sqlx::Result<bool> {
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM documents WHERE artifact = ?)")
            .bind(digest)
            .fetch_one(connection)
            .await
    }
}
