//! Output of commands for scripts: JSON and exit codes. `hostile_text` also runs every command with `--json`.

use std::fs;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use clap::CommandFactory;
use serde_json::{Value, json};

use crate::harness::{CommandOutput, Impostor, Kitbag, ServerProcess, guests, kitbag, root, run};
use crate::hostile_text::leaves;

/// Asserts that a command with `--json` printed one document or nothing on standard output, and JSON on every line of
/// standard error; returns the document.
#[track_caller]
pub(crate) fn assert_json(case: &str, ran: &CommandOutput) -> Option<Value> {
    let notes: Vec<Value> = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{case}: no JSON: {line}")))
        .collect();
    let document = (!ran.stdout.is_empty()).then(|| {
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{case}: no document: {ran:?}"))
    });
    if ran.code == Some(0) {
        assert!(document.is_some(), "{case} says nothing: {ran:?}");
    } else {
        let error = &notes.last().unwrap_or_else(|| panic!("{case} fails and says nothing"))["error"];
        assert_eq!(error["exitCode"], json!(ran.code), "{case}: {ran:?}");
        assert!(error["message"].is_string() && error["problems"].is_array(), "{case}: {ran:?}");
    }
    document
}

#[tokio::test]
async fn every_command_prints_one_document_or_says_that_it_has_none() {
    let documented = fs::read_to_string(root().join("docs/cli.md")).expect("a page");
    for path in leaves(&kitbag::cli::Command::command()) {
        let name = format!("`{}`", path.join(" "));
        let mut rows = documented.lines().filter(|line| line.starts_with("| `"));
        let is_there = rows.any(|row| row.split(" | ").next().is_some_and(|cell| cell.contains(&name)));
        assert!(is_there, "docs/cli.md does not say what {name} prints");
    }
    for command in ["demo", "toolkit dev", "completions bash", "documents download d-1 -"] {
        let refused = run(kitbag(command.split(' ').chain(["--output", "json"]))).await;

        assert_eq!(refused.code, Some(2), "{command}: {refused:?}");
        assert!(assert_json(command, &refused).is_none());
    }
}

#[tokio::test]
async fn commands_that_change_something_report_it_as_json() {
    let server = Kitbag::start().await;
    let script = async |arguments: &[&str]| -> Value {
        let mut command = kitbag(arguments);
        command.args(["--output", "json", "--data"]).arg(server.data());
        let ran = run(command).await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        assert_json(&format!("{arguments:?}"), &ran).expect("a document")
    };
    let component = guests::HINTS.path();
    let folder = tempfile::tempdir().expect("a scratch directory");
    let note = folder.path().join("note.md");
    fs::write(&note, "# A title\n\nA text.\n").expect("a file");

    let deployed = script(&["toolkit", "deploy", component.to_str().expect("UTF-8")]).await;
    assert_eq!((&deployed["id"], &deployed["version"]), (&json!("hints"), &json!("1.0.0")));
    let called = script(&["tool", "call", "hints", "plain"]).await;
    assert_eq!((&called["ok"], &called["text"]), (&json!(true), &json!("plain")));
    let ingested = script(&["ingest", note.to_str().expect("UTF-8"), "--wait"]).await;
    assert_eq!(ingested[0]["change"], "CREATED", "{ingested}");
    let id = ingested[0]["id"].as_str().expect("an id");
    assert_eq!(script(&["documents", "delete", id]).await, json!({ "count": 1, "purged": false }));
    assert_eq!(script(&["toolkit", "release", "hints"]).await, json!({ "id": "hints" }));
    assert_eq!(script(&["toolkit", "remove", "hints", "--yes"]).await, json!({ "id": "hints" }));
    let token = script(&["token", "--lifetime", "1m"]).await;
    assert_eq!((&token["user"], &token["lifetimeSeconds"]), (&json!("local"), &json!(60)));
    assert!(script(&["sign-in-code"]).await["code"].is_string());
}

#[tokio::test]
async fn lists_come_as_lines_too() {
    let server = Kitbag::start().await;
    server.deploy(guests::HINTS).await;
    server.deploy(guests::TEXT).await;
    let mut command = kitbag(["toolkit", "list", "-o", "jsonl", "--data"]);
    command.arg(server.data());

    let lines = run(command).await.succeeded();

    let mut ids: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].clone()).collect();
    ids.sort_by_key(Value::to_string);
    assert_eq!(ids, ["hints", "text"]);
}

#[tokio::test]
async fn a_new_toolkit_is_reported_to_people_and_to_scripts() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    for (lang, main) in [("rust", "src/lib.rs"), ("ts", "extension.ts")] {
        let new = |id: &str, more: &[&str]| {
            let mut command = kitbag(["toolkit", "new", id, "--lang", lang]);
            command.args(more).current_dir(folder.path());
            command
        };

        let (person, script) = (format!("for-people-{lang}"), format!("for-scripts-{lang}"));
        let said = run(new(&person, &[])).await.succeeded();
        let data = run(new(&script, &["--json"])).await;

        assert!(folder.path().join(&person).join(main).is_file(), "{said}");
        assert!(said.contains(&format!("  {main:<20} the toolkit")), "{said}");
        let next = said.lines().skip_while(|line| !line.contains("Next, in ")).skip(1);
        assert_eq!(next.count(), 3, "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
        let data = assert_json(lang, &data).expect("a document");
        assert_eq!(data["next"].as_array().map(Vec::len), Some(3), "{data}");
        assert_eq!(data["directory"], json!(script));
    }
}

#[tokio::test]
async fn the_exit_code_says_whether_to_try_again_or_to_sign_in() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let failing = |status: StatusCode| Impostor::start(move |_, _| status.into_response());
    let list = async |server: &str, token: Option<&str>| {
        let mut command = kitbag(["toolkit", "list", "--json", "--server", server]);
        command.current_dir(data.path());
        if let Some(token) = token {
            command.env("KITBAG_TOKEN", token);
        }
        let ran = run(command).await;
        assert!(assert_json(server, &ran).is_none());
        ran.code
    };

    assert_eq!(list("http://127.0.0.1:1", Some("t")).await, Some(3), "nobody listens");
    assert_eq!(list(failing(StatusCode::SERVICE_UNAVAILABLE).await.url(), Some("t")).await, Some(3));
    assert_eq!(list(failing(StatusCode::UNAUTHORIZED).await.url(), Some("t")).await, Some(4));
    assert_eq!(list("http://127.0.0.1:1", None).await, Some(4), "there is no session");
    assert_eq!(list(failing(StatusCode::FORBIDDEN).await.url(), Some("t")).await, Some(1));
    assert_eq!(list("no URL", Some("t")).await, Some(2));
    for wrong in
        [&["search", "--json"][..], &["absent", "-o", "json"], &["-ojson", "search", "--absent", "x"]]
    {
        let ran = run(kitbag(wrong)).await;
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(assert_json(&format!("{wrong:?}"), &ran).is_none());
    }
    let help = run(kitbag(["search", "--help", "--json"])).await.succeeded();
    assert!(help.contains("Usage: kitbag search"), "{help}");
}

#[tokio::test]
async fn a_server_tells_a_script_where_it_is() {
    let data = tempfile::tempdir().expect("a scratch directory");

    let (first, _server) = ServerProcess::start_saying(data.path(), |command| {
        command.args(["--output", "jsonl"]);
    })
    .await;

    let first: Value = serde_json::from_str(&first).expect("JSON");
    let url = first["url"].as_str().expect("a URL");
    assert_eq!(format!("http://{}/", first["listening"][0].as_str().expect("an address")), url);
    assert!(first["signInCode"].as_str().is_some_and(|command| command.starts_with("kitbag sign-in-code")));
}
