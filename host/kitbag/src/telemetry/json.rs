//! JSON format of log events.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Formats an event as one object, with its own fields and those of Kitbag's innermost span.
pub(super) struct WithSpanFields(Format<Json>);

impl WithSpanFields {
    pub(super) fn new(format: Format<Json>) -> Self {
        Self(format.flatten_event(true).with_current_span(false).with_span_list(false))
    }
}

impl<S, N> FormatEvent<S, N> for WithSpanFields
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut spans = context.event_scope().into_iter().flatten();
        let Some(span) = spans.find(|span| span.metadata().target().starts_with("kitbag")) else {
            return self.0.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        let extensions = span.extensions();
        // The formatted span fields are a JSON object too.
        let fields = extensions.get::<FormattedFields<N>>().map(|it| it.fields.as_str());
        let fields = fields.and_then(|it| it.strip_prefix('{')?.strip_suffix('}')).unwrap_or_default();
        match line.trim_end().strip_suffix('}') {
            Some(members) if !fields.is_empty() => writeln!(writer, "{members},{fields}}}"),
            _ => writer.write_str(&line),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};
    use tracing::{error_span, info, info_span};
    use tracing_subscriber::fmt;
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::registry;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_in_a_traced_call_has_the_id_of_the_trace_and_nothing_of_the_spans_of_others() {
        let written = Written::default();
        let writer = written.clone();
        let lines =
            fmt::layer().with_writer(move || writer.clone()).json().map_event_format(WithSpanFields::new);

        tracing::subscriber::with_default(registry().with(lines), || {
            info!(user = "ana", "before");
            error_span!("call", trace_id = "4bf9").in_scope(|| {
                info!(user = "ana", "in");
                info_span!(target: "hyper", "request", path = "/secret").in_scope(|| info!("in both"));
            });
            info_span!(target: "hyper", "request", path = "/secret").in_scope(|| info!("in theirs"));
        });

        let written = String::from_utf8(written.0.lock().expect("no panic").clone()).expect("text");
        let lines: Vec<Value> =
            written.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
        let ids: Vec<_> = lines.iter().map(|line| (&line["message"], &line["trace_id"])).collect();
        assert_eq!(
            ids,
            [
                (&json!("before"), &Value::Null),
                (&json!("in"), &json!("4bf9")),
                (&json!("in both"), &json!("4bf9")),
                (&json!("in theirs"), &Value::Null),
            ]
        );
        assert_eq!((&lines[1]["user"], &lines[1]["level"]), (&json!("ana"), &json!("INFO")));
        assert!(!written.contains("secret") && !written.contains("\"span"), "{written}");
    }
}
