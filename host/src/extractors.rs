//! The extractors that the operator has installed: component files in a folder, `pdf.wasm` and
//! `html.wasm`, each compiled once and then kept as sealed machine code.
//!
//! An extractor is looked for when a file first needs it: installing one needs no restart. Files that came
//! before it are read after the next start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use crate::knowledge::{Extract, ExtractError, Extracted, FailureKind, FileKind};
use crate::machine_code::MachineCode;
use crate::sandbox::{ExtractionError, Extractor, ExtractorSandbox};

/// The folder for their machine code in the data directory.
const CODE: &str = "extractor-code";
/// Files that are read at the same time: each may take as much memory as the limits allow.
const AT_ONCE: usize = 2;
/// What a person wants to read of a parser's complaint, in characters.
const COMPLAINT: usize = 200;

/// The installed extractors; a clone shares everything.
#[derive(Clone)]
pub struct Extractors(Arc<Parts>);

struct Parts {
    folder: PathBuf,
    sandbox: ExtractorSandbox,
    code: MachineCode,
    pdf: OnceCell<Extractor>,
    html: OnceCell<Extractor>,
    slots: Semaphore,
}

impl Extractors {
    /// Opens the folder of their machine code in a data directory; `folder` is where the components are.
    pub async fn open(data: &Path, folder: PathBuf, sandbox: ExtractorSandbox) -> io::Result<Self> {
        let (data, version) = (data.to_owned(), sandbox.code_version());
        let code = spawn_blocking(move || MachineCode::open(&data, CODE, &version));
        let code = code.await.map_err(io::Error::other)??;
        let (pdf, html) = (OnceCell::new(), OnceCell::new());
        Ok(Self(Arc::new(Parts { folder, sandbox, code, pdf, html, slots: Semaphore::new(AT_ONCE) })))
    }

    /// The same as a function, as the knowledge base takes it.
    pub fn into_extract(self) -> Extract {
        Arc::new(move |kind, file| {
            let extractors = self.clone();
            Box::pin(async move { extractors.extract(kind, file).await })
        })
    }

    /// Reads a whole file in the sandbox; waits while others are being read.
    pub async fn extract(&self, kind: FileKind, file: Bytes) -> Result<Extracted, ExtractError> {
        let _slot = self.0.slots.acquire().await.expect("the semaphore is never closed");
        let extractor = match kind {
            FileKind::Pdf => &self.0.pdf,
            FileKind::Html => &self.0.html,
        };
        let extractor = extractor.get_or_try_init(|| self.load(kind)).await?;
        match extractor.extract(file).await {
            Ok(it) if it.text.trim().is_empty() => Err(nothing_to_read(kind)),
            Ok(it) => Ok(Extracted { title: it.title, text: it.text, truncated: it.truncated }),
            Err(error) => Err(explain(kind, &error)),
        }
    }

    async fn load(&self, kind: FileKind) -> Result<Extractor, ExtractError> {
        let parts = self.0.clone();
        let loading = spawn_blocking(move || load(&parts, kind)).await;
        loading.unwrap_or_else(|error| Err(unusable(kind, &error)))
    }
}

/// Reads the component and makes it ready, with the machine code that is kept or that it is compiled
/// to. Blocks: for seconds, the first time.
fn load(parts: &Parts, kind: FileKind) -> Result<Extractor, ExtractError> {
    let path = parts.folder.join(file_name(kind));
    let component = std::fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => not_installed(kind),
        _ => unusable(kind, &error),
    })?;
    let digest = hex::encode(Sha256::digest(&component));
    let load_kept = || -> Result<Extractor, Box<dyn std::error::Error>> {
        Ok(parts.sandbox.load(&parts.code.sealed(&digest)?.path())?)
    };
    if let Ok(extractor) = load_kept() {
        return Ok(extractor);
    }
    info!(path = %path.display(), "compiling an extractor");
    let code = parts.sandbox.compile(&component).map_err(|error| unusable(kind, &error))?;
    parts.code.keep(&digest, &code).map_err(|error| unusable(kind, &error))?;
    load_kept().map_err(|error| unusable(kind, &error))
}

fn file_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Pdf => "pdf.wasm",
        FileKind::Html => "html.wasm",
    }
}

fn not_installed(kind: FileKind) -> ExtractError {
    let media_type = match kind {
        FileKind::Pdf => "application/pdf",
        FileKind::Html => "text/html",
    };
    let reason = format!(
        "no extractor for {media_type} is installed: the file is kept, and will be read after the \
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
    };
    ExtractError { reason: reason.to_owned(), kind: FailureKind::Permanent }
}

/// Says to a person why a file was not read.
fn explain(kind: FileKind, error: &ExtractionError) -> ExtractError {
    let file = match kind {
        FileKind::Pdf => "PDF",
        FileKind::Html => "page",
    };
    let reason = match error {
        ExtractionError::Damaged(how) => format!("the {file} is damaged: {}", complaint(how)),
        ExtractionError::Encrypted => {
            format!("the {file} is encrypted: it cannot be read without its password")
        }
        ExtractionError::Unsupported(what) => {
            format!("the {file} uses something that cannot be read: {}", complaint(what))
        }
        ExtractionError::Deadline(limit) => {
            format!("the {file} takes longer to read than a file may take ({} s)", limit.as_secs_f32())
        }
        ExtractionError::Memory(limit) => {
            format!("the {file} needs more memory than a file may use ({} MiB)", limit >> 20)
        }
        ExtractionError::Stack => format!("the {file} nests its parts too deeply to be read"),
        ExtractionError::Trap(story) => {
            warn!(extractor = file_name(kind), story, "an extractor gave up on a file");
            format!("the {file} is built in a way that its reader gave up on")
        }
    };
    ExtractError { reason, kind: FailureKind::Permanent }
}

/// The first line, without what cannot be shown.
fn complaint(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|it| !it.is_control()).take(COMPLAINT).collect()
}
