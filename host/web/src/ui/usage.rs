//! Usage of a toolkit, as a small chart on the toolkit's page.

use std::fmt::Write as _;

use kitbag_access::values::invocations::{Hour, Scope, Usage};

use super::text;

/// Width of an hour, and height of the chart, in pixels.
const HOUR_WIDTH: usize = 10;
const HEIGHT: u64 = 32;
/// Margin for half of the line's width.
const MARGIN: u64 = 2;

/// Calls of the last day, with a curve of the calls in each hour.
pub(super) struct Curve {
    /// Number of calls, such as `214 calls`.
    pub(super) calls: String,
    pub(super) failures: u64,
    pub(super) is_of_all_users: bool,
    /// Number of calls in the busiest hour.
    pub(super) peak: u64,
    pub(super) width: usize,
    pub(super) height: u64,
    /// Attribute `points` of an SVG polyline.
    pub(super) call_points: String,
    pub(super) failure_points: String,
}

impl Curve {
    pub(super) fn of(usage: &Usage) -> Self {
        let peak = usage.hours.iter().map(|hour| hour.calls).max().unwrap_or_default();
        let points = |number: fn(&Hour) -> u64| points(usage.hours.iter().map(number), peak);
        Self {
            calls: text::count(usage.calls, "call"),
            failures: usage.failures,
            is_of_all_users: usage.scope != Scope::Own,
            peak,
            width: HOUR_WIDTH * usage.hours.len().saturating_sub(1),
            height: HEIGHT + 2 * MARGIN,
            call_points: points(|hour| hour.calls),
            failure_points: points(|hour| hour.failures),
        }
    }
}

/// Returns a point for each number: 0 is at the bottom, `peak` at the top.
fn points(numbers: impl Iterator<Item = u64>, peak: u64) -> String {
    let mut points = String::new();
    for (index, number) in numbers.enumerate() {
        let above = number.saturating_mul(HEIGHT) / peak.max(1);
        let x = index * HOUR_WIDTH;
        let y = MARGIN + HEIGHT - above.min(HEIGHT);
        write!(points, "{x},{y} ").expect("a string takes everything");
    }
    points.truncate(points.trim_end().len());
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_hour_is_at_the_top_and_an_hour_without_calls_at_the_bottom() {
        assert_eq!(points([0, 4, 8].into_iter(), 8), "0,34 10,18 20,2");
        assert_eq!(points([0, 0].into_iter(), 0), "0,34 10,34");
        assert_eq!(points([u64::MAX].into_iter(), u64::MAX), "0,33");
        assert_eq!(points([].into_iter(), 0), "");
    }
}
