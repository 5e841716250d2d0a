//! Secrets: set by a user for one toolkit, and never returned.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::harness::{CommandOutput, Kitbag, Stopped, User, database, guests, kitbag, within};

const VALUE: &str = "canary-5ecret";

async fn probe() -> (Kitbag, User) {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

impl User {
    /// Returns the value that the probe reads, as redacted in its result; null if it is not set.
    async fn probe_secret(&self, name: &str) -> Value {
        let outcome = self.call("probe__secret", json!({ "name": name })).await;
        serde_json::from_str::<Value>(outcome.text()).expect("the probe answers with JSON")["value"].clone()
    }
}

#[tokio::test]
async fn a_toolkit_reads_what_its_user_has_set_and_the_value_goes_no_further() {
    let (_kitbag, ana) = probe().await;
    assert_eq!(ana.probe_secret("API_KEY").await, Value::Null);

    ana.set_secret("probe", "API_KEY", VALUE).await;

    assert_eq!(ana.probe_secret("API_KEY").await, "[redacted]");
    assert_eq!(ana.probe_secret("OTHER_KEY").await, Value::Null);
}

#[tokio::test]
async fn the_value_arrives_whole() {
    let (_kitbag, ana) = probe().await;
    // Too short to be redacted, so that the result contains them.
    for value in ["x", " y ", "é\n"] {
        ana.set_secret("probe", "API_KEY", value).await;

        assert_eq!(ana.probe_secret("API_KEY").await, value);
    }
}

#[tokio::test]
async fn a_name_that_is_not_declared_cannot_be_read_or_set() {
    let (_kitbag, ana) = probe().await;

    let read = ana.call("probe__secret", json!({ "name": "ELSEWHERE_KEY" })).await;
    let set = ana.put("/toolkits/probe/secrets/ELSEWHERE_KEY", VALUE).await;
    let unset = ana.delete("/toolkits/probe/secrets/ELSEWHERE_KEY").await;

    read.assert_tool_error("Undeclared");
    set.assert_problem(404, "declares API_KEY, OTHER_KEY");
    unset.assert_problem(404, "declares no secret");
}

#[tokio::test]
async fn another_users_secret_is_not_there() {
    let (kitbag, ana) = probe().await;
    let ben = kitbag.as_user("ben");
    ana.set_secret("probe", "API_KEY", VALUE).await;

    assert_eq!(ben.probe_secret("API_KEY").await, Value::Null);
    let listed = ben.get("/toolkits/probe/secrets").await.assert_status(200).json();
    let unset = |name: &str| json!({ "name": name, "declared": true, "readable": true, "set": false });
    assert_eq!(listed, json!([unset("API_KEY"), unset("OTHER_KEY")]));
}

#[tokio::test]
async fn a_list_has_names_and_no_value_and_no_route_returns_one() {
    let (kitbag, ana) = probe().await;
    let is_set = async || {
        let listed = ana.get("/toolkits/probe/secrets").await.assert_status(200);
        assert!(!listed.text().contains(VALUE), "{}", listed.text());
        let first = listed.json()[0].take();
        assert_eq!(first["name"], "API_KEY");
        first["set"].clone()
    };

    let stored = ana.put("/toolkits/probe/secrets/API_KEY", VALUE).await.assert_status(200);

    assert_eq!(stored.json(), json!({ "name": "API_KEY", "redacted": true }));
    assert_eq!(is_set().await, true);
    assert_eq!(ana.get("/toolkits/probe/secrets/API_KEY").await.status, 405);
    ana.delete("/toolkits/probe/secrets/API_KEY").await.assert_status(204);
    assert_eq!(is_set().await, false);
    assert!(!kitbag.log().text().contains(VALUE));
}

#[tokio::test]
async fn a_private_toolkit_takes_secrets_from_its_owner_alone() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;

    let refused = kitbag.as_user("ana").put("/toolkits/greeter/secrets/KEY", VALUE).await;

    refused.assert_problem(404, "there is no toolkit");
}

#[tokio::test]
async fn a_value_can_be_removed_although_its_name_is_not_declared_any_more_or_its_toolkit_is_hidden() {
    let (kitbag, ana) = probe().await;
    for name in ["API_KEY", "OTHER_KEY"] {
        ana.set_secret("probe", name, VALUE).await;
    }
    let stopped = kitbag.stop().await;
    stopped.alter("UPDATE toolkit_versions SET manifest = replace(manifest, 'OTHER_KEY', 'NEW_KEY')").await;
    stopped.alter_manifests(|manifest| manifest["visibility"] = json!("private")).await;
    let kitbag = stopped.start().await;
    let (ana, operator) = (kitbag.as_user("ana"), kitbag.as_operator());
    let listed = async |user: &User| user.get("/toolkits/probe/secrets").await.assert_status(200).json();
    let left = |name: &str, list: &Value| {
        let of_name = |it: &&Value| it["name"] == name && it["declared"] == false && it["set"] == true;
        list.as_array().expect("a list").iter().filter(of_name).count()
    };

    let hidden = listed(&ana).await;
    assert_eq!((left("API_KEY", &hidden), left("OTHER_KEY", &hidden)), (1, 1), "{hidden}");
    ana.put("/toolkits/probe/secrets/OTHER_KEY", VALUE).await.assert_problem(404, "there is no toolkit");
    for name in ["API_KEY", "OTHER_KEY"] {
        ana.delete(&format!("/toolkits/probe/secrets/{name}")).await.assert_status(204);
    }
    // Ana has no secret values left, so the private toolkit does not exist for her.
    ana.delete("/toolkits/probe/secrets/API_KEY").await.assert_problem(404, "there is no toolkit");
    ana.get("/toolkits/probe/secrets").await.assert_problem(404, "there is no toolkit");
    assert_eq!(listed(&operator).await[1]["name"], "NEW_KEY");
}

#[tokio::test]
async fn the_size_of_a_result_does_not_tell_whether_a_secret_was_in_it() {
    let (kitbag, ana) = probe().await;
    kitbag.deploy(guests::TEXT).await;
    ana.set_secret("probe", "API_KEY", VALUE).await;
    let size = async |text: &str| {
        let said = ana.call("text__sort_lines", json!({ "text": text })).await.text().to_owned();
        (said, ana.logged("text__sort_lines").await["resultSize"].clone())
    };

    let (guessed, with) = size(VALUE).await;
    let (_, without) = size("canary-6ecret").await;

    assert!(guessed.contains("[redacted]"), "{guessed}");
    assert_eq!(with, without);
}

#[tokio::test]
async fn a_value_is_one_secret_and_nothing_else() {
    let (_kitbag, ana) = probe().await;
    let set = async |value: &str| ana.put("/toolkits/probe/secrets/API_KEY", value).await;

    set("").await.assert_problem(422, "empty");
    set(&"x".repeat(8193)).await.assert_problem(413, "longer than 8192 bytes");
    set(&"x".repeat(8192)).await.assert_status(200);
    set(&"longer than six\n".repeat(512)).await.assert_problem(422, "512 lines");
    for (value, redacted) in [("12345", false), ("123456", true), ("12345\n12345\n", false)] {
        assert_eq!(set(value).await.assert_status(200).json()["redacted"], redacted, "{value:?}");
    }
}

#[tokio::test]
async fn a_removed_toolkit_takes_its_secrets_with_it() {
    let (kitbag, ana) = probe().await;
    ana.set_secret("probe", "API_KEY", VALUE).await;

    kitbag.as_operator().delete("/toolkits/probe").await.assert_status(204);
    kitbag.deploy(guests::PROBE).await;

    assert_eq!(ana.probe_secret("API_KEY").await, Value::Null);
}

#[tokio::test]
async fn secrets_survive_a_restart_and_a_rotation_of_the_master_key() {
    // Over a database server, rotation needs the new key configured in each process: see `cluster::joining`.
    if database::is_server() {
        return;
    }
    let (kitbag, ana) = probe().await;
    ana.set_secret("probe", "API_KEY", "x y").await;
    let key = std::fs::read(kitbag.data().join("master-key")).expect("the key file");

    ana.post("/vault/rotate", &json!({})).await.assert_problem(403, "Only operators");
    let rotated = kitbag.as_operator().post("/vault/rotate", &json!({})).await.assert_status(200).json();
    let kitbag = kitbag.stop().await.start().await;

    assert_eq!(rotated["rewrapped"], 1);
    assert_ne!(std::fs::read(kitbag.data().join("master-key")).expect("the key file"), key);
    assert_eq!(kitbag.as_user("ana").probe_secret("API_KEY").await, "x y");
}

#[tokio::test]
async fn a_server_with_another_master_key_does_not_start() {
    // The command below uses the database in the data directory.
    if database::is_server() {
        return;
    }
    let (kitbag, ana) = probe().await;
    ana.set_secret("probe", "API_KEY", VALUE).await;
    let stopped: Stopped = kitbag.stop().await;
    let serve = |key: &str| {
        let mut command = kitbag_serve(stopped.data(), key);
        command.env("A_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        crate::harness::run(command)
    };

    serve("env:A_KEY").await.assert_failed("secrets are sealed with the master key");
    serve("env:NO_KEY").await.assert_failed("NO_KEY");
    serve("command:echo short").await.assert_failed("32 bytes");
    serve("file:/nowhere/key").await.assert_failed("/nowhere/key");
}

fn kitbag_serve(data: &Path, master_key: &str) -> tokio::process::Command {
    let mut command = kitbag(["serve", "--listen", "127.0.0.1:0", "--master-key", master_key, "--data"]);
    command.arg(data);
    command
}

/// Runs `kitbag secret …` with `input` on standard input.
async fn secret(data: &Path, arguments: &[&str], input: &str) -> CommandOutput {
    let mut command = kitbag(["secret"]);
    command.args(arguments).arg("--data").arg(data);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let mut standard_input = child.stdin.take().expect("it is piped");
    // The write fails if the command exits before it reads its input.
    let _ = standard_input.write_all(input.as_bytes()).await;
    drop(standard_input);
    within("the command", child.wait_with_output()).await.expect("it ends").into()
}

#[tokio::test]
async fn the_command_sets_lists_and_removes() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let data = kitbag.data();

    let set = secret(data, &["set", "probe", "API_KEY", "--from-stdin"], "x y\n").await;
    assert_eq!(set.code, Some(0), "{set:?}");
    assert!(
        set.stdout.contains("API_KEY is set for probe") && set.stderr.contains("no line has 6 bytes"),
        "{set:?}"
    );
    // Exactly one trailing newline is removed.
    assert_eq!(kitbag.as_operator().probe_secret("API_KEY").await, "x y");
    secret(data, &["set", "probe", "OTHER_KEY", "--from-stdin"], "x\n\n").await.succeeded();
    assert_eq!(kitbag.as_operator().probe_secret("OTHER_KEY").await, "x\n");

    let listed = secret(data, &["list", "probe"], "").await.succeeded();
    assert!(listed.contains("API_KEY") && listed.contains("set 20"), "{listed}");
    secret(data, &["unset", "probe", "API_KEY"], "").await.succeeded();
    let listed: Value =
        serde_json::from_str(&secret(data, &["list", "probe", "--json"], "").await.succeeded())
            .expect("JSON");
    assert_eq!((&listed[0]["set"], &listed[1]["set"]), (&json!(false), &json!(true)));
}

#[tokio::test]
async fn the_command_refuses_what_cannot_be_a_secret() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    let set = async |name: &str, flags: &[&str], input: &str| {
        secret(kitbag.data(), &[&["set", "probe", name], flags].concat(), input).await
    };

    set("API_KEY", &["--from-stdin"], "").await.assert_failed("the value is empty");
    set("API_KEY", &["--from-stdin"], "\n").await.assert_failed("the value is empty");
    set("API_KEY", &["--from-stdin"], &"x".repeat(20_000)).await.assert_failed("longer than 8192 bytes");
    set("TYPO", &["--from-stdin"], VALUE).await.assert_failed("it declares API_KEY, OTHER_KEY");
    set("API_KEY", &[], VALUE).await.assert_failed("no terminal");
}
