//! All SQL about pictures of versions.

use kitbag_database::{Database, Transaction, sql};

use crate::icons::Picture;

/// Stores the picture of a version, and replaces an earlier one.
pub(super) async fn keep(
    transaction: &mut Transaction,
    id: &str,
    version: &str,
    picture: &Picture,
) -> kitbag_database::Result<()> {
    sql("INSERT INTO toolkit_icons (toolkit_id, version, digest, media_type, content)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (toolkit_id, version) DO UPDATE
         SET digest = excluded.digest, media_type = excluded.media_type, content = excluded.content")
    .bind(id)
    .bind(version)
    .bind(picture.digest())
    .bind(&picture.media_type)
    .bind(&*picture.content)
    .execute(transaction)
    .await?;
    Ok(())
}

/// Returns the picture of a version.
pub(super) async fn of_version(
    database: &Database,
    id: &str,
    version: &str,
) -> kitbag_database::Result<Option<Picture>> {
    let picture: Option<(String, Vec<u8>)> =
        sql("SELECT media_type, content FROM toolkit_icons WHERE toolkit_id = $1 AND version = $2")
            .bind(id)
            .bind(version)
            .fetch_optional(database.readers())
            .await?;
    Ok(picture.map(|(media_type, content)| Picture { media_type, content: content.into() }))
}
