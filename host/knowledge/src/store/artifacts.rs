//! Captured files of documents.

use kitbag_database::{Holder, sql};

use super::rows::artifact;
use super::{Store, holders_list};
use crate::document::Artifact;

impl Store {
    /// Captured file of one document of these holders.
    pub(crate) async fn artifact(
        &self,
        holders: &[Holder],
        id: &str,
    ) -> kitbag_database::Result<Option<Artifact>> {
        let row: Option<(Option<String>, Option<i64>, Option<String>)> = sql(
            "SELECT artifact, artifact_size, artifact_type FROM documents WHERE holder IN (SELECT value FROM json_each($1)) AND id = $2",
        )
        .bind(holders_list(holders))
        .bind(id)
        .fetch_optional(self.0.readers())
        .await?;
        Ok(row.and_then(|(digest, size, media_type)| artifact(digest, size, media_type)))
    }
}
