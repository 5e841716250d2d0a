//! Validates arguments and results against the schemas of a tool.
//!
//! Most checks take microseconds and run inline. A longer one is restarted on a pool of lowest-priority
//! threads, one at a time for each user.
//!
//! Invariant: no check blocks a thread that serves requests for longer than some milliseconds, and none
//! continues for long after its caller has stopped waiting.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kitbag_base::tasks::{give_way, processor_time};
use kitbag_base::workers::Workers;
use kitbag_manifest::schema::{self, Budget, Exceeded, Schema};
use kitbag_sandbox::Ended;
use serde_json::Value;
use tokio::time::timeout;

use super::reply::{Failure, Structured};

/// Maximum number of steps of an inline check: some milliseconds.
const PROMPT_STEPS: u64 = 100_000;
/// Maximum CPU time of an inline check. Needed because steps do not count all of the time of pattern
/// matching.
const PROMPT_TIME: Duration = Duration::from_millis(5);
/// Maximum CPU time of a check on the pool.
const MAX_CPU_TIME: Duration = Duration::from_secs(2);
/// Maximum time that a call waits for a check, including the wait for the user's other checks.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs schema checks.
pub(super) struct Checks {
    /// The pool. Not that of other work, because a check may take [`MAX_CPU_TIME`].
    pool: Workers,
}

/// The result of a check.
#[derive(Debug, PartialEq)]
pub(super) enum Checked {
    /// The value is valid.
    Valid(Value),
    /// The value has these violations, at least one.
    Violations(Vec<String>),
    /// The check did not finish in time.
    TimedOut,
}

impl Checks {
    /// Creates the pool. Its threads are started on demand.
    pub(super) fn start() -> io::Result<Self> {
        Ok(Self { pool: Workers::start("schema-checks", give_way)? })
    }

    /// Checks a value for a call of `user`.
    pub(super) async fn check(&self, user: &str, schema: &Arc<Schema>, value: Value) -> Checked {
        // CPU time is measured from the check's first query, which most checks never make: reading the clock
        // is a system call.
        let started = OnceLock::new();
        let prompt = Budget::prompt(PROMPT_STEPS).until(move || {
            processor_time().saturating_sub(*started.get_or_init(processor_time)) > PROMPT_TIME
        });
        match schema.violations_within(&value, &prompt) {
            Err(Exceeded::Steps | Exceeded::Stopped) => self.check_on_pool(user, schema, value).await,
            checked => Checked::of(checked, value),
        }
    }

    /// Takes the structured value out of a result, and checks it against `output`, if both exist.
    pub(super) async fn structured(
        &self,
        user: &str,
        ended: &mut Ended,
        output: Option<&Arc<Schema>>,
    ) -> Structured {
        let (Ended::Returned(result), Some(schema)) = (ended, output) else { return Structured::Absent };
        let Some(json) = result.structured.take() else { return Structured::Absent };
        let value = match self.pool.run(user, json.len(), move || schema::parse(&json)).await {
            Ok(value) => value,
            Err(violation) => return Structured::Refused(Failure::output_mismatch(&[violation])),
        };
        match self.check(user, schema, value).await {
            Checked::Valid(value) => Structured::Valid(value),
            Checked::Violations(violations) => Structured::Refused(Failure::output_mismatch(&violations)),
            Checked::TimedOut => Structured::Refused(Failure::unchecked_result()),
        }
    }

    async fn check_on_pool(&self, user: &str, schema: &Arc<Schema>, value: Value) -> Checked {
        let schema = schema.clone();
        let wanted = StopOnDrop(Arc::new(AtomicBool::new(true)));
        let is_wanted = wanted.0.clone();
        let check = self.pool.run_in_turn(user, move || {
            let started = processor_time();
            let budget = Budget::whole().until(move || {
                !is_wanted.load(Ordering::Relaxed) || processor_time().saturating_sub(started) > MAX_CPU_TIME
            });
            Checked::of(schema.violations_within(&value, &budget), value)
        });
        let checked = timeout(CHECK_TIMEOUT, check).await;
        drop(wanted);
        checked.unwrap_or(Checked::TimedOut)
    }
}

impl Checked {
    fn of(checked: Result<Vec<String>, Exceeded>, value: Value) -> Self {
        match checked {
            Ok(violations) if violations.is_empty() => Self::Valid(value),
            Ok(violations) => Self::Violations(violations),
            Err(exceeded) => Self::Violations(vec![format!("/: {exceeded}")]),
        }
    }
}

/// Stops the check when its future is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use kitbag_sandbox::contract::ToolResult;
    use serde_json::json;

    use super::*;
    use crate::dispatch::reply::{self, Reply};

    fn schema(schema: &Value) -> Arc<Schema> {
        Arc::new(Schema::compile(schema).expect("the schema is valid"))
    }

    /// Compares each item with many patterns, of which only the last one matches.
    fn costly() -> Arc<Schema> {
        let patterns: Vec<_> =
            (0..100).map(|index| json!({ "pattern": format!("^[a-z]+{index}x$") })).collect();
        schema(&json!({ "type": "object", "properties": { "tags": { "items": { "anyOf": patterns } } } }))
    }

    fn tags(text: &str) -> Value {
        json!({ "tags": vec![text; 20_000] })
    }

    fn checks() -> Checks {
        Checks::start().expect("threads can be started")
    }

    #[tokio::test]
    async fn a_value_that_fits_comes_back_and_what_is_wrong_with_another_is_said() {
        let schema = schema(&json!({ "type": "object", "properties": { "n": { "type": "integer" } } }));
        let checks = checks();

        assert_eq!(checks.check("ana", &schema, json!({ "n": 1 })).await, Checked::Valid(json!({ "n": 1 })));
        let Checked::Violations(violations) = checks.check("ana", &schema, json!({ "n": "x" })).await else {
            panic!("it does not fit");
        };
        assert!(violations[0].starts_with("/n: "), "{violations:?}");
    }

    #[tokio::test]
    async fn a_large_value_is_checked_elsewhere_and_comes_back_too() {
        let schema = schema(&json!({
            "type": "object",
            "properties": { "tags": { "items": { "type": "string", "pattern": "^[a-z]+$", "maxLength": 9 } } },
        }));
        let value = json!({ "tags": vec!["word"; 20_000] });

        let prompt = schema.violations_within(&value, &Budget::prompt(PROMPT_STEPS));
        assert!(prompt.is_err(), "the test needs a larger value");
        assert_eq!(checks().check("ana", &schema, value.clone()).await, Checked::Valid(value));
    }

    #[tokio::test]
    async fn checks_without_end_are_ended_and_the_threads_of_requests_stay_free() {
        let checks = Arc::new(checks());
        let schema = costly();
        let under_way: Vec<_> = ["ana", "ben", "eve"]
            .map(|user| {
                let checks = checks.clone();
                let schema = schema.clone();
                tokio::spawn(async move { checks.check(user, &schema, tags("a99x")).await })
            })
            .into();

        // This test has one thread, so an inline check delays this loop.
        let mut longest = Duration::ZERO;
        while !under_way.iter().all(tokio::task::JoinHandle::is_finished) {
            let asked = Instant::now();
            tokio::time::sleep(Duration::from_millis(1)).await;
            longest = longest.max(asked.elapsed());
        }

        for check in under_way {
            match check.await.expect("no check panics") {
                Checked::Violations(violations) => assert!(violations[0].contains("steps"), "{violations:?}"),
                checked => assert_eq!(checked, Checked::TimedOut),
            }
        }
        assert!(longest < Duration::from_secs(5), "{longest:?}");
    }

    #[tokio::test]
    async fn a_check_that_nobody_waits_for_gives_its_turn_back() {
        let checks = checks();
        let schema = costly();

        let abandoned = timeout(Duration::from_millis(1), checks.check_on_pool("ana", &schema, tags("a99x")))
            .await
            .is_err();
        let turn = timeout(Duration::from_mins(1), checks.pool.run_in_turn("ana", || ())).await;

        assert!(turn.is_ok(), "abandoned: {abandoned}");
    }

    fn returned(structured: Option<&str>) -> Ended {
        let structured = structured.map(str::to_owned);
        Ended::Returned(ToolResult { text: "t".into(), structured, ..ToolResult::default() })
    }

    async fn reply_to(structured: Option<&str>, output: Option<&Arc<Schema>>) -> Reply {
        let mut ended = returned(structured);
        let structured = checks().structured("ana", &mut ended, output).await;
        reply::from(&mut ended, structured)
    }

    fn failure(reply: Reply) -> Failure {
        match reply {
            Reply::Failure(failure) => failure,
            Reply::Success(success) => panic!("expected a failure, not {success:?}"),
        }
    }

    #[tokio::test]
    async fn structured_values_surface_only_where_output_is_declared() {
        let schema = schema(&json!({ "type": "object" }));
        let structured = |reply| match reply {
            Reply::Success(success) => success.structured,
            Reply::Failure(failure) => panic!("{failure:?}"),
        };

        let json = Some(r#"{"n":1}"#);
        assert_eq!(structured(reply_to(json, Some(&schema)).await), Some(json!({ "n": 1 })));
        assert_eq!(structured(reply_to(json, None).await), None);
        assert_eq!(structured(reply_to(None, Some(&schema)).await), None);
    }

    #[tokio::test]
    async fn a_structured_value_that_breaks_its_schema_is_a_tool_error_naming_the_path() {
        let integer = schema(&json!({ "type": "object", "properties": { "n": { "type": "integer" } } }));

        let broken = failure(reply_to(Some(r#"{"n":"x"}"#), Some(&integer)).await);
        assert!(broken.envelope.error.contains("/n"), "{broken:?}");
        assert!(!broken.envelope.retryable);
        assert!(failure(reply_to(Some("{"), Some(&integer)).await).envelope.error.contains("not valid JSON"));
        let zeros = format!("[{}0]", "0,".repeat(100_000));
        assert!(
            failure(reply_to(Some(&zeros), Some(&integer)).await).envelope.error.contains("50000 values")
        );
    }

    #[tokio::test]
    async fn a_structured_value_that_is_too_costly_to_check_is_a_tool_error_that_says_so() {
        let costly = failure(reply_to(Some(&tags("a99x").to_string()), Some(&costly())).await);

        assert!(
            costly.envelope.error.contains("steps") || costly.envelope.error.contains("no time"),
            "{costly:?}"
        );
        assert!(!costly.envelope.retryable, "the tool has run");
    }
}
