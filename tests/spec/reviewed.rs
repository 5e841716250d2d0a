//! What people read, as files that are reviewed with each change: `tests/spec/snapshots`. After a change that is
//! meant, `INSTA_UPDATE=always cargo test --workspace --test spec -- reviewed` writes them anew.

use clap::CommandFactory;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Kitbag, guests, kitbag, run};

/// Width of the terminal for which help is formatted, in characters.
const WIDTH: usize = 100;

#[test]
fn the_help_of_each_command() {
    for mut command in kitbag::cli::Command::command().get_subcommands().cloned() {
        command.build();
        let name = command.get_name().to_owned();
        assert_snapshot!(format!("help-{name}"), help(command, &name));
    }
}

/// Help of a command and of all below it.
fn help(command: clap::Command, path: &str) -> String {
    let mut command = command.term_width(WIDTH).mut_args(|argument| argument.hide_env(true));
    let below: Vec<_> = command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
        .map(|below| help(below.clone(), &format!("{path} {}", below.get_name())))
        .collect();
    let text = command.render_long_help().to_string();
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    [vec![format!("$ kitbag {path} --help\n{}\n", lines.join("\n"))], below].concat().join("\n")
}

#[tokio::test]
async fn a_listing_of_tools_as_models_read_it() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;

    let listed = kitbag.as_user("ana").request("tools/list", None, json!({})).await;

    assert_snapshot!(pretty(&listed));
}

#[tokio::test]
async fn problems_of_requests() {
    let kitbag = Kitbag::start().await;
    let (ana, operator) = (kitbag.as_user("ana"), kitbag.as_operator());

    let problems = [
        ("GET /documents/none", ana.get("/documents/none").await),
        ("GET /toolkits/none", ana.get("/toolkits/none").await),
        ("POST /toolkits, a user", ana.deploy(guests::HINTS.bytes()).await),
        ("POST /toolkits, not a component", operator.deploy(b"not a component".to_vec()).await),
        ("GET /toolkits without a token", kitbag.anonymous().get("/toolkits").await),
    ];

    let problems =
        problems.map(|(request, answer)| format!("{request}\n{}\n{}", answer.status, pretty(&answer.json())));
    assert_snapshot!(problems.join("\n\n"));
}

/// Paths of configuration files are those of Linux.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_connect_says() {
    let mut command = kitbag(["connect", "--server", "https://kb.example"]);
    command.env("COLUMNS", WIDTH.to_string()).env("HOME", "/home/ana").env_remove("XDG_CONFIG_HOME");

    assert_snapshot!(run(command).await.succeeded());
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON")
}
