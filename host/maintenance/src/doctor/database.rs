//! Integrity and schema of the database.

use kitbag_database::{Database, DatabaseError};
use secrecy::ExposeSecret as _;

use super::{Depth, Examples, Finding, Report, Subject};

/// Connections to a PostgreSQL database: one that reads pages of names, and one for single statements.
const CONNECTIONS: u32 = 4;

/// Remedy for a PostgreSQL database that does not answer.
const LOOK_AT_SERVER: &str = "look whether its server runs and can be reached from here, and what its log says; if it is damaged, \
                              restore the last backup that was made with its own tools";

/// Remedy for a damaged database.
const RESTORE: &str = "stop the server, keep a copy of the data directory, and restore the last backup into a new one \
                       with `kitbag restore`";

/// Remedy for parts of the schema that this program has not created.
const FOREIGN: &str = "they run with the server, and it can neither be backed up nor copied with them: if you have made \
                       them, drop them; if not, somebody else has written to the database: restore a backup that you trust";

/// Checks the database. Returns it if the other checks can read it.
pub(super) async fn check(subject: &Subject, report: &mut Report) -> Option<Database> {
    if subject.database.is_none() && !subject.data.join(Database::FILE).exists() {
        report.findings.push(Finding::new(
            format!("there is no database ({})", Database::FILE),
            "if this is the right directory and a server has run on it, restore the last backup with `kitbag restore`; \
             else name the right one with --data",
        ));
        return None;
    }
    match readable(subject, report).await {
        Ok(database) => database,
        Err(error) => {
            report.findings.push(unreadable(subject, &error));
            None
        }
    }
}

/// Returns the finding for a database that cannot be read.
pub(super) fn unreadable(subject: &Subject, error: &DatabaseError) -> Finding {
    let remedy = if subject.database.is_some() { LOOK_AT_SERVER } else { RESTORE };
    Finding::new(format!("the database cannot be read: {error}"), remedy)
}

async fn readable(subject: &Subject, report: &mut Report) -> Result<Option<Database>, DatabaseError> {
    let database = match &subject.database {
        Some(url) => Database::connect_existing(url.expose_secret(), CONNECTIONS).await?,
        None => Database::open_read_only(&subject.data).await?,
    };
    // PostgreSQL checks its pages itself.
    if subject.depth == Depth::Full && subject.database.is_none() {
        let mut problems = Examples::default();
        database.problems().await?.into_iter().for_each(|problem| problems.push(problem));
        if problems.count() == 0 {
            report.notes.push("the database is whole".to_owned());
        }
        report.add(problems, "parts of the database are damaged", RESTORE);
    }
    let found = database.schema().await?;
    let program = Database::program_schema();
    if found == program {
        let mut foreign = Examples::default();
        database.foreign_parts(found).await?.into_iter().for_each(|part| foreign.push(part));
        if foreign.count() > 0 {
            report.add(foreign, "parts of the database are not this program's", FOREIGN);
            report.notes.push("rows, files and secrets were not checked, because of these parts".to_owned());
            database.close().await;
            return Ok(None);
        }
        report.notes.push(format!("the database has schema {found}, as this program"));
        return Ok(Some(database));
    }
    let remedy = if found > program {
        "a newer version of this program has run on it: install that version or a newer one"
    } else {
        "back it up with the version of this program that has run on it; the next start of this version converts it"
    };
    let what = format!("the database has schema {found}, and this program has schema {program}");
    report.findings.push(Finding::new(what, remedy));
    report.notes.push("rows, files and secrets were not checked, because of the schema".to_owned());
    database.close().await;
    Ok(None)
}
