//! Collector of traces: receives and decodes OTLP over HTTP.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue as Any, KeyValue};
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode as SpanStatus;
use prost::Message as _;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::eventually;

/// Response of the collector to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Collecting {
    /// Accepts all spans.
    All,
    /// Stores all spans, but reports this number as rejected (partial success).
    AllBut(i64),
    /// Responds with this status and `Retry-After: 0`.
    Nothing(u16),
    /// Does not respond.
    Silently,
}

/// Collector of traces. Stops when dropped.
pub(crate) struct Collector {
    shared: Arc<Mutex<Shared>>,
    url: String,
    serving: JoinHandle<()>,
}

struct Shared {
    collecting: Collecting,
    received: Vec<(HeaderMap, Bytes)>,
    /// Batches of spans that were accepted.
    batches: Vec<ResourceSpans>,
}

/// Received span.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) name: String,
    /// Trace id in hexadecimal, like `id` and `parent`.
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Parent span id. Empty for the root span of a call, unless another program's span is its parent.
    pub(crate) parent: String,
    pub(crate) kind: i32,
    /// Start time, in nanoseconds since 1970.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) is_error: bool,
    attributes: Vec<KeyValue>,
}

impl Collector {
    pub(crate) async fn start(collecting: Collecting) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Mutex::new(Shared { collecting, received: Vec::new(), batches: Vec::new() }));
        let seen = shared.clone();
        let router = Router::new().fallback(move |request: Request| {
            let seen = seen.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                let answer = {
                    let mut seen = seen.lock().expect("no writer panicked");
                    assert_eq!((head.method.as_str(), head.uri.path()), ("POST", "/v1/traces"));
                    assert_eq!(head.headers["content-type"], "application/x-protobuf");
                    seen.answer(head.headers, body)
                };
                match answer {
                    Some(answer) => answer,
                    None => pending().await,
                }
            }
        });
        let serving = tokio::spawn(async { axum::serve(listener, router).await.expect("it serves") });
        Self { shared, url: format!("http://{address}/v1/traces"), serving }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Changes the response to further requests.
    pub(crate) fn now(&self, collecting: Collecting) {
        self.shared().collecting = collecting;
    }

    /// Received requests, whether accepted or not.
    pub(crate) fn received(&self) -> Vec<(HeaderMap, Bytes)> {
        self.shared().received.clone()
    }

    /// Accepted spans, in order of arrival.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let shared = self.shared();
        let spans = shared.batches.iter().flat_map(|batch| &batch.scope_spans).flat_map(|it| &it.spans);
        spans
            .map(|span| Span {
                name: span.name.clone(),
                trace: hex::encode(&span.trace_id),
                id: hex::encode(&span.span_id),
                parent: hex::encode(&span.parent_span_id),
                kind: span.kind,
                began: span.start_time_unix_nano,
                ended: span.end_time_unix_nano,
                is_error: span.status.as_ref().is_some_and(|it| it.code() == SpanStatus::Error),
                attributes: span.attributes.clone(),
            })
            .collect()
    }

    /// Resource attributes of the processes that sent spans.
    pub(crate) fn resources(&self) -> Vec<Vec<(String, Value)>> {
        let shared = self.shared();
        let resources = shared.batches.iter().filter_map(|batch| batch.resource.as_ref());
        let attributes = |all: &[KeyValue]| all.iter().map(|it| (it.key.clone(), value(it))).collect();
        resources.map(|resource| attributes(&resource.attributes)).collect()
    }

    /// Waits until the spans of this number of calls have arrived, and returns all spans.
    pub(crate) async fn spans_of(&self, calls: usize) -> Vec<Span> {
        let is_call = |span: &Span| span.name.starts_with("tools/call");
        eventually("the traces arrive", async || {
            self.spans().iter().filter(|span| is_call(span)).count() >= calls
        })
        .await;
        self.spans()
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("no writer panicked")
    }
}

impl Shared {
    /// Returns the response; `None`: no response.
    fn answer(&mut self, headers: HeaderMap, body: Bytes) -> Option<Response> {
        self.received.push((headers, body.clone()));
        let rejected = match self.collecting {
            Collecting::All => 0,
            Collecting::AllBut(rejected) => rejected,
            Collecting::Nothing(status) => {
                let status = StatusCode::from_u16(status).expect("a status");
                return Some((status, [("retry-after", "0")]).into_response());
            }
            Collecting::Silently => return None,
        };
        let request = ExportTraceServiceRequest::decode(body).expect("it is OTLP");
        self.batches.extend(request.resource_spans);
        let partial = ExportTracePartialSuccess { rejected_spans: rejected, error_message: String::new() };
        let answer = ExportTraceServiceResponse { partial_success: (rejected > 0).then_some(partial) };
        Some(([("content-type", "application/x-protobuf")], answer.encode_to_vec()).into_response())
    }
}

impl Span {
    /// Value of an attribute; null if it is absent.
    pub(crate) fn attribute(&self, name: &str) -> Value {
        self.attributes.iter().find(|it| it.key == name).map_or(Value::Null, value)
    }

    /// Names of all attributes.
    pub(crate) fn attributes(&self) -> Vec<&str> {
        self.attributes.iter().map(|it| it.key.as_str()).collect()
    }
}

fn value(attribute: &KeyValue) -> Value {
    match &attribute.value {
        Some(Any { value: Some(AnyValue::StringValue(text)) }) => text.as_str().into(),
        Some(Any { value: Some(AnyValue::IntValue(number)) }) => (*number).into(),
        other => panic!("{} is neither a text nor a number: {other:?}", attribute.key),
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
