//! Copies files to another store, under the same names.

use futures::StreamExt;
use kitbag_base::sha256::Sha256;
use tempfile::NamedTempFile;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::{Objects, ObjectsError};

/// Outcome of copying a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// The file was copied.
    Written {
        /// Size in bytes.
        bytes: u64,
    },
    /// The file already existed in the target.
    AlreadyThere,
    /// The file is missing, or its bytes do not match the digest in its name.
    Unusable(String),
}

impl Objects {
    /// Copies an object to another store under the same name, if its bytes have this digest; they are checked
    /// before it appears there. An existing object is read, and replaced if it is damaged.
    pub async fn send(&self, object: &str, digest: &str, target: &Self) -> Result<Sent, ObjectsError> {
        if target.bucket.digest(object).await?.as_deref() == Some(digest) {
            return Ok(Sent::AlreadyThere);
        }
        let copy = NamedTempFile::new().map_err(|error| scratch(&error))?;
        match self.read_into(&copy, object).await {
            Ok((found, bytes)) if found == digest => {
                if target.bucket.is_folder() {
                    // Removes the rest of an interrupted attempt.
                    target.bucket.delete(object).await?;
                }
                target.bucket.put(object, copy.path()).await?;
                Ok(Sent::Written { bytes })
            }
            Ok(_) => Ok(Sent::Unusable("its bytes are not those that its name says".to_owned())),
            Err(ReadError::Missing) => Ok(Sent::Unusable("it is not there".to_owned())),
            // A bucket that fails may work later. A file in a folder that cannot be read is damaged.
            Err(ReadError::Source(error)) if self.bucket.is_folder() => Ok(Sent::Unusable(error.to_string())),
            Err(ReadError::Source(error) | ReadError::Copy(error)) => Err(error),
        }
    }

    /// Copies an object to a file. Returns the digest and the size of its bytes.
    async fn read_into(&self, copy: &NamedTempFile, object: &str) -> Result<(String, u64), ReadError> {
        let opened = self.bucket.get(object).await.map_err(ReadError::Source)?;
        let mut pieces = opened.ok_or(ReadError::Missing)?.bytes;
        let failed = |error| ReadError::Copy(scratch(&error));
        let mut file = File::from_std(copy.reopen().map_err(failed)?);
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        while let Some(piece) = pieces.next().await {
            let piece =
                piece.map_err(|error| ReadError::Source(ObjectsError::Unavailable(error.to_string())))?;
            hasher.update(&piece);
            file.write_all(&piece).await.map_err(failed)?;
            bytes += piece.len() as u64;
        }
        file.flush().await.map_err(failed)?;
        Ok((hex::encode(hasher.finish()), bytes))
    }
}

enum ReadError {
    Missing,
    Source(ObjectsError),
    Copy(ObjectsError),
}

fn scratch(error: &std::io::Error) -> ObjectsError {
    ObjectsError::Unavailable(format!("a temporary file cannot be written: {error}"))
}
