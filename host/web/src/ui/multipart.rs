//! Forms with a file (RFC 7578): the file comes last and is streamed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, future::ready};
use multer::{Field, Multipart};
use tokio::task::yield_now;

use super::form::{Form, MAX_FORM_BYTES};
use crate::error::WebError;

/// Maximum number of fields before the file.
const MAX_FIELDS: usize = 20;

/// Maximum bytes before the file, which are read into memory.
const MAX_HEAD_BYTES: usize = MAX_FORM_BYTES + (64 << 10);

/// Size of the beginning of a body that may be read without yielding, in bytes.
const UNDIVIDED_BYTES: usize = 16 << 10;

/// An upload form.
pub(super) struct Upload {
    /// Fields before the file.
    pub(super) form: Form,
    /// The file; `None` if none was selected.
    pub(super) file: Option<File>,
}

/// A file whose content is being received.
pub(super) struct File {
    /// File name, without a path.
    pub(super) name: String,
    pub(super) media_type: Option<String>,
    pub(super) content: BoxStream<'static, io::Result<Bytes>>,
}

/// Parses the fields up to the first file.
pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<Upload, WebError> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let boundary = content_type.and_then(|value| multer::parse_boundary(value).ok()).ok_or_else(malformed)?;
    let has_begun = Arc::new(AtomicBool::new(false));
    let mut parts = Multipart::new(pieces(body, has_begun.clone()), boundary);
    let mut fields = Vec::new();
    let mut size = 0;
    while let Some(mut part) = parts.next_field().await.map_err(|_| malformed())? {
        if part.file_name().is_some() {
            has_begun.store(true, Ordering::Relaxed);
            return Ok(Upload { form: Form::of(fields), file: file(part) });
        }
        let name = part.name().unwrap_or_default().to_owned();
        let mut value = Vec::new();
        while let Some(bytes) = part.chunk().await.map_err(|_| malformed())? {
            size += bytes.len();
            if size > MAX_FORM_BYTES {
                return Err(too_large());
            }
            value.extend_from_slice(&bytes);
        }
        fields.push((name, String::from_utf8(value).map_err(|_| malformed())?));
        if fields.len() > MAX_FIELDS {
            return Err(too_large());
        }
    }
    Ok(Upload { form: Form::of(fields), file: None })
}

/// Streams the body; fails if the file does not begin within [`MAX_HEAD_BYTES`].
fn pieces(
    body: Body,
    has_file_begun: Arc<AtomicBool>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let mut received = 0;
    let pieces = body.into_data_stream().map(move |piece| {
        if received > MAX_HEAD_BYTES && !has_file_begun.load(Ordering::Relaxed) {
            return Err(io::Error::other("no file begins in it"));
        }
        let is_late = received > UNDIVIDED_BYTES;
        let piece = piece.map_err(io::Error::other)?;
        received += piece.len();
        Ok((piece, is_late))
    });
    // `Multipart` reads and buffers as long as data is ready, so pieces after the first `UNDIVIDED_BYTES`
    // come with a yield. Not earlier: if the body ended while `Multipart` was searching for the first part,
    // it would take that for the end of the form.
    pieces.then(async |piece| {
        let (piece, is_late) = piece?;
        if is_late {
            yield_now().await;
        }
        Ok(piece)
    })
}

/// Returns the file of a part; browsers send an empty name if none was selected.
fn file(part: Field<'static>) -> Option<File> {
    let name = part.file_name().unwrap_or_default().rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    if name.is_empty() {
        return None;
    }
    let media_type = part.content_type().map(ToString::to_string);
    // After an error, `Field` would repeat it for ever.
    let content = part.scan(false, |has_failed, bytes| {
        let is_over = *has_failed;
        *has_failed = bytes.is_err();
        ready((!is_over).then(|| bytes.map_err(io::Error::other)))
    });
    let content = content.boxed();
    Some(File { name, media_type, content })
}

fn malformed() -> WebError {
    WebError::new(StatusCode::BAD_REQUEST, "The form is not one that a browser sends, or it broke off.")
}

fn too_large() -> WebError {
    WebError::new(StatusCode::PAYLOAD_TOO_LARGE, "The form has too many fields, or too much text.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(content_type: &'static str) -> HeaderMap {
        [(header::CONTENT_TYPE, content_type.parse().expect("a value"))].into_iter().collect()
    }

    async fn read_form(body: impl Into<Body>) -> Result<Upload, WebError> {
        read(&headers("multipart/form-data; boundary=X"), body.into()).await
    }

    fn part(disposition: &str, content: &str) -> String {
        format!("--X\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n")
    }

    #[tokio::test]
    async fn fields_come_before_the_file_which_is_a_stream() {
        let fields = part("name=\"title\"", "A title");
        let file = part("name=\"file\"; filename=\"C:\\\\notes\\\\a.txt\"", "content");
        let upload = read_form(format!("{fields}{file}--X--\r\n")).await.expect("a form");

        assert_eq!(upload.form.get("title"), "A title");
        let file = upload.file.expect("a file");
        assert_eq!(file.name, "a.txt");
        let content: Vec<Bytes> = file.content.map(|bytes| bytes.expect("it is whole")).collect().await;
        assert_eq!(content.concat(), b"content");
    }

    #[tokio::test]
    async fn a_file_is_not_collected_and_what_comes_before_it_is_bounded() {
        let noise = "noise".repeat(MAX_HEAD_BYTES / 10);
        let stream = |pieces: Vec<String>| {
            Body::from_stream(futures::stream::iter(pieces.into_iter().map(Ok::<_, io::Error>)))
        };
        assert!(read_form(stream(vec![noise.clone(); 4])).await.is_err());

        let begin = "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n".to_owned();
        let end = "\r\n--X--\r\n".to_owned();
        let sent = [vec![begin], vec![noise.clone(); 4], vec![end]].concat();
        let file = read_form(stream(sent)).await.ok().and_then(|upload| upload.file).expect("a file");
        let pieces: Vec<_> = file.content.map(|piece| piece.expect("it is whole").len()).collect().await;
        assert_eq!(pieces.iter().sum::<usize>(), 4 * noise.len());
        assert!(pieces.iter().all(|piece| *piece <= 2 * noise.len()), "{pieces:?}");
    }

    #[tokio::test]
    async fn what_is_no_form_or_too_much_is_refused() {
        let none = part("name=\"file\"; filename=\"\"", "");
        assert!(read_form(format!("{none}--X--\r\n")).await.is_ok_and(|upload| upload.file.is_none()));
        assert!(read(&headers("text/plain"), "x".into()).await.is_err());
        assert!(read_form("no form at all").await.is_err());
        let large = part("name=\"title\"", &"x".repeat(MAX_FORM_BYTES + 1));
        assert!(read_form(format!("{large}--X--\r\n")).await.is_err());
        let many = part("name=\"a\"", "b").repeat(MAX_FIELDS + 1);
        assert!(read_form(format!("{many}--X--\r\n")).await.is_err());
        let broken = part("name=\"file\"; filename=\"a\"", "content");
        let upload = read_form(broken).await.expect("the fields are whole");
        let last = upload.file.expect("a file").content.collect::<Vec<_>>().await.pop();
        assert!(last.expect("an end").is_err(), "a file that broke off is not taken for whole");
    }
}
