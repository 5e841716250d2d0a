//! Each user's settings of the toolkits that the user can see. Values that look like secrets are refused.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{CommandOutput, Kitbag, ServerProcess, User, guests, kitbag, run};

const CONFIG: &str = "/toolkits/hostile/config";
const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

async fn hostile() -> (Kitbag, User) {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HOSTILE).await;
    let ana = kitbag.as_user("ana");
    (kitbag, ana)
}

/// Makes a call as this user, and returns its `ctx.config`.
async fn seen_by_a_call(user: &User) -> Value {
    user.call("hostile__whoami", json!({})).await.structured()["config"].clone()
}

#[tokio::test]
async fn a_user_sees_what_can_be_set_and_what_applies() {
    let (_kitbag, ana) = hostile().await;
    ana.patch(CONFIG, &json!({ "language": "de", "limit": 7 })).await.assert_status(200);

    let fields = ana.get(CONFIG).await.assert_status(200).json();

    let keys: Vec<_> = fields.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["adult", "language", "limit", "order"]);
    assert_eq!(fields["order"]["definition"]["options"], json!(["newest", "oldest"]));
    assert_eq!(fields["language"]["definition"]["type"], "string");
    for (key, value, effective) in [
        ("language", json!("de"), json!("de")),
        ("limit", json!(7), json!(7)),
        ("adult", json!(null), json!(false)),
        ("order", json!(null), json!("newest")),
    ] {
        let field = &fields[key];
        assert_eq!(
            (&field["value"], &field["effective"], &field["missing"]),
            (&value, &effective, &json!(false))
        );
    }
}

#[tokio::test]
async fn a_call_gets_its_own_users_settings_over_the_defaults() {
    let (kitbag, ana) = hostile().await;
    let ben = kitbag.as_user("ben");

    let changed = ana.patch(CONFIG, &json!({ "language": "de", "adult": true, "limit": 2.5 })).await;
    assert_eq!(changed.assert_status(200).json()["language"]["value"], "de");

    let of_ana = json!({ "language": "de", "adult": true, "limit": 2.5, "order": "newest" });
    let defaults = json!({ "language": "en", "adult": false, "order": "newest" });
    assert_eq!(seen_by_a_call(&ana).await, of_ana);
    assert_eq!(seen_by_a_call(&ben).await, defaults, "the settings of another user");
    assert_eq!(ben.get(CONFIG).await.json()["language"]["value"], json!(null));

    ana.patch(CONFIG, &json!({ "language": null, "adult": null, "limit": null })).await.assert_status(200);
    assert_eq!(seen_by_a_call(&ana).await, defaults);
}

#[tokio::test]
async fn what_was_set_of_a_key_that_is_not_declared_any_more_can_be_unset() {
    let (kitbag, ana) = hostile().await;
    ana.patch(CONFIG, &json!({ "language": "de" })).await.assert_status(200);
    let stopped = kitbag.stop().await;
    stopped
        .alter("UPDATE toolkit_versions SET manifest = replace(manifest, '\"language\"', '\"tongue\"')")
        .await;
    let kitbag = stopped.start().await;
    let (ana, ben) = (kitbag.as_user("ana"), kitbag.as_user("ben"));

    ana.patch(CONFIG, &json!({ "language": "en" })).await.assert_problem(422, "nothing is changed");
    ben.patch(CONFIG, &json!({ "language": null })).await.assert_problem(422, "nothing is changed");
    ana.patch(CONFIG, &json!({ "language": null })).await.assert_status(200);

    ana.patch(CONFIG, &json!({ "language": null })).await.assert_problem(422, "nothing is changed");
}

#[tokio::test]
async fn a_change_is_made_whole_or_refused_with_everything_that_is_wrong() {
    let (_kitbag, ana) = hostile().await;
    ana.patch(CONFIG, &json!({ "limit": 7 })).await.assert_status(200);

    let refused = ana
        .patch(
            CONFIG,
            &json!({ "language": TOKEN, "limit": "many", "adult": 1, "order": "random", "gone": 1 }),
        )
        .await
        .assert_problem(422, "nothing is changed");

    let problems = refused.problems();
    let paths: Vec<_> = problems.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["adult", "gone", "language", "limit", "order"]);
    assert!(problems[1].1.contains("is not a setting"), "{problems:?}");
    assert!(problems[2].1.contains("looks like a secret") && problems[2].1.contains("kitbag secret set"));
    assert!(problems[4].1.contains("newest, oldest"), "{problems:?}");
    assert!(!String::from_utf8_lossy(&refused.body).contains(TOKEN));

    ana.patch(CONFIG, &json!({ "language": "de", "order": "random" })).await.assert_status(422);
    let kept = ana.get(CONFIG).await.json();
    assert_eq!(kept["language"]["value"], json!(null), "half of it was kept");
    assert_eq!(kept["limit"]["value"], 7, "what was set before is as it was");
}

#[tokio::test]
async fn settings_are_bounded() {
    let (_kitbag, ana) = hostile().await;

    let long = ana.patch(CONFIG, &json!({ "language": "ab ".repeat(3000) })).await.assert_status(422);
    assert!(long.problems()[0].1.contains("at most 8192 bytes"), "{long:?}");
    ana.patch(CONFIG, &json!({ "language": "ab ".repeat(30_000) })).await.assert_problem(413, "");
    for body in [json!([]), json!("language=de"), json!(null)] {
        ana.patch(CONFIG, &body).await.assert_problem(400, "must be a JSON object");
    }
    ana.patch(CONFIG, &json!({})).await.assert_status(200);
}

#[tokio::test]
async fn the_settings_of_a_toolkit_that_a_user_cannot_see_do_not_exist() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;
    let (owner, ana) = (kitbag.as_operator(), kitbag.as_user("ana"));

    assert_eq!(owner.get("/toolkits/greeter/config").await.assert_status(200).json(), json!({}));
    for id in ["greeter", "absent"] {
        let path = format!("/toolkits/{id}/config");
        ana.get(&path).await.assert_problem(404, "no toolkit");
        ana.patch(&path, &json!({ "a": 1 })).await.assert_problem(404, "no toolkit");
    }
    kitbag.anonymous().get("/toolkits/greeter/config").await.assert_status(401);
}

#[tokio::test]
async fn what_a_toolkit_no_longer_declares_reaches_no_call() {
    let (kitbag, ana) = hostile().await;
    ana.patch(CONFIG, &json!({ "language": "de", "order": "oldest" })).await.assert_status(200);
    let stopped = kitbag.stop().await;
    stopped
        .alter_manifests(|manifest| {
            manifest["config"].as_object_mut().expect("it declares settings").remove("language");
            manifest["config"]["order"]["options"][1] = json!("best");
        })
        .await;

    let kitbag = stopped.start().await;

    assert_eq!(seen_by_a_call(&kitbag.as_user("ana")).await, json!({ "adult": false, "order": "newest" }));
}

#[tokio::test]
async fn a_required_setting_that_is_missing_is_shown_and_stops_no_call() {
    let (kitbag, _) = hostile().await;
    let stopped = kitbag.stop().await;
    stopped.alter_manifests(|manifest| manifest["config"]["limit"]["required"] = json!(true)).await;
    let kitbag = stopped.start().await;
    let operator = kitbag.as_operator();

    assert_eq!(operator.get(CONFIG).await.json()["limit"]["missing"], true);
    assert_eq!(seen_by_a_call(&operator).await.get("limit"), None);
    let printed = config(kitbag.data(), &["get", "hostile"]).await.succeeded();
    assert!(printed.contains("(missing: required)"), "{printed}");

    operator.patch(CONFIG, &json!({ "limit": 3 })).await.assert_status(200);
    assert_eq!(operator.get(CONFIG).await.json()["limit"]["missing"], false);
}

#[tokio::test]
async fn removing_a_toolkit_removes_its_settings() {
    let (kitbag, ana) = hostile().await;
    ana.patch(CONFIG, &json!({ "language": "de" })).await.assert_status(200);

    kitbag.as_operator().delete("/toolkits/hostile").await.assert_status(204);
    kitbag.deploy(guests::HOSTILE).await;

    assert_eq!(ana.get(CONFIG).await.json()["language"]["value"], json!(null));
}

#[tokio::test]
async fn a_setting_that_was_acknowledged_survives_the_death_of_the_server() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start(data.path()).await;
    let operator = server.as_operator().await;
    operator.deploy(guests::HOSTILE.bytes()).await.assert_status(201);
    operator.patch(CONFIG, &json!({ "language": "de" })).await.assert_status(200);

    server.kill().await;

    let server = ServerProcess::start(data.path()).await;
    assert_eq!(seen_by_a_call(&server.as_operator().await).await["language"], "de");
}

/// Runs `kitbag config …` against the server that runs on `data`.
async fn config(data: &Path, arguments: &[&str]) -> CommandOutput {
    let mut command = kitbag(["config"]);
    command.args(arguments).arg("--data").arg(data);
    run(command).await
}

#[tokio::test]
async fn settings_are_set_shown_and_unset_on_the_command_line() {
    let (kitbag, _) = hostile().await;
    let data = kitbag.data();

    for (key, value) in [("language", "de"), ("limit", "-7"), ("adult", "true"), ("order", "oldest")] {
        config(data, &["set", "hostile", key, value]).await.succeeded();
    }

    let set = json!({ "language": "de", "limit": -7, "adult": true, "order": "oldest" });
    assert_eq!(seen_by_a_call(&kitbag.as_operator()).await, set);
    assert_eq!(config(data, &["get", "hostile", "limit"]).await.succeeded(), "-7\n");
    let shown = config(data, &["get", "hostile"]).await.succeeded();
    assert!(shown.contains("oldest") && shown.lines().count() == 4, "{shown}");
    let fields = config(data, &["get", "hostile", "--json"]).await.succeeded();
    let fields: Value = serde_json::from_str(&fields).expect("JSON");
    assert_eq!(fields["order"]["value"], "oldest");

    let unset = config(data, &["unset", "hostile", "order"]).await.succeeded();
    assert!(unset.contains("newest (default)"), "{unset}");
    assert_eq!(config(data, &["get", "hostile", "order"]).await.succeeded(), "newest\n");
}

#[tokio::test]
async fn the_command_line_says_what_is_wrong_with_a_setting() {
    let (kitbag, _) = hostile().await;
    let data = kitbag.data();

    for (arguments, words) in [
        (&["set", "hostile", "colour", "red"][..], "adult, language, limit, order"),
        (&["unset", "hostile", "colour"], "adult, language, limit, order"),
        (&["get", "hostile", "colour"], "adult, language, limit, order"),
        (&["set", "hostile", "limit", "many"], "limit: must be a number"),
        (&["set", "hostile", "adult", "yes"], "adult: must be true or false"),
        (&["set", "hostile", "order", "random"], "must be one of: newest, oldest"),
        (&["set", "hostile", "language", TOKEN], "kitbag secret set"),
        (&["get", "absent"], "there is no toolkit"),
    ] {
        let refused = config(data, arguments).await;
        refused.assert_failed(words);
        assert!(!refused.stderr.contains(TOKEN), "{}", refused.stderr);
    }
}
