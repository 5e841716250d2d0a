//! Arrival of a request, before authentication: time and `traceparent`.

use std::time::SystemTime;

use http::HeaderMap;
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};

/// Header with the parent span (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";
/// Length of a `traceparent` value, in bytes.
const TRACEPARENT_BYTES: usize = 55;

/// The arrival of a request that may become a call.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub(super) at: SystemTime,
    /// Time at which the token was verified.
    pub(super) signed_in: Option<SystemTime>,
    parent: Option<Parent>,
}

/// Remote parent span of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parent {
    trace: TraceId,
    span: SpanId,
    flags: TraceFlags,
}

impl Arrival {
    pub(super) fn now() -> Self {
        Self { at: SystemTime::now(), signed_in: None, parent: None }
    }

    /// Sets the parent span from `traceparent`, if the header is valid.
    pub(super) fn below(self, headers: &HeaderMap) -> Self {
        Self { parent: Parent::of(headers), ..self }
    }

    /// Records the current time as the end of authentication.
    #[must_use]
    pub fn signed_in(self) -> Self {
        Self { signed_in: Some(SystemTime::now()), ..self }
    }

    pub(super) fn parent(&self) -> Option<Context> {
        let Parent { trace, span, flags } = self.parent?;
        let parent = SpanContext::new(trace, span, flags, true, TraceState::NONE);
        Some(Context::new().with_remote_span_context(parent))
    }
}

impl Parent {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let value = values.next()?;
        if values.next().is_some() { None } else { Self::parse(value.to_str().ok()?) }
    }

    /// Parses `00-{trace}-{span}-{flags}`: lower-case hexadecimal numbers of fixed length. The SDK's own
    /// parser also accepts short ids, signs and spaces. Later versions of the format are ignored.
    fn parse(text: &str) -> Option<Self> {
        if text.len() != TRACEPARENT_BYTES {
            return None;
        }
        let mut parts = text.split('-');
        let version = parts.next()?;
        let trace = parts.next()?;
        let span = parts.next()?;
        let flags = parts.next()?;
        let has_form = [(version, 2), (trace, 32), (span, 16), (flags, 2)].iter().all(|(part, length)| {
            part.len() == *length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        });
        if version != "00" || parts.next().is_some() || !has_form {
            return None;
        }
        let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
        let parent =
            Self { trace: TraceId::from_hex(trace).ok()?, span: SpanId::from_hex(span).ok()?, flags };
        (parent.trace != TraceId::INVALID && parent.span != SpanId::INVALID).then_some(parent)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_parent_has_two_ids_and_says_whether_it_is_sampled() {
        for (flags, is_sampled) in [("00", false), ("01", true), ("03", true), ("fe", false), ("ff", true)] {
            let parent = Parent::parse(&format!("00-{TRACE}-{SPAN}-{flags}")).expect(flags);

            assert_eq!((parent.trace.to_string(), parent.span.to_string()), (TRACE.into(), SPAN.into()));
            assert_eq!(parent.flags.is_sampled(), is_sampled, "{flags}");
        }
    }

    #[test]
    fn whatever_has_another_form_names_no_trace() {
        let zeros = "0".repeat(32);
        let long = "a".repeat(100_000);
        for text in [
            "",
            "-",
            "00",
            &format!("00-{TRACE}-{SPAN}-01-"),
            &format!("00-{TRACE}-{SPAN}-01-00"),
            &format!("00-{TRACE}-{SPAN}-1"),
            &format!(" 00-{TRACE}-{SPAN}-1"),
            &format!("00-{TRACE}-{SPAN}-+1"),
            &format!("00-{TRACE}-{SPAN}-0A"),
            &format!("01-{TRACE}-{SPAN}-01"),
            &format!("ff-{TRACE}-{SPAN}-01"),
            &format!("+0-{TRACE}-{SPAN}-01"),
            &format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            &format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            &format!("00-{}g-{SPAN}-01", &TRACE[1..]),
            &format!("00-{SPAN}-{TRACE}-01"),
            &format!("00_{TRACE}_{SPAN}_01"),
            &format!("00-{zeros}-{SPAN}-01"),
            &format!("00-{TRACE}-{}-01", &zeros[..16]),
            &format!("00-{TRACE}-{SPAN}-é"),
            &format!("00-{long}-{SPAN}-01"),
            &long,
        ] {
            assert_eq!(Parent::parse(text), None, "{}", text.chars().take(80).collect::<String>());
        }
    }

    #[test]
    fn two_headers_name_no_trace() {
        let value = || HeaderValue::try_from(format!("00-{TRACE}-{SPAN}-01")).expect("ASCII");
        let mut headers = HeaderMap::new();
        headers.insert(TRACEPARENT, value());
        assert!(Parent::of(&headers).is_some());

        headers.append(TRACEPARENT, value());
        assert_eq!(Parent::of(&headers), None);
    }
}
