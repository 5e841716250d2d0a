//! Embeddings from an HTTP service with the API of `OpenAI`: `POST /v1/embeddings`.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use http_body_util::Full;
use kitbag_net::egress::{Egress, EgressError, Policy};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use url::Url;

use super::EmbedError;
use super::queries::Queries;

/// Address and parameters of an embedding service.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Full URL, such as `https://api.openai.com/v1/embeddings`.
    pub url: Url,
    /// Name of the model, as the service knows it.
    pub model: String,
    /// API key, sent as a bearer token.
    pub key: Option<SecretString>,
}

/// Client of an embedding service.
pub(super) struct Remote {
    egress: Egress,
    endpoint: Endpoint,
    id: String,
    /// Dimensions of the vectors, known after the first response.
    dimensions: OnceLock<usize>,
    queries: Queries,
    documents: Semaphore,
}

/// Largest number of texts per request.
const MAX_BATCH_TEXTS: usize = 32;
/// Largest number of simultaneous query requests, in total and per user.
const MAX_QUERY_REQUESTS: usize = 16;
const MAX_QUERY_REQUESTS_PER_USER: usize = 4;
/// Largest number of running and waiting queries per user.
const MAX_QUERIES: usize = 16;
const MAX_DOCUMENT_REQUESTS: usize = 2;
/// Longest wait of a search before it falls back to full text.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
const DOCUMENTS_TIMEOUT: Duration = Duration::from_mins(1);
/// Largest response, in bytes: enough for [`MAX_BATCH_TEXTS`] vectors of 8,192 numbers with 20 digits each.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Largest number of dimensions of a vector.
const MAX_DIMENSIONS: usize = 8192;

#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct EmbeddingsResponse {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

impl Remote {
    pub(super) fn new(egress: Egress, endpoint: Endpoint) -> Self {
        Self {
            egress,
            id: format!("remote:{}", endpoint.model),
            endpoint,
            dimensions: OnceLock::new(),
            queries: Queries::new(MAX_QUERY_REQUESTS, MAX_QUERY_REQUESTS_PER_USER, MAX_QUERIES),
            documents: Semaphore::new(MAX_DOCUMENT_REQUESTS),
        }
    }

    pub(super) fn model(&self) -> &str {
        &self.id
    }

    pub(super) async fn query(&self, user_id: &str, text: String) -> Result<Vec<f32>, EmbedError> {
        let _turn = self.queries.take(user_id).await?;
        let mut vectors = self.ask(&[text], QUERY_TIMEOUT).await?;
        vectors.pop().ok_or_else(|| EmbedError::Answer("no vector".to_owned()))
    }

    pub(super) async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let _turn = self.documents.acquire().await.expect("the semaphore is never closed");
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(MAX_BATCH_TEXTS) {
            vectors.append(&mut self.ask(batch, DOCUMENTS_TIMEOUT).await?);
        }
        Ok(vectors)
    }

    async fn ask(&self, texts: &[String], within: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        // [`Policy::Operator`], because the operator configured the URL.
        let answer =
            self.egress.exchange(self.request(texts)?, &Policy::Operator, MAX_ANSWER_BYTES, within).await;
        let answer = answer.map_err(|error| match error {
            EgressError::TooLarge { .. } => EmbedError::Answer(error.to_string()),
            _ => EmbedError::Unreachable(error.to_string()),
        })?;
        if !answer.status().is_success() {
            // The body is not quoted, because services repeat parts of the key.
            return Err(EmbedError::Status(answer.status()));
        }
        self.vectors(answer.body(), texts.len())
    }

    fn request(&self, texts: &[String]) -> Result<Request<Full<Bytes>>, EmbedError> {
        let invalid = |what: &str| EmbedError::Answer(format!("{what} cannot be sent"));
        let question = Question { model: &self.endpoint.model, input: texts, encoding_format: "float" };
        let body = serde_json::to_vec(&question).map_err(|_| invalid("the text"))?;
        let mut request = Request::post(self.endpoint.url.as_str())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body.into()))
            .map_err(|_| invalid("embedding-url"))?;
        if let Some(key) = &self.endpoint.key {
            let mut bearer = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()))
                .map_err(|_| invalid("embedding-key"))?;
            bearer.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, bearer);
        }
        Ok(request)
    }

    /// Vectors of a response: one per text, of equal dimensions, normalised to length 1.
    fn vectors(&self, body: &[u8], count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let wrong = |what: String| EmbedError::Answer(what);
        let mut answer: EmbeddingsResponse = serde_json::from_slice(body).map_err(|error| {
            // Serde's message may quote the response.
            wrong(format!("no list of embeddings (line {}, column {})", error.line(), error.column()))
        })?;
        answer.data.sort_by_key(|item| item.index);
        if !answer.data.iter().map(|item| item.index).eq(0..count) {
            return Err(wrong(format!("{} vectors for {count} texts", answer.data.len())));
        }
        let vectors = answer.data.into_iter().map(|Item { embedding, .. }| {
            let length = embedding.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
            if embedding.len() > MAX_DIMENSIONS || !length.is_finite() || length == 0.0 {
                return Err(wrong(format!(
                    "a vector of {} numbers and the length {length}",
                    embedding.len()
                )));
            }
            let expected = *self.dimensions.get_or_init(|| embedding.len());
            if embedding.len() != expected {
                return Err(wrong(format!(
                    "vectors of {expected} numbers before, of {} now",
                    embedding.len()
                )));
            }
            #[expect(clippy::cast_possible_truncation, reason = "as precise as the vectors")]
            let normalised = embedding.iter().map(|number| (f64::from(*number) / length) as f32).collect();
            Ok(normalised)
        });
        vectors.collect()
    }
}
