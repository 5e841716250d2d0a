//! Statements that the server executes, as written in its own stores.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, registry};

use super::database::Database;
use super::log::ServerLog;
use crate::Outcome;

/// Statement with the totals of its executions.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Text of the last execution.
    pub(crate) text: String,
    pub(crate) executions: u64,
    pub(crate) time: Duration,
    /// Parameters of the last execution, as literals; `None` if the engine does not need them to explain a
    /// statement.
    pub(crate) parameters: Option<Vec<String>>,
}

/// Statements by normalized text, with at most one row of values.
pub(crate) type ByText = BTreeMap<String, Seen>;

/// Source of executed statements.
pub(crate) enum Statements<'r> {
    /// Events of the database driver: durations measured in the program.
    OfEvents(&'r Recorder),
    /// Log of the PostgreSQL server: durations measured in the server.
    OfLog(ServerLog),
}

impl<'r> Statements<'r> {
    /// Starts to collect statements from the driver's events.
    pub(crate) fn of_events(recorder: &'r Recorder) -> Self {
        recorder.seen().clear();
        Self::OfEvents(recorder)
    }

    /// Returns the statements collected.
    pub(crate) async fn take(self, database: &mut Database) -> Outcome<ByText> {
        match self {
            Self::OfEvents(recorder) => Ok(std::mem::take(&mut *recorder.seen())),
            Self::OfLog(log) => log.take(database).await,
        }
    }
}

/// Adds an execution of a statement.
pub(crate) fn add(seen: &mut ByText, text: &str, time: Duration, parameters: Option<Vec<String>>) {
    let seen = seen.entry(outline(text)).or_insert_with(|| Seen {
        text: String::new(),
        executions: 0,
        time: Duration::ZERO,
        parameters: None,
    });
    text.clone_into(&mut seen.text);
    seen.executions += 1;
    seen.time += time;
    seen.parameters = parameters;
}

/// Normalizes a statement: one line, without rows of values after the first, because their number varies.
fn outline(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(start) = text.find("VALUES (") else { return text };
    let (before, values) = text.split_at(start);
    let Some(end) = values.find(')') else { return text };
    let (first, mut rest) = values.split_at(end + 1);
    while let Some(next) = rest.strip_prefix(", (").and_then(|row| row.find(')')) {
        rest = &rest[", (".len() + next + 1..];
    }
    // Parameters after the rows are numbered differently each time.
    let is_varying = rest.len() < values.len() - first.len();
    let rest =
        if is_varying { rest.replace(|letter: char| letter.is_ascii_digit(), "") } else { rest.to_owned() };
    format!("{before}{first}{rest}")
}

/// Recorder of the driver's events about statements.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<ByText>>);

impl Recorder {
    /// Installs the recorder for the whole process: the driver's threads do not belong to the runtime.
    pub(crate) fn install() -> Self {
        let recorder = Self::default();
        let statements = filter_fn(|event| event.target() == "sqlx::query");
        registry().with(recorder.clone().with_filter(statements)).init();
        recorder
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, ByText> {
        self.0.lock().expect("nobody panics while recording")
    }
}

impl<S: Subscriber> Layer<S> for Recorder {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        // For a short statement, the event has only a summary, which is the whole text.
        let text = if fields.statement.is_empty() { &fields.summary } else { &fields.statement };
        add(&mut self.seen(), text.trim(), Duration::from_secs_f64(fields.seconds), None);
    }
}

#[derive(Default)]
struct Fields {
    summary: String,
    statement: String,
    seconds: f64,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "summary" => value.clone_into(&mut self.summary),
            "db.statement" => value.clone_into(&mut self.statement),
            _ => {}
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "elapsed_secs" {
            self.seconds = value;
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
