//! The setting `audit-anchor`.

use std::path::PathBuf;
use std::str::FromStr;

use url::Url;

use super::value::ServiceUrl;

/// What the setting may be.
const WANTED: &str = "it is the absolute path of a file, or a URL such as https://anchors.example.com/kitbag";

/// Where anchors of the audit log go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditAnchor {
    /// File to which they are appended.
    File(PathBuf),
    /// URL to which they are sent.
    Url(Url),
}

impl FromStr for AuditAnchor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("http://") || text.starts_with("https://") {
            let url: ServiceUrl = text.parse()?;
            return url.get().cloned().map(Self::Url).ok_or_else(|| WANTED.to_owned());
        }
        let path = PathBuf::from(text);
        if path.is_absolute() && path.file_name().is_some() {
            return Ok(Self::File(path));
        }
        Err(WANTED.to_owned())
    }
}
