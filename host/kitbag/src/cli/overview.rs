//! `kitbag overview`

use bytesize::ByteSize;
use clap::Args;
use http::Method;
use kitbag_access::{Figures, Overview, ToolkitFigures};
use kitbag_toolkits::invocations::Latency;

use super::client::Connection;
use super::error::CliError;
use super::output::report;
use super::terminal::{Screen, Text, counted, say, text};

/// Bars of the chart of calls over time, by height.
const COLUMNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Show calls, failures and durations of all toolkits, users and sizes. For operators.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kitbag overview\n  kitbag overview --days 30 -o json\n\n\
                  Hours and days are those of UTC. Refused calls are failed ones that did not run.\n\
                  P50 and P95: half, and 95 %, of the calls that ran ended within this time.\n\
                  `kitbag toolkit logs ID --outcome any-failure` shows failed calls.")]
pub(super) struct OverviewCommand {
    /// Days up to now: the last 24 hours, or 30 days.
    #[arg(long, default_value = "1", value_parser = ["1", "30"])]
    days: String,
    #[command(flatten)]
    connection: Connection,
}

impl OverviewCommand {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let client = self.connection.open().await?;
        let path = format!("/overview?days={}", self.days);
        let overview: Overview = client.send(Method::GET, &path, "application/json", "").await?;
        report(&overview, || show(&overview))
    }
}

fn show(overview: &Overview) {
    let Figures { calls, failures, refused, p50, p95 } = overview.figures;
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    say!("Since {}", overview.from);
    say!("  {}, {} failed, {} of these refused", counted(number(calls), "call"), failures, refused);
    if let (Some(p50), Some(p95)) = (p50, p95) {
        say!("  p50 {}, p95 {}", p50.to_string(), p95.to_string());
    }
    let at_least = if overview.users_from == overview.from { "" } else { "at least " };
    say!("  {}{}, {}", at_least, counted(number(overview.users), "user"), documents(overview));
    if overview.waiting_consents > 0 {
        say!("  {} waiting", counted(number(overview.waiting_consents), "consent"));
    }
    let by_interval: Vec<_> = overview.intervals.iter().map(|it| it.figures.calls).collect();
    if calls > 0 {
        say!("  {}  calls {}", columns(&by_interval), interval(overview));
    }
    let head = text!(
        "{:<20} {:>8} {:>7} {:>7} {:>8} {:>9} {:>5} {:>8}",
        "TOOLKIT",
        "CALLS",
        "FAILED",
        "REFUSED",
        "P50",
        "P95",
        "USERS",
        "SIZE"
    );
    say!("");
    say!("{}", Screen::of_stdout().bold(&head));
    overview.toolkits.iter().for_each(|toolkit| say!("{}", row(toolkit)));
}

fn row(toolkit: &ToolkitFigures) -> Text {
    let Figures { calls, failures, refused, p50, p95 } = toolkit.figures;
    let shown = |latency: Option<Latency>| latency.map_or_else(|| "-".to_owned(), |it| it.to_string());
    text!(
        "{:<20} {:>8} {:>7} {:>7} {:>8} {:>9} {:>5} {:>8}",
        toolkit.toolkit,
        calls,
        failures,
        refused,
        shown(p50),
        shown(p95),
        toolkit.users,
        toolkit.component_bytes.map_or_else(|| "-".to_owned(), size)
    )
}

fn documents(overview: &Overview) -> String {
    let count = usize::try_from(overview.documents).unwrap_or(usize::MAX);
    format!("{}, {}", counted(count, "document"), size(overview.document_bytes))
}

fn size(bytes: u64) -> String {
    ByteSize(bytes).display().si().to_string()
}

fn interval(overview: &Overview) -> &'static str {
    if overview.days == 1 { "an hour" } else { "a day" }
}

/// Renders one bar per number; the largest number gets the full height.
fn columns(numbers: &[u64]) -> String {
    let peak = u128::from(numbers.iter().max().copied().unwrap_or_default().max(1));
    let column = |number: &u64| match u128::from(*number) * COLUMNS.len() as u128 {
        0 => ' ',
        scaled => {
            let height = usize::try_from(scaled.div_ceil(peak)).unwrap_or(COLUMNS.len());
            COLUMNS[height.min(COLUMNS.len()) - 1]
        }
    };
    numbers.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_over_time_are_columns() {
        assert_eq!(columns(&[0, 1, 4, 8]), " ▁▄█");
        assert_eq!(columns(&[0, 0]), "  ");
        assert_eq!(columns(&[1, u64::MAX]), "▁█");
        assert_eq!(columns(&[]), "");
    }
}
