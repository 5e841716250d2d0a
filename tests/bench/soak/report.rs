//! Printed report of the run.

use std::fmt;

use serde::Serialize;

use super::meter::QuantityTrend;
use super::work::Kind;

/// Counts of results for one kind of work.
#[derive(Debug, Serialize)]
pub(crate) struct Tally {
    pub(crate) kind: Kind,
    pub(crate) connections: usize,
    pub(crate) done: u64,
    /// Refused by the server for lack of capacity.
    pub(crate) refused: u64,
    pub(crate) wrong: u64,
    /// Description of the first wrong result.
    pub(crate) example: Option<String>,
}

/// Results of a whole run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) minutes: f64,
    pub(crate) samples: usize,
    pub(crate) courses: Vec<QuantityTrend>,
    pub(crate) work: Vec<Tally>,
}

impl Tally {
    /// Whether work was done, and the wrong results are at most 1 % of it.
    fn is_good(&self) -> bool {
        self.done > 0 && self.wrong * 100 <= self.done
    }
}

impl Report {
    /// Problems of the run, one line each.
    pub(crate) fn faults(&self) -> Vec<String> {
        let growing = self.courses.iter().filter(|course| course.trend.grows);
        let growing = growing.map(|course| format!("{} grows without end", course.what));
        let bad = self.work.iter().filter(|tally| !tally.is_good());
        let bad = bad.map(|tally| {
            let example = tally.example.as_deref().unwrap_or("nothing came back");
            format!("{}: {} done, {} wrong, such as: {example}", tally.kind.name(), tally.done, tally.wrong)
        });
        growing.chain(bad).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { minutes, samples, courses, work } = self;
        writeln!(
            out,
            "\n{minutes:.1} minutes, {samples} samples; levels are lower quartiles of a third of the run\n"
        )?;
        writeln!(
            out,
            "{:<18}{:>10}{:>12}{:>12}{:>10}{:>12}",
            "", "at first", "2nd third", "3rd third", "peak", "tolerated"
        )?;
        for QuantityTrend { what, unit, tolerance, trend } in courses {
            let tolerated = trend.middle + (trend.middle * tolerance.share).max(tolerance.amount);
            writeln!(
                out,
                "{what:<18}{:>10.0}{:>12.0}{:>12.0}{:>10.0}{tolerated:>12.0} {unit:<4} {}",
                trend.first,
                trend.middle,
                trend.last,
                trend.peak,
                if trend.grows { "GROWS" } else { "stays" }
            )?;
        }
        writeln!(out, "\n{:<24}{:>12}{:>10}{:>10}{:>10}", "", "connections", "done", "refused", "wrong")?;
        for Tally { kind, connections, done, refused, wrong, .. } in work {
            writeln!(out, "{:<24}{connections:>12}{done:>10}{refused:>10}{wrong:>10}", kind.name())?;
        }
        Ok(())
    }
}
