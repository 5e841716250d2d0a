//! Files by URL.

use super::document::Artifact;

/// What captures need.
#[derive(Clone)]
pub(super) struct CaptureParts;

/// A file to capture.
#[derive(Clone, Debug)]
pub(super) struct CaptureJob {
    pub(super) user_id: String,
    /// The document's sequence.
    pub(super) document: i64,
    pub(super) file_url: String,
    pub(super) claimed_type: Option<String>,
    pub(super) capture_only: bool,
}

/// What was captured.
#[derive(Debug)]
pub(super) struct Captured {
    pub(super) artifact: Artifact,
    pub(super) title: Option<String>,
    /// Nothing where nothing was to be read.
    pub(super) text: Option<String>,
}

/// Why it was not.
#[derive(Debug)]
pub(super) struct CaptureFailure {
    /// For a person.
    pub(super) reason: String,
    pub(super) is_transient: bool,
    /// The file, where that much went well.
    pub(super) artifact: Option<Artifact>,
}

/// Captures a file.
pub(super) async fn capture(_parts: &CaptureParts, _job: &CaptureJob) -> Result<Captured, CaptureFailure> {
    let reason = "this server does not capture files yet".to_owned();
    Err(CaptureFailure { reason, is_transient: false, artifact: None })
}

/// Reasons for which captures have failed before, and would not fail now.
pub(super) fn overcome(_parts: &CaptureParts) -> &'static [&'static str] {
    &[]
}
