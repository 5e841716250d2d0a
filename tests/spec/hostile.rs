//! Misbehaving toolkits: each call ends in the right error, and other calls are not affected.

use kitbag::settings::Settings;
use serde_json::{Value, json};

use crate::harness::{Kitbag, Outcome, Revision, ServerProcess, Upstream, User, eventually, guests};

async fn hostile() -> (Kitbag, User) {
    hostile_with(|_| {}).await
}

async fn hostile_with(change: impl FnOnce(&mut Settings)) -> (Kitbag, User) {
    let kitbag = Kitbag::start_with(change).await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

fn limit_call_time(settings: &mut Settings) {
    settings.call_time = "500ms".parse().expect("a duration");
}

impl User {
    async fn misbehave(&self, tool: &str) -> Outcome {
        self.call(&format!("hostile__{tool}"), json!({})).await
    }

    /// Returns the log record of the last call of a tool.
    async fn record(&self, tool: &str) -> Value {
        self.logged(&format!("hostile__{tool}")).await
    }

    /// Asserts that the next call is served by a fresh instance.
    async fn assert_served(&self) {
        assert_eq!(self.misbehave("remember").await.structured(), &json!({ "calls": 1 }));
    }
}

#[tokio::test]
async fn a_crash_is_a_failure_of_that_call_and_of_nothing_else() {
    let (_kitbag, ana) = hostile().await;

    for (tool, detail) in
        [("trap", "unreachable"), ("panic", "unreachable"), ("exit", "exit"), ("invalid_utf8", "utf-8")]
    {
        let outcome = ana.misbehave(tool).await;

        outcome.assert_generic_failure();
        let logged = ana.record(tool).await;
        assert!(logged["detail"].as_str().expect("a detail").to_lowercase().contains(detail), "{logged}");
        ana.assert_served().await;
    }
}

#[tokio::test]
async fn a_panic_message_is_in_the_log_and_nowhere_else() {
    let (_kitbag, ana) = hostile().await;

    let outcome = ana.misbehave("panic").await;

    assert!(!outcome.raw().contains("PANIC-DETAIL"));
    let logged = ana.record("panic").await;
    assert!(logged["entries"].to_string().contains("PANIC-DETAIL"), "{logged}");
    assert_eq!((&logged["user"], &logged["outcome"]), (&json!("ana"), &json!("failed")));
}

#[tokio::test]
async fn clients_of_both_revisions_get_the_same_envelope() {
    let (kitbag, _) = hostile().await;

    for revision in Revision::BOTH {
        let ana = kitbag.as_user("ana").speaking(revision).await;
        ana.misbehave("trap").await.assert_generic_failure();
    }
}

#[tokio::test]
async fn a_handler_that_fails_tells_the_model_nothing_and_the_log_everything() {
    let (_kitbag, ana) = hostile().await;

    let outcome = ana.misbehave("failure").await;

    outcome.assert_generic_failure();
    let logged = ana.record("failure").await;
    assert!(logged["detail"].as_str().expect("a detail").contains("SECRET-DETAIL"), "{logged}");
}

#[tokio::test]
async fn a_tool_error_speaks_to_the_model_and_its_data_to_the_log() {
    let (_kitbag, ana) = hostile().await;

    let outcome = ana.misbehave("tool_error").await;

    outcome.assert_retryable("The shop is closed.");
    assert!(!outcome.raw().contains("SECRET-DATA"), "{}", outcome.raw());
    let logged = ana.record("tool_error").await;
    assert!(logged["data"].to_string().contains("SECRET-DATA"), "{logged}");
}

#[tokio::test]
async fn a_handler_may_refuse_arguments_that_fit_the_schema() {
    let (_kitbag, ana) = hostile().await;

    let outcome = ana.misbehave("invalid_params").await;

    outcome.assert_invalid_params("/count: expected a number from 1 to 10");
}

#[tokio::test]
async fn a_structured_value_that_breaks_its_schema_is_an_error_naming_the_path() {
    let (_kitbag, ana) = hostile().await;

    ana.misbehave("wrong_output").await.assert_tool_error("/count");
    ana.misbehave("invalid_json").await.assert_tool_error("not valid JSON");
    ana.misbehave("deep_json").await.assert_tool_error("50000 values");
    ana.assert_served().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_stopped_whether_it_computes_or_waits() {
    let (_kitbag, ana) = hostile_with(limit_call_time).await;

    for tool in ["spin", "sleep_poll", "log_for_ever", "random_for_ever", "clock_for_ever", "poll_for_ever"] {
        ana.misbehave(tool).await.assert_tool_error("ran longer than 0.5 s");
        ana.assert_served().await;
    }
}

#[tokio::test]
async fn a_call_that_needs_too_much_is_stopped_at_the_limit() {
    let (_kitbag, ana) = hostile().await;

    for (tool, words) in [
        ("eat_memory", "memory limit"),
        ("recurse", "stack limit"),
        ("recurse_with_data", "stack limit"),
        ("big_result", "result is too large"),
        ("big_picture", "result is too large"),
        ("many_pictures", "result is too large"),
    ] {
        ana.misbehave(tool).await.assert_tool_error(words);
        ana.assert_served().await;
    }
}

#[tokio::test]
async fn a_call_has_as_much_memory_as_the_setting_and_no_more() {
    let (_kitbag, ana) =
        hostile_with(|settings| settings.call_memory = "32MiB".parse().expect("a size")).await;

    let allocated: u32 = ana.misbehave("measure_memory").await.text().parse().expect("a number");

    assert!((24..32).contains(&allocated), "{allocated} MiB of 32 could be allocated");
}

#[tokio::test]
async fn calls_that_take_all_their_memory_at_once_take_nothing_from_each_other() {
    let (kitbag, ana) =
        hostile_with(|settings| settings.call_memory = "16MiB".parse().expect("a size")).await;

    let hoards: Vec<_> = (0..30).map(|_| ana.start_call("hostile__hoard", json!({ "mib": 12 }))).collect();
    kitbag.as_user("ben").assert_served().await;

    for hoard in hoards {
        assert_eq!(hoard.await.expect("no panic").text(), "12");
    }
    ana.misbehave("measure_memory").await.text();
}

#[tokio::test]
async fn a_tool_that_traps_again_and_again_wears_nothing_out() {
    // Fewer call slots than crashes: if a crash leaked its slot, later calls would fail.
    let (_kitbag, ana) = hostile_with(|settings| settings.concurrent_calls = 4).await;

    for _ in 0..100 {
        ana.misbehave("trap").await.assert_generic_failure();
        ana.misbehave("recurse").await.assert_tool_error("stack limit");
    }

    ana.assert_served().await;
}

#[tokio::test]
async fn a_call_that_was_stopped_in_the_background_gives_its_place_back() {
    let (_kitbag, ana) = hostile_with(|settings| {
        settings.concurrent_calls = 4;
        settings.call_time = "60ms".parse().expect("a duration");
    })
    .await;

    for _ in 0..10 {
        let endless: Vec<_> = (0..4).map(|_| ana.start_call("hostile__spin", json!({}))).collect();
        for call in endless {
            call.await.expect("no panic").assert_tool_error("ran longer than 0.06 s");
        }
    }

    ana.assert_served().await;
}

#[tokio::test]
async fn more_random_bytes_than_there_is_memory_are_refused() {
    let (_kitbag, ana) = hostile().await;

    ana.misbehave("random_at_once").await.assert_generic_failure();

    ana.assert_served().await;
}

#[tokio::test]
async fn an_error_of_the_host_says_nothing_about_the_host() {
    let upstream = Upstream::start().await;
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start_with(data.path(), |command| {
        command.env("RUST_BACKTRACE", "1").args(["--allow-private-ranges", "127.0.0.0/8"]);
    })
    .await;
    let operator = server.as_operator().await;
    operator.deploy(guests::PROBE.bytes()).await.assert_status(201);

    let outcome = operator.call("probe__fetch", json!({ "url": upstream.url("/endless") })).await;

    outcome.assert_tool_error("response body size exceeds limit");
    for trace in ["backtrace", ".rs", "wasmtime", "/home", "/root", "0:"] {
        assert!(!outcome.raw().contains(trace), "{trace:?} in {}", outcome.raw());
    }
}

#[tokio::test]
async fn the_record_of_a_trap_has_the_toolkits_frames_and_none_of_the_host() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start_with(data.path(), |command| {
        command.env("RUST_BACKTRACE", "1");
    })
    .await;
    let operator = server.as_operator().await;
    operator.deploy(guests::HOSTILE.bytes()).await.assert_status(201);

    for (tool, cause) in [("trap", "unreachable"), ("invalid_utf8", "utf-8")] {
        let tool = format!("hostile__{tool}");
        operator.call(&tool, json!({})).await.assert_generic_failure();

        let detail = operator.logged(&tool).await["detail"].to_string();
        assert!(detail.contains(cause), "{detail}");
        for of_the_host in ["stack backtrace", "Stack backtrace", "wasmtime::", "tokio", "host/", ".cargo"] {
            assert!(!detail.contains(of_the_host), "{of_the_host:?} in {detail}");
        }
    }
    assert!(operator.logged("hostile__trap").await["detail"].to_string().contains("guest_hostile"));
}

#[tokio::test]
async fn handles_to_the_host_run_out() {
    let (_kitbag, ana) = hostile().await;

    let outcome = ana.misbehave("resource_flood").await;

    let limit = "limit of streams, requests and timers";
    outcome.assert_tool_error(&format!("The tool reached its {limit} and was stopped."));
    let record = ana.record("resource_flood").await;
    assert_eq!((&record["outcome"], &record["limit"]), (&json!("limit"), &json!(limit)), "{record}");
    ana.assert_served().await;
}

#[tokio::test]
async fn a_log_keeps_what_fits_and_says_how_much_did_not() {
    let (_kitbag, ana) = hostile().await;

    for tool in ["log_flood", "stdout_flood"] {
        ana.misbehave(tool).await.text();

        let logged = ana.record(tool).await;
        let kept = logged["entries"].to_string().len();
        assert!((100_000..400_000).contains(&kept), "{tool}: {kept} bytes of 10 MB were kept");
        assert!(logged["dropped"].as_u64() > Some(0), "{tool}");
    }
    ana.misbehave("stdout_one_line").await.text();
    let logged = ana.record("stdout_one_line").await["entries"].to_string();
    assert!(logged.len() < 200 && logged.contains("longer than 64 KiB was left out"), "{logged}");
    ana.assert_served().await;
}

#[tokio::test]
async fn a_line_that_was_begun_is_in_the_log_of_a_call_that_was_stopped() {
    let (_kitbag, ana) = hostile_with(limit_call_time).await;

    ana.misbehave("half_a_line").await.assert_tool_error("ran longer");

    let logged = ana.record("half_a_line").await;
    assert!(logged["entries"].to_string().contains("half a line"), "{logged}");
}

#[tokio::test]
async fn what_a_tool_logs_and_prints_is_in_the_log() {
    let (_kitbag, ana) = hostile().await;

    ana.misbehave("log_ok").await.text();

    let logged = ana.record("log_ok").await;
    assert_eq!(
        logged["entries"],
        json!([
            { "source": "log", "arguments": ["first entry", { "answer": 42 }] },
            { "source": "log", "arguments": ["second entry, no JSON"] },
            { "source": "stdout", "arguments": ["a line on standard output"] },
            { "source": "stderr", "arguments": ["a line on standard error"] },
        ])
    );
}

#[tokio::test]
async fn nothing_is_left_of_the_call_before() {
    let (kitbag, ana) = hostile().await;

    for user in [&ana, &ana, &kitbag.as_user("ben")] {
        assert_eq!(user.misbehave("remember").await.structured(), &json!({ "calls": 1 }));
    }
}

#[tokio::test]
async fn a_tool_learns_who_calls_and_the_settings_with_their_defaults() {
    let (kitbag, ana) = hostile().await;

    let defaults = json!({ "language": "en", "adult": false, "order": "newest" });
    for (user, name) in [(&ana, "ana"), (&kitbag.as_user("ben"), "ben")] {
        let seen = user.misbehave("whoami").await;
        assert_eq!(seen.structured(), &json!({ "user": name, "config": defaults }));
    }
}

#[tokio::test]
async fn a_tool_sees_no_environment_no_arguments_and_no_files() {
    let (_kitbag, ana) = hostile().await;

    let environment = ana.misbehave("read_env").await;
    let files = ana.misbehave("read_files").await;

    assert_eq!(environment.structured(), &json!({ "variables": [], "arguments": [] }));
    for (what, found) in files.structured().as_object().expect("an object") {
        let nothing = found.is_null() || found == &json!([]);
        assert!(nothing, "{what}: {found}");
    }
}

#[tokio::test]
async fn others_are_served_while_tools_spin() {
    let (kitbag, ana) = hostile().await;
    let spinning: Vec<_> = (0..8).map(|_| ana.start_call("hostile__spin", json!({}))).collect();

    let ben = kitbag.as_user("ben");
    for _ in 0..20 {
        ben.assert_served().await;
    }

    assert!(
        spinning.iter().all(|call| !call.is_finished()),
        "the spinning calls ended too early to prove anything"
    );
    spinning.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_call_with_it() {
    // With this deadline, only the disconnect can end these calls within the test.
    let (_kitbag, ana) = hostile_with(|settings| {
        settings.bounds.concurrent_calls_per_user = 1;
        settings.call_time = "1h".parse().expect("a duration");
    })
    .await;
    for tool in ["hostile__spin", "hostile__sleep_poll"] {
        let abandoned = ana.occupy(tool, json!({}), "hostile__log_ok").await;

        abandoned.abort();

        eventually("there is room again", async || !ana.misbehave("log_ok").await.is_busy()).await;
    }
}
