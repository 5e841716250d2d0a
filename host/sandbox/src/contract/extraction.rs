//! The results of extractors, for all versions of the contract.

/// The extracted text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// Title from the file.
    pub title: Option<String>,
    /// The text.
    pub text: String,
    /// Whether the file contains more text.
    pub truncated: bool,
}

/// Reason why a file was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExtractError {
    /// The file violates its format, as described.
    Damaged(String),
    /// The file cannot be read without a password.
    Encrypted,
    /// The file uses this unsupported feature.
    Unsupported(String),
}
