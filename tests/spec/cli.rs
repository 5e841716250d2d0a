//! The command line: output and errors of commands.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{CommandOutput, Kitbag, ServerProcess, guests, kitbag, run};

/// Runs `kitbag toolkit …` against the server that runs on `data`.
async fn toolkit(data: &Path, arguments: &[&str]) -> CommandOutput {
    let mut command = kitbag(["toolkit"]);
    command.args(arguments).arg("--data").arg(data);
    run(command).await
}

#[tokio::test]
async fn a_toolkit_is_deployed_listed_shown_rolled_back_and_removed() {
    let server = Kitbag::start().await;
    let data = server.data();
    let (v1, v2) = (guests::GREETER_V1.path(), guests::GREETER_V2.path());

    let first = toolkit(data, &["deploy", v1.to_str().expect("UTF-8")]).await.succeeded();
    assert!(first.contains("greeter 1.0.0 is live: greeter__greet"), "{first}");
    let second = toolkit(data, &["deploy", v2.to_str().expect("UTF-8")]).await.succeeded();
    assert!(second.contains("greeter 2.0.0 is live"), "{second}");
    assert!(second.contains("may reach greetings.test (new)"), "{second}");

    let listed = toolkit(data, &["list"]).await.succeeded();
    assert!(listed.contains("greeter") && listed.contains("2.0.0") && listed.contains("private"), "{listed}");
    let shown = toolkit(data, &["show", "greeter"]).await.succeeded();
    assert!(shown.contains("+ egress greetings.test"), "{shown}");
    assert!(shown.contains("calls of all users in the last day: 0, of which 0 failed"), "{shown}");

    let back = toolkit(data, &["rollback", "greeter"]).await.succeeded();
    assert!(back.contains("greeter 1.0.0 is live"), "{back}");
    let forth = toolkit(data, &["rollback", "greeter", "--to", "2.0.0"]).await.succeeded();
    assert!(forth.contains("greeter 2.0.0 is live"), "{forth}");

    toolkit(data, &["remove", "greeter", "--yes"]).await.succeeded();
    let listed = toolkit(data, &["list"]).await.succeeded();
    assert!(listed.contains("No toolkit is deployed"), "{listed}");
    toolkit(data, &["show", "greeter"]).await.assert_failed("there is no toolkit");
}

#[tokio::test]
async fn scripts_get_json() {
    let server = Kitbag::start().await;
    let component = guests::HINTS.path();

    let deployed = toolkit(server.data(), &["deploy", "--json", component.to_str().expect("UTF-8")]).await;
    let listed = toolkit(server.data(), &["list", "--json"]).await;
    let shown = toolkit(server.data(), &["show", "--json", "hints"]).await;

    let parse = |ran: CommandOutput| -> Value { serde_json::from_str(&ran.succeeded()).expect("JSON") };
    assert_eq!(parse(deployed)["id"], "hints");
    assert_eq!(parse(listed)[0]["id"], "hints");
    assert_eq!(parse(shown)["liveVersion"], "1.0.0");
}

#[tokio::test]
async fn a_refused_deploy_prints_every_problem() {
    let server = Kitbag::start().await;
    let component = guests::TEN_MISTAKES.path();

    let refused = toolkit(server.data(), &["deploy", component.to_str().expect("UTF-8")]).await;

    for path in ["id: ", "version: ", "tools[0].name: ", "egress[0]: ", "auth.tokenUrl: "] {
        refused.assert_failed(path);
    }
}

#[tokio::test]
async fn check_says_without_a_server_what_a_deploy_would_say() {
    let check = async |path: &Path| {
        let mut command = kitbag(["toolkit", "check"]);
        command.arg(path);
        run(command).await
    };

    let good = check(&guests::TEXT.path()).await.succeeded();
    assert!(good.contains("text__count") && good.contains("nothing beyond computing"), "{good}");
    assert!(good.contains("A deploy would accept it."), "{good}");

    let overreach = check(&guests::OVERREACH.path()).await;
    overreach.assert_failed("imports.kitbag:toolkit/secrets");
    overreach.assert_failed("a host in egress");
    check(&guests::TEN_MISTAKES.path()).await.assert_failed("tools[0].name: ");
    check(Path::new("absent.wasm")).await.assert_failed("cannot read absent.wasm");
}

#[tokio::test]
async fn a_printed_token_opens_the_server_for_the_user_it_names() {
    let server = Kitbag::start().await;
    server.deploy(guests::HOSTILE).await;
    let mut command = kitbag(["token", "--user", "ana", "--data"]);
    command.arg(server.data());

    let token = run(command).await.succeeded();

    let ana = server.with_token(token.trim());
    let seen = ana.call("hostile__whoami", json!({})).await;
    assert_eq!(seen.structured()["user"], "ana");
    ana.deploy(guests::HINTS.bytes()).await.assert_status(403);
}

#[tokio::test]
async fn commands_that_find_no_server_say_how_to_start_one() {
    let data = tempfile::tempdir().expect("a scratch directory");

    let listed = toolkit(data.path(), &["list"]).await;
    listed.assert_failed("there is no server to talk to");
    listed.assert_failed("kitbag serve");
    let mut token = kitbag(["token", "--data"]);
    token.arg(data.path());
    run(token).await.assert_failed("kitbag serve");
}

#[tokio::test]
async fn commands_that_reach_no_server_say_so() {
    let server = Kitbag::start().await;
    let stopped = server.stop().await;

    toolkit(stopped.data(), &["list"]).await.assert_failed("cannot reach");
}

#[tokio::test]
async fn a_setting_that_does_not_exist_is_an_error_in_the_file_and_as_a_flag() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let file = data.path().join("kitbag.toml");
    std::fs::write(&file, "call-tiem = \"1s\"\n").expect("a file");
    let serve = || {
        let mut command = kitbag(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data.path());
        command
    };

    let mut misspelled = serve();
    misspelled.arg("--config").arg(&file);
    run(misspelled).await.assert_failed("call-tiem");
    let mut misspelled = serve();
    misspelled.args(["--call-tiem", "1s"]);
    assert_eq!(run(misspelled).await.code, Some(2));
}

#[tokio::test]
async fn without_an_issuer_the_server_listens_on_loopback_only() {
    let data = tempfile::tempdir().expect("a scratch directory");
    for address in ["0.0.0.0:0", "[::]:0"] {
        let mut command = kitbag(["serve", "--listen", address, "--data"]);
        command.arg(data.path());

        run(command).await.assert_failed("it listens on loopback only");
    }
}

#[tokio::test]
async fn two_servers_do_not_share_a_data_directory() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let first = ServerProcess::start(data.path()).await;
    let mut second = kitbag(["serve", "--listen", "127.0.0.1:0", "--data"]);
    second.arg(data.path());

    run(second).await.assert_failed("another server is running on the data directory");

    first.as_operator().await.get("/toolkits").await.assert_status(200);
    first.kill().await;
    ServerProcess::start(data.path()).await.kill().await;
}

#[tokio::test]
async fn a_server_that_is_asked_to_stop_ends_well() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start(data.path()).await;
    server.as_operator().await.deploy(guests::HINTS.bytes()).await.assert_status(201);

    assert!(server.terminate().await.success());
}
