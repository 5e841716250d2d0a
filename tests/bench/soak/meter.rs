//! Resource usage of the server process.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::trend::{Tolerance, Trend};
use crate::Outcome;

/// Measured quantity.
struct Quantity {
    what: &'static str,
    unit: &'static str,
    tolerance: Tolerance,
}

const fn quantity(what: &'static str, unit: &'static str, share: f64, amount: f64) -> Quantity {
    Quantity { what, unit, tolerance: Tolerance { share, amount } }
}

const WATCHED: [Quantity; 6] = [
    // Pages shared with other processes count proportionally.
    quantity("memory (PSS)", "MiB", 0.10, 32.0),
    // Address space: the sandbox's pool reserves its slots once, so that other mappings show.
    quantity("mapped", "MiB", 0.0, 256.0),
    quantity("descriptors", "", 0.10, 16.0),
    quantity("threads", "", 0.10, 8.0),
    quantity("child processes", "", 0.0, 4.0),
    quantity("data directory", "MiB", 0.10, 16.0),
];

const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// Samples of a process and its data directory.
#[derive(Default)]
pub(crate) struct Meter {
    series: [Vec<f64>; WATCHED.len()],
}

/// Quantity with its trend.
#[derive(Debug, Serialize)]
pub(crate) struct QuantityTrend {
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) tolerance: Tolerance,
    #[serde(flatten)]
    pub(crate) trend: Trend,
}

impl Meter {
    /// Takes one sample of each quantity.
    pub(crate) fn sample(&mut self, process: u32, data: &Path) -> Outcome<()> {
        let folder = Path::new("/proc").join(process.to_string());
        let values = [
            kibibytes(&folder.join("smaps_rollup"), "Pss:")? / 1024.0,
            kibibytes(&folder.join("status"), "VmSize:")? / 1024.0,
            entries(&folder.join("fd"))? as f64,
            entries(&folder.join("task"))? as f64,
            children(&folder)? as f64,
            bytes_below(data) as f64 / MEBIBYTE,
        ];
        for (series, value) in self.series.iter_mut().zip(values) {
            series.push(value);
        }
        Ok(())
    }

    /// Formats the last sample as a line of progress.
    pub(crate) fn latest(&self) -> String {
        let values = WATCHED.iter().zip(&self.series).filter_map(|(it, samples)| {
            let value = samples.last()?;
            Some(format!("{} {value:.0} {}", it.what, it.unit).trim_end().to_owned())
        });
        values.collect::<Vec<_>>().join(", ")
    }

    /// Evaluates all samples; fails if there are too few.
    pub(crate) fn courses(&self) -> Outcome<Vec<QuantityTrend>> {
        let courses = WATCHED.iter().zip(&self.series).map(|(it, samples)| {
            let trend = Trend::of(samples, it.tolerance)?;
            Some(QuantityTrend { what: it.what, unit: it.unit, tolerance: it.tolerance, trend })
        });
        let courses: Option<_> = courses.collect();
        courses.ok_or_else(|| "the run was too short for its samples to say anything".into())
    }
}

/// Parses the number in a line `Name:   123 kB`.
fn kibibytes(file: &Path, name: &str) -> Outcome<f64> {
    let text = fs::read_to_string(file)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let value = value.ok_or_else(|| format!("{} has no line {name}", file.display()))?;
    Ok(value.trim().trim_end_matches("kB").trim().parse()?)
}

fn entries(folder: &Path) -> Outcome<usize> {
    Ok(fs::read_dir(folder)?.count())
}

/// Number of running child processes; 0 if the kernel does not list them.
fn children(process: &Path) -> Outcome<usize> {
    let tasks = fs::read_dir(process.join("task"))?.filter_map(Result::ok);
    // A thread may have ended meanwhile.
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    Ok(lists.map(|list| list.split_whitespace().count()).sum())
}

/// Total size of the files below a folder. Files removed meanwhile count as 0.
fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
