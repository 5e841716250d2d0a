//! Capture: downloads a file from its URL, stores it, and reads its text.
//!
//! ```text
//! fetch (or upload) → type from the bytes → store → extract | decode | transcribe
//! ```
//!
//! Invariants:
//! - a file is fetched under the network policy of captures, checked at every redirect: exceptions for
//!   toolkits do not apply to it, but the hosts that the operator permits to toolkits bound those of documents that a
//!   toolkit has added;
//! - the file type is detected from the bytes; the sender's claims only choose among kinds of text, and among
//!   documents that are archives, compound files or messages where the bytes are ambiguous;
//! - files are parsed in the sandbox or not at all: code in this process only decodes text;
//! - every file has bounded cost in disk, memory and time, and ends as text, as nothing to index, or as a
//!   failure with a reason;
//! - users take turns at reading, and no user has all slots.

mod failure;
mod fetch;
#[doc(hidden)]
pub mod fuzzing;
mod incoming;
mod kind;
mod text;
mod transcribe;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use kitbag_base::disk::DiskFull;
use kitbag_base::tasks::off_thread;
use kitbag_base::turns::Turns;
use kitbag_files::objects::{Files, ObjectsError};
use kitbag_net::egress::{Egress, Policy};
use tracing::warn;

use super::Artifact;
use crate::document_file::DocumentFile;
pub use failure::{CaptureFailure, FailureKind};
use incoming::Incoming;
pub use kitbag_manifest::file_formats::FileKind;

use kind::{Kind, Label};
pub use text::{FrontMatter, Markup};
use transcribe::Transcriber;
pub use transcribe::TranscriptionSettings;

/// Largest size of one file's text, in bytes; the rest is left out.
pub const MAX_TEXT_BYTES: usize = 4 << 20;

/// Folder in the data directory for incoming files; emptied at every start.
const ARRIVING: &str = "captures";
/// Largest number of files whose bytes are in memory at once, for decoding or extraction.
pub const MAX_FILES_IN_MEMORY: usize = 2;
/// Largest number of these files per user: one less, so that a user with slow files leaves a slot to others.
const MAX_FILES_OF_USER: usize = MAX_FILES_IN_MEMORY - 1;
/// Largest number of simultaneous transcriptions: each takes minutes, during which no other file waits for
/// it.
const MAX_RECORDINGS: usize = 2;
/// Largest number of simultaneous transcriptions per user.
const MAX_RECORDINGS_OF_USER: usize = MAX_RECORDINGS - 1;

/// Operator's settings for captured files.
#[derive(Clone, Debug)]
pub struct CaptureSettings {
    /// Largest size of a file, in bytes.
    pub size: u64,
    /// Time limit for downloading one file.
    pub time: Duration,
    /// Speech-to-text service, if there is one.
    pub transcription: Option<TranscriptionSettings>,
}

/// Extracts text from a file, inside the sandbox.
pub type Extract =
    Arc<dyn Fn(FileKind, Bytes) -> BoxFuture<'static, Result<Extracted, ExtractError>> + Send + Sync>;

/// Text and title that were extracted from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// Title in the file's metadata or content.
    pub title: Option<String>,
    /// Text, at most [`MAX_TEXT_BYTES`] long.
    pub text: String,
    /// Whether the file contains more text than that.
    pub truncated: bool,
}

/// Reason why no text could be extracted from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractError {
    /// Message for the user.
    pub reason: String,
    /// Whether a retry may help.
    pub kind: FailureKind,
}

/// Input of a capture.
#[derive(Clone, Debug, Default)]
pub(super) struct CaptureJob {
    /// Owner of the document.
    pub(super) user: Arc<str>,
    /// Whether a toolkit added the document: then the file comes from a host that the operator permits to toolkits.
    pub(super) is_of_toolkit: bool,
    /// URL of the file; not used if `kept` is set.
    pub(super) file_url: Option<String>,
    /// Media type that the document's sender claimed.
    pub(super) claimed_type: Option<String>,
    /// Whether to store the file without reading it.
    pub(super) capture_only: bool,
    /// File that was stored before, by an upload or an earlier try.
    pub(super) kept: Option<Artifact>,
}

/// A captured file.
#[derive(Debug)]
pub(super) struct Captured {
    /// Stored file; keep this value until the document refers to the file.
    pub(super) file: DocumentFile,
    /// Title in the file.
    pub(super) title: Option<String>,
    /// Text to index; `None` if there is none.
    pub(super) text: Option<String>,
    /// Encoding that was used to decode the text, unless the file format fixes it.
    pub(super) encoding: Option<&'static str>,
}

/// Captures files. Clones share their state.
#[derive(Clone)]
pub struct Capture(Arc<Parts>);

struct Parts {
    egress: Egress,
    artifacts: Files,
    arriving: PathBuf,
    settings: CaptureSettings,
    extract: Extract,
    transcriber: Option<Transcriber>,
    in_memory: Turns,
    recordings: Turns,
}

impl Capture {
    /// Opens the folder for incoming files in a data directory, and deletes leftovers of earlier runs.
    /// Captured files are stored in `artifacts`.
    pub async fn open(
        data: &Path,
        artifacts: Files,
        egress: Egress,
        settings: CaptureSettings,
        extract: Extract,
    ) -> io::Result<Self> {
        let arriving = data.join(ARRIVING);
        match tokio::fs::remove_dir_all(&arriving).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => tokio::fs::create_dir_all(&arriving).await?,
        }
        let transcriber = settings.transcription.clone().map(|it| Transcriber::new(egress.clone(), it));
        Ok(Self(Arc::new(Parts {
            artifacts,
            egress,
            arriving,
            settings,
            extract,
            transcriber,
            in_memory: Turns::new(MAX_FILES_IN_MEMORY, MAX_FILES_OF_USER),
            recordings: Turns::new(MAX_RECORDINGS, MAX_RECORDINGS_OF_USER),
        })))
    }

    /// Store of captured files.
    pub fn artifacts(&self) -> &Files {
        &self.0.artifacts
    }

    /// Largest size of a file, in bytes.
    pub(super) fn max_size(&self) -> u64 {
        self.0.settings.size
    }

    /// Whether a transcriber is configured, so that captures that failed without one can be retried.
    pub(super) fn can_transcribe(&self) -> bool {
        self.0.transcriber.is_some()
    }

    /// Stores an uploaded file, with the same size limit as a downloaded one; a limit on its transfer rate is
    /// the caller's responsibility. `name` and `claimed_type` are claims of the sender.
    pub async fn keep<E: std::fmt::Display>(
        &self,
        upload: impl Stream<Item = Result<Bytes, E>>,
        claimed_type: Option<&str>,
        name: Option<&str>,
    ) -> Result<DocumentFile, CaptureFailure> {
        let file = incoming::receive(&self.0.arriving, upload, self.0.settings.size).await?;
        self.store(file, &Label { media_type: claimed_type, name }).await
    }

    /// Runs a capture: downloads the file unless it is stored already, and reads its text.
    pub(super) async fn capture(&self, job: &CaptureJob) -> Result<Captured, CaptureFailure> {
        let file = match &job.kept {
            Some(artifact) => DocumentFile::of_document(artifact.clone()),
            None => self.fetch(job).await?,
        };
        if job.capture_only {
            return Ok(Captured { file, title: None, text: None, encoding: None });
        }
        match self.read(file.artifact(), job).await {
            Ok((read, encoding)) => {
                let text = text::noting_the_cut(read.text, read.truncated);
                let text = Some(text).filter(|text| !text.trim().is_empty());
                let title = read.title.map(|title| text::line(&title)).filter(|title| !title.is_empty());
                Ok(Captured { file, title, text, encoding })
            }
            Err(failure) => Err(CaptureFailure { file: Some(file), ..failure }),
        }
    }

    async fn fetch(&self, job: &CaptureJob) -> Result<DocumentFile, CaptureFailure> {
        let Parts { egress, arriving, settings, .. } = &*self.0;
        let url = job.file_url.as_deref().ok_or_else(|| failure::permanent("there is no file to capture"))?;
        let user = job.user.clone();
        let policy =
            if job.is_of_toolkit { Policy::ToolkitCapture { user } } else { Policy::Capture { user } };
        let fetched = fetch::fetch(egress, url, &policy, arriving, settings).await?;
        // The media type from the file's server is more reliable than the one from the document's sender.
        let claimed = fetched.media_type.as_deref().filter(|it| kind::is_telling(it));
        let label = Label { media_type: claimed.or(job.claimed_type.as_deref()), name: Some(&fetched.name) };
        self.store(fetched.file, &label).await
    }

    async fn store(&self, file: Incoming, label: &Label<'_>) -> Result<DocumentFile, CaptureFailure> {
        let media_type = kind::media_type(&file.head, label);
        let artifact = Artifact { digest: file.digest, size: file.size, media_type };
        let kept = DocumentFile::put(&self.0.artifacts, artifact, file.path).await;
        kept.map_err(|error| {
            warn!(%error, "could not keep a captured file");
            match error {
                ObjectsError::DiskFull(DiskFull) => failure::storage(&DiskFull.to_string()),
                _ => failure::storage("the file could not be kept: storage failed"),
            }
        })
    }

    /// Reads the text of a stored file. Also returns the name of its encoding, unless the file format fixes
    /// it.
    async fn read(
        &self,
        file: &Artifact,
        job: &CaptureJob,
    ) -> Result<(Extracted, Option<&'static str>), CaptureFailure> {
        let kind = Kind::of(&file.media_type, job.claimed_type.as_deref());
        let longest = match kind {
            Kind::Other => return Err(failure::permanent(kind::why_unread(&file.media_type))),
            Kind::Audio if self.0.transcriber.is_none() => return Err(failure::no_transcriber()),
            // One byte beyond the limit reveals a longer file.
            Kind::Text => MAX_TEXT_BYTES as u64 + 1,
            Kind::Audio | Kind::Parsed(_) => u64::MAX,
        };
        let turns = if kind == Kind::Audio { &self.0.recordings } else { &self.0.in_memory };
        let _turn = turns.take(&job.user).await;
        let bytes = self.0.artifacts.read(&file.digest, longest).await.map_err(|error| {
            warn!(%error, digest = file.digest, "could not read a captured file");
            failure::storage("the kept file could not be read: storage failed")
        })?;
        match (kind, &self.0.transcriber) {
            (Kind::Parsed(FileKind::Html), _) => {
                let page = off_thread(move || text::html_as_utf8(bytes)).await;
                let read = self.extract(FileKind::Html, page.html).await?;
                Ok((Extracted { truncated: read.truncated || page.was_cut, ..read }, Some(page.encoding)))
            }
            (Kind::Parsed(kind), _) => Ok((self.extract(kind, bytes).await?, None)),
            (Kind::Audio, Some(transcriber)) => {
                Ok((transcriber.transcribe(&file.media_type, bytes).await?, None))
            }
            _ => {
                let (read, encoding) = off_thread(move || text::read(&bytes)).await;
                if read.text.trim().is_empty() {
                    return Err(failure::permanent("the file holds no text but blanks"));
                }
                let markup = Markup::of_media_type(&file.media_type);
                let title = markup.and_then(|markup| markup.title_of(&read.text));
                Ok((Extracted { title, ..read }, Some(encoding)))
            }
        }
    }

    async fn extract(&self, kind: FileKind, bytes: Bytes) -> Result<Extracted, CaptureFailure> {
        let extracted = (self.0.extract)(kind, bytes).await;
        extracted.map_err(|ExtractError { reason, kind }| CaptureFailure { reason, kind, file: None })
    }
}

#[cfg(test)]
mod tests;
