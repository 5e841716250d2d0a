//! Traces of calls: one for each sampled call, with a span for each of its steps, sent to a collector by OTLP.
//!
//! Invariant: a span has ids and versions of toolkits, names of their tools, hosts that they declare, statuses, and words
//! of this program. The functions of [`Span`] take nothing else, so arguments, results, secrets, users, paths and
//! queries cannot get into one (docs/decisions/0041).
//! Invariant: a call never waits for the collector, however slow that is: spans that have ended wait in a queue of limited
//! size, and what finds it full is dropped and counted.

mod arrival;
mod exporter;
mod queue;
mod span;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Uri};
use kitbag_base::metrics::Metrics;
use kitbag_manifest::ToolkitDefinition;
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
pub use span::{CallStep, Span, Trace};

/// How long [`Traces::close`] sends what is queued.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Begins traces. Clones share the queue; the default records nothing.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<Running>>);

struct Running {
    tracer: SdkTracer,
    parents: Parents,
    exporter: Mutex<Option<JoinHandle<()>>>,
    stop: CancellationToken,
    /// Ends the exporter when nobody can begin a trace any more.
    _stopped: DropGuard,
}

/// Where traces go, and of which calls.
#[derive(Clone, Debug)]
pub struct TraceSettings {
    /// The collector's URL for traces, such as `http://127.0.0.1:4318/v1/traces`.
    pub endpoint: Uri,
    /// Headers for it, which may have a key.
    pub headers: HeaderMap,
    /// Share of calls that are traced, from 0 to 1.
    pub sample: f64,
    /// What becomes of the trace that a request names.
    pub parents: Parents,
}

/// What becomes of the trace that a request names (`traceparent`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// It is ignored. Whoever sends a request could otherwise have each of their calls traced, and mix them with the
    /// traces of others.
    #[default]
    Ignored,
    /// The call becomes a part of it, and is sampled if it is: a proxy of the operator sets the header.
    Accepted,
}

impl Traces {
    /// Starts to send traces through `egress`, and counts spans in `metrics`. The collector need not be there yet.
    pub fn start(settings: TraceSettings, egress: Egress, metrics: Metrics) -> Self {
        let TraceSettings { endpoint, headers, sample, parents } = settings;
        let queue = Arc::new(Queue::new(metrics.clone()));
        // Each part that the environment could change is set here: settings are read in one place.
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
        let (tracer, stopped) = (provider.tracer("kitbag"), stop.clone().drop_guard());
        Self(Some(Arc::new(Running { tracer, parents, exporter, stop, _stopped: stopped })))
    }

    /// Notes when a request with these headers came. `None` if nothing is traced.
    pub fn arrival(&self, headers: &HeaderMap) -> Option<Arrival> {
        let running = self.0.as_ref()?;
        Some(match running.parents {
            Parents::Ignored => Arrival::now(),
            Parents::Accepted => Arrival::now().below(headers),
        })
    }

    /// Begins the trace of a call, if it is sampled. Without `arrival`, it begins now.
    pub fn begin(
        &self,
        arrival: Option<Arrival>,
        toolkit: &ToolkitDefinition,
        (method, name): (&str, &str),
    ) -> Span {
        let Some(running) = &self.0 else { return Span::default() };
        Span::of_call(&running.tracer, arrival, toolkit, (method, name))
    }

    /// Sends what is queued, for at most two seconds.
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
