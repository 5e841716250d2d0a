//! Overview for operators: calls, failures and durations of all toolkits over 1 or 30 days, as charts.
//!
//! Other key figures are shown as a [`Tile`].

mod chart;

use askama::Template;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;
use kitbag_access::values::invocations::Latency;
use kitbag_access::{Figures, IntervalFigures, Operator, Overview, ToolkitFigures};
use serde::Deserialize;

use super::frame::{self, Frame, Section};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;
use crate::logs::bad_query;
use crate::overview::period;
use chart::{CallChart, LatencyChart, Sparkline};

/// Toolkits per page.
const PAGE_TOOLKITS: usize = 20;

/// Query string of the page.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    days: u32,
    /// Page of the list of toolkits, from 1.
    page: usize,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { days: 1, page: 1 }
    }
}

#[derive(Template)]
#[template(path = "ui/templates/overview.html")]
struct OverviewPage {
    frame: Option<Frame>,
    days: u32,
    /// Start of the period, such as `since 27 Nov 2026, 04:00 UTC`.
    from: String,
    has_calls: bool,
    tiles: Vec<Tile>,
    calls: CallChart,
    latency: LatencyChart,
    intervals: Vec<Row>,
    toolkits: Vec<ToolkitRow>,
    /// Number of toolkits on all pages.
    count: String,
    previous: Option<usize>,
    next: Option<usize>,
}

/// A key figure.
struct Tile {
    label: &'static str,
    value: String,
    /// Explanation of the value, or a second value.
    note: String,
    is_bad: bool,
}

/// Figures in a row of a table.
struct Row {
    label: String,
    calls: String,
    failures: String,
    has_failures: bool,
    /// Failure rate.
    rate: String,
    refused: String,
    p50: String,
    p95: String,
}

/// A toolkit in a row of a table.
struct ToolkitRow {
    id: String,
    name: String,
    sparkline: Sparkline,
    figures: Row,
    users: String,
    /// Number of waiting consents, as text; `None` for zero.
    waiting_consents: Option<String>,
    size: String,
}

/// `GET /ui/operate/overview?days=…&page=…`
pub(super) async fn show(
    By(operator): By<Operator>,
    frame: Frame,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, WebError> {
    let Query(parameters) = parameters.map_err(|rejection| bad_query(rejection.body_text()))?;
    let overview = operator.overview(period(parameters.days)?).await?;
    let page = OverviewPage::of(&overview, parameters.page, frame.at(Section::Operate));
    Ok(frame::page(StatusCode::OK, &page))
}

impl OverviewPage {
    fn of(overview: &Overview, page: usize, frame: Frame) -> Self {
        let pages = overview.toolkits.len().div_ceil(PAGE_TOOLKITS).max(1);
        let page = page.clamp(1, pages);
        let toolkits = overview.toolkits.iter().skip((page - 1) * PAGE_TOOLKITS).take(PAGE_TOOLKITS);
        let labels: Vec<_> = overview.intervals.iter().map(|it| label(overview, it)).collect();
        let figures: Vec<_> = overview.intervals.iter().map(|it| it.figures).collect();
        Self {
            frame: Some(frame),
            days: overview.days,
            from: text::minute(&overview.from),
            has_calls: overview.figures.calls > 0,
            tiles: tiles(overview),
            calls: CallChart::of(&figures, &labels),
            latency: LatencyChart::of(&figures, &labels),
            // Newest first: recent intervals are the most relevant.
            intervals: labels.iter().zip(&figures).rev().map(|(it, figures)| Row::of(it, figures)).collect(),
            toolkits: toolkits.map(ToolkitRow::from).collect(),
            count: text::count(overview.toolkits.len(), "toolkit"),
            previous: (page > 1).then(|| page - 1),
            next: (page < pages).then_some(page + 1),
        }
    }
}

/// Returns the key figures at the top of the page.
fn tiles(overview: &Overview) -> Vec<Tile> {
    let Figures { calls, failures, refused, p50, p95 } = overview.figures;
    let tile = |label, value, note| Tile { label, value, note, is_bad: false };
    let users = text::number(overview.users);
    let (users, whose) = if overview.users_from == overview.from {
        (users, "who called a tool".to_owned())
    } else {
        (format!("{users}+"), format!("at least; since {}", text::day(&overview.users_from)))
    };
    let waiting = match overview.waiting_consents {
        0 => String::new(),
        waiting => format!("; {} waiting", text::count(waiting, "consent")),
    };
    vec![
        tile("Calls", text::number(calls), "of all users".to_owned()),
        Tile {
            is_bad: failures > 0,
            ..tile("Failed", text::number(failures), format!("{} of the calls", percentage(failures, calls)))
        },
        tile("Refused", text::number(refused), "did not run".to_owned()),
        tile("Duration, p50", latency(p50), format!("p95 {}", latency(p95))),
        tile("Users", users, format!("{whose}{waiting}")),
        tile("Documents", text::number(overview.documents), text::size(overview.document_bytes)),
    ]
}

impl Row {
    fn of(label: &str, figures: &Figures) -> Self {
        let Figures { calls, failures, refused, p50, p95 } = *figures;
        Self {
            label: label.to_owned(),
            calls: text::number(calls),
            failures: text::number(failures),
            has_failures: failures > 0,
            rate: percentage(failures, calls),
            refused: text::number(refused),
            p50: latency(p50),
            p95: latency(p95),
        }
    }
}

impl From<&ToolkitFigures> for ToolkitRow {
    fn from(toolkit: &ToolkitFigures) -> Self {
        Self {
            id: toolkit.toolkit.clone(),
            name: toolkit.name.clone(),
            sparkline: Sparkline::of(&toolkit.calls_by_interval, &toolkit.failures_by_interval),
            figures: Row::of("", &toolkit.figures),
            users: text::number(toolkit.users),
            waiting_consents: (toolkit.waiting_consents > 0)
                .then(|| text::count(toolkit.waiting_consents, "consent")),
            size: toolkit.component_bytes.map_or_else(|| NONE.to_owned(), text::size),
        }
    }
}

/// Placeholder for a missing figure.
const NONE: &str = "\u{2013}";

fn latency(latency: Option<Latency>) -> String {
    latency.map_or_else(|| NONE.to_owned(), |latency| latency.to_string())
}

/// Label of an interval: `14:00`, `27 Nov`.
fn label(overview: &Overview, interval: &IntervalFigures) -> String {
    let format = if overview.days == 1 { "%H:%M" } else { "%-d %b" };
    let begin = interval.from.parse::<Timestamp>();
    begin.map_or_else(|_| interval.from.clone(), |begin| begin.strftime(format).to_string())
}

/// Formats a ratio: `2.5 %`.
fn percentage(part: u64, whole: u64) -> String {
    let thousandths = u128::from(part) * 1000 / u128::from(whole.max(1));
    match thousandths {
        0 if part > 0 => "under 0.1 %".to_owned(),
        _ => format!("{}.{} %", thousandths / 10, thousandths % 10),
    }
}

#[cfg(test)]
mod tests;
