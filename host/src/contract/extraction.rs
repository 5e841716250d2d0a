//! What an extractor returns, whatever version of the contract it speaks.

/// What was read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The title that the file gives itself.
    pub title: Option<String>,
    /// Its text.
    pub text: String,
    /// Whether the file holds more text than that.
    pub truncated: bool,
}

/// Why a file was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExtractError {
    /// The file breaks the rules of its format; says how.
    Damaged(String),
    /// The file cannot be read without a password.
    Encrypted,
    /// The file uses what the extractor cannot read; says what.
    Unsupported(String),
}
