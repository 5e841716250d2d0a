//! Printed report: a table of figures, the statements, and their problems.

use std::fmt;

use serde::Serialize;

use super::database::ByTable;
use super::exceptions::EXCEPTIONS;
use super::plans::{Access, Explained};
use crate::service::Engine;

/// Minimum number of rows of a growing table, at the last size.
const MIN_ROWS: u64 = 1_000;
/// Factor of the duration, or of the rows read, at ten times the users, from which a statement counts as
/// growing.
const GROWTH: f64 = 3.0;
/// Minimum duration of a growing statement, in ms: shorter ones vary by more than they grow.
const MIN_MS: f64 = 0.5;
/// Minimum number of rows read by a growing statement: fewer are read as fast as one.
const MIN_READ: u64 = 2_000;

/// Characters of a statement in the printed report. The JSON file has the whole text.
const SHOWN: usize = 240;

/// All results for one engine.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    engine: Engine,
    users: Vec<u64>,
    figures: Vec<Figures>,
    /// Tables that grow with users.
    growing: Vec<String>,
    #[serde(skip)]
    rows: Vec<ByTable>,
    /// Sequential scans per table, at the last size.
    sequential_scans: ByTable,
    statements: Vec<Vec<Explained>>,
    /// Statements of the large user, for each size.
    statements_of_large: Vec<Vec<Explained>>,
    /// Statements that read a whole growing table, or many more rows at the last size than before.
    scans: Vec<Scan>,
}

/// Figures for one size, in the order of the report.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Figures(Vec<Figure>);

#[derive(Debug, Serialize)]
struct Figure {
    name: String,
    unit: &'static str,
    value: f64,
}

/// Statement that reads more than it should.
#[derive(Debug, Serialize)]
struct Scan {
    statement: String,
    table: String,
    what: String,
    /// Reason why it is allowed, if it is.
    exception: Option<&'static str>,
}

impl Figures {
    /// Adds a figure.
    pub(crate) fn add(&mut self, name: impl Into<String>, unit: &'static str, value: f64) {
        self.0.push(Figure { name: name.into(), unit, value });
    }

    /// Adds a figure, or replaces the one of this name.
    pub(crate) fn set(&mut self, name: &str, unit: &'static str, value: f64) {
        self.0.retain(|figure| figure.name != name);
        self.add(name, unit, value);
    }

    /// Adds another user's figures, with the prefix `whose`.
    pub(crate) fn add_of(&mut self, whose: &str, figures: Self) {
        for Figure { name, unit, value } in figures.0 {
            self.add(format!("{whose}{name}"), unit, value);
        }
    }

    /// Adds the number of users, and the rows and bytes of tables.
    pub(crate) fn sizes(&mut self, users: u64, rows: &ByTable, bytes: &ByTable, total: u64) {
        const MB: f64 = 1e6;
        self.add("users", "", users as f64);
        for table in ["toolkits", "documents", "chunks", "invocations", "browser_sessions", "knowledge_jobs"]
        {
            self.add(format!("rows of {table}"), "", rows.get(table).copied().unwrap_or_default() as f64);
        }
        for table in ["documents", "chunks", "chunk_texts", "invocations"] {
            self.add(
                format!("{table} with indexes"),
                "MB",
                bytes.get(table).copied().unwrap_or_default() as f64 / MB,
            );
        }
        self.add("the whole database", "MB", total as f64 / MB);
    }
}

impl Report {
    pub(crate) fn new(engine: Engine, users: &[u64]) -> Self {
        let users = users.to_vec();
        let (figures, growing, rows, sequential_scans) = Default::default();
        let (statements, statements_of_large, scans) = Default::default();
        Self {
            engine,
            users,
            figures,
            growing,
            rows,
            sequential_scans,
            statements,
            statements_of_large,
            scans,
        }
    }

    /// Adds the results for one size.
    pub(crate) fn add(
        &mut self,
        rows: ByTable,
        figures: Figures,
        [explained, of_large]: [Vec<Explained>; 2],
    ) {
        self.rows.push(rows);
        self.figures.push(figures);
        self.statements.push(explained);
        self.statements_of_large.push(of_large);
    }

    /// Sets the sequential scans per table: the difference between the counts before and after the work.
    pub(crate) fn set_scans(&mut self, before: &ByTable, after: &ByTable) {
        let began = |table: &String| before.get(table).copied().unwrap_or_default();
        self.sequential_scans =
            after.iter().map(|(table, scans)| (table.clone(), scans - began(table))).collect();
    }

    /// Finds the statements that read more than they should.
    pub(crate) fn judge(&mut self) {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else { return };
        let grows = |table: &str, rows: u64| {
            rows >= MIN_ROWS && rows as f64 >= GROWTH * first.get(table).copied().unwrap_or_default() as f64
        };
        self.growing =
            last.iter().filter(|(table, rows)| grows(table, **rows)).map(|it| it.0.clone()).collect();

        let mut scans = Vec::new();
        for explained in self.statements.last().into_iter().flatten() {
            for access in explained.accesses.iter().filter(|access| self.growing.contains(&access.table)) {
                let what = if access.reads_all {
                    format!("reads all of {}", access.place())
                } else if let Some((before, after)) = self.growth_of_rows(&explained.statement, access) {
                    format!(
                        "reads {after} rows of {}, and {before} with a tenth of the users",
                        access.place()
                    )
                } else {
                    continue;
                };
                let exception = EXCEPTIONS
                    .iter()
                    .find(|(part, table, _)| *table == access.table && explained.statement.contains(part))
                    .map(|(.., why)| *why);
                let (statement, table) = (explained.statement.clone(), access.table.clone());
                scans.push(Scan { statement, table, what, exception });
            }
        }
        // A scan that appears in no statement's plan is due to a trigger or a foreign key.
        for (table, count) in self.sequential_scans.iter().filter(|(_, count)| **count > 0) {
            if self.growing.contains(table) && !scans.iter().any(|scan: &Scan| scan.table == *table) {
                let statement = "none of those above: a trigger, or what a foreign key needs".to_owned();
                let what = format!("reads all of {table}, {count} times");
                scans.push(Scan { statement, table: table.clone(), what, exception: None });
            }
        }
        scans.dedup_by(|one, other| one.statement == other.statement && one.table == other.table);
        self.scans = scans;
    }

    /// Rows that a statement read of a table at the last size but one and at the last; `None` unless they
    /// grew considerably.
    fn growth_of_rows(&self, statement: &str, access: &Access) -> Option<(u64, u64)> {
        let rows = |explained: &Explained| -> Option<u64> {
            explained.accesses.iter().find(|it| it.table == access.table && it.index == access.index)?.rows
        };
        let after = access.rows.filter(|rows| *rows >= MIN_READ)?;
        let before = self.statements.iter().rev().nth(1)?;
        let before = before.iter().find(|it| it.statement == statement).and_then(rows).unwrap_or_default();
        (after as f64 >= GROWTH * before as f64).then_some((before, after))
    }

    /// Problems, for people.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.scans
            .iter()
            .filter(|scan| scan.exception.is_none())
            .map(|Scan { statement, what, .. }| format!("{:?}: a statement {what}: {statement}", self.engine))
            .collect()
    }

    /// Mean growth factor from one size to the next.
    fn growth(values: &[Option<f64>]) -> Option<f64> {
        let (first, last) = ((*values.first()?)?, (*values.last()?)?);
        let steps = i32::try_from(values.len()).ok()? - 1;
        (steps > 0 && first > 0.0).then(|| (last / first).powf(1.0 / f64::from(steps)))
    }
}

impl Access {
    /// Table, with the index that is used.
    fn place(&self) -> String {
        match &self.index {
            Some(index) => format!("{} by {index}", self.table),
            None => self.table.clone(),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, index, reads_all, rows } = self;
        let how = if *reads_all { "ALL OF " } else { "" };
        write!(f, "{how}{}", index.as_ref().unwrap_or(table))?;
        match rows {
            Some(rows) => write!(f, " ({rows} rows)"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:?}, and by which factor each figure grows from one size to the next", self.engine)?;
        let names = self.figures.last().map(|figures| figures.0.iter()).into_iter().flatten();
        for Figure { name, unit, .. } in names {
            let values: Vec<_> = self
                .figures
                .iter()
                .map(|figures| figures.0.iter().find(|it| it.name == *name).map(|it| it.value))
                .collect();
            line(f, &format!("{name}{}{unit}", if unit.is_empty() { "" } else { ", " }), &values)?;
        }

        writeln!(f, "\nStatements: ms each, and what they read at the last size, an index or else a table")?;
        list(f, &self.statements, |_, _| true)?;
        writeln!(f, "\nStatements of the large user that take longer with more documents")?;
        list(f, &self.statements_of_large, |growth, ms| growth >= GROWTH && ms >= MIN_MS)?;

        writeln!(f, "\nTables that grow: {}", self.growing.join(", "))?;
        for Scan { statement, what, exception, .. } in &self.scans {
            let why = exception.unwrap_or("A FAULT");
            writeln!(f, "A statement {what}: {why}\n    {statement}")?;
        }
        Ok(())
    }
}

/// Lists the statements at the last size.
fn list(
    f: &mut fmt::Formatter<'_>,
    statements: &[Vec<Explained>],
    is_wanted: impl Fn(f64, f64) -> bool,
) -> fmt::Result {
    let time = |explained: &Vec<Explained>, statement: &str| {
        explained.iter().find(|it| it.statement == statement).map(|it| it.ms)
    };
    for Explained { statement, executions, ms, accesses } in statements.last().into_iter().flatten() {
        let times: Vec<_> = statements.iter().map(|size| time(size, statement)).collect();
        if is_wanted(Report::growth(&times).unwrap_or_default(), *ms) {
            line(f, &format!("  {executions} times"), &times)?;
            let accesses: Vec<_> = accesses.iter().map(ToString::to_string).collect();
            let beginning: String = statement.chars().take(SHOWN).collect();
            writeln!(f, "    {beginning}\n    → {}", accesses.join(", "))?;
        }
    }
    Ok(())
}

/// Writes a line of the table: values, and their mean growth factor from one size to the next.
fn line(f: &mut fmt::Formatter<'_>, name: &str, values: &[Option<f64>]) -> fmt::Result {
    write!(f, "{name:<50}")?;
    for value in values {
        match value {
            Some(value) if *value >= 1_000.0 => write!(f, "{value:>13.0}")?,
            Some(value) if *value >= 10.0 => write!(f, "{value:>13.1}")?,
            Some(value) => write!(f, "{value:>13.3}")?,
            None => write!(f, "{:>13}", "-")?,
        }
    }
    match Report::growth(values) {
        Some(growth) => writeln!(f, "{growth:>9.2}"),
        None => writeln!(f),
    }
}
