//! Results of extractors.

use super::wit_extraction as wit;
use crate::contract::{ExtractError, Extracted};

impl From<wit::Extracted> for Extracted {
    fn from(it: wit::Extracted) -> Self {
        Self { title: it.title, text: it.text, truncated: it.truncated }
    }
}

impl From<wit::ExtractError> for ExtractError {
    fn from(error: wit::ExtractError) -> Self {
        match error {
            wit::ExtractError::Damaged(how) => Self::Damaged(how),
            wit::ExtractError::Encrypted => Self::Encrypted,
            wit::ExtractError::Unsupported(what) => Self::Unsupported(what),
        }
    }
}
