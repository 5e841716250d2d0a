//! Exporter of spans to the collector: OTLP over HTTP, as protobuf.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use kitbag_base::metrics::{Metrics, SpanResult};
use kitbag_base::tasks::off_thread;
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use prost::Message;
use thiserror::Error;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::queue::{BATCH, Queue};
use crate::egress::{Egress, EgressError, Policy};

/// Maximum time that a span waits for a full batch.
const INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of one export request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of attempts per batch.
const MAX_ATTEMPTS: u32 = 4;
/// Delay after the first attempt; doubles after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Maximum delay that a collector may request with `Retry-After`.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// Takes spans from the queue and sends them, one batch at a time.
pub(super) struct Exporter {
    queue: Arc<Queue>,
    egress: Egress,
    endpoint: Uri,
    headers: HeaderMap,
    resource: Arc<ResourceAttributesWithSchema>,
    metrics: Metrics,
    /// Whether the last attempt failed, which is logged once.
    is_failing: bool,
}

/// Error of an export request.
#[derive(Debug, Error)]
enum Failure {
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error("it answered {status}")]
    Status { status: StatusCode, pause: Option<Duration> },
}

impl Exporter {
    pub(super) fn new(
        queue: Arc<Queue>,
        egress: Egress,
        endpoint: Uri,
        mut headers: HeaderMap,
        metrics: Metrics,
    ) -> Self {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let resource = Arc::new(ResourceAttributesWithSchema::from(&this_process()));
        Self { queue, egress, endpoint, headers, resource, metrics, is_failing: false }
    }

    /// Sends batches until `stop`, then the remaining spans.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let is_last = tokio::select! {
                biased;
                () = stop.cancelled() => true,
                () = self.queue.has_batch() => false,
                () = sleep(INTERVAL) => false,
            };
            loop {
                let batch = self.queue.take();
                let is_full = batch.len() == BATCH;
                if !batch.is_empty() {
                    self.deliver(batch, &stop).await;
                }
                // A partial batch is not followed by another request: collect more spans first.
                if !is_full {
                    break;
                }
            }
            if is_last {
                return;
            }
        }
    }

    /// Sends a batch, with retries after temporary errors, and counts the outcome.
    async fn deliver(&mut self, batch: Vec<SpanData>, stop: &CancellationToken) {
        let count = batch.len() as u64;
        let resource = self.resource.clone();
        let body = off_thread(move || encoded(batch, &resource)).await;
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=MAX_ATTEMPTS {
            match self.send(body.clone()).await {
                Ok(rejected) => {
                    let rejected = rejected.min(count);
                    self.metrics.trace_spans(SpanResult::Rejected, rejected);
                    self.metrics.trace_spans(SpanResult::Delivered, count - rejected);
                    self.note(None);
                    return;
                }
                Err(failure) => {
                    self.note(Some(&failure));
                    if attempt == MAX_ATTEMPTS || !failure.may_pass() || stop.is_cancelled() {
                        break;
                    }
                    let wanted = failure.pause().unwrap_or(pause);
                    tokio::select! {
                        () = sleep(wanted) => {}
                        () = stop.cancelled() => {}
                    }
                    pause *= 2;
                }
            }
        }
        self.metrics.trace_spans(SpanResult::Failed, count);
    }

    /// Sends a batch once. Returns the number of spans that the collector rejected.
    async fn send(&self, body: Bytes) -> Result<u64, Failure> {
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.clone();
        *request.headers_mut() = self.headers.clone();
        let response = self.egress.exchange(request, &Policy::Operator, MAX_RESPONSE_BYTES, TIMEOUT).await?;
        if !response.status().is_success() {
            return Err(Failure::Status { status: response.status(), pause: pause_wanted(&response) });
        }
        // A response that cannot be decoded counts as success without rejected spans.
        let answer = ExportTraceServiceResponse::decode(response.into_body()).unwrap_or_default();
        let rejected = answer.partial_success.map_or(0, |partial| partial.rejected_spans);
        Ok(u64::try_from(rejected).unwrap_or_default())
    }

    /// Logs when exports begin to fail, and when they succeed again.
    fn note(&mut self, failure: Option<&Failure>) {
        match failure {
            Some(cause) if !self.is_failing => {
                warn!(%cause, "the collector does not take traces: what does not fit into the queue is dropped");
            }
            None if self.is_failing => info!("the collector takes traces again"),
            Some(_) | None => {}
        }
        self.is_failing = failure.is_some();
    }
}

impl Failure {
    /// Whether a retry of the same batch may succeed (OTLP/HTTP, "Failures").
    fn may_pass(&self) -> bool {
        match self {
            Self::Egress(error) => matches!(
                error,
                EgressError::Resolve { .. }
                    | EgressError::Connect { .. }
                    | EgressError::Tls { .. }
                    | EgressError::Timeout { .. }
                    | EgressError::Protocol { .. }
            ),
            Self::Status { status, .. } => [
                StatusCode::TOO_MANY_REQUESTS,
                StatusCode::BAD_GATEWAY,
                StatusCode::SERVICE_UNAVAILABLE,
                StatusCode::GATEWAY_TIMEOUT,
            ]
            .contains(status),
        }
    }

    fn pause(&self) -> Option<Duration> {
        match self {
            Self::Egress(_) => None,
            Self::Status { pause, .. } => *pause,
        }
    }
}

/// Delay requested by `Retry-After` in seconds, at most [`MAX_PAUSE`].
fn pause_wanted(response: &Response<Bytes>) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}

fn encoded(batch: Vec<SpanData>, resource: &ResourceAttributesWithSchema) -> Bytes {
    let resource_spans = group_spans_by_resource_and_scope(batch, resource);
    ExportTraceServiceRequest { resource_spans }.encode_to_vec().into()
}

/// Resource attributes of this process. None come from the machine or the environment.
fn this_process() -> Resource {
    let mut id = [0; 16];
    aws_lc_rs::rand::fill(&mut id).expect("the system has random numbers");
    let attributes = [
        KeyValue::new("service.name", "kitbag"),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", hex::encode(id)),
    ];
    Resource::builder_empty().with_attributes(attributes).build()
}
