//! Charts as SVG, scaled by the stylesheet. Labels are HTML text beside them, so that they stay readable on a
//! narrow screen.
//!
//! A bar is a vertical stroke: `M5 1000V880`. Each interval is [`STEP`] wide.

use std::fmt::Write as _;

use kitbag_access::Figures;
use kitbag_access::values::invocations::{Latency, RANGES};

use super::super::text;

/// Width of an interval, and height of a chart, in units of the SVG.
const STEP: usize = 10;
const HEIGHT: u64 = 1000;
/// Minimum height of a bar, so that few calls among many remain visible.
const MIN_BAR: u64 = 15;
/// Number of intervals between two labels of the time axis.
const LABEL_EVERY: usize = 6;

/// Stacked bars of the calls in each interval: failures at the bottom, where they are comparable, the others
/// above.
pub(super) struct CallChart {
    pub(super) width: usize,
    pub(super) succeeded: String,
    pub(super) failed: String,
    pub(super) refused: String,
    /// Labels of the vertical axis from the top: maximum, half, 0.
    pub(super) scale: [String; 3],
    pub(super) times: Vec<String>,
    /// Summary of the chart in a sentence.
    pub(super) summary: String,
    pub(super) hints: Vec<Hint>,
}

/// Bars of the percentiles in each interval, one in front of the other. All latency ranges have the same
/// height.
pub(super) struct LatencyChart {
    pub(super) width: usize,
    pub(super) p50: String,
    pub(super) p95: String,
    pub(super) times: Vec<String>,
    pub(super) summary: String,
    pub(super) hints: Vec<Hint>,
}

/// Small chart of a toolkit's calls and failures, without labels.
pub(super) struct Sparkline {
    pub(super) width: usize,
    pub(super) calls: String,
    pub(super) failures: String,
}

/// Tooltip at a position.
pub(super) struct Hint {
    pub(super) x: usize,
    pub(super) text: String,
}

impl CallChart {
    pub(super) fn of(intervals: &[Figures], labels: &[String]) -> Self {
        let peak = intervals.iter().map(|it| it.calls).max().unwrap_or_default();
        let top = round_up(peak);
        let mut succeeded = String::new();
        let mut failed = String::new();
        let mut refused = String::new();
        for (nth, it) in intervals.iter().enumerate() {
            let parts = [
                (&mut failed, it.failures.saturating_sub(it.refused)),
                (&mut refused, it.refused),
                (&mut succeeded, it.calls.saturating_sub(it.failures)),
            ];
            let mut below = 0;
            for (path, calls) in parts {
                let above = (below + height(calls, top)).min(HEIGHT);
                bar(path, nth, below, above);
                below = above;
            }
        }
        let hint = |(it, label): (&Figures, &String)| {
            let calls = text::count(it.calls, "call");
            match (it.failures, it.refused) {
                (0, _) => format!("{label}: {calls}"),
                (failures, 0) => format!("{label}: {calls}, {} failed", text::number(failures)),
                (failures, refused) => {
                    let [failures, refused] = [failures, refused].map(text::number);
                    format!("{label}: {calls}, {failures} failed, {refused} of these refused")
                }
            }
        };
        let busiest = intervals.iter().zip(labels).max_by_key(|(it, _)| it.calls);
        let busiest =
            busiest.map(|(it, label)| format!("Most at {label}: {}.", text::count(it.calls, "call")));
        Self {
            width: STEP * intervals.len(),
            succeeded,
            failed,
            refused,
            scale: [top, top / 2, 0].map(short),
            times: times(labels),
            summary: busiest.unwrap_or_default(),
            hints: hints(intervals.iter().zip(labels).map(hint)),
        }
    }
}

impl LatencyChart {
    pub(super) fn of(intervals: &[Figures], labels: &[String]) -> Self {
        let mut p50 = String::new();
        let mut p95 = String::new();
        for (nth, it) in intervals.iter().enumerate() {
            for (path, latency) in [(&mut p95, it.p95), (&mut p50, it.p50)] {
                bar(path, nth, 0, latency.map_or(0, end_of_range));
            }
        }
        let hint = |(it, label): (&Figures, &String)| match (it.p50, it.p95) {
            (Some(p50), Some(p95)) => format!("{label}: p50 {p50}, p95 {p95}"),
            _ => format!("{label}: no call"),
        };
        let slowest = intervals.iter().zip(labels).filter_map(|(it, label)| Some((it.p95?, label)));
        let slowest = slowest.max_by_key(|(latency, _)| latency.range());
        let slowest = slowest.map(|(latency, label)| format!("Slowest at {label}: p95 {latency}."));
        Self {
            width: STEP * intervals.len(),
            p50,
            p95,
            times: times(labels),
            summary: slowest.unwrap_or_default(),
            hints: hints(intervals.iter().zip(labels).map(hint)),
        }
    }
}

impl Sparkline {
    pub(super) fn of(calls: &[u64], failures: &[u64]) -> Self {
        let peak = calls.iter().max().copied().unwrap_or_default();
        let bars = |numbers: &[u64]| {
            let mut path = String::new();
            for (nth, number) in numbers.iter().enumerate() {
                bar(&mut path, nth, 0, height(*number, peak));
            }
            path
        };
        Self { width: STEP * calls.len(), calls: bars(calls), failures: bars(failures) }
    }
}

/// Adds a bar between two heights; none if they are equal.
fn bar(path: &mut String, nth: usize, from: u64, to: u64) {
    if from < to {
        let x = nth * STEP + STEP / 2;
        write!(path, "M{x} {}V{}", HEIGHT - from, HEIGHT - to).expect("a string takes everything");
    }
}

/// Height of a bar for a number of calls, where `top` calls have the height of the chart.
fn height(calls: u64, top: u64) -> u64 {
    let height = u128::from(calls) * u128::from(HEIGHT) / u128::from(top.max(1));
    let height = u64::try_from(height).unwrap_or(HEIGHT).min(HEIGHT);
    if calls > 0 { height.max(MIN_BAR) } else { 0 }
}

/// Height at the upper end of a latency's range.
fn end_of_range(latency: Latency) -> u64 {
    (latency.range() as u64 + 1) * HEIGHT / RANGES as u64
}

/// Rounds up to an even digit followed by zeros, or to a power of ten: 2, 4, 6, 8, 10, 20, 40, …
fn round_up(number: u64) -> u64 {
    let mut unit = 1_u64;
    while let Some(next) = unit.checked_mul(10).filter(|next| *next < number) {
        unit = next;
    }
    let even = (1..=5).filter_map(|half| unit.checked_mul(2 * half)).find(|it| *it >= number);
    even.unwrap_or(u64::MAX)
}

/// Formats a number as a short label: `860`, `12k`, `3M`.
fn short(number: u64) -> String {
    match number {
        0..10_000 => text::number(number),
        10_000..10_000_000 => format!("{}k", text::number(number / 1000)),
        _ => format!("{}M", text::number(number / 1_000_000)),
    }
}

fn times(labels: &[String]) -> Vec<String> {
    labels.iter().step_by(LABEL_EVERY).cloned().collect()
}

fn hints(texts: impl Iterator<Item = String>) -> Vec<Hint> {
    texts.enumerate().map(|(nth, text)| Hint { x: nth * STEP, text }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(calls: u64, failures: u64, refused: u64) -> Figures {
        Figures { calls, failures, refused, ..Figures::default() }
    }

    fn labels(count: usize) -> Vec<String> {
        (0..count).map(|hour| format!("{hour}:00")).collect()
    }

    #[test]
    fn bars_are_stacked_and_an_interval_without_calls_has_none() {
        let intervals = [figures(4, 2, 1), figures(0, 0, 0), figures(2, 0, 0)];

        let chart = CallChart::of(&intervals, &labels(3));

        assert_eq!((chart.width, chart.scale), (30, ["4", "2", "0"].map(str::to_owned)));
        assert_eq!((chart.failed.as_str(), chart.refused.as_str()), ("M5 1000V750", "M5 750V500"));
        assert_eq!(chart.succeeded, "M5 500V0M25 1000V500");
        assert_eq!(chart.summary, "Most at 0:00: 4 calls.");
        let hints: Vec<_> = chart.hints.iter().map(|hint| hint.text.as_str()).collect();
        assert_eq!(hints, ["0:00: 4 calls, 2 failed, 1 of these refused", "1:00: 0 calls", "2:00: 2 calls"]);
    }

    #[test]
    fn one_failure_among_many_calls_is_seen() {
        let chart = CallChart::of(&[figures(100_000, 1, 0)], &labels(1));

        assert_eq!((chart.failed.as_str(), chart.succeeded.as_str()), ("M5 1000V985", "M5 985V0"));
        let line = Sparkline::of(&[100_000, 0], &[1, 0]);
        assert_eq!((line.calls.as_str(), line.failures.as_str()), ("M5 1000V0", "M5 1000V985"));
    }

    #[test]
    fn a_latency_is_as_high_as_its_range() {
        let it = Figures {
            p50: Some(Latency::AtMostMs(100)),
            p95: Some(Latency::OverMs(30_000)),
            ..figures(20, 0, 0)
        };

        let chart = LatencyChart::of(&[figures(1, 1, 1), it], &labels(2));

        assert_eq!((chart.p50.as_str(), chart.p95.as_str()), ("M15 1000V667", "M15 1000V0"));
        assert_eq!(chart.hints[1].text, "1:00: p50 100 ms, p95 over 30 s");
        assert_eq!(chart.hints[0].text, "0:00: no call");
        assert_eq!(chart.summary, "Slowest at 1:00: p95 over 30 s.");
    }

    #[test]
    fn the_top_of_a_scale_can_be_halved() {
        for (peak, top) in [(0, 2), (1, 2), (3, 4), (10, 10), (11, 20), (41, 60), (999, 1000), (1001, 2000)] {
            assert_eq!(round_up(peak), top, "{peak}");
        }
        assert_eq!(round_up(u64::MAX), u64::MAX);
        assert_eq!([9_999, 12_000, 34_000_000].map(short), ["9,999", "12k", "34M"]);
    }

    #[test]
    fn nothing_overflows_and_no_interval_is_needed() {
        let most = figures(u64::MAX, u64::MAX, u64::MAX);
        let chart = CallChart::of(&[most, most], &labels(2));
        assert_eq!(chart.refused, "M5 1000V0M15 1000V0");

        let empty = CallChart::of(&[], &[]);
        assert_eq!((empty.width, empty.summary.as_str(), empty.hints.len()), (0, "", 0));
        assert_eq!(LatencyChart::of(&[], &[]).summary, "");
    }
}
