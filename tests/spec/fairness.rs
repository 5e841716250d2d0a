//! Fairness: one user's endless calls hardly slow down the calls of another user.
//!
//! A separate program with a single test: anything else in the same process would affect the measurements.

#[allow(dead_code, unused_imports, reason = "the harness serves all specification tests")]
mod harness;

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinHandle;

use harness::{Kitbag, Outcome, User, eventually, guests};

/// Number of endless calls: the default limit of concurrent calls per user.
const ENDLESS_CALLS: usize = 64;
/// Number of calls of the other user per measurement.
const CALLS: usize = 1000;
/// Maximum number of measurements. One within [`MAX_RATIO`] is enough: other load on the machine can only
/// worsen a 99th percentile, and if endless calls delay others, no round passes.
const MAX_ROUNDS: usize = 20;
/// Maximum ratio of the 99th percentile under attack to the 99th percentile when idle.
const MAX_RATIO: u32 = 3;
/// Lower bound for the idle 99th percentile. Smaller values depend on the state of the CPU caches, and are
/// too small for a user to notice.
const IDLE_FLOOR: Duration = Duration::from_micros(500);

#[tokio::test]
async fn sixty_four_endless_calls_of_one_user_are_hardly_noticed_by_another() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.concurrent_calls = 100;
        settings.call_time = "1h".parse().expect("a duration");
    })
    .await;
    kitbag.deploy(guests::HOSTILE).await;
    kitbag.deploy(guests::HINTS).await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));
    percentile_99(&ben).await;

    let mut rounds = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let idle = percentile_99(&ben).await;
        let endless = attack(&ana).await;
        let attacked = percentile_99(&ben).await;
        assert!(endless.iter().all(|call| !call.is_finished()), "an endless call has ended");
        endless.iter().for_each(JoinHandle::abort);
        eventually("there is room again", async || !ana.call("hints__plain", json!({})).await.is_busy())
            .await;
        rounds.push((idle, attacked));
        if attacked <= MAX_RATIO * idle.max(IDLE_FLOOR) {
            return;
        }
    }
    panic!("99th percentiles, idle and under attack: {rounds:?}");
}

/// Starts `ENDLESS_CALLS` endless calls, and waits until each has used the CPU time after which a call moves
/// to the background.
async fn attack(user: &User) -> Vec<JoinHandle<Outcome>> {
    let start = || user.start_call("hostile__spin", json!({}));
    let mut endless: Vec<_> = (0..ENDLESS_CALLS).map(|_| start()).collect();
    eventually("all endless calls run", async || {
        // Restarts calls that were rejected because the probe below was running.
        endless.iter_mut().filter(|call| call.is_finished()).for_each(|call| *call = start());
        user.call("hints__plain", json!({})).await.is_busy()
    })
    .await;
    // A call moves to the background after 10 ms of CPU time; twice that is enough on one core.
    tokio::time::sleep(Duration::from_millis(20) * u32::try_from(ENDLESS_CALLS).expect("a small number"))
        .await;
    endless
}

/// Measures the 99th percentile of the duration of calls to a trivial tool.
async fn percentile_99(user: &User) -> Duration {
    let mut calls = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let started = Instant::now();
        assert_eq!(user.call("hints__plain", json!({})).await.text(), "plain");
        calls.push(started.elapsed());
    }
    calls.sort_unstable();
    calls[CALLS * 99 / 100]
}
