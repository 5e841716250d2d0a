//! The rules of documents on their way in. All problems of a batch are found at once, each with its
//! path: `documents[3].title`.

use kitbag_manifest::Problems;

use super::ValidDocument;
use super::identity::{canonical_url, content_digest, identity};
use crate::knowledge::document::{NewDocument, NewFeed};
use crate::media_type::without_parameters;

/// Documents of a batch.
const MAX_DOCUMENTS: usize = 1000;
/// Text of a batch, in bytes.
const MAX_BATCH: usize = 32 << 20;
/// Text of a document, in bytes.
const MAX_TEXT: usize = 4 << 20;
/// A URL, in bytes, as it was given and as it is kept.
const MAX_URL: usize = 2048;
/// In characters, as are the next ones.
const MAX_TITLE: usize = 1000;
const MAX_AUTHOR: usize = 500;
const MAX_FEED_KEY: usize = 500;
const MAX_FEED_NAME: usize = 500;
const MAX_FEED_LABEL: usize = 100;
/// In bytes.
const MAX_TYPE: usize = 255;

/// What `audioUrl` implies.
const AUDIO: &str = "audio/mpeg";

/// Checks a batch against every rule, and brings it into the form in which it is kept.
pub(in crate::knowledge) fn validate(documents: Vec<NewDocument>) -> Result<Vec<ValidDocument>, Problems> {
    let mut problems = Problems::default();
    if documents.len() > MAX_DOCUMENTS {
        let message = format!("at most {MAX_DOCUMENTS} at a time; these are {}", documents.len());
        problems.add("documents", message);
        return Err(problems);
    }
    let size: usize = documents.iter().filter_map(|document| document.text.as_deref()).map(str::len).sum();
    if size > MAX_BATCH {
        problems.add("documents", format!("together at most {MAX_BATCH} bytes of text; these have {size}"));
        return Err(problems);
    }
    let check = |(index, document)| {
        let path = format!("documents[{index}].");
        Checked { path, problems: &mut problems, file: FileBy::Url }.document(document)
    };
    let valid = documents.into_iter().enumerate().map(check).collect();
    if problems.0.is_empty() { Ok(valid) } else { Err(problems) }
}

/// Checks one document whose file comes with it; its problems have the paths of its fields alone.
pub(in crate::knowledge) fn validate_upload(document: NewDocument) -> Result<ValidDocument, Problems> {
    let mut problems = Problems::default();
    let valid =
        Checked { path: String::new(), problems: &mut problems, file: FileBy::Upload }.document(document);
    if problems.0.is_empty() { Ok(valid) } else { Err(problems) }
}

/// How the file of a document comes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileBy {
    /// By its URL, if there is one.
    Url,
    /// With the document.
    Upload,
}

/// One document that is looked at. Where a field breaks a rule, something harmless takes its place, and
/// the others are looked at all the same.
struct Checked<'a> {
    /// What stands before the name of a field.
    path: String,
    problems: &'a mut Problems,
    file: FileBy,
}

impl Checked<'_> {
    fn document(&mut self, it: NewDocument) -> ValidDocument {
        let title = self.required("title", &it.title, MAX_TITLE);
        let url = it.url.and_then(|url| self.url("url", &url));
        let author = it.author.and_then(|author| self.optional("author", &author, MAX_AUTHOR));
        let is_upload = self.file == FileBy::Upload;
        let has_file = is_upload || it.file_url.is_some() || it.audio_url.is_some();
        let claimed_type = self.claimed_type(it.mime_type, it.audio_url.is_some(), has_file);
        let file_url = self.file_url(it.file_url, it.audio_url);
        if it.capture_only && !has_file {
            self.add("captureOnly", "needs fileUrl or audioUrl: there is nothing to capture");
        }
        let text = self.text(it.text, has_file);
        let feed = it.feed.map(|feed| self.feed(&feed));
        ValidDocument {
            identity: identity(url.as_deref(), file_url.as_deref(), &text),
            digest: content_digest(&title, &text),
            title,
            text,
            url,
            author,
            file_url,
            upload: None,
            claimed_type,
            capture_only: it.capture_only,
            feed,
        }
    }

    /// The body as it is kept: a byte that databases and readers stumble over is no part of any text.
    fn text(&mut self, text: Option<String>, has_file: bool) -> String {
        let mut text = text.unwrap_or_default();
        text.retain(|letter| letter != '\0');
        if text.trim().is_empty() {
            if !has_file {
                self.add("text", "is required where there is neither fileUrl nor audioUrl");
            }
            return String::new();
        }
        if text.len() > MAX_TEXT {
            self.add("text", format!("may have {MAX_TEXT} bytes; it has {}", text.len()));
        }
        text
    }

    fn file_url(&mut self, file_url: Option<String>, audio_url: Option<String>) -> Option<String> {
        for (field, url) in [("fileUrl", &file_url), ("audioUrl", &audio_url)] {
            if self.file == FileBy::Upload && url.is_some() {
                self.add(field, "must not stand beside an uploaded file: a document has one file");
            }
        }
        match (file_url, audio_url) {
            (Some(_), Some(_)) => {
                self.add("audioUrl", "must not stand beside fileUrl: a document has one file");
                None
            }
            (Some(url), None) => self.url("fileUrl", &url),
            (None, Some(url)) => self.url("audioUrl", &url),
            (None, None) => None,
        }
    }

    fn claimed_type(&mut self, claimed: Option<String>, is_audio: bool, has_file: bool) -> Option<String> {
        let Some(claimed) = claimed else { return is_audio.then(|| AUDIO.to_owned()) };
        let claimed = claimed.trim();
        if !has_file {
            self.add("mimeType", "needs fileUrl: it says what that file is");
        } else if !is_media_type(claimed) {
            self.add("mimeType", "must be a media type such as application/pdf");
        } else if is_audio && !claimed.to_ascii_lowercase().starts_with("audio/") {
            self.add("mimeType", "must be a type of audio beside audioUrl; any other file goes into fileUrl");
        }
        Some(claimed.to_owned())
    }

    fn feed(&mut self, feed: &NewFeed) -> NewFeed {
        if feed.key.trim().is_empty() {
            self.add("feed.key", "must not be empty");
        } else if feed.key.chars().any(char::is_control) {
            self.add("feed.key", "must not hold control characters");
        }
        self.limit("feed.key", &feed.key, MAX_FEED_KEY);
        NewFeed {
            key: feed.key.clone(),
            name: self.required("feed.name", &feed.name, MAX_FEED_NAME),
            label: feed.label.as_deref().and_then(|label| self.optional("feed.label", label, MAX_FEED_LABEL)),
        }
    }

    fn url(&mut self, field: &str, given: &str) -> Option<String> {
        if given.len() > MAX_URL {
            self.add(field, format!("may have {MAX_URL} bytes; it has {}", given.len()));
            return None;
        }
        match canonical_url(given) {
            Ok(url) if url.len() > MAX_URL => {
                self.add(field, format!("may have {MAX_URL} bytes; written out it has {}", url.len()));
                None
            }
            Ok(url) => Some(url),
            Err(reason) => {
                self.add(field, reason);
                None
            }
        }
    }

    fn required(&mut self, field: &str, given: &str, limit: usize) -> String {
        let line = one_line(given);
        if line.is_empty() {
            self.add(field, "must not be empty");
        }
        self.limit(field, &line, limit);
        line
    }

    fn optional(&mut self, field: &str, given: &str, limit: usize) -> Option<String> {
        let line = one_line(given);
        self.limit(field, &line, limit);
        (!line.is_empty()).then_some(line)
    }

    fn limit(&mut self, field: &str, line: &str, limit: usize) {
        let length = line.chars().count();
        if length > limit {
            self.add(field, format!("may have {limit} characters; it has {length}"));
        }
    }

    fn add(&mut self, field: &str, message: impl Into<String>) {
        self.problems.add(format!("{}{field}", self.path), message);
    }
}

/// Words with one space between them: line breaks in a title are how its page was laid out, and no
/// control character has a meaning there.
fn one_line(text: &str) -> String {
    let is_gap = |letter: char| letter.is_whitespace() || letter.is_control();
    text.split(is_gap).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Whether text is `type/subtype`, perhaps with parameters.
fn is_media_type(text: &str) -> bool {
    let is_plain = text.len() <= MAX_TYPE && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    is_plain
        && without_parameters(text)
            .is_some_and(|parsed| parsed.type_() != mime::STAR && parsed.subtype() != mime::STAR)
}
