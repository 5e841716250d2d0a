//! The rules of documents on their way into a knowledge base. All problems of a batch are found at once, each
//! with its path: `documents[3].title`.

mod check;

use serde::{Deserialize, Serialize};

pub use check::{check, check_upload};

/// Documents of a batch.
pub const MAX_DOCUMENTS: usize = 1000;
/// Text of a batch, in bytes.
pub const MAX_BATCH_BYTES: usize = 32 << 20;
/// Text of a document, in bytes.
pub const MAX_TEXT_BYTES: usize = 4 << 20;
/// A URL, in bytes, as given and as stored.
pub const MAX_URL_BYTES: usize = 2048;
/// A title, in characters.
pub const MAX_TITLE_CHARS: usize = 1000;
/// A byline, in characters.
pub const MAX_AUTHOR_CHARS: usize = 500;
/// A feed's key, in characters.
pub const MAX_FEED_KEY_CHARS: usize = 500;
/// A feed's name, in characters.
pub const MAX_FEED_NAME_CHARS: usize = 500;
/// A feed's label, in characters.
pub const MAX_FEED_LABEL_CHARS: usize = 100;
/// A media type with its parameters, in bytes.
pub const MAX_MEDIA_TYPE_BYTES: usize = 255;

/// A document on its way in. As JSON, it is the `SvcIngestDoc` of the TypeScript SDK.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NewDocument {
    /// Title.
    pub title: String,
    /// Whether nobody gave the title, but it was made of a file's name: the file's own title then replaces it. Not part
    /// of the contract of toolkits.
    #[serde(skip)]
    pub title_is_name: bool,
    /// Body to index; required unless there is a file, whose text then becomes the body.
    pub text: Option<String>,
    /// Canonical URL of the original.
    pub url: Option<String>,
    /// Free-text byline.
    pub author: Option<String>,
    /// File to capture; public internet only.
    pub file_url: Option<String>,
    /// The same for audio; implies `audio/mpeg`.
    pub audio_url: Option<String>,
    /// Media type of `file_url`.
    pub mime_type: Option<String>,
    /// Whether the file is stored with a searchable record of its metadata, and not processed.
    pub capture_only: bool,
    /// Sub-group of the source's documents; deduplication happens within it.
    pub feed: Option<NewFeed>,
}

/// The feed that a document on its way in belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewFeed {
    /// The entity's stable id upstream.
    pub key: String,
    /// Shown to the user.
    pub name: String,
    /// Word for the kind of grouping.
    pub label: Option<String>,
}

/// A document that keeps every rule, in the form in which it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedDocument {
    /// Title, on one line.
    pub title: String,
    /// Whether it was made of a file's name.
    #[serde(skip)]
    pub title_is_name: bool,
    /// Body; empty only if there is a file.
    pub text: String,
    /// URL of the original, normalised and without fragment.
    pub url: Option<String>,
    /// Free-text byline, on one line.
    pub author: Option<String>,
    /// URL of the file to capture, normalised and without fragment.
    pub file_url: Option<String>,
    /// What the file is said to be.
    pub claimed_type: Option<String>,
    /// Whether the file is stored without being processed.
    pub capture_only: bool,
    /// Its feed; name and label on one line.
    pub feed: Option<NewFeed>,
}

/// What makes a document the same one when it comes again, within its feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity<'a> {
    /// Its URL.
    Url(&'a str),
    /// Without a URL: that of its file.
    File(&'a str),
    /// Without either: its text.
    Text(&'a str),
}

impl CheckedDocument {
    /// Returns what makes it the same document when it comes again.
    pub fn identity(&self) -> Identity<'_> {
        match (&self.url, &self.file_url) {
            (Some(url), _) => Identity::Url(url),
            (None, Some(file_url)) => Identity::File(file_url),
            (None, None) => Identity::Text(&self.text),
        }
    }
}

#[cfg(test)]
mod tests;
