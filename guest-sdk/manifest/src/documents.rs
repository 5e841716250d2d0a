//! Documents to ingest into a knowledge base, and their validation. All problems of a batch are reported at once,
//! each with its path: `documents[3].title`.

#[cfg(feature = "rules")]
mod check;
#[cfg(feature = "rules")]
mod clean;

use serde::{Deserialize, Serialize};

#[cfg(feature = "rules")]
pub use check::{check, check_upload};
#[cfg(feature = "rules")]
pub use clean::clean;

/// Maximum number of documents in a batch.
pub const MAX_DOCUMENTS: usize = 1000;
/// Maximum total text of a batch, in bytes.
pub const MAX_BATCH_BYTES: usize = 32 << 20;
/// Maximum text of a document, in bytes.
pub const MAX_TEXT_BYTES: usize = 4 << 20;
/// Maximum length of a URL, in bytes; applies as given and as stored.
pub const MAX_URL_BYTES: usize = 2048;
/// Maximum length of a title, in characters.
pub const MAX_TITLE_CHARS: usize = 1000;
/// Maximum length of a byline, in characters.
pub const MAX_AUTHOR_CHARS: usize = 500;
/// Maximum length of a feed's key, in characters.
pub const MAX_FEED_KEY_CHARS: usize = 500;
/// Maximum length of a feed's name, in characters.
pub const MAX_FEED_NAME_CHARS: usize = 500;
/// Maximum length of a feed's label, in characters.
pub const MAX_FEED_LABEL_CHARS: usize = 100;
/// Maximum length of a media type with its parameters, in bytes.
pub const MAX_MEDIA_TYPE_BYTES: usize = 255;

/// A document to ingest, not yet checked: a title, and a text or a file. Its JSON form is the `SvcIngestDoc` of the
/// TypeScript SDK.
///
/// ```
/// # use kitbag_manifest::documents::NewDocument;
/// NewDocument {
///     title: "Minutes of May".into(),
///     text: Some("All were there.".into()),
///     ..NewDocument::default()
/// };
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NewDocument {
    /// Title; required.
    pub title: String,
    /// Whether the title was derived from a file name. If so, a title found in the file replaces it. Not part
    /// of the contract of toolkits.
    #[doc(hidden)]
    #[serde(skip)]
    pub title_is_name: bool,
    /// Text to index; required unless there is a file, whose text is then indexed.
    pub text: Option<String>,
    /// Canonical URL of the original.
    pub url: Option<String>,
    /// Free-text byline.
    pub author: Option<String>,
    /// URL of a file to capture; public internet only.
    pub file_url: Option<String>,
    /// URL of an audio file to capture; implies `audio/mpeg`. Public internet only.
    pub audio_url: Option<String>,
    /// Media type of `file_url`.
    pub mime_type: Option<String>,
    /// Whether to store the file without processing it, with a searchable record of its metadata.
    pub capture_only: bool,
    /// Group of the source's documents that the document belongs to. Documents are deduplicated per feed.
    pub feed: Option<NewFeed>,
}

/// A text of a document, as its sender wrote it.
#[cfg(feature = "rules")]
pub struct DocumentText<'a> {
    /// Path of the field.
    pub field: &'static str,
    /// Whether the text identifies something or points to it: a changed one would mean something else.
    pub is_fixed: bool,
    /// The text.
    pub text: &'a mut String,
}

#[cfg(feature = "rules")]
impl NewDocument {
    /// Returns all texts of the document.
    pub fn texts(&mut self) -> impl Iterator<Item = DocumentText<'_>> {
        let Self {
            title,
            title_is_name: _,
            text,
            url,
            author,
            file_url,
            audio_url,
            mime_type,
            capture_only: _,
            feed,
        } = self;
        let (key, name, label) = match feed {
            Some(NewFeed { key, name, label }) => (Some(key), Some(name), label.as_mut()),
            None => (None, None, None),
        };
        let fixed = [
            ("url", url.as_mut()),
            ("fileUrl", file_url.as_mut()),
            ("audioUrl", audio_url.as_mut()),
            ("mimeType", mime_type.as_mut()),
            ("feed.key", key),
        ];
        let free = [
            ("title", Some(title)),
            ("text", text.as_mut()),
            ("author", author.as_mut()),
            ("feed.name", name),
            ("feed.label", label),
        ];
        let fixed = fixed.into_iter().map(|(field, text)| (field, true, text));
        let all = fixed.chain(free.into_iter().map(|(field, text)| (field, false, text)));
        all.filter_map(|(field, is_fixed, text)| Some(DocumentText { field, is_fixed, text: text? }))
    }
}

/// Feed of a document to ingest: a channel, a show, a company. Documents are deduplicated per feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewFeed {
    /// Stable id of the feed at its origin, such as a channel's id; not its display name.
    pub key: String,
    /// Display name.
    pub name: String,
    /// Word for the type of group, such as `channel`.
    pub label: Option<String>,
}

/// A valid document, normalised for storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedDocument {
    /// Title, on one line.
    pub title: String,
    /// Whether the title was derived from a file name.
    #[serde(skip)]
    pub title_is_name: bool,
    /// Text to index; empty only if there is a file.
    pub text: String,
    /// URL of the original, normalised and without fragment.
    pub url: Option<String>,
    /// Free-text byline, on one line.
    pub author: Option<String>,
    /// URL of the file to capture, normalised and without fragment.
    pub file_url: Option<String>,
    /// Media type of the file as given by the caller, not yet verified.
    pub claimed_type: Option<String>,
    /// Whether to store the file without processing it.
    pub capture_only: bool,
    /// Feed of the document; name and label are on one line.
    pub feed: Option<NewFeed>,
}

/// Deduplication key of a document within its feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity<'a> {
    /// URL of the document.
    Url(&'a str),
    /// URL of the file, for a document without a URL.
    File(&'a str),
    /// Text, for a document without any URL.
    Text(&'a str),
}

impl CheckedDocument {
    /// Returns the deduplication key. An ingested document replaces one with the same key.
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
