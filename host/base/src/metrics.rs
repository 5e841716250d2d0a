//! Counters and histograms of a server, in the `OpenMetrics` text format (version 1.0), for Prometheus and
//! compatible collectors.
//!
//! Invariant: label values are ids of toolkits, which operators choose, and constants of this program. They
//! never contain data from a client, a guest or a document: such data may be secret, and each label value
//! stays in memory until the server stops.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};

/// Media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Prefix of all metric names.
const PREFIX: &str = "kitbag";
/// Upper bounds of the histogram buckets of calls, in seconds: from a short computation to the default
/// deadline.
const CALL_BUCKETS: [f64; 14] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0];

/// All counters and histograms of a server. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Measured>);

#[derive(Debug)]
struct Measured {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    call_time: Family<ToolkitLabel, Histogram, fn() -> Histogram>,
    sandbox_time: Family<ToolkitLabel, Histogram, fn() -> Histogram>,
    outbound_requests: Family<OutboundLabels, Counter>,
    sign_ins: Family<ResultLabel, Counter>,
    trace_spans: Family<ResultLabel, Counter>,
    responses: Family<StatusLabel, Counter>,
    tls_handshakes: Family<ResultLabel, Counter>,
    dlp_checks: Family<DlpLabels, Counter>,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct CallLabels {
    toolkit: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct ToolkitLabel {
    toolkit: String,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct OutboundLabels {
    purpose: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct DlpLabels {
    phase: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct StatusLabel {
    status: u16,
}

/// Outcome of a trace span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanResult {
    /// Accepted by the collector.
    Delivered,
    /// Dropped because the queue was full.
    Dropped,
    /// Not sent: the collector could not be reached, or responded with an error.
    Failed,
    /// Rejected by the collector.
    Rejected,
}

impl SpanResult {
    const ALL: [Self; 4] = [Self::Delivered, Self::Dropped, Self::Failed, Self::Rejected];

    fn label(self) -> ResultLabel {
        let result = match self {
            Self::Delivered => "delivered",
            Self::Dropped => "dropped",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
        };
        ResultLabel { result }
    }
}

/// A metric whose value is read at collection time, optionally one value for each set of labels.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Metric name, without the prefix and the unit.
    name: &'static str,
    /// Help text.
    help: &'static str,
    unit: Option<Unit>,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    One(i64),
    /// Gauges, each with its distinguishing labels.
    Several(Vec<(Labels, i64)>),
    /// Counters since the start, each with its distinguishing labels.
    Totals(Vec<(Labels, u64)>),
}

/// Label names and values.
pub type Labels = Vec<(&'static str, &'static str)>;

impl Reading {
    /// Creates a gauge that counts things.
    pub fn count(name: &'static str, help: &'static str, value: usize) -> Self {
        Self { name, help, unit: None, value: Value::One(as_i64(value as u64)) }
    }

    /// Creates a gauge in bytes.
    pub fn bytes(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, unit: Some(Unit::Bytes), value: Value::One(as_i64(value)) }
    }

    /// Creates a gauge of a point in time, in seconds since 1970.
    pub fn timestamp(name: &'static str, help: &'static str, seconds: i64) -> Self {
        Self { name, help, unit: Some(Unit::Seconds), value: Value::One(seconds) }
    }

    /// Creates a gauge that counts things of several kinds; `label` is the label name of the kind.
    pub fn counts(
        name: &'static str,
        help: &'static str,
        label: &'static str,
        values: impl IntoIterator<Item = (&'static str, u64)>,
    ) -> Self {
        Self::labelled(name, help, values.into_iter().map(|(kind, value)| (vec![(label, kind)], value)))
    }

    /// Creates a gauge that counts things, with labels.
    pub fn labelled(
        name: &'static str,
        help: &'static str,
        values: impl IntoIterator<Item = (Labels, u64)>,
    ) -> Self {
        let values = values.into_iter().map(|(labels, value)| (labels, as_i64(value))).collect();
        Self { name, help, unit: None, value: Value::Several(values) }
    }

    /// Creates a counter of events since the start, with labels.
    pub fn totals(
        name: &'static str,
        help: &'static str,
        values: impl IntoIterator<Item = (Labels, u64)>,
    ) -> Self {
        Self { name, help, unit: None, value: Value::Totals(values.into_iter().collect()) }
    }

    fn register(&self, registry: &mut Registry) {
        match &self.value {
            Value::One(value) => self.register_as(registry, ConstGauge::new(*value)),
            Value::Several(values) => {
                let gauges = Family::<Labels, Gauge>::default();
                for (labels, value) in values {
                    gauges.get_or_create(labels).set(*value);
                }
                self.register_as(registry, gauges);
            }
            Value::Totals(values) => {
                let counters = Family::<Labels, Counter>::default();
                for (labels, value) in values {
                    counters.get_or_create(labels).inc_by(*value);
                }
                self.register_as(registry, counters);
            }
        }
    }

    fn register_as(&self, registry: &mut Registry, metric: impl Metric) {
        match &self.unit {
            Some(unit) => registry.register_with_unit(self.name, self.help, unit.clone(), metric),
            None => registry.register(self.name, self.help, metric),
        }
    }
}

fn as_i64(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let calls = Family::default();
        let outbound_requests = Family::default();
        let sign_ins = Family::default();
        let responses = Family::default();
        let tls_handshakes = Family::default();
        let dlp_checks = Family::<DlpLabels, Counter>::default();
        for phase in ["arguments", "result"] {
            // Created with 0, so that the first failure appears as an increase.
            drop(dlp_checks.get_or_create(&DlpLabels { phase, result: "unavailable" }));
        }
        let trace_spans = Family::<ResultLabel, Counter>::default();
        for result in SpanResult::ALL {
            // Created with 0, so that the first drop appears as an increase.
            drop(trace_spans.get_or_create(&result.label()));
        }
        let times = || Family::new_with_constructor((|| Histogram::new(CALL_BUCKETS)) as fn() -> Histogram);
        let call_time = times();
        let sandbox_time = times();
        registry.register("calls", "Calls of tools, by outcome", calls.clone());
        registry.register_with_unit(
            "call_duration",
            "Time of a call of a tool, from its arrival to its end",
            Unit::Seconds,
            call_time.clone(),
        );
        registry.register_with_unit(
            "sandbox_duration",
            "Part of a call's time in the sandbox: waiting for memory, creating the instance, and the handler with all it waited for",
            Unit::Seconds,
            sandbox_time.clone(),
        );
        registry.register(
            "outbound_requests",
            "Requests to other servers, of toolkits, of captures of files, and of the server itself",
            outbound_requests.clone(),
        );
        registry.register("sign_in_checks", "Checks of who sends a request, by result", sign_ins.clone());
        registry.register("trace_spans", "Spans of traces, by what became of them", trace_spans.clone());
        registry.register("http_responses", "Responses to clients, by status", responses.clone());
        registry.register("tls_handshakes", "TLS handshakes of clients, by result", tls_handshakes.clone());
        registry.register(
            "dlp_checks",
            "Checks of arguments and results by the service that inspects calls, by result",
            dlp_checks.clone(),
        );
        Self(Arc::new(Measured {
            registry,
            calls,
            call_time,
            sandbox_time,
            outbound_requests,
            sign_ins,
            trace_spans,
            responses,
            tls_handshakes,
            dlp_checks,
        }))
    }
}

impl Metrics {
    /// Counts a tool call. `in_sandbox` is `None` if the call never entered the sandbox.
    pub fn call(&self, toolkit: &str, outcome: &'static str, time: Duration, in_sandbox: Option<Duration>) {
        let Measured { calls, call_time, sandbox_time, .. } = &*self.0;
        calls.get_or_create(&CallLabels { toolkit: toolkit.to_owned(), outcome }).inc();
        let label = ToolkitLabel { toolkit: toolkit.to_owned() };
        call_time.get_or_create(&label).observe(time.as_secs_f64());
        if let Some(time) = in_sandbox {
            sandbox_time.get_or_create(&label).observe(time.as_secs_f64());
        }
    }

    /// Counts a request to another server, by purpose and result.
    pub fn outbound_request(&self, purpose: &'static str, result: &'static str) {
        self.0.outbound_requests.get_or_create(&OutboundLabels { purpose, result }).inc();
    }

    /// Counts an authentication of a request.
    pub fn sign_in_check(&self, result: &'static str) {
        self.0.sign_ins.get_or_create(&ResultLabel { result }).inc();
    }

    /// Counts a check by the service that inspects calls: of `arguments` or of a `result`.
    pub fn dlp_check(&self, phase: &'static str, result: &'static str) {
        self.0.dlp_checks.get_or_create(&DlpLabels { phase, result }).inc();
    }

    /// Counts trace spans.
    pub fn trace_spans(&self, result: SpanResult, count: u64) {
        self.0.trace_spans.get_or_create(&result.label()).inc_by(count);
    }

    /// Counts a response to a client, by status code.
    pub fn response(&self, status: u16) {
        self.0.responses.get_or_create(&StatusLabel { status }).inc();
    }

    /// Counts a TLS handshake of a client.
    pub fn tls_handshake(&self, result: &'static str) {
        self.0.tls_handshakes.get_or_create(&ResultLabel { result }).inc();
    }

    /// Returns all metrics, including `readings`, as text.
    pub fn text(&self, readings: &[Reading]) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix(PREFIX);
        for reading in readings {
            reading.register(&mut registry);
        }
        let mut text = String::new();
        encode_registry(&mut text, &self.0.registry)?;
        encode_registry(&mut text, &registry)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_and_measured_and_readings_are_values() {
        let metrics = Metrics::default();
        for (outcome, in_sandbox) in [("succeeded", Some(2)), ("succeeded", Some(3)), ("busy", None)] {
            metrics.call("text", outcome, Duration::from_millis(4), in_sandbox.map(Duration::from_millis));
        }

        let jobs = Reading::counts("jobs_waiting", "Jobs", "job", [("index", 2), ("embed", 0)]);
        let waits = Reading::totals("waits", "Waits", [(vec![("pool", "read")], 3)]);
        metrics.trace_spans(SpanResult::Dropped, 2);
        metrics.dlp_check("arguments", "refused");
        let text = metrics.text(&[Reading::bytes("call_memory", "Memory", 7), jobs, waits]).expect("text");

        for line in [
            r#"kitbag_calls_total{toolkit="text",outcome="succeeded"} 2"#,
            r#"kitbag_calls_total{toolkit="text",outcome="busy"} 1"#,
            r#"kitbag_call_duration_seconds_bucket{le="0.005",toolkit="text"} 3"#,
            r#"kitbag_call_duration_seconds_count{toolkit="text"} 3"#,
            r#"kitbag_sandbox_duration_seconds_count{toolkit="text"} 2"#,
            "kitbag_call_memory_bytes 7",
            r#"kitbag_jobs_waiting{job="index"} 2"#,
            r#"kitbag_jobs_waiting{job="embed"} 0"#,
            r#"kitbag_waits_total{pool="read"} 3"#,
            r#"kitbag_dlp_checks_total{phase="arguments",result="refused"} 1"#,
            r#"kitbag_trace_spans_total{result="dropped"} 2"#,
            r#"kitbag_trace_spans_total{result="failed"} 0"#,
            "# EOF",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is missing:\n{text}");
        }
    }
}
