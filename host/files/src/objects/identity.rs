//! Whether this is the store of files that the other processes have. A process that was given another folder, or whose
//! folder is not mounted, would find none of their files, and take those for deleted.

use super::{Objects, ObjectsError};

/// The object with the name of the store. It has no row.
const MARKER: &str = "store-id";
/// Longest name that is read, in bytes.
const MAX_BYTES: u64 = 64;

impl Objects {
    /// Fails if other processes that use the database have another store. Marks a store that is new.
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
            // Where there are no files yet, none can be missing.
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
