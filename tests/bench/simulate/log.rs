//! Log of the PostgreSQL server: each statement of Kitbag with its parameters and duration.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::sleep;

use super::database::Database;
use super::statements::{self, ByText};
use crate::Outcome;

/// Wait for log lines to be written.
const WRITE_TIME: Duration = Duration::from_millis(500);

/// Reader of the log, from its end when opened.
pub(crate) struct ServerLog {
    file: Mutex<File>,
    /// Prefix of each entry about this database and this program.
    prefix: String,
}

impl ServerLog {
    /// Turns on logging of statements.
    pub(crate) async fn open(name: &str, database: &mut Database) -> Outcome<Self> {
        let folder = std::env::var_os("TEST_POSTGRES_FOLDER")
            .ok_or("`scripts/with-postgres` sets TEST_POSTGRES_FOLDER")?;
        let mut file = File::open(PathBuf::from(folder).join("log"))?;
        file.seek(SeekFrom::End(0))?;
        database.run("ALTER SYSTEM SET log_line_prefix = '~%d~%a~ '").await?;
        database.run("ALTER SYSTEM SET log_min_duration_statement = 0").await?;
        database.run("SELECT pg_reload_conf()").await?;
        // Each session applies the setting before its next statement.
        sleep(WRITE_TIME).await;
        Ok(Self { file: Mutex::new(file), prefix: format!("~{name}~kitbag~ ") })
    }

    /// Returns the statements logged since [`Self::open`], and turns logging off.
    pub(crate) async fn take(&self, database: &mut Database) -> Outcome<ByText> {
        database.run("ALTER SYSTEM RESET log_min_duration_statement").await?;
        database.run("SELECT pg_reload_conf()").await?;
        Ok(parse(&self.read().await?, &self.prefix))
    }

    async fn read(&self) -> Outcome<String> {
        sleep(WRITE_TIME).await;
        let mut file = self.file.lock().map_err(|_| "nobody panics while reading")?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Aggregates the log entries: parsing, binding and executing a statement are one entry each.
fn parse(log: &str, prefix: &str) -> ByText {
    let mut seen = ByText::new();
    let mut times: BTreeMap<String, Duration> = BTreeMap::new();
    let mut entries = entries(log, prefix).into_iter().peekable();
    while let Some(entry) = entries.next() {
        let Some((time, rest)) = entry.strip_prefix("LOG:  duration: ").and_then(|it| it.split_once(" ms  "))
        else {
            continue;
        };
        let time = Duration::from_secs_f64(time.parse::<f64>().unwrap_or_default() / 1e3);
        let Some((step, (_, text))) =
            rest.split_once(' ').and_then(|(step, named)| Some((step, named.split_once(": ")?)))
        else {
            continue;
        };
        let detail = entries.next_if(|entry| entry.starts_with("DETAIL:"));
        *times.entry(text.to_owned()).or_default() += time;
        if step == "execute" {
            let parameters = detail.and_then(|detail| Some(literals(detail.split_once("arameters: ")?.1)));
            let time = times.remove(text).unwrap_or_default();
            statements::add(&mut seen, text, time, Some(parameters.unwrap_or_default()));
        }
    }
    seen
}

/// Log entries with this prefix, which is removed. An entry may have several lines.
fn entries(log: &str, prefix: &str) -> Vec<String> {
    let mut entries: Vec<Option<String>> = Vec::new();
    for line in log.lines() {
        if let Some(more) = line.strip_prefix('\t') {
            if let Some(Some(entry)) = entries.last_mut() {
                entry.push('\n');
                entry.push_str(more);
            }
        } else {
            entries.push(line.strip_prefix(prefix).map(str::to_owned));
        }
    }
    entries.into_iter().flatten().collect()
}

/// Parses the values of `$1 = 'a', $2 = NULL`.
fn literals(mut text: &str) -> Vec<String> {
    let mut literals = Vec::new();
    while let Some((_, value)) = text.split_once(" = ") {
        let end = match value.strip_prefix('\'') {
            // Quotes within a value are doubled.
            Some(quoted) => {
                let mut end = 0;
                let bytes = quoted.as_bytes();
                while end < bytes.len() && (bytes[end] != b'\'' || bytes.get(end + 1) == Some(&b'\'')) {
                    end += if bytes[end] == b'\'' { 2 } else { 1 };
                }
                end + 2
            }
            None => value.find(',').unwrap_or(value.len()),
        };
        let end = end.min(value.len());
        literals.push(value[..end].to_owned());
        text = &value[end..];
    }
    literals
}
