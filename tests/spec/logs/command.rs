//! `kitbag toolkit logs`: output, filters and `--follow`.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::hostile;
use crate::harness::{CommandOutput, interrupt, kitbag, run, within};

fn logs(data: &Path, arguments: &[&str]) -> Command {
    let mut command = kitbag(["toolkit", "logs"]);
    command.args(arguments).arg("--data").arg(data);
    command
}

async fn run_logs(data: &Path, arguments: &[&str]) -> CommandOutput {
    run(logs(data, arguments)).await
}

/// A running `kitbag toolkit logs hostile --follow` and its output.
struct Following {
    child: Child,
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

impl Following {
    fn start(data: &Path) -> Self {
        let mut command = logs(data, &["hostile", "-f", "-o", "jsonl"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        Self { child, lines: Some(lines) }
    }

    async fn next(&mut self) -> Value {
        let lines = self.lines.as_mut().expect("it is still read");
        let line = within("the next line", lines.next_line()).await.expect("it is text");
        serde_json::from_str(&line.expect("there is more to come")).expect("it is JSON")
    }

    /// Waits for the process to exit; returns the exit code and standard error.
    async fn end(self) -> (Option<i32>, String) {
        let output = within("the command's end", self.child.wait_with_output()).await.expect("it ran");
        (output.status.code(), String::from_utf8(output.stderr).expect("it is text"))
    }
}

#[tokio::test]
async fn a_person_reads_what_became_of_each_call() {
    let (kitbag, _) = hostile().await;
    let operator = kitbag.as_operator();
    operator.call("hostile__log_ok", json!({})).await.text();
    operator.call("hostile__tool_error", json!({})).await.assert_retryable("");
    kitbag.as_user("ben").call("hostile__panic", json!({})).await.assert_generic_failure();

    let printed = run_logs(kitbag.data(), &["hostile"]).await.succeeded();

    for words in [
        "  log_ok 1.0.0  succeeded  ",
        "\n    first entry {\"answer\":42}\n",
        "\n    stdout: a line on standard output\n",
        "  tool_error 1.0.0  tool-error  ",
        "\n    detail: The shop is closed.\n",
        "\n    data: {\"upstream\":\"SECRET-DATA\"}\n",
        "  panic 1.0.0  failed  ",
    ] {
        assert!(printed.contains(words), "no {words:?} in {printed}");
    }
    assert!(!printed.contains("PANIC-DETAIL"), "{printed}");
}

#[tokio::test]
async fn a_script_gets_the_records_as_they_are() {
    let (kitbag, _) = hostile().await;
    let operator = kitbag.as_operator();
    for _ in 0..3 {
        operator.call("hostile__log_ok", json!({})).await.text();
    }

    let last = operator.logged("hostile__log_ok").await["id"].to_string();
    for (options, first) in [
        (&["-o", "jsonl"][..], 0),
        (&["-o", "jsonl", "--limit", "2"], 1),
        (&["-o", "jsonl", "--since", "1h"], 0),
        (&["-o", "jsonl", "--tool", "log_ok", "--outcome", "succeeded"], 0),
        (&["-o", "jsonl", "--outcome", "any-failure"], 3),
    ] {
        let arguments = [&["hostile"], options].concat();
        let printed = run_logs(kitbag.data(), &arguments).await.succeeded();
        let printed: Vec<Value> =
            printed.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
        assert_eq!(printed, operator.logs("hostile").await[first..], "{options:?}");
    }

    let before = run_logs(kitbag.data(), &["hostile", "-o", "jsonl", "--before", &last]).await.succeeded();
    assert_eq!(before.lines().count(), 2, "{before}");
    let one = run_logs(kitbag.data(), &["hostile", "--json"]).await.succeeded();
    assert_eq!(
        serde_json::from_str::<Value>(&one).expect("one document"),
        json!(operator.logs("hostile").await)
    );
    let endless = run_logs(kitbag.data(), &["hostile", "--json", "-f"]).await;
    assert_eq!(endless.code, Some(2), "{endless:?}");
    run_logs(kitbag.data(), &["hostile", "--outcome", "odd"]).await.assert_failed("outcome must be one of");
    let contradiction = run_logs(kitbag.data(), &["hostile", "--before", &last, "-f"]).await;
    assert_eq!(contradiction.code, Some(2), "{contradiction:?}");
    run_logs(kitbag.data(), &["absent"]).await.assert_failed("there is no toolkit");
    run_logs(kitbag.data(), &["absent", "-f"]).await.assert_failed("there is no toolkit");
    run_logs(kitbag.data(), &["hostile", "--since", "soon"]).await.assert_failed("since must be");
}

#[tokio::test]
async fn who_follows_reads_on_after_the_server_was_restarted() {
    let (kitbag, _) = hostile().await;
    kitbag.as_operator().call("hostile__log_ok", json!({})).await.text();
    let mut following = Following::start(kitbag.data());
    let first = following.next().await;
    kitbag.as_operator().call("hostile__remember", json!({})).await.structured();
    let second = following.next().await;

    let kitbag = kitbag.stop().await.start().await;
    kitbag.as_operator().call("hostile__whoami", json!({})).await.structured();
    let third = following.next().await;

    let tools = [&first["tool"], &second["tool"], &third["tool"]];
    assert_eq!(tools, ["log_ok", "remember", "whoami"]);
    interrupt(&following.child).await;
    let (code, stderr) = following.end().await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("connecting again"), "{stderr}");
}

#[tokio::test]
async fn who_follows_ends_well_when_nobody_reads_any_more() {
    let (kitbag, _) = hostile().await;
    let operator = kitbag.as_operator();
    operator.call("hostile__log_ok", json!({})).await.text();
    let mut following = Following::start(kitbag.data());
    following.next().await;

    drop(following.lines.take());
    operator.call("hostile__log_ok", json!({})).await.text();

    assert_eq!(following.end().await, (Some(0), String::new()));
}
