//! `/graphql`: one schema over the very code that the other routes use.
//!
//! A request is bounded before it costs anything: its body, then the form of its query (`bounds`), then
//! what its fields cost (`schema`), its time, and how many its user has under way. Only a whole request
//! counts among those: whoever lets the server wait for a body denies nobody theirs.
//!
//! Invariant: the schema knows no user. Whoever asks travels with the request, as [`Asker`].

mod bounds;
mod documents;
mod error;
pub(super) mod fuzzing;
pub(super) mod graphiql;
mod mutation;
mod query;
mod schema;
mod toolkits;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_graphql::{Context, Request, Response as Answer, Variables};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};
use tokio::time::timeout;
use url::Url;

use super::Shared;
use super::body::{Bodies, Unread};
use super::error::WebError;
use super::pages::NOT_STORED;
use crate::access::User;
use crate::json_object::JsonObject;
use crate::knowledge::Counts;
use crate::shares::Shares;
use crate::tasks::off_thread;
use schema::KitbagSchema;

/// Bytes of a request: a batch of documents fits.
const LARGEST: usize = 34 << 20;
/// Bytes of the query in it. What a query talks about belongs in its variables.
const LARGEST_QUERY: usize = 64 << 10;
/// Bytes from which a request is large: it takes several times as much memory while it is worked on.
const LARGE: usize = 1 << 20;
/// Large requests that are worked on at a time.
const LARGE_AT_A_TIME: usize = 2;
/// Requests of one user that are worked on at a time.
const AT_A_TIME_OF_ONE: usize = 4;
/// Of all users.
const AT_A_TIME: usize = 16;
/// How long a request may take once it has arrived.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of texts of documents after which a request gets no more of them.
const MOST_TEXT: usize = 16 << 20;

/// What all requests share.
pub(super) struct Service {
    schema: KitbagSchema,
    bodies: Bodies,
    turns: Shares,
    large: Semaphore,
}

/// Whoever asks, and what the request has had so far.
struct Asker {
    user: User,
    base_url: Url,
    /// Bytes of texts that were read for the request.
    text: AtomicUsize,
    /// How many documents the caller has: counted once, however often the request asks.
    counts: OnceCell<Counts>,
    /// The request reads one thing after the other: it takes one connection from the others, and a text
    /// that is over the bound is over it by itself.
    reading: Semaphore,
}

/// What a client sends (GraphQL over HTTP, section 5.4).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    query: String,
    operation_name: Option<String>,
    variables: Option<HashMap<String, Value>>,
}

impl Service {
    pub(super) fn new(bodies: Bodies) -> Self {
        Self {
            schema: schema::build(),
            bodies,
            turns: Shares::new(AT_A_TIME, AT_A_TIME_OF_ONE),
            large: Semaphore::new(LARGE_AT_A_TIME),
        }
    }
}

/// `POST /graphql`
pub(super) async fn answer(
    State(shared): State<Shared>,
    user: User,
    Extension(service): Extension<Arc<Service>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, WebError> {
    require_json(&headers)?;
    let too_many = |detail| WebError::new(StatusCode::TOO_MANY_REQUESTS, detail);
    let held = service.bodies.read(user.id(), body, LARGEST).await.map_err(|why| match why {
        Unread::TooLarge => {
            let detail =
                format!("The request is longer than {LARGEST} bytes. Send fewer documents at a time.");
            WebError::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
        }
        other => WebError::unread(other, LARGEST),
    })?;
    let _turn = service
        .turns
        .take(user.id(), 1)
        .ok_or_else(|| too_many("Too many requests at a time. Wait for the answers of those under way."))?;

    let answered = timeout(PATIENCE, async {
        let _large = match held.bytes.len() {
            LARGE.. => Some(service.large.acquire().await.expect("the semaphore is never closed")),
            _ => None,
        };
        let bytes = held.bytes.clone();
        let question = off_thread(move || Question::read(&bytes)).await?;
        Ok::<_, WebError>(ask(&service.schema, question, Asker::new(user, shared.base_url)).await)
    });
    let answer = answered.await.unwrap_or_else(|_| Ok(error::took_too_long(PATIENCE)))?;
    Ok((NOT_STORED, Json(answer)).into_response())
}

async fn ask(schema: &KitbagSchema, question: Question, asker: Asker) -> Answer {
    let Question { query, operation_name, variables } = question;
    // Parsing and counting take milliseconds, not seconds: both are bounded by the query's length.
    let document = match off_thread(move || bounds::parse(&query)).await {
        Ok(document) => document,
        Err(refusal) => return Answer::from_errors(vec![refusal]),
    };
    let mut request = Request::new("");
    request.set_parsed_query(document);
    if let Some(name) = operation_name {
        request = request.operation_name(name);
    }
    let variables = variables.into_iter().flatten().collect();
    let request = request.variables(Variables::from_json(Value::Object(variables))).data(asker);
    error::with_codes(schema.execute(request).await)
}

impl Question {
    fn read(body: &[u8]) -> Result<Self, WebError> {
        let refused = |detail: &str| WebError::new(StatusCode::BAD_REQUEST, detail);
        let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
        if first == Some(&b'[') {
            return Err(refused("Batches are not answered. Send one request at a time."));
        }
        // The parser's own message could quote what was sent, secrets included.
        let JsonObject::<Self>(question) = serde_json::from_slice(body).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            refused(&format!(
                "The body must be a JSON object with `query` (a string), and where needed `variables` \
                 (an object) and `operationName` (a string). See {place}."
            ))
        })?;
        if question.query.len() > LARGEST_QUERY {
            let detail = format!(
                "The query is longer than {LARGEST_QUERY} bytes. Put what it talks about into variables."
            );
            return Err(WebError::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
        }
        Ok(question)
    }
}

impl Asker {
    fn new(user: User, base_url: Url) -> Self {
        Self {
            user,
            base_url,
            text: AtomicUsize::new(0),
            counts: OnceCell::new(),
            reading: Semaphore::new(1),
        }
    }

    fn of<'a>(context: &Context<'a>) -> &'a Self {
        context.data().expect("every request carries its asker")
    }

    /// Waits until nothing else is read for the request; held while something is.
    async fn turn(&self) -> SemaphorePermit<'_> {
        self.reading.acquire().await.expect("the semaphore is never closed")
    }

    /// How many documents the asker has.
    async fn counts(&self) -> Result<Counts, WebError> {
        let _turn = self.turn().await;
        Ok(*self.counts.get_or_try_init(async || self.user.documents().counts().await).await?)
    }

    /// Reads the text of one of the asker's documents, unless the request has had its share.
    async fn text(&self, id: &str) -> Result<String, WebError> {
        let _turn = self.turn().await;
        if self.text.load(Ordering::Relaxed) >= MOST_TEXT {
            let detail = format!(
                "The texts of one request may have about {MOST_TEXT} bytes together. Ask for fewer documents."
            );
            return Err(WebError::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
        }
        let document = self.user.documents().document(id).await?;
        self.text.fetch_add(document.text.len(), Ordering::Relaxed);
        Ok(document.text)
    }
}

/// A form of a foreign page cannot send this type without being asked for permission first.
fn require_json(headers: &HeaderMap) -> Result<(), WebError> {
    let sent = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let media_type = sent.split(|byte| *byte == b';').next().unwrap_or_default();
    if media_type.trim_ascii().eq_ignore_ascii_case(b"application/json") {
        return Ok(());
    }
    let detail = "The body must be JSON, with Content-Type: application/json.";
    Err(WebError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}
