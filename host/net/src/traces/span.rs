//! The steps of a call, as spans.

use http::StatusCode;
use kitbag_manifest::ToolkitDefinition;
use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, Status, TraceContextExt as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{SdkTracer, Span as SdkSpan, SpanLimits};
use tracing::error_span;

use super::Arrival;
use crate::egress::ListedHost;

/// More than any span has.
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
    /// Limits of concurrent calls, the toolkit's code, the caller's secrets.
    Admit,
    /// The arguments are compared with the tool's schema.
    CheckArguments,
    /// From the wait for memory to the end of the instance.
    Sandbox,
    /// A request of the toolkit, until the head of its response.
    Fetch,
    /// A request of the host for a token for the toolkit.
    SignIn,
    /// Secrets are removed from the result, and it is compared with the tool's schema.
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
            Self::CheckResult => "check result",
        }
    }

    fn kind(self) -> SpanKind {
        match self {
            Self::Fetch | Self::SignIn => SpanKind::Client,
            Self::Admit | Self::CheckArguments | Self::Sandbox | Self::CheckResult => SpanKind::Internal,
        }
    }
}

/// A span, which ends when it is dropped. The default is that of a call that is not traced: it records nothing.
#[derive(Debug, Default)]
pub struct Span(Option<Recorded>);

#[derive(Debug)]
struct Recorded {
    tracer: SdkTracer,
    span: SdkSpan,
}

/// Where the spans of a call's steps belong. Clones are the same place; the default records nothing.
#[derive(Clone, Debug, Default)]
pub struct Trace(Option<Place>);

#[derive(Clone, Debug)]
struct Place {
    tracer: SdkTracer,
    parent: Context,
}

impl Span {
    /// The whole call.
    pub(super) fn of_call(
        tracer: &SdkTracer,
        arrival: Option<Arrival>,
        toolkit: &ToolkitDefinition,
        (method, name): (&str, &str),
    ) -> Self {
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

    /// Where the spans of its parts belong.
    pub fn below(&self) -> Trace {
        Trace(self.0.as_ref().map(|Recorded { tracer, span }| {
            let parent = Context::new().with_remote_span_context(span.span_context().clone());
            Place { tracer: tracer.clone(), parent }
        }))
    }

    /// The span of the log in which the lines of a traced call are written: it has the trace's id.
    pub fn in_log(&self) -> tracing::Span {
        match &self.0 {
            // At this level whatever is logged has it.
            Some(recorded) => error_span!("call", trace_id = %recorded.span.span_context().trace_id()),
            None => tracing::Span::none(),
        }
    }

    /// How the call has ended: a word of this program. Whatever is no success is an error.
    pub fn ended(&mut self, outcome: &'static str, is_success: bool) {
        self.set(KeyValue::new("kitbag.outcome", outcome));
        if !is_success {
            self.failed(outcome);
        }
    }

    /// What went wrong: a word of this program.
    pub fn failed(&mut self, kind: &'static str) {
        self.set(KeyValue::new("error.type", kind));
        if let Some(Recorded { span, .. }) = &mut self.0 {
            span.set_status(Status::error(""));
        }
    }

    /// The server of a request.
    pub fn server(&mut self, host: Option<ListedHost>) {
        if let Some(host) = host {
            self.set(KeyValue::new("server.port", i64::from(host.port())));
            self.set(KeyValue::new("server.address", host.into_name()));
        }
    }

    /// What the server has answered.
    pub fn status(&mut self, status: StatusCode) {
        self.set(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
    }

    /// Whether it is recorded: what is only for the span need not be computed otherwise.
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
    /// Begins a step.
    pub fn begin(&self, step: CallStep) -> Span {
        Span(self.0.as_ref().map(|Place { tracer, parent }| {
            let builder = SpanBuilder::from_name(step.name()).with_kind(step.kind());
            Recorded { tracer: tracer.clone(), span: builder.start_with_context(tracer, parent) }
        }))
    }
}
