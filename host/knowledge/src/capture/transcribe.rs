//! Speech recognition by a service of the operator's choice that has the API of `OpenAI`:
//! `POST /v1/audio/transcriptions`. Examples are whisper.cpp's server, faster-whisper and hosted services.

use std::fmt::Write as _;
use std::time::Duration;

use aws_lc_rs::rand;
use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http_body_util::Full;
use kitbag_net::egress::{Egress, EgressError, Policy};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tracing::warn;
use url::Url;

use super::failure::{self, CaptureFailure};
use super::{Extracted, MAX_TEXT_BYTES};

/// Time limit of a transcription: an hour of speech takes minutes on a small machine.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);
/// Largest response, in bytes: text that is truncated later, escaped as JSON.
const MAX_ANSWER_BYTES: usize = 4 * MAX_TEXT_BYTES;

/// Speech recognition service.
#[derive(Clone, Debug)]
pub struct TranscriptionSettings {
    /// URL of the service, such as `http://127.0.0.1:8080/v1/audio/transcriptions`.
    pub url: Url,
    /// Name of the model, as the service knows it.
    pub model: String,
    /// API key.
    pub key: Option<SecretString>,
}

/// Client of the speech recognition service.
pub(super) struct Transcriber {
    egress: Egress,
    settings: TranscriptionSettings,
}

#[derive(Deserialize)]
struct Transcript {
    text: String,
}

impl Transcriber {
    pub(super) fn new(egress: Egress, settings: TranscriptionSettings) -> Self {
        Self { egress, settings }
    }

    /// Sends a recording and returns its transcript.
    pub(super) async fn transcribe(
        &self,
        media_type: &str,
        audio: Bytes,
    ) -> Result<Extracted, CaptureFailure> {
        let request = self.request(media_type, &audio);
        drop(audio);
        let answer =
            self.egress.exchange_slow(request, &Policy::Operator, MAX_ANSWER_BYTES, ANSWER_TIMEOUT).await;
        let answer = answer.map_err(|error| unreachable_service(&error))?;
        if !answer.status().is_success() {
            warn!(status = %answer.status(), "the transcriber refused a recording");
            let reason = format!("the transcriber answered {}", answer.status());
            return Err(failure::of_status(answer.status().as_u16(), reason));
        }
        let Ok(Transcript { mut text }) = serde_json::from_slice(answer.body()) else {
            warn!("the transcriber's answer is not JSON with a text");
            return Err(failure::permanent("the transcriber's answer could not be understood"));
        };
        let truncated = text.len() > MAX_TEXT_BYTES;
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        Ok(Extracted { title: None, text, truncated })
    }

    fn request(&self, media_type: &str, audio: &[u8]) -> Request<Full<Bytes>> {
        let TranscriptionSettings { url, model, key } = &self.settings;
        let boundary = boundary();
        let mut body = String::new();
        for (name, value) in [("model", model.as_str()), ("response_format", "json")] {
            write!(
                body,
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            )
            .expect("a string takes everything");
        }
        // The service infers the format from the file name.
        let name = format!("recording.{}", extension(media_type));
        write!(
            body,
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: {media_type}\r\n\r\n"
        )
        .expect("a string takes everything");
        let mut body = body.into_bytes();
        body.reserve_exact(audio.len() + boundary.len() + 8);
        body.extend_from_slice(audio);
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());

        let mut request = Request::new(Full::from(body));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = url.as_str().parse().unwrap_or_default();
        let headers = request.headers_mut();
        let form = format!("multipart/form-data; boundary={boundary}");
        headers.insert(CONTENT_TYPE, form.parse().expect("letters and digits"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let bearer = key.as_ref().map(|key| format!("Bearer {}", key.expose_secret()).parse::<HeaderValue>());
        if let Some(Ok(mut bearer)) = bearer {
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        request
    }
}

/// Multipart boundary that does not occur in the recording: 128 random bits.
fn boundary() -> String {
    let mut bytes = [0; 16];
    // Without randomness, the boundary is still one that no recording contains by chance.
    let _ = rand::fill(&mut bytes);
    format!("kitbag-{}", hex::encode(bytes))
}

fn extension(media_type: &str) -> &'static str {
    match media_type {
        "audio/wav" => "wav",
        "audio/flac" => "flac",
        "audio/ogg" => "ogg",
        "audio/mp4" => "m4a",
        "audio/aac" => "aac",
        "audio/amr" => "amr",
        "video/webm" => "webm",
        "video/mp4" => "mp4",
        _ => "mp3",
    }
}

/// The log, and not the user, learns the address of the service.
fn unreachable_service(error: &EgressError) -> CaptureFailure {
    warn!(%error, "the transcriber could not be asked");
    match failure::of_request(error) {
        CaptureFailure { kind: failure::FailureKind::Transient, .. } => {
            failure::transient("the transcriber could not be reached")
        }
        _ => failure::permanent("the transcriber's answer could not be used"),
    }
}

#[cfg(test)]
mod tests;
