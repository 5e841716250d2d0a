//! Revisions of the database content that processes copy to memory.

use std::collections::HashMap;

use crate::{FromRow, Session, list, sql};

/// Revisions at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::peers) struct Revisions {
    /// Timeline of the database. Changes when the database is replaced by a replica, which may lack the last
    /// changes.
    pub(in crate::peers) timeline: String,
    /// Generation of the registry.
    pub(in crate::peers) generation: i64,
    /// Number of changes of collections.
    pub(in crate::peers) collections: i64,
    /// Number of ends of users' access.
    pub(in crate::peers) user_ends: i64,
    /// Number of deletions of secrets, of any users.
    pub(in crate::peers) removals: i64,
    /// Revisions of secrets by user id, for those requested users who have set any.
    pub(in crate::peers) secrets: HashMap<String, i64>,
}

#[derive(FromRow)]
struct Row {
    timeline: String,
    generation: i64,
    removals: i64,
    collections: i64,
    user_ends: i64,
    user_id: Option<String>,
    revision: Option<i64>,
}

/// Reads the shared revisions and those of these users' secrets. PostgreSQL only: a `SQLite` file has one
/// process.
pub(in crate::peers) async fn revisions(session: &mut Session, users: &[&str]) -> crate::Result<Revisions> {
    // A subquery per user, to use the index: for a join, PostgreSQL estimates any list at a hundred users,
    // and would read the whole table.
    let rows: Vec<Row> =
        sql("SELECT timeline() AS timeline, r.generation, r.removals, r.collections, r.user_ends, asked.value AS user_id,
                (SELECT s.revision FROM secret_revisions s WHERE s.user_id = asked.value) AS revision
         FROM registry r LEFT JOIN json_each($1) AS asked ON TRUE")
        .bind(list(users))
        .fetch_all(session)
        .await?;
    let mut revisions = Revisions::default();
    for row in rows {
        (revisions.timeline, revisions.generation, revisions.removals) =
            (row.timeline, row.generation, row.removals);
        (revisions.collections, revisions.user_ends) = (row.collections, row.user_ends);
        revisions.secrets.extend(row.user_id.zip(row.revision));
    }
    Ok(revisions)
}
