//! Revisions of what processes keep in memory.

use std::collections::HashMap;

use crate::{FromRow, Session, list, sql};

/// The revisions of everything, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::peers) struct Revisions {
    /// Another one after the database was replaced by a copy of itself, which may lack the last changes.
    pub(in crate::peers) timeline: String,
    /// Of the registry.
    pub(in crate::peers) generation: i64,
    /// How often secrets of any users were deleted.
    pub(in crate::peers) removals: i64,
    /// Of the secrets of those users who were asked about, and have set any.
    pub(in crate::peers) secrets: HashMap<String, i64>,
}

#[derive(FromRow)]
struct Row {
    timeline: String,
    generation: i64,
    removals: i64,
    user_id: Option<String>,
    revision: Option<i64>,
}

/// Reads the revisions of these users' secrets, and of what all users share. Servers only: a file is used by one
/// process.
pub(in crate::peers) async fn revisions(session: &mut Session, users: &[&str]) -> crate::Result<Revisions> {
    // Each is looked up in the index. PostgreSQL takes any list for a hundred users, and would read the whole table for
    // a join with it.
    let rows: Vec<Row> =
        sql("SELECT timeline() AS timeline, r.generation, r.removals, asked.value AS user_id,
                (SELECT s.revision FROM secret_revisions s WHERE s.user_id = asked.value) AS revision
         FROM registry r LEFT JOIN json_each($1) AS asked ON TRUE")
        .bind(list(users))
        .fetch_all(session)
        .await?;
    let mut revisions = Revisions::default();
    for row in rows {
        (revisions.timeline, revisions.generation, revisions.removals) =
            (row.timeline, row.generation, row.removals);
        revisions.secrets.extend(row.user_id.zip(row.revision));
    }
    Ok(revisions)
}
