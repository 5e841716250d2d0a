//! Upload of document files from a user's disk, and download by those who may read them.

pub(super) mod fuzzing;

use std::io;

use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, TryStreamExt};
use kitbag_access::User;
use kitbag_access::values::knowledge::{Change, NewDocument, NewFeed};
use kitbag_base::visible;
use kitbag_manifest::file_formats;
use kitbag_manifest::media_type::without_parameters;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// Metadata of a file, in the query string.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct About {
    /// Defaults to the file name without its extension, until the file's own title is known.
    title: Option<String>,
    /// File name.
    name: Option<String>,
    url: Option<String>,
    author: Option<String>,
    mime_type: Option<String>,
    #[serde(default)]
    capture_only: bool,
    /// Collection, by id; without it, the user's own documents.
    collection: Option<String>,
    feed_key: Option<String>,
    /// Defaults to the key.
    feed_name: Option<String>,
}

/// Result of an upload.
#[derive(Serialize)]
pub(super) struct Stored {
    id: String,
    change: &'static str,
}

/// `POST /documents/file`: the file as the body, its metadata in the query string.
pub(super) async fn upload(
    By(user): By<User>,
    Query(about): Query<About>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Stored>), WebError> {
    let file = body.into_data_stream().map_err(io::Error::other).boxed();
    let name = about.name.clone();
    let holder = user.documents().of(about.collection.as_deref())?;
    let document = about.into_document()?;
    let stored = holder.ingest_file(document, name.as_deref(), file, declared_length(&headers)).await?;
    let (status, change) = match stored.change {
        Change::Created => (StatusCode::CREATED, "CREATED"),
        Change::Updated => (StatusCode::OK, "UPDATED"),
        Change::Unchanged => (StatusCode::OK, "UNCHANGED"),
    };
    Ok((status, Json(Stored { id: stored.id, change })))
}

/// Length of a body as declared by its sender (RFC 9110, section 8.6).
pub(super) fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// `GET /documents/{id}/artifact`: the captured file, for those who may read the document. Others get the same
/// response as for a document that does not exist.
///
/// Sent so that browsers never render it: captured content comes from anywhere, and this is the server's
/// origin.
pub(super) async fn artifact(By(user): By<User>, Path(id): Path<String>) -> Result<Response, WebError> {
    let documents = user.documents();
    let document = documents.summary(&id).await?;
    let (artifact, bytes) = documents.artifact(&id).await?;
    let mut headers = HeaderMap::new();
    let octets = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, artifact.media_type.parse().unwrap_or(octets));
    headers.insert(header::CONTENT_LENGTH, artifact.size.into());
    let name = file_name(&document.title, &artifact.media_type);
    headers.insert(header::CONTENT_DISPOSITION, disposition(&name));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    Ok((headers, Body::from_stream(bytes)).into_response())
}

/// Creates a document for a file of which only the name is known.
pub(super) fn named(file_name: &str) -> NewDocument {
    let title =
        std::path::Path::new(file_name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    NewDocument { title, title_is_name: true, ..NewDocument::default() }
}

impl About {
    fn into_document(self) -> Result<NewDocument, WebError> {
        let about = self;
        let titled = match (about.title, &about.name) {
            (Some(title), _) => NewDocument { title, ..NewDocument::default() },
            (None, Some(name)) => named(name),
            (None, None) => {
                let detail = "the query needs a title, or the name of the file";
                return Err(WebError::new(StatusCode::BAD_REQUEST, detail));
            }
        };
        let feed = about.feed_key.map(|key| NewFeed {
            name: about.feed_name.unwrap_or_else(|| key.clone()),
            key,
            label: None,
        });
        Ok(NewDocument {
            url: about.url,
            author: about.author,
            mime_type: about.mime_type,
            capture_only: about.capture_only,
            feed,
            ..titled
        })
    }
}

/// The title as a file name, with the usual extension of the media type.
fn file_name(title: &str, media_type: &str) -> String {
    const MAX_CHARACTERS: usize = 100;

    let is_unfit = |letter: char| "/\\:*?\"<>|".contains(letter);
    let name: String = title
        .chars()
        .take(MAX_CHARACTERS)
        .map(|letter| if is_unfit(letter) { '_' } else { letter })
        .collect();
    // Bidirectional overrides disguise names: with U+202E, a name that ends in `fdp.exe` shows as `exe.pdf`.
    let name = visible::replaced(&name, '_');
    let name = name.trim_matches(|letter: char| letter == '.' || letter.is_whitespace());
    let name = if name.is_empty() { "document" } else { name };
    match extension(media_type) {
        Some(extension) if !name.to_lowercase().ends_with(&format!(".{extension}")) => {
            format!("{name}.{extension}")
        }
        _ => name.to_owned(),
    }
}

/// Usual extension of a media type.
fn extension(media_type: &str) -> Option<&'static str> {
    file_formats::of(without_parameters(media_type)?.essence_str())?.extensions.first().copied()
}

/// All characters except `attr-char` (RFC 8187, section 3.2.1).
const NOT_ATTR_CHAR: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// `Content-Disposition` (RFC 6266): an ASCII name for every client, and the full name encoded by RFC 8187.
fn disposition(name: &str) -> HeaderValue {
    let plain: String = name
        .chars()
        .map(|letter| if letter.is_ascii_graphic() && letter != '"' && letter != '\\' { letter } else { '_' })
        .collect();
    let encoded = utf8_percent_encode(name, NOT_ATTR_CHAR);
    let value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
    HeaderValue::from_str(&value).expect("everything else is escaped")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_becomes_a_file_name_and_breaks_out_of_no_header() {
        for (title, media_type, expected) in [
            ("Report", "application/pdf", "Report.pdf"),
            ("report.PDF", "application/pdf", "report.PDF"),
            ("Letter", "message/rfc822", "Letter.eml"),
            ("Tides", "application/vnd.oasis.opendocument.text", "Tides.odt"),
            ("../../etc/passwd", "text/plain; charset=utf-8", "_.._etc_passwd.txt"),
            ("a\r\nb", "application/x-unknown", "a__b"),
            (" .. ", "image/png", "document.png"),
            ("invoice\u{202e}fdp.exe", "application/x-msdownload", "invoice_fdp.exe"),
            ("a\u{2066}b\u{200b}c\u{ad}d\u{2028}e\u{85}", "text/plain", "a_b_c_d_e_.txt"),
            ("\u{feff}.hidden", "text/plain", "_.hidden.txt"),
            ("👨‍👩‍👧 می‌خواهم", "text/plain", "👨‍👩‍👧 می‌خواهم.txt"),
            (&"x".repeat(300), "audio/mpeg", &format!("{}.mp3", "x".repeat(100))),
        ] {
            assert_eq!(file_name(title, media_type), expected);
        }
        assert_eq!(
            disposition("Ü \"x\".pdf"),
            "attachment; filename=\"___x_.pdf\"; filename*=UTF-8''%C3%9C%20%22x%22.pdf"
        );
    }
}
