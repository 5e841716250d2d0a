//! Checks that all processes use the same store of files. A process with another folder, or whose folder is
//! not mounted, would find no files, and treat them as deleted.

use super::{Objects, ObjectsError};

/// Object that contains the id of the store. It has no row.
const MARKER: &str = "store-id";
/// Maximum length of the id, in bytes.
const MAX_BYTES: u64 = 64;

impl Objects {
    /// Fails if other processes that use the database have another store. Writes the id to a new store.
    pub async fn expect_shared(&self) -> Result<(), ObjectsError> {
        if self.rows.is_alone() {
            return Ok(());
        }
        let marked = match self.bucket.read(MARKER, MAX_BYTES).await {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(ObjectsError::Missing) => None,
            Err(error) => return Err(error),
        };
        let claim = self.rows.claim_store(marked.as_deref().unwrap_or(&new_id())).await?;
        match marked {
            Some(marked) if marked == claim.store => Ok(()),
            // A store may be replaced as long as no files exist.
            None if claim.is_new || claim.is_empty => self.bucket.put_bytes(MARKER, claim.store.into()).await,
            Some(_) | None => Err(ObjectsError::OtherStore),
        }
    }
}

fn new_id() -> String {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    hex::encode(bytes)
}

#[cfg(test)]
mod tests {
    use kitbag_database::Database;

    use crate::objects::tests::Bench;
    use crate::objects::{Objects, ObjectsError};

    #[tokio::test]
    async fn a_process_with_another_folder_is_refused_once_there_are_files() {
        let [folder, other] = [(); 2].map(|()| tempfile::tempdir().expect("a scratch directory"));
        let database = Database::of_test(folder.path()).await;
        let objects = Objects::of_test(folder.path(), &database).await;
        objects.expect_shared().await.expect("it is the first");
        Bench::new(database.clone(), objects).put(b"a file").await;

        for _ in 0..2 {
            let beside = Objects::of_test(folder.path(), &database).await;
            beside.expect_shared().await.expect("it has the same folder");
        }
        let elsewhere = Objects::of_test(other.path(), &database).await.expect_shared().await;

        if database.is_file() {
            elsewhere.expect("there is no other process");
        } else {
            assert!(matches!(elsewhere, Err(ObjectsError::OtherStore)), "{elsewhere:?}");
        }
    }
}
