//! Capture: a file's URL becomes a kept file, and a kept file becomes text.
//!
//! ```text
//! fetch (or upload) → type from the bytes → keep → extract | decode | transcribe
//! ```
//!
//! Invariants:
//! - a file is fetched under the policy of captures, at every redirect again: nothing that is opened to
//!   toolkits is open to it;
//! - its type is read from its bytes; what its sender says chooses among kinds of text, and among documents that are
//!   archives, compound files or messages where their bytes do not tell;
//! - it is parsed in the sandbox, or not at all: what runs here decodes text and nothing else;
//! - whatever it is, it costs bounded disk, memory and time, and ends as text, as nothing to index, or
//!   as a failure with a reason;
//! - users take turns at reading, and no user has all places.

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
use kitbag_files::objects::{Files, Held, ObjectsError};
use kitbag_net::egress::Egress;
use tempfile::TempPath;
use tracing::warn;

use super::Artifact;
pub use failure::{CaptureFailure, FailureKind};
use incoming::Incoming;
use kind::{Kind, Label};
pub use text::Markup;
use transcribe::Transcriber;
pub use transcribe::TranscriptionSettings;

/// The longest text of one file, in bytes; what a file has beyond is left out.
pub const MAX_TEXT_BYTES: usize = 4 << 20;

/// Folder in the data directory for files that are arriving; emptied at every start.
const ARRIVING: &str = "captures";
/// Files whose bytes are in memory at the same time, to be decoded or extracted.
pub const MAX_FILES_IN_MEMORY: usize = 2;
/// Files of one user among them: one less than of all, so that a user whose files take long leaves a place to others.
const MAX_FILES_OF_USER: usize = MAX_FILES_IN_MEMORY - 1;
/// Recordings that are transcribed at the same time: each takes minutes, for which no other file waits.
const MAX_RECORDINGS: usize = 2;
/// Recordings of one user among them.
const MAX_RECORDINGS_OF_USER: usize = MAX_RECORDINGS - 1;

/// What the operator decides about captured files.
#[derive(Clone, Debug)]
pub struct CaptureSettings {
    /// The largest file, in bytes.
    pub size: u64,
    /// How long the fetching of one file may take.
    pub time: Duration,
    /// The service that turns speech into text, if there is one.
    pub transcription: Option<TranscriptionSettings>,
}

/// Turns a file into text, inside the sandbox.
pub type Extract =
    Arc<dyn Fn(FileKind, Bytes) -> BoxFuture<'static, Result<Extracted, ExtractError>> + Send + Sync>;

/// The kinds of files that are parsed inside the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// `application/pdf`
    Pdf,
    /// `text/html`, as UTF-8.
    Html,
    /// Office documents, e-books and notebooks.
    Office,
    /// `message/rfc822`
    Mail,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Pdf, Self::Html, Self::Office, Self::Mail];
}

/// What was read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The title that the file gives itself.
    pub title: Option<String>,
    /// Its text, of at most [`MAX_TEXT_BYTES`].
    pub text: String,
    /// Whether the file holds more text than that.
    pub truncated: bool,
}

/// Why a file was not turned into text; says it to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractError {
    /// For a person.
    pub reason: String,
    /// Whether trying again may help.
    pub kind: FailureKind,
}

/// What is to be captured.
#[derive(Clone, Debug, Default)]
pub(super) struct CaptureJob {
    /// Whose document it is.
    pub(super) user: Arc<str>,
    /// Where the file is; not needed once it is kept.
    pub(super) file_url: Option<String>,
    /// The media type that was claimed for it.
    pub(super) claimed_type: Option<String>,
    /// Whether the file is only kept.
    pub(super) capture_only: bool,
    /// The file, where it was kept before: by an upload, or by an earlier try.
    pub(super) kept: Option<Artifact>,
}

/// A captured file.
#[derive(Debug)]
pub(super) struct Captured {
    /// The file; to be held until the document refers to it.
    pub(super) file: Kept,
    /// The title that the file gives itself.
    pub(super) title: Option<String>,
    /// Its text; nothing where there is none to index.
    pub(super) text: Option<String>,
    /// The encoding that the text was read in, where the file does not fix it.
    pub(super) encoding: Option<&'static str>,
}

/// A file in the store, for a document that is about to refer to it, or that does so already.
#[derive(Debug)]
pub struct Kept {
    artifact: Artifact,
    put: Option<Box<Put>>,
}

/// A file that was put for a document, and its bytes as they came.
#[derive(Debug)]
struct Put {
    held: Held,
    source: TempPath,
}

impl Kept {
    /// Puts a file, of which `source` has the bytes.
    pub(super) async fn put(
        files: &Files,
        artifact: Artifact,
        source: TempPath,
    ) -> Result<Self, ObjectsError> {
        let held = files.put(&artifact.digest, &source).await?;
        Ok(Self { artifact, put: Some(Box::new(Put { held, source })) })
    }

    /// A file to which the document refers already.
    pub(super) fn of_document(artifact: Artifact) -> Self {
        Self { artifact, put: None }
    }

    /// What is kept.
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// What the document has to refer to; `None` if it does so already.
    pub(super) fn held(&self) -> Option<&Held> {
        self.put.as_ref().map(|put| &put.held)
    }

    /// Puts the file again, because it was dropped before the document referred to it.
    pub(super) async fn put_again(&mut self, files: &Files) -> Result<(), ObjectsError> {
        if let Some(put) = self.put.take() {
            let Put { held, source } = *put;
            let held = files.put_again(held, &source).await?;
            self.put = Some(Box::new(Put { held, source }));
        }
        Ok(())
    }

    /// Does without the file: the document does not want it any more.
    pub(super) async fn give_up(self, files: &Files) {
        if let Some(put) = self.put {
            files.give_up(put.held).await;
        }
    }
}

/// Captures files; a clone shares everything.
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
    /// Opens the folder of a data directory for files that arrive, and throws away what earlier runs left there. Captured
    /// files are kept in `artifacts`.
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

    /// The captured files.
    pub fn artifacts(&self) -> &Files {
        &self.0.artifacts
    }

    /// Bytes that a file may have.
    pub(super) fn max_size(&self) -> u64 {
        self.0.settings.size
    }

    /// Whether what failed for want of a transcriber may be tried again.
    pub(super) fn can_transcribe(&self) -> bool {
        self.0.transcriber.is_some()
    }

    /// Keeps a file that somebody uploads, of the same size at most as one that is fetched; how slowly it
    /// may come is for whoever receives it to say. `name` and `claimed_type` are what the sender says
    /// about it.
    pub async fn keep<E: std::fmt::Display>(
        &self,
        upload: impl Stream<Item = Result<Bytes, E>>,
        claimed_type: Option<&str>,
        name: Option<&str>,
    ) -> Result<Kept, CaptureFailure> {
        let file = incoming::receive(&self.0.arriving, upload, self.0.settings.size).await?;
        self.store(file, &Label { media_type: claimed_type, name }).await
    }

    /// Does a job: fetches the file unless it is kept already, and reads its text.
    pub(super) async fn capture(&self, job: &CaptureJob) -> Result<Captured, CaptureFailure> {
        let file = match &job.kept {
            Some(artifact) => Kept::of_document(artifact.clone()),
            None => self.fetch(job).await?,
        };
        if job.capture_only {
            return Ok(Captured { file, title: None, text: None, encoding: None });
        }
        match self.read(&file.artifact, job).await {
            Ok((read, encoding)) => {
                let text = text::noting_the_cut(read.text, read.truncated);
                let text = Some(text).filter(|text| !text.trim().is_empty());
                let title = read.title.map(|title| text::line(&title)).filter(|title| !title.is_empty());
                Ok(Captured { file, title, text, encoding })
            }
            Err(failure) => Err(CaptureFailure { file: Some(file), ..failure }),
        }
    }

    async fn fetch(&self, job: &CaptureJob) -> Result<Kept, CaptureFailure> {
        let Parts { egress, arriving, settings, .. } = &*self.0;
        let url = job.file_url.as_deref().ok_or_else(|| failure::permanent("there is no file to capture"))?;
        let fetched = fetch::fetch(egress, url, &job.user, arriving, settings).await?;
        // The sender's own word is nearer to the file than that of whoever ingested it.
        let claimed = fetched.media_type.as_deref().filter(|it| kind::is_telling(it));
        let label = Label { media_type: claimed.or(job.claimed_type.as_deref()), name: Some(&fetched.name) };
        self.store(fetched.file, &label).await
    }

    async fn store(&self, file: Incoming, label: &Label<'_>) -> Result<Kept, CaptureFailure> {
        let media_type = kind::media_type(&file.head, label);
        let artifact = Artifact { digest: file.digest, size: file.size, media_type };
        let kept = Kept::put(&self.0.artifacts, artifact, file.path).await;
        kept.map_err(|error| {
            warn!(%error, "could not keep a captured file");
            match error {
                ObjectsError::DiskFull(DiskFull) => failure::storage(&DiskFull.to_string()),
                _ => failure::storage("the file could not be kept: storage failed"),
            }
        })
    }

    /// Reads the text of a kept file; returns the name of its encoding as well, where the kind of file leaves that open.
    async fn read(
        &self,
        file: &Artifact,
        job: &CaptureJob,
    ) -> Result<(Extracted, Option<&'static str>), CaptureFailure> {
        let kind = Kind::of(&file.media_type, job.claimed_type.as_deref());
        let longest = match kind {
            Kind::Other => return Err(failure::permanent(kind::why_unread(&file.media_type))),
            Kind::Audio if self.0.transcriber.is_none() => return Err(failure::no_transcriber()),
            // One byte more than fits, so that a longer file is seen to be longer.
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
