//! The processes that use the database.

use std::time::Duration;

use crate::peers::processes::EXPIRY;
use crate::peers::profile::{JoinError, Profile};
use crate::{Database, DatabaseError, Executor, FromRow, Release, Scope, Session, Transaction, sql};

/// The table of processes.
#[derive(Clone)]
pub(in crate::peers) struct Processes(Database);

/// What became of a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::peers) enum Heartbeat {
    Alive {
        /// Whether there are processes that nobody has heard of for too long.
        expired: bool,
        /// The database's time: milliseconds since 1970.
        now: i64,
    },
    /// The process was removed: it was not heard of for too long.
    Lost,
}

/// Whose turn it is to adapt all jobs to the settings of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// That of this process.
    Mine {
        /// Whether there is no other process.
        alone: bool,
    },
    /// Nobody's: they are adapted.
    Over,
    /// That of another process, or of none before all have the same settings.
    Later,
}

impl Heartbeat {
    /// Says that a process lives. On servers only: who has a file is alone.
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

    /// Whether there can be no more than one.
    pub(in crate::peers) fn are_exclusive(&self) -> bool {
        self.0.is_exclusive()
    }

    /// Adds a process, which began to run at `started_at`, or now, if it fits those that there are. Returns when.
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

    /// The profiles of the other processes that are alive.
    pub(in crate::peers) async fn others(&self, id: &str) -> crate::Result<Vec<Profile>> {
        others(self.0.readers(), id).await
    }

    /// Removes a process. What it has claimed is free.
    pub(in crate::peers) async fn remove(&self, id: &str) -> crate::Result<()> {
        // With the process go its claims on jobs of any users.
        let mut transaction = self.0.begin(Scope::AllUsers).await?;
        sql("DELETE FROM processes WHERE id = $1").bind(id).execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Removes all processes, before the only one begins.
    pub(in crate::peers) async fn remove_all(&self) -> crate::Result<()> {
        let mut transaction = self.0.begin(Scope::AllUsers).await?;
        sql("DELETE FROM processes").execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Removes the processes that nobody has heard of for too long. On servers only.
    pub(in crate::peers) async fn remove_expired(&self) -> crate::Result<()> {
        let mut transaction = self.0.begin(Scope::AllUsers).await?;
        sql("DELETE FROM processes WHERE seen_at < clock_millis() - $1")
            .bind(millis(EXPIRY))
            .execute(&mut transaction)
            .await?;
        transaction.commit().await
    }

    /// Whether the process that was started last has these settings.
    pub(in crate::peers) async fn newest_has(&self, job_settings: &str) -> crate::Result<bool> {
        let newest = sql("SELECT job_settings = $1 FROM processes ORDER BY started_at DESC, id DESC LIMIT 1");
        let newest = newest.bind(job_settings).fetch_optional_value(self.0.readers()).await?;
        Ok(newest.unwrap_or_default())
    }

    /// Takes the turn to adapt all jobs to these settings, if all processes have them and no other one is doing it, and
    /// if there is something to adapt: other settings before, or a start of the only process.
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
        let (alone, is_mine) = (others == 0, adapting.as_deref() == Some(id));
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

    /// Notes that all jobs are adapted to these settings, if it is the turn of this process.
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

/// Whether a process uses a database that several may use.
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

/// The profiles of the processes besides one, which lives, that were heard of as lately as it was.
async fn others(executor: impl Into<Executor<'_>>, id: &str) -> crate::Result<Vec<Profile>> {
    let others = sql("SELECT release, job_settings, master_keys, settings FROM processes
         WHERE id <> $1 AND seen_at > (SELECT seen_at FROM processes WHERE id = $1) - $2");
    let rows: Vec<Row> = others.bind(id).bind(millis(EXPIRY)).fetch_all(executor).await?;
    rows.into_iter().map(Row::into_profile).collect()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).expect("it is less than a minute")
}
