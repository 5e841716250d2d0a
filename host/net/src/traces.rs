//! Tracing of calls: one trace per sampled call, with a span per step, exported to a collector with OTLP.
//!
//! Invariant: a span contains ids and versions of toolkits, names of their tools, hosts that they declare,
//! statuses, and fixed texts of this program. The functions of [`Span`] take nothing else, so arguments,
//! results, secrets, users, paths and queries cannot get into a span (docs/decisions/0041).
//! Invariant: a call never waits for the collector, however slow that is: ended spans are put into a bounded
//! queue; if it is full, they are dropped and counted.

mod arrival;
mod exporter;
mod queue;
mod span;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Uri};
use kitbag_base::metrics::Metrics;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use crate::egress::Egress;
pub use arrival::Arrival;
use exporter::Exporter;
use queue::{Processor, Queue};
pub use span::{CallStep, Called, Span, Trace};

/// Time limit for sending the queued spans in [`Traces::close`].
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Tracer of calls. Clones share the queue; the default records nothing.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<Running>>);

struct Running {
    tracer: SdkTracer,
    parents: Parents,
    exporter: Mutex<Option<JoinHandle<()>>>,
    stop: CancellationToken,
    /// Stops the exporter when the last clone of [`Traces`] is dropped.
    _stopped: DropGuard,
}

/// Collector and sampling of traces.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// The collector's URL for traces, such as `http://127.0.0.1:4318/v1/traces`.
    pub endpoint: Uri,
    /// HTTP headers of export requests; may contain an API key.
    pub headers: HeaderMap,
    /// Share of calls that are traced, from 0 to 1.
    pub sample: f64,
    /// Treatment of `traceparent` headers.
    pub parents: Parents,
}

/// Treatment of the trace that a request names (`traceparent`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// The header is ignored. Otherwise, any sender could force tracing of all their calls, and mix them with
    /// other traces.
    #[default]
    Ignored,
    /// The call becomes part of the named trace, and is sampled if that trace is. For servers behind a proxy
    /// of the operator that sets the header.
    Accepted,
}

impl Traces {
    /// Starts the exporter, which sends spans through `egress` and counts them in `metrics`. The collector
    /// need not be reachable yet.
    pub fn start(settings: TraceSettings, egress: Egress, metrics: Metrics) -> Self {
        let TraceSettings { endpoint, headers, sample, parents } = settings;
        let queue = Arc::new(Queue::new(metrics.clone()));
        // All parts are set explicitly: the SDK's defaults would read environment variables.
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(sample))))
            .with_span_limits(span::LIMITS)
            .with_resource(Resource::builder_empty().build())
            .with_span_processor(Processor::new(queue.clone()))
            .build();
        let stop = CancellationToken::new();
        info!(host = endpoint.host(), sample, "traces of calls are sent to a collector");
        let exporter = Exporter::new(queue, egress, endpoint, headers, metrics);
        let exporter = Mutex::new(Some(tokio::spawn(exporter.run(stop.clone()))));
        let tracer = provider.tracer("kitbag");
        let stopped = stop.clone().drop_guard();
        Self(Some(Arc::new(Running { tracer, parents, exporter, stop, _stopped: stopped })))
    }

    /// Records the arrival time of a request with these headers. `None` if tracing is disabled.
    pub fn arrival(&self, headers: &HeaderMap) -> Option<Arrival> {
        let running = self.0.as_ref()?;
        Some(match running.parents {
            Parents::Ignored => Arrival::now(),
            Parents::Accepted => Arrival::now().below(headers),
        })
    }

    /// Begins the trace of a call, if the call is sampled. Without `arrival`, the trace begins now.
    pub fn begin(&self, arrival: Option<Arrival>, called: Called<'_>) -> Span {
        let Some(running) = &self.0 else { return Span::default() };
        Span::of_call(&running.tracer, arrival, called)
    }

    /// Sends the queued spans, for at most two seconds, and stops the exporter.
    pub async fn close(&self) {
        let Some(running) = &self.0 else { return };
        running.stop.cancel();
        let exporter = running.exporter.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut exporter) = exporter else { return };
        if timeout(FLUSH_TIMEOUT, &mut exporter).await.is_err() {
            exporter.abort();
            warn!("the last traces were not sent in time");
        }
    }
}
