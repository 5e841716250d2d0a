//! A fake speech-to-text service. Its protocol and the recordings are real; it knows the text of each
//! recording beforehand.

use std::collections::HashMap;
use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Required API key.
pub(crate) const KEY: &str = "transcriber-key";

/// Speech-to-text service. Stops when dropped.
pub(crate) struct Transcriber {
    shared: Arc<Mutex<Shared>>,
    url: String,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    sentences: HashMap<Vec<u8>, String>,
    busy: usize,
    /// Model and file name of each received recording.
    heard: Vec<(String, String)>,
}

impl Transcriber {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::<Mutex<Shared>>::default();
        let seen = shared.clone();
        let router = Router::new().fallback(move |request: Request| {
            let seen = seen.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                answer(&mut seen.lock().expect("no writer panicked"), &head, &body)
            }
        });
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { shared, url: format!("http://{address}/v1/audio/transcriptions"), serving }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Synthesizes a spoken sentence as WAV; a request with this recording returns the sentence.
    pub(crate) fn speak(&self, sentence: &str) -> Vec<u8> {
        let wav = speak(sentence);
        let mut shared = self.shared.lock().expect("no writer panicked");
        shared.sentences.insert(wav.clone(), sentence.to_owned());
        wav
    }

    /// Answers the next `requests` requests with 503.
    pub(crate) fn be_busy(&self, requests: usize) {
        self.shared.lock().expect("no writer panicked").busy = requests;
    }

    /// Model and file name of each received recording.
    pub(crate) fn heard(&self) -> Vec<(String, String)> {
        self.shared.lock().expect("no writer panicked").heard.clone()
    }
}

impl Drop for Transcriber {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Synthesizes a spoken sentence as WAV.
pub(crate) fn speak(sentence: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let file = folder.path().join("spoken.wav");
    let spoken = Command::new("espeak-ng").arg("-w").arg(&file).arg(sentence).status();
    assert!(spoken.is_ok_and(|status| status.success()), "run `just install`: espeak-ng is missing");
    std::fs::read(file).expect("it was written")
}

fn answer(shared: &mut Shared, head: &axum::http::request::Parts, body: &Bytes) -> Response {
    if head.method != "POST" || head.uri.path() != "/v1/audio/transcriptions" {
        return StatusCode::NOT_FOUND.into_response();
    }
    if head.headers.get("authorization").is_none_or(|value| value != &format!("Bearer {KEY}")) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if shared.busy > 0 {
        shared.busy -= 1;
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let form = head.headers.get("content-type").and_then(|value| value.to_str().ok());
    let boundary = form.and_then(|form| form.strip_prefix("multipart/form-data; boundary="));
    let Some(fields) = boundary.and_then(|boundary| fields(body, boundary)) else {
        return (StatusCode::BAD_REQUEST, "no form").into_response();
    };
    let text = |name: &str| fields.get(name).map(|field| String::from_utf8_lossy(&field.bytes).into_owned());
    let (Some(file), Some(model), Some("json")) =
        (fields.get("file"), text("model"), text("response_format").as_deref())
    else {
        return (StatusCode::BAD_REQUEST, "a field is missing").into_response();
    };
    if !is_wav(&file.bytes) {
        return (StatusCode::BAD_REQUEST, "no recording").into_response();
    }
    shared.heard.push((model, file.name.clone().unwrap_or_default()));
    match shared.sentences.get(&file.bytes[..]) {
        Some(sentence) => Json(json!({ "text": sentence })).into_response(),
        None => (StatusCode::BAD_REQUEST, "nobody said this").into_response(),
    }
}

struct Field {
    name: Option<String>,
    bytes: Vec<u8>,
}

/// Parses a multipart form (RFC 7578); `None` if it is malformed.
fn fields(body: &[u8], boundary: &str) -> Option<HashMap<String, Field>> {
    let (opening, delimiter) = (format!("--{boundary}\r\n"), format!("\r\n--{boundary}"));
    let mut rest = body.strip_prefix(opening.as_bytes())?;
    let mut fields = HashMap::new();
    loop {
        let head_end = find(rest, b"\r\n\r\n")?;
        let head = std::str::from_utf8(&rest[..head_end]).ok()?;
        let disposition =
            head.lines().find_map(|line| line.strip_prefix("Content-Disposition: form-data; "))?;
        let parameter = |name: &str| {
            let of =
                |it: &str| Some(it.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"')?.to_owned());
            disposition.split("; ").find_map(of)
        };
        let content = &rest[head_end + 4..];
        let end = find(content, delimiter.as_bytes())?;
        let field = Field { name: parameter("filename"), bytes: content[..end].to_vec() };
        fields.insert(parameter("name")?, field);
        match &content[end + delimiter.len()..] {
            b"--\r\n" => return Some(fields),
            next => rest = next.strip_prefix(b"\r\n")?,
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}

/// Whether the bytes are a WAV file of at least half a second: 16 bits, one channel.
fn is_wav(bytes: &[u8]) -> bool {
    let number = |at: usize, length: usize| {
        bytes
            .get(at..at + length)
            .map(|it| it.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let rate = number(24, 4).unwrap_or_default();
    bytes.starts_with(b"RIFF")
        && bytes.get(8..16) == Some(b"WAVEfmt ")
        && (number(20, 2), number(22, 2), number(34, 2)) == (Some(1), Some(1), Some(16))
        && bytes.get(36..40) == Some(b"data")
        && number(40, 4).is_some_and(|size| size == bytes.len() as u64 - 44 && size > rate)
}
