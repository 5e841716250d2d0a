//! Printed report: tables of results, and goals.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::Outcome;
use crate::candidate::NotMeasured;
use crate::capabilities::Capabilities;
use crate::deploy::Deploy;
use crate::first_call::FirstCall;
use crate::in_flight::InFlight;
use crate::machine::{Machine, Measured};
use crate::sandbox_share::{Share, Times};
use crate::throughput::{REFERENCES, Throughput};

/// Durations and repetitions of the measurements.
pub(crate) struct Effort {
    pub(crate) warm_up: Duration,
    pub(crate) point: Duration,
    pub(crate) rounds: usize,
    /// Calls of each guest when the sandbox is measured alone.
    pub(crate) calls: usize,
    pub(crate) restarts: usize,
    /// Number of concurrent waiting calls.
    pub(crate) in_flight: u32,
    /// Number of searching users, and of documents per user.
    pub(crate) search_users: usize,
    pub(crate) search_documents: usize,
}

impl Effort {
    pub(crate) const FULL: Self = Self {
        warm_up: Duration::from_secs(2),
        point: Duration::from_secs(3),
        rounds: 5,
        calls: 20_000,
        restarts: 7,
        in_flight: 200,
        search_users: 20,
        search_documents: 500,
    };
    pub(crate) const QUICK: Self = Self {
        warm_up: Duration::from_millis(200),
        point: Duration::from_millis(300),
        rounds: 1,
        calls: 500,
        restarts: 1,
        in_flight: 20,
        search_users: 2,
        search_documents: 100,
    };
}

/// All results.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) throughput: Measured<Throughput>,
    pub(crate) sandbox: Measured<Share>,
    pub(crate) capabilities: Measured<Capabilities>,
    pub(crate) first_call: Measured<FirstCall>,
    pub(crate) in_flight: Measured<InFlight>,
    pub(crate) deploy: Measured<Deploy>,
}

/// Goal of the project, with the measured value.
#[derive(Debug, Serialize)]
pub(crate) struct Goal {
    what: &'static str,
    target: f64,
    found: f64,
    unit: &'static str,
    met: bool,
}

impl Report {
    /// Formats the report with its goals as JSON.
    pub(crate) fn to_json(&self) -> Outcome<String> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            report: &'a Report,
            goals: Vec<Goal>,
        }
        Ok(serde_json::to_string_pretty(&Document { report: self, goals: self.goals() })? + "\n")
    }

    /// Returns whether no other process was busy.
    pub(crate) fn is_complete(&self) -> bool {
        let Self { machine: _, throughput, sandbox, capabilities, first_call, in_flight, deploy } = self;
        throughput.at_rest().is_some()
            && sandbox.at_rest().is_some()
            && capabilities.at_rest().is_some()
            && first_call.at_rest().is_some()
            && in_flight.at_rest().is_some()
            && deploy.at_rest().is_some()
    }

    /// Returns the goals of what was measured at rest.
    fn goals(&self) -> Vec<Goal> {
        let mut goals = Vec::new();
        if let Some(throughput) = self.throughput.at_rest() {
            let ratio = |what, target, name, reference| {
                throughput.worst(name, reference).map(|found| at_least(what, target, found))
            };
            let ratios = [
                ratio("requests per second against native, at worst", 0.8, "kitbag", "native"),
                ratio("calls per second against the Node server, at worst", 5.0, "kitbag", "node"),
                ratio("calls per second against FastMCP, at worst", 15.0, "kitbag", "fastmcp"),
                ratio("calls per second against ACT, at worst", 1.0, "kitbag", "act"),
                ratio(
                    "TypeScript: calls per second against the Node server, at worst",
                    1.5,
                    "kitbag-ts",
                    "node",
                ),
            ];
            goals.extend(ratios.into_iter().flatten());
        }
        if let Some(Share { trivial, script, .. }) = self.sandbox.at_rest() {
            goals.push(goal(
                "TypeScript: a call in the sandbox alone, median",
                0.25,
                script.p50_us / 1e3,
                "ms",
            ));
            goals.push(goal("TypeScript: page faults of a call", 70.0, script.page_faults, ""));
            goals.push(goal("the sandbox's share of a call, median", 40.0, trivial.p50_us, "µs"));
        }
        if let Some(costs) = self.capabilities.at_rest() {
            let Capabilities { fetch_us, hyper_us, fetch_with_grant_us, fetch_with_account_us, .. } = costs;
            goals.push(goal("a call that fetches against hyper", 1.5, fetch_us / hyper_us, ""));
            let ratio = fetch_with_account_us / fetch_with_grant_us;
            goals.push(goal("one with an account against one with a grant", 1.05, ratio, ""));
        }
        if let Some(FirstCall { first_ms, .. }) = self.first_call.at_rest() {
            goals.push(goal("first call after a restart", 5.0, *first_ms, "ms"));
        }
        if let Some(InFlight { mib_per_call, script_mib_per_call, .. }) = self.in_flight.at_rest() {
            goals.push(goal("memory of a call in flight", 1.5, *mib_per_call, "MiB"));
            goals.push(goal("TypeScript: memory of a call in flight", 0.4, *script_mib_per_call, "MiB"));
        }
        if let Some(Deploy { first_s, second_s }) = self.deploy.at_rest() {
            goals.push(goal("TypeScript: a deploy, the slower of two", 1.5, first_s.max(*second_s), "s"));
        }
        goals
    }
}

/// Goal for a ratio: met unless the measured value is below the target.
fn at_least(what: &'static str, target: f64, found: f64) -> Goal {
    Goal { met: found >= target, ..goal(what, target, found, "") }
}

/// Goal that is met unless the measured value is above the target.
pub(crate) fn goal(what: &'static str, target: f64, found: f64, unit: &'static str) -> Goal {
    Goal { what, target, found, unit, met: found <= target }
}

impl fmt::Display for Throughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "(p50, p99: latency; cpu: the server's processor time a request)\n")?;
        write!(f, "connections  server     requests/s    p50 µs    p99 µs    cpu µs")?;
        for reference in REFERENCES {
            write!(f, "  × {reference:>7}")?;
        }
        writeln!(f)?;
        for point in &self.points {
            for it in &point.candidates {
                write!(
                    f,
                    "{:>11}  {:<9}{:>12.0}{:>10.0}{:>10.0}{:>10.1}",
                    point.connections,
                    it.name,
                    it.median.requests_per_second,
                    it.median.p50_us,
                    it.median.p99_us,
                    it.median.processor_us_per_request,
                )?;
                for reference in REFERENCES {
                    match it.against.get(reference) {
                        Some(ratio) => write!(f, "{ratio:>11.2}")?,
                        None => f.write_str("          -")?,
                    }
                }
                writeln!(f)?;
            }
        }
        for NotMeasured { name, reason } in &self.not_measured {
            writeln!(f, "not measured: {name}: {reason}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trivial, count, script } = self;
        writeln!(
            f,
            "                                                 p50 µs    p99 µs  instance      work       end    faults"
        )?;
        for (what, times) in [
            ("a guest that does next to nothing", trivial),
            ("text__count, its own work included", count),
            ("the same in TypeScript", script),
        ] {
            let Times { p50_us, p99_us, instance_us, work_us, end_us, page_faults } = times;
            writeln!(
                f,
                "{what:<45}{p50_us:>10.1}{p99_us:>10.1}{instance_us:>10.1}{work_us:>10.1}{end_us:>10.1}{page_faults:>10.1}"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plain_us, secret_us, redaction_us_per_kib, metrics_us, fetch_us, hyper_us, .. } = self;
        let Self { fetch_with_grant_us, fetch_with_account_us, .. } = self;
        writeln!(f, "                                              median µs  × plain  × hyper")?;
        for (what, micros) in [
            ("a plain call", plain_us),
            ("a call that reads a secret", secret_us),
            ("redaction of one KiB, 16 secrets", redaction_us_per_kib),
            ("what is counted and measured of a call", metrics_us),
        ] {
            writeln!(f, "{what:<45}{micros:>10.1}{:>9.2}", micros / plain_us)?;
        }
        for (what, micros) in [
            ("a call that fetches", fetch_us),
            ("the same with a token of its own grant", fetch_with_grant_us),
            ("the same with its user's account", fetch_with_account_us),
            ("the same request by hyper", hyper_us),
        ] {
            writeln!(f, "{what:<45}{micros:>10.1}{:>9.2}{:>9.2}", micros / plain_us, micros / hyper_us)?;
        }
        Ok(())
    }
}

impl fmt::Display for FirstCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first_ms, second_ms } = self;
        writeln!(f, "First call {first_ms:.2} ms, second call {second_ms:.2} ms")
    }
}

impl fmt::Display for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, mib_per_call, script_mib_per_call } = self;
        writeln!(
            f,
            "{mib_per_call:.2} MiB a call, {script_mib_per_call:.2} MiB in TypeScript, with {calls} calls"
        )
    }
}

impl fmt::Display for Deploy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first_s, second_s } = self;
        writeln!(f, "{first_s:.1} s the first toolkit in TypeScript, {second_s:.1} s the second")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, throughput, sandbox, capabilities, first_call, in_flight, deploy } = self;
        write!(f, "{machine}{throughput}{sandbox}{capabilities}{first_call}{in_flight}{deploy}")?;
        writeln!(f)?;
        self.goals().iter().try_for_each(|goal| write!(f, "{goal}"))
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, target, found, unit, met } = self;
        let verdict = if *met { "met" } else { "missed" };
        writeln!(f, "{verdict:<7}{what}: goal {target} {unit}, found {found:.2} {unit}")
    }
}
