//! Bounded queue of ended spans for the exporter.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kitbag_base::metrics::{Metrics, SpanResult};
use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::Notify;

/// Maximum number of spans per export request.
pub(super) const BATCH: usize = 512;
/// Maximum number of queued spans, about 1 KiB each.
const MAX_QUEUED: usize = 16 * BATCH;

/// Ended spans that wait for export, oldest first.
#[derive(Debug)]
pub(super) struct Queue {
    spans: Mutex<VecDeque<SpanData>>,
    has_batch: Notify,
    metrics: Metrics,
}

/// Span processor that queues ended spans. The SDK's own processor does not expose how many spans it drops.
#[derive(Debug)]
pub(super) struct Processor(Arc<Queue>);

impl Queue {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self { spans: Mutex::default(), has_batch: Notify::new(), metrics }
    }

    /// Adds a span; if the queue is full, drops and counts it. Wakes the exporter only for a full batch:
    /// waking takes longer than everything else here.
    fn push(&self, span: SpanData) {
        let length = {
            let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
            if spans.len() < MAX_QUEUED {
                spans.push_back(span);
                Some(spans.len())
            } else {
                None
            }
        };
        match length {
            Some(length) if length.is_multiple_of(BATCH) => self.has_batch.notify_one(),
            Some(_) => {}
            None => self.metrics.trace_spans(SpanResult::Dropped, 1),
        }
    }

    /// Removes and returns the oldest spans, at most [`BATCH`].
    pub(super) fn take(&self) -> Vec<SpanData> {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let count = spans.len().min(BATCH);
        let batch = spans.drain(..count).collect();
        if spans.is_empty() {
            // Release the memory that a burst needed.
            spans.shrink_to(BATCH);
        }
        batch
    }

    /// Waits for a full batch.
    pub(super) async fn has_batch(&self) {
        self.has_batch.notified().await;
    }
}

impl Processor {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self(queue)
    }
}

impl SpanProcessor for Processor {
    fn on_start(&self, _span: &mut Span, _context: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.0.push(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{Tracer as _, TracerProvider as _};
    use opentelemetry_sdk::trace::SdkTracerProvider;

    use super::*;

    #[tokio::test]
    async fn beyond_its_size_spans_are_dropped_and_counted_and_the_oldest_stay() {
        let metrics = Metrics::default();
        let queue = Arc::new(Queue::new(metrics.clone()));
        let provider =
            SdkTracerProvider::builder().with_span_processor(Processor::new(queue.clone())).build();
        let tracer = provider.tracer("test");

        for number in 0..MAX_QUEUED + 3 {
            drop(tracer.start(number.to_string()));
        }
        queue.has_batch().await;
        let batches: Vec<_> =
            std::iter::from_fn(|| Some(queue.take()).filter(|batch| !batch.is_empty())).collect();

        assert!(batches.iter().all(|batch| batch.len() == BATCH));
        let names: Vec<_> = batches.iter().flatten().map(|span| span.name.to_string()).collect();
        assert_eq!(names, (0..MAX_QUEUED).map(|number| number.to_string()).collect::<Vec<_>>());
        let counted = metrics.text(&[]).expect("text");
        assert!(counted.contains("kitbag_trace_spans_total{result=\"dropped\"} 3\n"), "{counted}");
        assert!(queue.spans.lock().expect("no panic").capacity() < 2 * BATCH, "the room is given back");
    }
}
