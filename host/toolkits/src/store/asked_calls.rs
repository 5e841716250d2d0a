//! Calls that continue with an answer of their user. Each does so once, on whichever process.

use jiff::Timestamp;
use kitbag_database::{Database, Scope, refuse_ended, sql};

/// Maximum number of a user's calls with states that may not have expired. No person answers as many.
const MAX_ASKED_CALLS_PER_USER: i64 = 1000;
/// Maximum number of results that are cached for a user.
const MAX_RESULTS_PER_USER: i64 = 16;

/// Calls that run, or have run, with an answer of their user.
pub struct AskedCalls(Database);

/// Outcome of an attempt to continue a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedCall {
    /// The call is claimed: it may run now.
    Claimed,
    /// The call runs, or its process ended before the call did.
    Running,
    /// The call has ended, with this result if it is cached.
    Ended(Option<String>),
    /// The user has too many such calls.
    TooMany,
}

impl AskedCalls {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Claims a call, unless it runs or has ended. The row is kept for at least `seconds`, the lifetime of the
    /// call's states.
    pub async fn claim(&self, user: &str, call: &str, seconds: i64) -> kitbag_database::Result<AskedCall> {
        let now = Timestamp::now().as_second();
        // One with a lock, which the end of the user waits for.
        let mut transaction = self.0.begin(Scope::LimitedCalls).await?;
        refuse_ended(&mut transaction, user).await?;
        sql("DELETE FROM asked_calls WHERE expires < $1").bind(now).execute(&mut transaction).await?;
        let claimed = sql("INSERT INTO asked_calls (call_id, user_id, expires)
             SELECT $1, $2, $3 WHERE (SELECT count(*) FROM asked_calls WHERE user_id = $2) < $4
             ON CONFLICT (call_id) DO NOTHING")
        .bind(call)
        .bind(user)
        .bind(now + seconds + CLOCK_MARGIN)
        .bind(MAX_ASKED_CALLS_PER_USER)
        .execute(&mut transaction)
        .await?;
        let earlier: Option<(Option<i64>, Option<String>)> =
            sql("SELECT ended_at, result FROM asked_calls WHERE call_id = $1 AND user_id = $2")
                .bind(call)
                .bind(user)
                .fetch_optional(&mut transaction)
                .await?;
        transaction.commit().await?;
        Ok(match earlier {
            _ if claimed > 0 => AskedCall::Claimed,
            Some((None, _)) => AskedCall::Running,
            Some((Some(_), result)) => AskedCall::Ended(result),
            None => AskedCall::TooMany,
        })
    }

    /// Releases a claimed call, which may then be claimed again.
    pub async fn release(&self, call: &str) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Answers).await?;
        sql("DELETE FROM asked_calls WHERE call_id = $1").bind(call).execute(&mut transaction).await?;
        transaction.commit().await
    }

    /// Stores the end of a claimed call, and its result, if it is to be cached, in place of the user's oldest.
    pub async fn end(&self, user: &str, call: &str, result: Option<&str>) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Answers).await?;
        sql("UPDATE asked_calls SET ended_at = $2, result = $3 WHERE call_id = $1")
            .bind(call)
            .bind(Timestamp::now().as_millisecond())
            .bind(result)
            .execute(&mut transaction)
            .await?;
        sql("UPDATE asked_calls SET result = NULL WHERE user_id = $1 AND result IS NOT NULL AND call_id NOT IN
                 (SELECT call_id FROM asked_calls WHERE user_id = $1 AND result IS NOT NULL
                  ORDER BY ended_at DESC, call_id LIMIT $2)")
        .bind(user)
        .bind(MAX_RESULTS_PER_USER)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await
    }
}

/// Time in seconds for which a row is kept after the last state has expired: clocks of processes differ.
const CLOCK_MARGIN: i64 = 600;

#[cfg(test)]
mod tests {
    use super::*;

    async fn calls() -> (tempfile::TempDir, AskedCalls) {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let database = Database::open(folder.path()).await.expect("a database");
        (folder, AskedCalls::new(database))
    }

    async fn claim(calls: &AskedCalls, user: &str, call: &str) -> AskedCall {
        calls.claim(user, call, 60).await.expect("the database answers")
    }

    #[tokio::test]
    async fn a_call_runs_once_at_a_time_and_not_again_after_its_end() {
        let (_folder, calls) = calls().await;

        assert_eq!(claim(&calls, "ana", "a").await, AskedCall::Claimed);
        assert_eq!(claim(&calls, "ana", "a").await, AskedCall::Running);
        calls.release("a").await.expect("released");
        assert_eq!(claim(&calls, "ana", "a").await, AskedCall::Claimed);
        calls.end("ana", "a", Some("done")).await.expect("ended");

        assert_eq!(claim(&calls, "ana", "a").await, AskedCall::Ended(Some("done".to_owned())));
        assert_eq!(claim(&calls, "ana", "b").await, AskedCall::Claimed);
    }

    #[tokio::test]
    async fn a_row_is_deleted_only_once_no_state_is_good_any_more() {
        let (_folder, calls) = calls().await;
        for (call, seconds) in [("past", -CLOCK_MARGIN - 2), ("present", -CLOCK_MARGIN + 60)] {
            calls.claim("ana", call, seconds).await.expect("claimed");
            calls.end("ana", call, None).await.expect("ended");
        }

        assert_eq!(claim(&calls, "ana", "present").await, AskedCall::Ended(None));
        assert_eq!(claim(&calls, "ana", "past").await, AskedCall::Claimed);
    }

    #[tokio::test]
    async fn a_user_has_so_many_calls_and_results_and_takes_none_of_another() {
        let (_folder, calls) = calls().await;
        claim(&calls, "ben", "of ben").await;
        calls.end("ben", "of ben", Some("done")).await.expect("ended");
        for call in 0..MAX_ASKED_CALLS_PER_USER {
            assert_eq!(claim(&calls, "ana", &call.to_string()).await, AskedCall::Claimed);
        }
        for call in 0..=MAX_RESULTS_PER_USER {
            calls.end("ana", &call.to_string(), Some("done")).await.expect("ended");
        }

        assert_eq!(claim(&calls, "ana", "one more").await, AskedCall::TooMany);
        // A retry of an earlier call is told of its end all the same.
        let mut results = 0;
        for call in 0..=MAX_RESULTS_PER_USER {
            let AskedCall::Ended(result) = claim(&calls, "ana", &call.to_string()).await else {
                panic!("{call}")
            };
            results += i64::from(result.is_some());
        }
        assert_eq!(results, MAX_RESULTS_PER_USER);
        assert_eq!(claim(&calls, "ben", "of ben").await, AskedCall::Ended(Some("done".to_owned())));
        assert_eq!(claim(&calls, "ben", "another").await, AskedCall::Claimed);
    }
}
