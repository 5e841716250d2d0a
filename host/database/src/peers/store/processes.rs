//! The processes that use the database.

use std::time::Duration;

use crate::peers::processes::EXPIRY;
use crate::peers::profile::{JoinError, Profile};
use crate::{Database, DatabaseError, Executor, FromRow, Release, Scope, Session, Transaction, sql};

/// The table of processes.
#[derive(Clone)]
pub(in crate::peers) struct Processes(Database);

/// Result of a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::peers) enum Heartbeat {
    Alive {
        /// Whether processes exist whose heartbeat has expired.
        expired: bool,
        /// Time of the database's clock, in milliseconds since 1970.
        now: i64,
    },
    /// The row of the process was deleted, as its heartbeat had expired.
    Lost,
}

/// Turn of this process to adapt all jobs to its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// This process has the turn.
    Mine {
        /// Whether this process is the only one.
        alone: bool,
    },
    /// All jobs are adapted already.
    Over,
    /// Another process has the turn, or not all processes have the same settings yet.
    Later,
}

impl Heartbeat {
    /// Records a heartbeat of a process. PostgreSQL only: with a `SQLite` file there is one process.
    pub(in crate::peers) async fn send(session: &mut Session, id: &str) -> crate::Result<Self> {
        let alive: Option<(i64, i64)> = sql("UPDATE processes SET seen_at = clock_millis() WHERE id = $1
             RETURNING (SELECT count(*) FROM processes other WHERE other.seen_at < clock_millis() - $2), seen_at")
        .bind(id)
        .bind(millis(EXPIRY))
        .fetch_optional(session)
        .await?;
        Ok(alive.map_or(Self::Lost, |(count, now)| Self::Alive { expired: count > 0, now }))
    }
}

impl Processes {
    pub(in crate::peers) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns whether there can be only one process.
    pub(in crate::peers) fn are_exclusive(&self) -> bool {
        self.0.is_exclusive()
    }

    /// Adds a process if it is compatible with all others. `started_at`: time of its start; `None` for now.
    /// Returns that time, in milliseconds since 1970.
    pub(in crate::peers) async fn join(
        &self,
        id: &str,
        profile: &Profile,
        started_at: Option<i64>,
    ) -> Result<i64, JoinError> {
        let mut transaction = self.0.begin(Scope::Processes).await?;
        let settings = serde_json::to_string(&profile.settings).map_err(DatabaseError::unwritable)?;
        sql("INSERT INTO processes (id, release, job_settings, master_keys, settings) VALUES ($1, $2, $3, $4, $5)")
            .bind(id)
            .bind(&profile.release)
            .bind(&profile.job_settings)
            .bind(profile.master_keys.join(" "))
            .bind(settings)
            .execute(&mut transaction)
            .await?;
        if let Some(started_at) = started_at {
            sql("UPDATE processes SET started_at = $2 WHERE id = $1")
                .bind(id)
                .bind(started_at)
                .execute(&mut transaction)
                .await?;
        }
        for other in others(&mut transaction, id).await? {
            profile.expect_to_fit(&other)?;
        }
        let newest: Option<String> = sql("SELECT release FROM service").fetch_value(&mut transaction).await?;
        let newest = newest.and_then(|newest| newest.parse::<Release>().ok());
        if newest < profile.release.parse().ok() {
            let note = sql("UPDATE service SET release = $1").bind(&profile.release);
            note.execute(&mut transaction).await?;
        }
        let started_at = sql("SELECT started_at FROM processes WHERE id = $1").bind(id);
        let started_at = started_at.fetch_value(&mut transaction).await?;
        transaction.commit().await?;
        Ok(started_at)
    }

    /// Returns the profiles of the other live processes.
    pub(in crate::peers) async fn others(&self, id: &str) -> crate::Result<Vec<Profile>> {
        others(self.0.readers(), id).await
    }

    /// Removes a process, which releases its claims.
    pub(in crate::peers) async fn remove(&self, id: &str) -> crate::Result<()> {
        // Scope of all holders: the process's claims on jobs of any holder are deleted with it.
        let mut transaction = self.0.begin(Scope::AllHolders).await?;
        sql("DELETE FROM processes WHERE id = $1").bind(id).execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Removes all processes, before the only one starts.
    pub(in crate::peers) async fn remove_all(&self) -> crate::Result<()> {
        let mut transaction = self.0.begin(Scope::AllHolders).await?;
        sql("DELETE FROM processes").execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Removes the processes whose heartbeat has expired. PostgreSQL only.
    pub(in crate::peers) async fn remove_expired(&self) -> crate::Result<()> {
        let mut transaction = self.0.begin(Scope::AllHolders).await?;
        sql("DELETE FROM processes WHERE seen_at < clock_millis() - $1")
            .bind(millis(EXPIRY))
            .execute(&mut transaction)
            .await?;
        transaction.commit().await
    }

    /// Returns whether the process that started last has these settings.
    pub(in crate::peers) async fn newest_has(&self, job_settings: &str) -> crate::Result<bool> {
        let newest = sql("SELECT job_settings = $1 FROM processes ORDER BY started_at DESC, id DESC LIMIT 1");
        let newest = newest.bind(job_settings).fetch_optional_value(self.0.readers()).await?;
        Ok(newest.unwrap_or_default())
    }

    /// Claims the turn to adapt all jobs to these settings, if all processes have them, no other process has
    /// the turn, and something is to be adapted: the settings have changed, or the only process has just
    /// started.
    pub(in crate::peers) async fn take_turn(
        &self,
        id: &str,
        job_settings: &str,
        is_start: bool,
    ) -> crate::Result<Turn> {
        let mut transaction = self.0.begin(Scope::Processes).await?;
        let (others, different): (i64, i64) =
            sql("SELECT count(*) FILTER (WHERE id <> $1), count(*) FILTER (WHERE job_settings <> $2)
                 FROM processes")
            .bind(id)
            .bind(job_settings)
            .fetch_one(&mut transaction)
            .await?;
        let (adapted, adapting): (Option<String>, Option<String>) =
            sql("SELECT job_settings, adapting FROM service").fetch_one(&mut transaction).await?;
        let alone = others == 0;
        let is_mine = adapting.as_deref() == Some(id);
        if different > 0 || (adapting.is_some() && !is_mine) {
            return Ok(Turn::Later);
        }
        if adapted.as_deref() == Some(job_settings) && !is_mine && !(alone && is_start) {
            return Ok(Turn::Over);
        }
        sql("UPDATE service SET adapting = $1").bind(id).execute(&mut transaction).await?;
        transaction.commit().await?;
        Ok(Turn::Mine { alone })
    }

    /// Records that all jobs are adapted to these settings, if this process has the turn.
    pub(in crate::peers) async fn end_turn(&self, id: &str, job_settings: &str) -> crate::Result<()> {
        let mut transaction = self.0.begin(Scope::Processes).await?;
        sql("UPDATE service SET job_settings = $2, adapting = NULL WHERE adapting = $1")
            .bind(id)
            .bind(job_settings)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await
    }
}

/// Returns whether a live process uses the database. Only for databases that several processes may use.
pub async fn is_process_alive(transaction: &mut Transaction) -> crate::Result<bool> {
    let alive = "SELECT EXISTS (SELECT 1 FROM processes WHERE seen_at > (SELECT now FROM clock) - $1)";
    sql(alive).bind(millis(EXPIRY)).fetch_value(transaction).await
}

/// The columns of a profile.
#[derive(FromRow)]
struct Row {
    release: String,
    job_settings: String,
    master_keys: String,
    settings: String,
}

impl Row {
    fn into_profile(self) -> crate::Result<Profile> {
        Ok(Profile {
            release: self.release,
            job_settings: self.job_settings,
            master_keys: self.master_keys.split_whitespace().map(str::to_owned).collect(),
            settings: serde_json::from_str(&self.settings).map_err(DatabaseError::unreadable)?,
        })
    }
}

/// Returns the profiles of the live processes except `id`: those whose last heartbeat is at most [`EXPIRY`]
/// older than its own.
async fn others(executor: impl Into<Executor<'_>>, id: &str) -> crate::Result<Vec<Profile>> {
    let others = sql("SELECT release, job_settings, master_keys, settings FROM processes
         WHERE id <> $1 AND seen_at > (SELECT seen_at FROM processes WHERE id = $1) - $2");
    let rows: Vec<Row> = others.bind(id).bind(millis(EXPIRY)).fetch_all(executor).await?;
    rows.into_iter().map(Row::into_profile).collect()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).expect("it is less than a minute")
}
