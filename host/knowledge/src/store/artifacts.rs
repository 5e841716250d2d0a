//! Captured files of documents.

use kitbag_database::sql;

use super::Store;
use super::rows::artifact;
use crate::document::Artifact;

impl Store {
    /// Captured file of one document of the user.
    pub(crate) async fn artifact(
        &self,
        user_id: &str,
        id: &str,
    ) -> kitbag_database::Result<Option<Artifact>> {
        let row: Option<(Option<String>, Option<i64>, Option<String>)> = sql(
            "SELECT artifact, artifact_size, artifact_type FROM documents WHERE user_id = $1 AND id = $2",
        )
        .bind(user_id)
        .bind(id)
        .fetch_optional(self.0.readers())
        .await?;
        Ok(row.and_then(|(digest, size, media_type)| artifact(digest, size, media_type)))
    }
}
