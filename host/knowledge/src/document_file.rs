//! The stored file of a document.

use kitbag_files::objects::{FileLease, Files, ObjectsError};
use tempfile::TempPath;

use crate::document::Artifact;

/// Stored file of a document, which refers to it already or is about to.
#[derive(Debug)]
pub struct DocumentFile {
    artifact: Artifact,
    put: Option<Box<Put>>,
}

/// Lease on a file that was stored for a document, and a local copy of its bytes.
#[derive(Debug)]
struct Put {
    held: FileLease,
    source: TempPath,
}

impl DocumentFile {
    /// Stores a file from the bytes in `source`.
    pub(crate) async fn put(
        files: &Files,
        artifact: Artifact,
        source: TempPath,
    ) -> Result<Self, ObjectsError> {
        let held = files.put(&artifact.digest, &source).await?;
        Ok(Self { artifact, put: Some(Box::new(Put { held, source })) })
    }

    /// File to which the document refers already.
    pub(crate) fn of_document(artifact: Artifact) -> Self {
        Self { artifact, put: None }
    }

    /// Digest, size and media type of the file.
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// Lease on a file to which the document does not refer yet; `None` if it does.
    pub(crate) fn held(&self) -> Option<&FileLease> {
        self.put.as_ref().map(|put| &put.held)
    }

    /// Stores the file again after it was deleted before the document referred to it.
    pub(crate) async fn put_again(&mut self, files: &Files) -> Result<(), ObjectsError> {
        if let Some(put) = self.put.take() {
            let Put { held, source } = *put;
            let held = files.put_again(held, &source).await?;
            self.put = Some(Box::new(Put { held, source }));
        }
        Ok(())
    }

    /// Ends the lease without a reference: the file is deleted unless something else needs it.
    pub(crate) async fn give_up(self, files: &Files) {
        if let Some(put) = self.put {
            files.give_up(put.held).await;
        }
    }
}
