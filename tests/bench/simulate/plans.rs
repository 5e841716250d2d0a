//! Query plans of the engines for each statement: indexes that are searched, and tables that are read
//! completely.

use serde::Serialize;
use serde_json::Value;

use super::database::Database;
use super::statements::{ByText, Seen};
use crate::Outcome;

/// Executions after which PostgreSQL chooses between custom plans and a generic plan.
const EXECUTIONS: usize = 6;

/// Statement with its plan.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    pub(crate) statement: String,
    pub(crate) executions: u64,
    pub(crate) ms: f64,
    pub(crate) accesses: Vec<Access>,
}

/// Access of a statement to one table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Access {
    pub(crate) table: String,
    pub(crate) index: Option<String>,
    /// Whether it scans the whole table or a whole index of it.
    pub(crate) reads_all: bool,
    /// Number of rows read, if the engine reports it.
    pub(crate) rows: Option<u64>,
}

impl Access {
    /// Whether both are the same kind of access to the same table.
    fn is_same(&self, other: &Self) -> bool {
        (&self.table, &self.index, self.reads_all) == (&other.table, &other.index, other.reads_all)
    }
}

/// Explains each statement that reads or writes rows.
pub(crate) async fn explain(database: &mut Database, seen: ByText) -> Outcome<Vec<Explained>> {
    let tables: Vec<String> = match database {
        Database::File(_) => database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'").await?,
        Database::Server(_) => Vec::new(),
    }
    .concat();
    let mut explained = Vec::new();
    for (statement, seen) in seen {
        let first = statement.split(' ').next().unwrap_or_default();
        if !["SELECT", "WITH", "INSERT", "UPDATE", "DELETE"].contains(&first) {
            continue;
        }
        let accesses = match database {
            Database::File(_) => of_file(database, &seen, &tables).await,
            Database::Server(_) => of_server(database, &seen, first).await,
        };
        let accesses = accesses.map_err(|error| format!("{statement} cannot be explained: {error}"))?;
        let ms = seen.time.as_secs_f64() * 1e3 / seen.executions as f64;
        explained.push(Explained { statement, executions: seen.executions, ms, accesses });
    }
    Ok(explained)
}

/// Explains a statement with `SQLite`. The server creates no statistics, so the plan does not depend on
/// parameters.
async fn of_file(database: &mut Database, seen: &Seen, tables: &[String]) -> Outcome<Vec<Access>> {
    let steps = database.rows(&format!("EXPLAIN QUERY PLAN {}", seen.text)).await?;
    let text = format!(" {} ", seen.text.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(steps
        .iter()
        .filter_map(|step| {
            let detail = step.last()?;
            let (kind, rest) = detail.split_once(' ')?;
            let name = rest.split(' ').next()?;
            // A plan names the table by its alias in the statement.
            let table = tables.iter().find(|table| {
                *table == name
                    || [format!(" {table} {name}"), format!(" {table} AS {name}")].iter().any(|named| {
                        text.match_indices(named).any(|(at, _)| ends_word(&text[at + named.len()..]))
                    })
            })?;
            let index = rest.split_once("INDEX ").and_then(|(_, index)| index.split(' ').next());
            matches!(kind, "SCAN" | "SEARCH").then(|| Access {
                table: table.clone(),
                index: index.map(str::to_owned),
                reads_all: kind == "SCAN",
                rows: None,
            })
        })
        .collect())
}

fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Explains a statement with PostgreSQL; executes it, in a transaction that is rolled back, only if it just
/// reads, to count rows.
async fn of_server(database: &mut Database, seen: &Seen, first: &str) -> Outcome<Vec<Access>> {
    let literals = seen.parameters.as_deref().unwrap_or_default();
    prepare(database, &seen.text, literals).await?;
    let only_reads = first == "SELECT"
        || (first == "WITH"
            && !["INSERT ", "UPDATE ", "DELETE "].iter().any(|word| seen.text.contains(word)));
    let execute = match literals {
        [] => "EXECUTE explained".to_owned(),
        _ => format!("EXECUTE explained ({})", literals.join(", ")),
    };
    database.run("BEGIN").await?;
    let mut accesses = Vec::new();
    for execution in 1..=EXECUTIONS {
        let analyze = if only_reads && execution == EXECUTIONS { "ANALYZE, TIMING OFF, " } else { "" };
        let plan =
            database.rows(&format!("EXPLAIN ({analyze}FORMAT JSON) {execute}")).await?.concat().concat();
        let mut found = Vec::new();
        walk(&serde_json::from_str::<Value>(&plan)?[0]["Plan"], false, &mut found);
        if execution == EXECUTIONS {
            // From the plans of earlier executions, only full scans are kept.
            accesses.retain(|access: &Access| access.reads_all && !found.iter().any(|it| it.is_same(access)));
        }
        for access in found {
            if !accesses.iter().any(|it| it.is_same(&access)) {
                accesses.push(access);
            }
        }
    }
    database.run("ROLLBACK").await?;
    database.run("DEALLOCATE explained").await?;
    Ok(accesses)
}

/// Prepares a statement. PostgreSQL infers the types of parameters; if it cannot, or infers a wrong one, the
/// types of the values are declared.
async fn prepare(database: &mut Database, text: &str, literals: &[String]) -> Outcome<()> {
    let of_value = |literal: &String| {
        let is_number = literal.trim_matches('\'').parse::<i64>().is_ok();
        if is_number { "bigint" } else { "text" }
    };
    let mut types = vec!["unknown"; literals.len()];
    loop {
        let given = if types.is_empty() { String::new() } else { format!("({})", types.join(", ")) };
        let Err(error) = database.run(&format!("PREPARE explained {given} AS {text}")).await else {
            return Ok(());
        };
        let message = error.to_string();
        let number = message.split_once("data type of parameter $").map(|(_, rest)| {
            rest.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
                .parse::<usize>()
                .unwrap_or_default()
        });
        let place = number.map(|number| number.wrapping_sub(1));
        match place.filter(|place| types.get(*place) == Some(&"unknown")) {
            Some(place) => types[place] = "text",
            None if types.contains(&"unknown") => types = literals.iter().map(of_value).collect(),
            None => return Err(error),
        }
    }
}

/// Collects the accesses of a plan. `is_limited`: whether a node above takes only the first rows.
fn walk(plan: &Value, is_limited: bool, found: &mut Vec<Access>) {
    let kind = plan["Node Type"].as_str().unwrap_or_default();
    let number = |name: &str| plan[name].as_f64();
    if kind.ends_with("Scan") && plan["Relation Name"].is_string() {
        let index = index_of(plan);
        let has_condition = plan["Index Cond"].is_string() || kind == "Bitmap Heap Scan";
        let rows = number("Actual Rows").map(|rows| {
            let removed = number("Rows Removed by Filter").unwrap_or_default();
            (rows + removed) * number("Actual Loops").unwrap_or(1.0)
        });
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of rows")]
        found.push(Access {
            table: plan["Relation Name"].as_str().unwrap_or_default().to_owned(),
            reads_all: kind == "Seq Scan" || (index.is_some() && !has_condition && !is_limited),
            index,
            rows: rows.map(|rows| rows as u64),
        });
    }
    // Sort, aggregate and hash nodes read all rows, even if a node above takes only some.
    let needs_all = ["Sort", "Aggregate", "Hash", "WindowAgg"].contains(&kind);
    let is_limited = (is_limited || kind == "Limit") && !needs_all;
    for below in plan["Plans"].as_array().into_iter().flatten() {
        // A limit does not apply to subqueries.
        let is_apart = matches!(below["Parent Relationship"].as_str(), Some("InitPlan" | "SubPlan"));
        walk(below, is_limited && !is_apart, found);
    }
}

/// Index of a scan node; for a bitmap scan, that of its child node.
fn index_of(plan: &Value) -> Option<String> {
    if let Some(index) = plan["Index Name"].as_str() {
        return Some(index.to_owned());
    }
    plan["Plans"].as_array()?.iter().find_map(index_of)
}
