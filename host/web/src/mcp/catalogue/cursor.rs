//! Cursor of `tools/list`.
//!
//! A cursor consists of section, toolkit and the number of tools already listed. So it stays valid when
//! toolkits are added, removed or changed: no tool that exists throughout is omitted or listed twice.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Section;

/// Start of a page. By default, the start of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor(Section, String, usize);

/// Error: a cursor that this server did not issue.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("this cursor is not one of nextCursor; start without one")]
pub(crate) struct InvalidCursor;

impl Cursor {
    /// Creates the cursor after the tool at `index` of a toolkit.
    pub(super) fn after(section: Section, toolkit_id: &str, index: usize) -> Self {
        Self(section, toolkit_id.to_owned(), index + 1)
    }

    /// Number of tools of a toolkit on earlier pages; `usize::MAX` for all.
    pub(super) fn listed_of(&self, section: Section, toolkit_id: &str) -> usize {
        match (section, toolkit_id).cmp(&(self.0, &self.1)) {
            std::cmp::Ordering::Less => usize::MAX,
            std::cmp::Ordering::Equal => self.2,
            std::cmp::Ordering::Greater => 0,
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_vec(self).expect("plain data always serialises");
        out.write_str(&URL_SAFE_NO_PAD.encode(json))
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidCursor)?;
        serde_json::from_slice(&json).map_err(|_| InvalidCursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_journey() {
        let cursor = Cursor::after(Section::Others, "text", 4);

        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for stranger in ["", "text", "e30", "W10", "bm90IGpzb24", "!"] {
            assert_eq!(stranger.parse::<Cursor>(), Err(InvalidCursor), "{stranger}");
        }
    }

    #[test]
    fn toolkits_before_it_are_listed_and_toolkits_after_it_are_not() {
        let cursor = Cursor::after(Section::Others, "m", 1);

        let listed = |section| ["a", "m", "z"].map(|id| cursor.listed_of(section, id));

        assert_eq!(listed(Section::AlwaysOn), [usize::MAX; 3]);
        assert_eq!(listed(Section::Others), [usize::MAX, 2, 0]);
        assert_eq!(Cursor::default().listed_of(Section::AlwaysOn, "a"), 0);
    }
}
