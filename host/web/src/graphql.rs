//! `/graphql`: a schema over `access`, like the other routes.
//!
//! A request is limited before it is executed: the size of its body, as sent and as parsed, the structure of
//! its query (`bounds`), the cost of its fields (`schema`), its time, and the number of requests that its
//! user has in progress. A request counts as in progress from the arrival of its body, so that a slow body
//! blocks no one, until its response has been sent.
//!
//! Invariant: the schema contains no user. The user is part of each request's [`RequestContext`].

mod bounds;
mod chosen;
mod collections;
mod documents;
mod error;
pub(super) mod fuzzing;
mod mutation;
mod query;
mod schema;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_graphql::parser::types::ExecutableDocument;
use async_graphql::{Context, Request, Response as Answer, ServerError, Variables};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use kitbag_access::User;
use kitbag_access::values::knowledge::{Counts, language_of};
use kitbag_base::json_object::JsonObject;
use kitbag_base::shares::{Share, Shares};
use kitbag_base::turns::Turns;
use kitbag_manifest::schema::MAX_VALUES;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};
use tokio::time::timeout;
use url::Url;

use super::body::Unread;
use super::error::WebError;
use super::json;
use super::media_type::require_json;
use super::pages::NOT_STORED;
use super::share::RequestShare;
use super::state::Shared;
use crate::authenticate::By;
use schema::KitbagSchema;

/// Maximum bytes of a request: enough for a batch of documents.
const MAX_REQUEST_BYTES: usize = 34 << 20;
/// Maximum bytes of the query itself. Values belong in its variables.
const MAX_QUERY_BYTES: usize = 64 << 10;
/// Parsing and checking a byte of a query takes as long as going through so many bytes of data: a usual query is
/// processed at once.
const PARSING_COST: usize = 32;
/// Minimum bytes of a large request, which takes several times its size in memory while it is executed.
const LARGE_BYTES: usize = 1 << 20;
/// Maximum number of large requests executed concurrently; one per user.
const MAX_LARGE_REQUESTS: usize = 2;
/// Limit per user of requests whose responses have not been sent.
const MAX_REQUESTS_PER_USER: usize = 4;
/// Maximum number of requests executed concurrently, of all users; further ones wait, and users take turns.
const MAX_REQUESTS: usize = 16;
/// Maximum execution time of a request after its arrival.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of document texts in a response, as JSON; further ones are refused.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// State shared by all requests.
pub(super) struct Service {
    schema: KitbagSchema,
    in_progress: Shares,
    executing: Turns,
    large: Turns,
}

/// User of a request, and the resources it has used so far.
struct RequestContext {
    user: User,
    share: RequestShare,
    base_url: Url,
    /// Texts added to the response so far.
    texts: Arc<Mutex<Texts>>,
    /// Number of the user's documents: counted once for each request.
    counts: OnceCell<Counts>,
    /// Serialises reads of the request: it uses one database connection, and exceeds the limit by one text at
    /// most.
    reading: Semaphore,
}

/// Resources of document texts in a response.
#[derive(Default)]
struct Texts {
    /// Size as JSON, in bytes.
    bytes: usize,
    /// Memory reservations of the user, until the response is written.
    held: Vec<Share>,
}

/// An answer, with the memory of its texts until it is encoded.
#[derive(Serialize)]
#[serde(transparent)]
struct Encodable {
    answer: Answer,
    #[serde(skip)]
    _texts: Arc<Mutex<Texts>>,
}

/// Body of a request (GraphQL over HTTP, section 5.4).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GraphqlRequest {
    query: String,
    operation_name: Option<String>,
    variables: Option<HashMap<String, Value>>,
}

impl Service {
    pub(super) fn new() -> Self {
        Self {
            schema: schema::build(),
            in_progress: Shares::per_holder(MAX_REQUESTS_PER_USER),
            executing: Turns::new(MAX_REQUESTS, MAX_REQUESTS_PER_USER),
            large: Turns::new(MAX_LARGE_REQUESTS, 1),
        }
    }
}

/// `POST /graphql`
pub(super) async fn answer(
    State(shared): State<Shared>,
    By(user): By<User>,
    share: RequestShare,
    Extension(service): Extension<Arc<Service>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, WebError> {
    // A form of a foreign page cannot send this type without a CORS preflight.
    require_json(&headers)?;
    let unread = |why| match why {
        Unread::TooLarge => {
            let detail = format!(
                "The request is longer than {MAX_REQUEST_BYTES} bytes. Send fewer documents at a time."
            );
            WebError::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
        }
        other => WebError::unread(other, MAX_REQUEST_BYTES),
    };
    let body = share.read(body, MAX_REQUEST_BYTES).await.map_err(unread)?;
    let place = service.in_progress.take(user.id(), 1).map_err(|_exceeded| {
        let detail = "Too many requests at a time. Wait for the answers of those in progress, and read them.";
        WebError::retryable(StatusCode::TOO_MANY_REQUESTS, detail)
    })?;
    share.hold(place);
    let _parsed = share.parsing(&body.bytes, MAX_VALUES).await.map_err(unread)?;

    let texts = Arc::<Mutex<Texts>>::default();
    let answered = timeout(REQUEST_TIMEOUT, async {
        let _large = match body.bytes.len() {
            LARGE_BYTES.. => Some(service.large.take(user.id()).await),
            _ => None,
        };
        let _turn = service.executing.take(user.id()).await;
        let request = share.work(body.bytes.len(), move || GraphqlRequest::read(&body.bytes)).await?;
        let context = RequestContext::new(user, share, shared.base_url, texts.clone());
        Ok::<_, WebError>(ask(&service.schema, request, context).await)
    });
    let answer = answered.await.unwrap_or_else(|_| Ok(error::took_too_long(REQUEST_TIMEOUT)))?;
    let bytes = texts.lock().unwrap_or_else(PoisonError::into_inner).bytes;
    let encoded = json::of_size(bytes, move || Encodable { answer, _texts: texts });
    Ok((NOT_STORED, encoded).into_response())
}

async fn ask(schema: &KitbagSchema, request: GraphqlRequest, context: RequestContext) -> Answer {
    let GraphqlRequest { query, operation_name, variables } = request;
    let share = context.share.clone();
    let document = match parsed(&share, query).await {
        Ok(document) => document,
        Err(refusal) => return Answer::from_errors(vec![refusal]),
    };
    let mut request = Request::new("");
    request.set_parsed_query(document);
    if let Some(name) = operation_name {
        request = request.operation_name(name);
    }
    let variables = variables.into_iter().flatten().collect();
    let request = request.variables(Variables::from_json(Value::Object(variables))).data(context);
    error::with_codes(schema.execute(request).await)
}

/// Parses a query and checks its size: a usual one at once, a long one in a turn of the user.
async fn parsed(share: &RequestShare, query: String) -> Result<ExecutableDocument, ServerError> {
    share.work(query.len().saturating_mul(PARSING_COST), move || bounds::parse(&query)).await
}

impl GraphqlRequest {
    fn read(body: &[u8]) -> Result<Self, WebError> {
        let refused = |detail: &str| WebError::new(StatusCode::BAD_REQUEST, detail);
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'[') {
            return Err(refused("Batches are not answered. Send one request at a time."));
        }
        // The parser's own message could quote the values sent.
        let JsonObject::<Self>(question) = serde_json::from_slice(body).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            refused(&format!(
                "The body must be a JSON object with `query` (a string), and where needed `variables` \
                 (an object) and `operationName` (a string). See {place}."
            ))
        })?;
        if question.query.len() > MAX_QUERY_BYTES {
            let detail = format!(
                "The query is longer than {MAX_QUERY_BYTES} bytes. Put what it talks about into variables."
            );
            return Err(WebError::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
        }
        Ok(question)
    }
}

impl RequestContext {
    fn new(user: User, share: RequestShare, base_url: Url, texts: Arc<Mutex<Texts>>) -> Self {
        Self { user, share, base_url, texts, counts: OnceCell::new(), reading: Semaphore::new(1) }
    }

    fn of<'a>(context: &Context<'a>) -> &'a Self {
        context.data().expect("every request carries its context")
    }

    /// Waits for other reads of this request; the permit is held during a read.
    async fn turn(&self) -> SemaphorePermit<'_> {
        self.reading.acquire().await.expect("the semaphore is never closed")
    }

    /// Returns the number of the user's documents.
    async fn counts(&self) -> Result<Counts, WebError> {
        let _turn = self.turn().await;
        Ok(*self.counts.get_or_try_init(async || self.user.documents().of(None)?.counts().await).await?)
    }

    /// Reads the text of one of the user's documents; fails if the request's limit is used up.
    async fn text(&self, id: &str) -> Result<String, WebError> {
        let _turn = self.turn().await;
        self.check_texts(0)?;
        let text = self.user.documents().document(id).await?.text;
        let length = text.len();
        let (bytes, text) = self.share.work(length, move || (bytes_as_json(&text), text)).await;
        self.add_text(bytes, length)?;
        Ok(text)
    }

    /// Reads an earlier text of a document; fails if the request's limit is used up.
    async fn version_text(&self, id: &str, number: u32) -> Result<String, WebError> {
        let _turn = self.turn().await;
        self.check_texts(0)?;
        let whole = 0..u32::try_from(i32::MAX).unwrap_or_default();
        let (_, text) = self.user.documents().version(id, number, whole).await?;
        let length = text.len();
        let (bytes, text) = self.share.work(length, move || (bytes_as_json(&text), text)).await;
        self.add_text(bytes, length)?;
        Ok(text)
    }

    /// Detects the language of one of the user's documents.
    async fn language(&self, id: &str) -> Result<Option<&'static str>, WebError> {
        let _turn = self.turn().await;
        let document = self.user.documents().document(id).await?;
        let bytes = document.text.len();
        Ok(self.share.work(bytes, move || language_of(&document.summary.title, &document.text)).await)
    }

    /// Adds a text to the response within the limit; the first one is always allowed.
    fn add_text(&self, bytes_as_json: usize, bytes_in_memory: usize) -> Result<(), WebError> {
        self.check_texts(bytes_as_json)?;
        let held = self.share.bytes(bytes_in_memory).ok_or_else(|| WebError::unread(Unread::NoRoom, 0))?;
        let mut texts = self.texts();
        texts.bytes += bytes_as_json;
        texts.held.push(held);
        Ok(())
    }

    fn check_texts(&self, more: usize) -> Result<(), WebError> {
        let bytes = self.texts().bytes;
        if bytes == 0 || bytes.saturating_add(more) <= MAX_TEXT_BYTES {
            return Ok(());
        }
        let detail = format!(
            "The texts of one request may have {MAX_TEXT_BYTES} bytes together, as JSON. Ask for fewer documents."
        );
        Err(WebError::new(StatusCode::PAYLOAD_TOO_LARGE, detail))
    }

    fn texts(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Size of a text as JSON in bytes, without its quotes.
fn bytes_as_json(text: &str) -> usize {
    let of_byte = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        ..=0x1f => 6,
        _ => 1,
    };
    text.bytes().map(of_byte).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures::FutureExt;
    use kitbag_base::tasks::take_a_share;
    use kitbag_base::workers::Workers;

    use super::*;
    use crate::share::{Purpose, RequestShares};

    #[tokio::test]
    async fn a_usual_query_does_not_wait_for_the_large_work_of_others_and_a_long_one_does() {
        let workers = Workers::start("worker", take_a_share).expect("threads can be started");
        let shares = RequestShares::new(1 << 30, 1 << 20, 4, workers.clone());
        let share = shares.begin(Purpose::Api, "ana").expect("it is the first request");
        // More users than there are threads.
        let (gates, running): (Vec<_>, Vec<_>) = (0..16)
            .map(|user| {
                let (gate, waiting) = mpsc::channel::<()>();
                let workers = workers.clone();
                let work =
                    async move { workers.run_in_turn(&user.to_string(), move || waiting.recv()).await };
                (gate, tokio::spawn(work))
            })
            .unzip();
        tokio::task::yield_now().await;

        let usual = "{ documents(limit: 50) { items { id title state } } }".to_owned();
        let long = format!("{{ {} }}", "me { userId } ".repeat(1000));

        assert!(matches!(parsed(&share, usual).now_or_never(), Some(Ok(_))));
        assert!(parsed(&share, long).now_or_never().is_none());

        drop(gates);
        futures::future::join_all(running).await;
    }
}
