//! The extractors that the operator has installed: component files in a folder, one for each [`FileKind`], each
//! compiled once and then stored as sealed machine code (`installed`).
//!
//! An extractor is loaded when a file first needs it, so installing one needs no restart. Files captured
//! before that are read after the next start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use kitbag_knowledge::{Extract, ExtractError, Extracted, FailureKind, FileKind};
use tokio::sync::{OnceCell, Semaphore};
use tracing::warn;

use crate::compiler::Compiler;
use crate::installed::{InstalledComponents, NotLoaded, Role};
use crate::{ExtractionError, Extractor, ExtractorSandbox};

/// Subfolder of the data directory with the machine code of extractors.
const CODE_FOLDER: &str = "extractor-code";
/// Maximum number of concurrent extractions; each may use the memory of the setting `extraction-memory`.
const MAX_CONCURRENT: usize = 2;
/// Maximum length of a parser's error message, in characters.
const MAX_ERROR_CHARS: usize = 200;

/// The installed extractors. Clones share all state.
#[derive(Clone)]
pub struct Extractors(Arc<Parts>);

struct Parts {
    sandbox: ExtractorSandbox,
    installed: InstalledComponents,
    /// Loaded extractors, in the order of [`FileKind::ALL`].
    loaded: [OnceCell<Extractor>; FileKind::ALL.len()],
    slots: Semaphore,
}

impl Extractors {
    /// Opens the folder of machine code in the data directory `data`. `folder` contains the installed
    /// components.
    pub async fn open(
        data: &Path,
        folder: PathBuf,
        sandbox: ExtractorSandbox,
        compiler: Compiler,
    ) -> io::Result<Self> {
        let version = sandbox.code_version();
        let installed =
            InstalledComponents::open(data, CODE_FOLDER, folder, Role::Extractor, version, compiler).await?;
        let loaded = FileKind::ALL.map(|_| OnceCell::new());
        let slots = Semaphore::new(MAX_CONCURRENT);
        Ok(Self(Arc::new(Parts { sandbox, installed, loaded, slots })))
    }

    /// Returns [`extract`](Self::extract) as a function, for the knowledge base.
    pub fn into_extract(self) -> Extract {
        Arc::new(move |kind, file| {
            let extractors = self.clone();
            Box::pin(async move { extractors.extract(kind, file).await })
        })
    }

    /// Extracts the text of a whole file in the sandbox. Waits while the maximum number of extractions is
    /// running.
    pub async fn extract(&self, kind: FileKind, file: Bytes) -> Result<Extracted, ExtractError> {
        let _slot = self.0.slots.acquire().await.expect("the semaphore is never closed");
        let extractor = self.0.loaded[kind as usize].get_or_try_init(|| self.load(kind)).await?;
        match extractor.extract(file).await {
            Ok(it) if it.text.trim().is_empty() => Err(nothing_to_read(kind)),
            Ok(it) => Ok(Extracted { title: it.title, text: it.text, truncated: it.truncated }),
            Err(error) => Err(explain(kind, &error)),
        }
    }

    async fn load(&self, kind: FileKind) -> Result<Extractor, ExtractError> {
        let sandbox = self.0.sandbox.clone();
        let loaded = self.0.installed.load(file_name(kind), move |code| sandbox.load(code)).await;
        loaded.map_err(|error| match error {
            NotLoaded::Missing => not_installed(kind),
            NotLoaded::Unusable(cause) => unusable(kind, &cause),
        })
    }
}

fn file_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Pdf => "pdf.wasm",
        FileKind::Html => "html.wasm",
        FileKind::Office => "office.wasm",
        FileKind::Mail => "mail.wasm",
    }
}

fn not_installed(kind: FileKind) -> ExtractError {
    let files = match kind {
        FileKind::Pdf => "application/pdf",
        FileKind::Html => "text/html",
        FileKind::Office => "office documents and e-books",
        FileKind::Mail => "message/rfc822",
    };
    let reason = format!(
        "no extractor for {files} is installed: the file is kept, and will be read after the \
         operator has put {} into the folder of the setting extractors and started the server again",
        file_name(kind)
    );
    ExtractError { reason, kind: FailureKind::NoExtractor }
}

fn unusable(kind: FileKind, error: &dyn std::fmt::Display) -> ExtractError {
    warn!(extractor = file_name(kind), %error, "an extractor cannot be used");
    let reason = format!("the extractor {} cannot be used; the server's log says why", file_name(kind));
    ExtractError { reason, kind: FailureKind::NoExtractor }
}

fn nothing_to_read(kind: FileKind) -> ExtractError {
    let reason = match kind {
        FileKind::Pdf => "the PDF holds no text that can be read: its pages may be pictures",
        FileKind::Html => "the page holds no text: it may be written by a script, and none runs here",
        FileKind::Office => {
            "the document holds no text that can be read: it may be empty, or hold only pictures"
        }
        FileKind::Mail => "the message holds no text",
    };
    ExtractError { reason: reason.to_owned(), kind: FailureKind::Permanent }
}

/// Explains to the user why a file was not read.
fn explain(kind: FileKind, error: &ExtractionError) -> ExtractError {
    let file = match kind {
        FileKind::Pdf => "PDF",
        FileKind::Html => "page",
        FileKind::Office => "document",
        FileKind::Mail => "message",
    };
    let reason = match error {
        ExtractionError::Damaged(how) => format!("the {file} is damaged: {}", first_line(how)),
        ExtractionError::Encrypted => {
            format!("the {file} is protected by a password, without which it cannot be read")
        }
        ExtractionError::Unsupported(what) => {
            format!("the {file} uses something that cannot be read: {}", first_line(what))
        }
        ExtractionError::Deadline(limit) => {
            format!("the {file} takes longer to read than a file may take ({} s)", limit.as_secs_f32())
        }
        ExtractionError::Memory(limit) => {
            format!("the {file} needs more memory than a file may use ({} MiB)", limit >> 20)
        }
        ExtractionError::Stack => format!("the {file} nests its parts too deeply to be read"),
        ExtractionError::Trap(detail) => {
            warn!(extractor = file_name(kind), detail, "an extractor gave up on a file");
            format!("the {file} is built in a way that its reader gave up on")
        }
    };
    ExtractError { reason, kind: FailureKind::Permanent }
}

/// Returns the first line without control characters, limited in length.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|it| !it.is_control()).take(MAX_ERROR_CHARS).collect()
}
