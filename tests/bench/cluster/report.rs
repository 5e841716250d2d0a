//! Printed report: tables of results, and goals.

use std::fmt;

use super::search::Searches;
use super::{Figures, Point, TOPOLOGIES};
use crate::report::{Goal, goal};

/// All results.
pub(crate) struct Report {
    pub(super) points: Vec<Point>,
    pub(super) searches: Vec<Searches>,
}

impl Report {
    /// Goals for the largest number of connections.
    fn goals(&self) -> Vec<Goal> {
        let Some(Point { figures, .. }) = self.points.last() else { return Vec::new() };
        let [file, one, two, ..] = figures.as_slice() else { return Vec::new() };
        vec![
            goal("PostgreSQL × 1: processor time of Kitbag against SQLite", 1.15, one.against[0], ""),
            goal(
                "PostgreSQL × 1: more latency than SQLite, p50",
                0.5,
                (one.sample.p50_us - file.sample.p50_us) / 1e3,
                "ms",
            ),
            goal("PostgreSQL × 2: processor time of Kitbag against × 1", 1.05, two.against[1], ""),
            goal("PostgreSQL × 1: processor time of PostgreSQL a call", 40.0, one.postgres_us, "µs"),
            goal("PostgreSQL × 2: processor time of PostgreSQL a call", 40.0, two.postgres_us, "µs"),
        ]
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nA tool call through HAProxy (cpu: processor time a call)\n")?;
        writeln!(
            f,
            "connections  {:<24}{:>8}{:>9}{:>9}  Kitbag cpu µs  PostgreSQL cpu µs  Kitbag cpu × SQLite",
            "service", "calls/s", "p50 µs", "p99 µs"
        )?;
        for Point { connections, figures } in &self.points {
            for ((name, ..), Figures { sample, postgres_us, against }) in TOPOLOGIES.iter().zip(figures) {
                writeln!(
                    f,
                    "{connections:>11}  {name:<24}{:>8.0}{:>9.0}{:>9.0}{:>15.1}{postgres_us:>19.1}{:>21.2}",
                    sample.requests_per_second,
                    sample.p50_us,
                    sample.p99_us,
                    sample.processor_us_per_request,
                    against[0],
                )?;
            }
        }
        writeln!(
            f,
            "\n{:<24}{:>15}{:>19}{:>20}{:>16}",
            "service", "index jobs/s", "first search ms", "second search ms", "KiB a user"
        )?;
        for ((name, ..), it) in TOPOLOGIES.iter().zip(&self.searches) {
            let Searches { jobs_per_second, first_us, second_us, memory_kib } = it;
            let (first, second) = (first_us / 1e3, second_us / 1e3);
            writeln!(f, "{name:<24}{jobs_per_second:>15.0}{first:>19.2}{second:>20.2}{memory_kib:>16.0}")?;
        }
        let connections = self.points.last().map_or(0, |point| point.connections);
        writeln!(f, "\nAt {connections} connections:")?;
        self.goals().iter().try_for_each(|goal| write!(f, "{goal}"))
    }
}
