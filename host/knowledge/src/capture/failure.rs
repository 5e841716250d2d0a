//! Reasons why a capture failed, in words for the user.

use std::time::Duration;

use kitbag_net::egress::EgressError;

use crate::document_file::DocumentFile;

/// Failed capture.
#[derive(Debug)]
pub struct CaptureFailure {
    /// Cause and remedy, for the user.
    pub reason: String,
    /// Whether a retry may help.
    pub kind: FailureKind,
    /// Stored file that could not be read; `None` if nothing was stored.
    pub file: Option<DocumentFile>,
}

/// Kind of a failure: whether a retry may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Temporary: the same capture may succeed later.
    Transient,
    /// Temporary: the server could not store or read the file.
    Storage,
    /// Permanent: a retry does not help.
    Permanent,
    /// The operator has to configure a transcriber first.
    NoTranscriber,
    /// The operator has to install an extractor first.
    NoExtractor,
}

pub(super) fn permanent(reason: impl Into<String>) -> CaptureFailure {
    CaptureFailure { reason: reason.into(), kind: FailureKind::Permanent, file: None }
}

pub(super) fn transient(reason: impl Into<String>) -> CaptureFailure {
    CaptureFailure { reason: reason.into(), kind: FailureKind::Transient, file: None }
}

pub(super) fn storage(reason: &str) -> CaptureFailure {
    CaptureFailure { kind: FailureKind::Storage, ..transient(reason) }
}

pub(super) fn no_transcriber() -> CaptureFailure {
    let reason = "no transcriber is configured: the file is kept, and its speech becomes text once \
                  the operator sets transcription-url";
    CaptureFailure { reason: reason.to_owned(), kind: FailureKind::NoTranscriber, file: None }
}

pub(super) fn too_slow(limit: Duration) -> CaptureFailure {
    transient(format!("the file did not arrive within {} s", limit.as_secs_f32()))
}

pub(super) fn too_large(limit: u64) -> CaptureFailure {
    permanent(format!("the file is larger than {}", size(limit)))
}

/// Classifies a failed request.
pub(super) fn of_request(error: &EgressError) -> CaptureFailure {
    let reason = error.to_string();
    match error {
        EgressError::NotListed { .. }
        | EgressError::ForbiddenHost { .. }
        | EgressError::ForbiddenAddress { .. }
        | EgressError::ForbiddenPort { .. }
        | EgressError::InvalidRequest { .. }
        | EgressError::Redirect { .. }
        | EgressError::HeadTooLarge { .. }
        | EgressError::RequestTooLarge { .. }
        | EgressError::TooLarge { .. } => permanent(reason),
        EgressError::Status { status, .. } => of_status(status.as_u16(), reason),
        EgressError::Resolve { .. }
        | EgressError::Connect { .. }
        | EgressError::Tls { .. }
        | EgressError::Timeout { .. }
        | EgressError::Protocol { .. } => transient(reason),
    }
}

/// Classifies an HTTP status: server errors are transient, client errors permanent.
pub(super) fn of_status(status: u16, reason: String) -> CaptureFailure {
    match status {
        408 | 425 | 429 | 500.. => transient(reason),
        _ => permanent(reason),
    }
}

/// `67108864` → `64 MiB`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
