//! Vouching: an operator vouches for a version, so that no user is asked to agree to its reach.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum length of a reason, in characters.
const MAX_CHARS: usize = 300;

/// The reason why an operator vouches for a version, shown to users: one line of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VouchReason(String);

/// An operator's vouch for the live version, valid until a version is made live again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vouch {
    /// Id of the operator.
    pub by: String,
    /// The reason, shown to users.
    pub reason: String,
}

impl VouchReason {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VouchReason {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text.chars().count() > MAX_CHARS || text.contains(char::is_control) {
            return Err(format!("a reason to vouch has 1 to {MAX_CHARS} characters, in one line"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for VouchReason {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<VouchReason> for String {
    fn from(VouchReason(text): VouchReason) -> Self {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(
            " Read by two of us. ".parse::<VouchReason>().expect("a reason").as_str(),
            "Read by two of us."
        );
        for text in ["", "  ", "a\nb", "a\0b", &"x".repeat(MAX_CHARS + 1)] {
            assert!(text.parse::<VouchReason>().is_err(), "{text:?}");
        }
        assert!("é".repeat(MAX_CHARS).parse::<VouchReason>().is_ok());
    }
}
