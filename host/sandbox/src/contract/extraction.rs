//! The results of extractors, for all versions of the contract.

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The title in the file.
    pub title: Option<String>,
    /// Its text.
    pub text: String,
    /// Whether the file has more text than that.
    pub truncated: bool,
}

/// Why a file was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExtractError {
    /// The file violates its format, as described.
    Damaged(String),
    /// The file cannot be read without a password.
    Encrypted,
    /// The file uses this unsupported feature.
    Unsupported(String),
}
