//! Identity of the database's history, which shows whether files outside the database still match it.

use std::collections::HashMap;

use kitbag_database::{Executor, Holder, Scope, sql};

use super::{Revision, Store, holders_list};

/// Id of a history of the database. In different histories, the same revision may stand for different
/// changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// Random id of the last process start; `None` before the first one.
    pub(crate) last_start: Option<String>,
    /// Changes with each failover and each physical restore of a database server; empty if only one process
    /// can use the database.
    pub(crate) timeline: String,
}

impl History {
    /// One-line form; `None` before the first start.
    pub(crate) fn line(&self) -> Option<String> {
        let last_start = self.last_start.as_ref()?;
        Some(format!("{last_start} {}", self.timeline))
    }
}

/// Result of recording a process start.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// History before the start.
    pub(crate) before: History,
    /// History since the start.
    pub(crate) now: History,
    /// Revisions of the requested holders, if they have any.
    pub(crate) revisions: HashMap<Holder, Revision>,
}

impl Store {
    /// Current history of the database.
    pub(crate) async fn history(&self) -> kitbag_database::Result<History> {
        let last_start = last_start(self.0.readers()).await?;
        Ok(History { last_start, timeline: self.timeline(self.0.readers()).await? })
    }

    /// Records the start of this process, and reads revisions before any process that starts later can change
    /// them.
    pub(crate) async fn note_start(&self, holders: &[Holder]) -> kitbag_database::Result<Start> {
        let mut transaction = self.0.begin(Scope::Processes).await?;
        let before = last_start(&mut transaction).await?;
        let timeline = self.timeline(&mut transaction).await?;
        let revisions = revisions(&mut transaction, holders).await?;
        let this = new_id();
        sql("UPDATE service SET last_start = $1").bind(&this).execute(&mut transaction).await?;
        transaction.commit().await?;
        let history = |last_start| History { last_start, timeline: timeline.clone() };
        Ok(Start { before: history(before), now: history(Some(this)), revisions })
    }

    /// Revisions of these holders, if they have any.
    pub(crate) async fn revisions(
        &self,
        holders: &[Holder],
    ) -> kitbag_database::Result<HashMap<Holder, Revision>> {
        revisions(self.0.readers(), holders).await
    }

    async fn timeline(&self, executor: impl Into<Executor<'_>>) -> kitbag_database::Result<String> {
        if self.0.is_exclusive() {
            return Ok(String::new());
        }
        sql("SELECT timeline()").fetch_value(executor).await
    }
}

async fn last_start(executor: impl Into<Executor<'_>>) -> kitbag_database::Result<Option<String>> {
    sql("SELECT last_start FROM service").fetch_value(executor).await
}

async fn revisions(
    executor: impl Into<Executor<'_>>,
    holders: &[Holder],
) -> kitbag_database::Result<HashMap<Holder, Revision>> {
    let rows: Vec<(String, i64, i64)> = sql("SELECT holder, revision, removals FROM knowledge_revisions
         WHERE holder IN (SELECT value FROM json_each($1))")
    .bind(holders_list(holders))
    .fetch_all(executor)
    .await?;
    let revision = |(holder, revision, removals)| (Holder::from(holder), Revision { revision, removals });
    Ok(rows.into_iter().map(revision).collect())
}

fn new_id() -> String {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    hex::encode(bytes)
}
