//! Validates documents, and normalises them for storage.

use url::Url;

use super::{
    CheckedDocument, MAX_AUTHOR_CHARS, MAX_BATCH_BYTES, MAX_DOCUMENTS, MAX_FEED_KEY_CHARS,
    MAX_FEED_LABEL_CHARS, MAX_FEED_NAME_CHARS, MAX_MEDIA_TYPE_BYTES, MAX_TEXT_BYTES, MAX_TITLE_CHARS,
    MAX_URL_BYTES, NewDocument, NewFeed,
};
use crate::Problems;
use crate::egress::has_user_information;
use crate::media_type::without_parameters;

/// Default media type of `audioUrl`.
const AUDIO: &str = "audio/mpeg";

/// Validates a batch against every rule, and normalises it for storage.
pub fn check(documents: Vec<NewDocument>) -> Result<Vec<CheckedDocument>, Problems> {
    let mut problems = Problems::default();
    if documents.len() > MAX_DOCUMENTS {
        let message = format!("at most {MAX_DOCUMENTS} at a time; these are {}", documents.len());
        problems.add("documents", message);
        return Err(problems);
    }
    let size: usize = documents.iter().filter_map(|document| document.text.as_deref()).map(str::len).sum();
    if size > MAX_BATCH_BYTES {
        problems
            .add("documents", format!("together at most {MAX_BATCH_BYTES} bytes of text; these have {size}"));
        return Err(problems);
    }
    let check = |(index, document)| {
        let path = format!("documents[{index}].");
        Check { path, problems: &mut problems, file: FileBy::Url }.document(document)
    };
    let checked = documents.into_iter().enumerate().map(check).collect();
    if problems.0.is_empty() { Ok(checked) } else { Err(problems) }
}

/// Validates a document that is uploaded together with its file. The path of a problem is the name of the
/// field.
pub fn check_upload(document: NewDocument) -> Result<CheckedDocument, Problems> {
    let mut problems = Problems::default();
    let checked =
        Check { path: String::new(), problems: &mut problems, file: FileBy::Upload }.document(document);
    if problems.0.is_empty() { Ok(checked) } else { Err(problems) }
}

/// Origin of a document's file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileBy {
    /// Downloaded from the document's file URL, if there is one.
    Url,
    /// Uploaded together with the document.
    Upload,
}

/// Validation of one document. An invalid field is replaced with a harmless value, so that the other fields
/// are validated too.
struct Check<'a> {
    /// Prefix of field names in problems, such as `documents[3].`.
    path: String,
    problems: &'a mut Problems,
    file: FileBy,
}

impl Check<'_> {
    fn document(&mut self, it: NewDocument) -> CheckedDocument {
        let title = self.required("title", &it.title, MAX_TITLE_CHARS);
        let url = it.url.and_then(|url| self.url("url", &url));
        let author = it.author.and_then(|author| self.optional("author", &author, MAX_AUTHOR_CHARS));
        let is_upload = self.file == FileBy::Upload;
        let has_file = is_upload || it.file_url.is_some() || it.audio_url.is_some();
        let claimed_type = self.claimed_type(it.mime_type, it.audio_url.is_some(), has_file);
        let file_url = self.file_url(it.file_url, it.audio_url);
        if it.capture_only && !has_file {
            self.add("captureOnly", "needs fileUrl or audioUrl: there is nothing to capture");
        }
        let text = self.text(it.text, has_file);
        let feed = it.feed.map(|feed| self.feed(feed));
        let capture_only = it.capture_only;
        let title_is_name = it.title_is_name;
        CheckedDocument {
            title,
            title_is_name,
            text,
            url,
            author,
            file_url,
            claimed_type,
            capture_only,
            feed,
        }
    }

    /// Returns the text without NUL characters: databases and parsers fail on them, and no text needs them.
    fn text(&mut self, text: Option<String>, has_file: bool) -> String {
        let mut text = text.unwrap_or_default();
        text.retain(|letter| letter != '\0');
        if text.trim().is_empty() {
            if !has_file {
                self.add("text", "is required where there is neither fileUrl nor audioUrl");
            }
            return String::new();
        }
        if text.len() > MAX_TEXT_BYTES {
            self.add("text", format!("may have {MAX_TEXT_BYTES} bytes; it has {}", text.len()));
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
            return None;
        }
        let Some(parsed) = media_type(claimed) else {
            self.add("mimeType", "must be a media type such as application/pdf");
            return None;
        };
        if is_audio && parsed.type_() != mime::AUDIO {
            self.add("mimeType", "must be a type of audio beside audioUrl; any other file goes into fileUrl");
        }
        Some(claimed.to_owned())
    }

    fn feed(&mut self, feed: NewFeed) -> NewFeed {
        if feed.key.trim().is_empty() {
            self.add("feed.key", "must not be empty");
        } else if feed.key.chars().any(char::is_control) {
            self.add("feed.key", "must not hold control characters");
        }
        self.limit("feed.key", &feed.key, MAX_FEED_KEY_CHARS);
        NewFeed {
            name: self.required("feed.name", &feed.name, MAX_FEED_NAME_CHARS),
            label: feed
                .label
                .as_deref()
                .and_then(|label| self.optional("feed.label", label, MAX_FEED_LABEL_CHARS)),
            key: feed.key,
        }
    }

    fn url(&mut self, field: &str, given: &str) -> Option<String> {
        if given.len() > MAX_URL_BYTES {
            self.add(field, format!("may have {MAX_URL_BYTES} bytes; it has {}", given.len()));
            return None;
        }
        match canonical_url(given) {
            Ok(url) if url.len() > MAX_URL_BYTES => {
                self.add(field, format!("may have {MAX_URL_BYTES} bytes; written out it has {}", url.len()));
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

/// Joins the words of a text with one space each: line breaks in a title come from the layout of its page, and control
/// characters mean nothing there.
fn one_line(text: &str) -> String {
    let is_gap = |letter: char| letter.is_whitespace() || letter.is_control();
    text.split(is_gap).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Parses `type/subtype`, with or without parameters; `None` if it is not valid, too long or a range.
fn media_type(text: &str) -> Option<mime::Mime> {
    let is_plain =
        text.len() <= MAX_MEDIA_TYPE_BYTES && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    without_parameters(text)
        .filter(|parsed| is_plain && parsed.type_() != mime::STAR && parsed.subtype() != mime::STAR)
}

/// Parses the URL of a page or a file as browsers do, and removes the fragment, which never reaches a server. Returns
/// what is wrong with it otherwise.
fn canonical_url(text: &str) -> Result<String, &'static str> {
    const ABSOLUTE: &str = "must be an absolute http or https URL";

    let mut url = Url::parse(text).map_err(|_| ABSOLUTE)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(ABSOLUTE);
    }
    if has_user_information(&url) {
        return Err("must not hold a user name or a password");
    }
    url.set_fragment(None);
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_page_has_one_url_however_it_is_spelled() {
        for (given, canonical) in [
            ("https://Example.COM", "https://example.com/"),
            ("https://example.com:443/a/../b", "https://example.com/b"),
            (" https://example.com/a#part ", "https://example.com/a"),
            ("https://example.com/a b?q=ä", "https://example.com/a%20b?q=%C3%A4"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://example.com/A?b=C", "https://example.com/A?b=C"),
        ] {
            assert_eq!(canonical_url(given).as_deref(), Ok(canonical));
        }
    }

    #[test]
    fn what_is_no_page_and_what_holds_credentials_is_refused() {
        for (given, reason) in [
            ("", "absolute"),
            ("/a", "absolute"),
            ("example.com/a", "absolute"),
            ("ftp://example.com/a", "absolute"),
            ("javascript:alert(1)", "absolute"),
            ("data:text/plain,a", "absolute"),
            ("file:///etc/passwd", "absolute"),
            ("https://", "absolute"),
            ("https://ana@example.com/", "user name"),
            ("https://ana:pass@example.com/", "password"),
            ("https://:pass@example.com/", "password"),
        ] {
            let refusal = canonical_url(given).expect_err(given);
            assert!(refusal.contains(reason), "{given}: {refusal}");
        }
    }

    #[test]
    fn a_media_type_is_one_and_not_a_range() {
        for text in ["text/html", "Audio/OGG; codecs=opus", "application/vnd.api+json ; v=1"] {
            assert!(media_type(text).is_some(), "{text}");
        }
        let long = format!("text/plain; a={}", "x".repeat(MAX_MEDIA_TYPE_BYTES));
        for text in ["", "pdf", "a/b/c", "*/*", "text/*", "text/plain; a=\u{7}", "text/plain; a=ä", &long] {
            assert!(media_type(text).is_none(), "{text}");
        }
    }
}
