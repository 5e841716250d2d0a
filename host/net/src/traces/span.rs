//! Spans of a call and its steps.

use http::StatusCode;
use kitbag_manifest::ToolkitDefinition;
use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, Status, TraceContextExt as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{SdkTracer, Span as SdkSpan, SpanLimits};
use tracing::error_span;

use super::Arrival;
use crate::egress::ListedHost;

/// Limits above the usage of any span here.
pub(super) const LIMITS: SpanLimits = SpanLimits {
    max_events_per_span: 0,
    max_attributes_per_span: 16,
    max_links_per_span: 0,
    max_attributes_per_event: 0,
    max_attributes_per_link: 0,
};

/// A step of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStep {
    /// Admission: limits of concurrent calls, the toolkit's code, the caller's secrets.
    Admit,
    /// Validation of the arguments against the tool's schema.
    CheckArguments,
    /// Execution in the sandbox, from the wait for memory to the end of the instance.
    Sandbox,
    /// Outbound request of the toolkit, until the response head.
    Fetch,
    /// Token request of the host on behalf of the toolkit.
    SignIn,
    /// Check of arguments or a result by the service that inspects calls.
    Inspect,
    /// Redaction of secrets in the result, and its validation against the tool's schema.
    CheckResult,
}

impl CallStep {
    fn name(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::CheckArguments => "check arguments",
            Self::Sandbox => "sandbox",
            Self::Fetch => "fetch",
            Self::SignIn => "sign in",
            Self::Inspect => "inspect",
            Self::CheckResult => "check result",
        }
    }

    fn kind(self) -> SpanKind {
        match self {
            Self::Fetch | Self::SignIn | Self::Inspect => SpanKind::Client,
            Self::Admit | Self::CheckArguments | Self::Sandbox | Self::CheckResult => SpanKind::Internal,
        }
    }
}

/// A span, which ends on drop. The default is for calls that are not traced, and records nothing.
#[derive(Debug, Default)]
pub struct Span(Option<Recorded>);

#[derive(Debug)]
struct Recorded {
    tracer: SdkTracer,
    span: SdkSpan,
}

/// Parent of the spans of a call's steps. Clones have the same parent; the default records nothing.
#[derive(Clone, Debug, Default)]
pub struct Trace(Option<Place>);

#[derive(Clone, Debug)]
struct Place {
    tracer: SdkTracer,
    parent: Context,
}

/// The callee of a traced call.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    /// The toolkit.
    pub toolkit: &'a ToolkitDefinition,
    /// The MCP method.
    pub method: &'a str,
    /// Name of the tool, prompt or resource.
    pub name: &'a str,
}

impl Span {
    /// Begins the span of a call, with a span of its authentication if `arrival` has one.
    pub(super) fn of_call(tracer: &SdkTracer, arrival: Option<Arrival>, called: Called<'_>) -> Self {
        let Called { toolkit, method, name } = called;
        let parent = arrival.and_then(|arrival| arrival.parent()).unwrap_or_default();
        let mut call = SpanBuilder::from_name("tools/call").with_kind(SpanKind::Server);
        call.start_time = arrival.map(|arrival| arrival.at);
        let mut span = call.start_with_context(tracer, &parent);
        if !span.is_recording() {
            return Self::default();
        }
        span.update_name(format!("{method} {}__{name}", toolkit.id));
        span.set_attribute(KeyValue::new("kitbag.toolkit.id", toolkit.id.clone()));
        span.set_attribute(KeyValue::new("kitbag.toolkit.version", toolkit.version.clone()));
        span.set_attribute(KeyValue::new("kitbag.tool", name.to_owned()));
        let call = Self(Some(Recorded { tracer: tracer.clone(), span }));
        if let Some(Arrival { at, signed_in: Some(signed_in), .. }) = arrival
            && let Some(Place { tracer, parent }) = call.below().0
        {
            let step = SpanBuilder::from_name("authenticate").with_start_time(at);
            step.start_with_context(&tracer, &parent).end_with_timestamp(signed_in);
        }
        call
    }

    /// Returns this span as the parent of further spans.
    pub fn below(&self) -> Trace {
        Trace(self.0.as_ref().map(|Recorded { tracer, span }| {
            let parent = Context::new().with_remote_span_context(span.span_context().clone());
            Place { tracer: tracer.clone(), parent }
        }))
    }

    /// Returns a log span with `trace_id` for the log lines of a traced call; a disabled one if the call is
    /// not traced.
    pub fn in_log(&self) -> tracing::Span {
        match &self.0 {
            // At level `error`, the span is enabled for log lines of every level.
            Some(recorded) => error_span!("call", trace_id = %recorded.span.span_context().trace_id()),
            None => tracing::Span::none(),
        }
    }

    /// Sets the outcome of the call, a fixed text. Without success, the span becomes an error.
    pub fn ended(&mut self, outcome: &'static str, is_success: bool) {
        self.set(KeyValue::new("kitbag.outcome", outcome));
        if !is_success {
            self.failed(outcome);
        }
    }

    /// Marks the span as an error of this kind, a fixed text.
    pub fn failed(&mut self, kind: &'static str) {
        self.set(KeyValue::new("error.type", kind));
        if let Some(Recorded { span, .. }) = &mut self.0 {
            span.set_status(Status::error(""));
        }
    }

    /// Sets the server of a request; `None` if the toolkit does not declare the host.
    pub fn server(&mut self, host: Option<ListedHost>) {
        if let Some(host) = host {
            self.set(KeyValue::new("server.port", i64::from(host.port())));
            self.set(KeyValue::new("server.address", host.into_name()));
        }
    }

    /// Sets the HTTP status of a response.
    pub fn status(&mut self, status: StatusCode) {
        self.set(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
    }

    /// Whether the span is recorded. If not, attributes need not be computed.
    pub fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    fn set(&mut self, attribute: KeyValue) {
        if let Some(Recorded { span, .. }) = &mut self.0 {
            span.set_attribute(attribute);
        }
    }
}

impl Trace {
    /// Begins the span of a step.
    pub fn begin(&self, step: CallStep) -> Span {
        Span(self.0.as_ref().map(|Place { tracer, parent }| {
            let builder = SpanBuilder::from_name(step.name()).with_kind(step.kind());
            Recorded { tracer: tracer.clone(), span: builder.start_with_context(tracer, parent) }
        }))
    }
}
