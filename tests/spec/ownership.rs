//! Ownership of toolkits: permissions to change private and shared toolkits, and transfer of ownership.

use serde_json::{Value, json};

use crate::harness::{Answer, Kitbag, Raw, Terminal, User, Wat, wat::Visibility};

use Visibility::{Private, Shared};

/// Starts a server with two operators, `ana` and `ben`; `una` is a user.
async fn server() -> Kitbag {
    Kitbag::start_with(|settings| settings.operators = "ana,ben".parse().expect("a list")).await
}

fn component(version: &str, visibility: Visibility) -> Vec<u8> {
    Wat { version, visibility, secrets: &["KEY"], ..Wat::default() }.component()
}

impl User {
    async fn deploy_version(&self, version: &str, visibility: Visibility) -> Answer {
        self.deploy(component(version, visibility)).await
    }

    /// Returns owner, live version and ownership events, newest first.
    async fn toolkit(&self) -> (String, String, Vec<String>) {
        let shown = self.get("/toolkits/wat").await.assert_status(200).json();
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let event = |line: &Value| format!("{} {}", text(&line["event"]), text(&line["by"]));
        let events = shown["ownership"].as_array().expect("a list").iter().map(event).collect();
        (text(&shown["owner"]), text(&shown["liveVersion"]), events)
    }
}

/// Operations that require permissions on a toolkit.
const OPERATIONS: [&str; 7] = [
    "deploy private",
    "deploy shared",
    "deploy the same",
    "roll back",
    "roll back to private",
    "remove",
    "release",
];

async fn attempt(user: &User, operation: &str, was: Visibility) -> Answer {
    match operation {
        "deploy private" => user.deploy_version("4.0.0", Private).await,
        "deploy shared" => user.deploy_version("4.0.0", Shared).await,
        "deploy the same" => user.deploy_version("3.0.0", was).await,
        "roll back" => user.post("/toolkits/wat/rollback", &json!({ "version": "2.0.0" })).await,
        "roll back to private" => user.post("/toolkits/wat/rollback", &json!({ "version": "1.0.0" })).await,
        "remove" => user.delete("/toolkits/wat").await,
        _ => user.post("/toolkits/wat/release", &json!({})).await,
    }
}

#[tokio::test]
async fn who_may_do_what_with_a_toolkit() {
    let kitbag = server().await;
    let ana = kitbag.as_user("ana");
    for was in [Private, Shared] {
        for operation in OPERATIONS {
            for who in ["ana", "ben", "una"] {
                // The second version has the visibility of the live one; the first is private.
                ana.delete("/toolkits/wat").await;
                for (version, visibility) in [("1.0.0", Private), ("2.0.0", was), ("3.0.0", was)] {
                    ana.deploy_version(version, visibility).await.assert_status(201);
                }
                let before = ana.toolkit().await;

                let answer = attempt(&kitbag.as_user(who), operation, was).await;

                let case = format!("{was:?}: {who} {operation}");
                let makes_private = ["deploy private", "roll back to private"].contains(&operation);
                let allowed = match who {
                    "ana" => true,
                    "ben" => was == Shared && !makes_private && operation != "release",
                    _ => false,
                };
                assert_eq!(answer.status.is_success(), allowed, "{case}: {answer:?}");
                if allowed {
                    continue;
                }
                let answer = answer.assert_status(403);
                if who == "ben" {
                    let detail = answer.json()["detail"].as_str().expect("a detail").to_owned();
                    assert!(detail.contains("belongs to ana"), "{case}: {detail}");
                    assert!(detail.contains("kitbag toolkit take-over wat"), "{case}: {detail}");
                }
                assert_eq!((before.0.as_str(), before.1.as_str()), ("ana", "3.0.0"), "{case}");
                assert_eq!(ana.toolkit().await, before, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn whoever_takes_a_toolkit_over_is_seen_and_gets_nothing_that_was_set_for_it() {
    let kitbag = server().await;
    let [ana, ben, una] = ["ana", "ben", "una"].map(|name| kitbag.as_user(name));
    ana.deploy_version("1.0.0", Shared).await.assert_status(201);
    for user in [&ana, &una] {
        user.set_secret("wat", "KEY", "a-secret-of-the-user").await;
    }
    una.post("/toolkits/wat/take-over", &json!({})).await.assert_problem(403, "operators");
    ana.post("/toolkits/wat/take-over", &json!({})).await.assert_problem(409, "belongs to you already");
    ben.post("/toolkits/absent/take-over", &json!({})).await.assert_problem(404, "no toolkit");

    let taken = ben.post("/toolkits/wat/take-over", &json!({})).await.assert_status(200).json();

    assert_eq!(taken, json!({ "from": "ana", "removedSecrets": 2, "removedSettings": 0 }));
    for user in [&ana, &una, &ben] {
        let listed = user.get("/toolkits/wat/secrets").await.assert_status(200).json();
        assert_eq!(listed[0]["set"], false, "{listed}");
        let (owner, _, events) = user.toolkit().await;
        assert_eq!((owner.as_str(), events), ("ben", vec!["taken-over ben".to_owned()]));
        let listed = user.get("/toolkits").await.assert_status(200).json();
        assert_eq!(listed[0]["takenOver"]["from"], "ana", "{listed}");
        assert_eq!(listed[0]["owner"], "ben", "{listed}");
        assert!(listed[0]["takenOver"]["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{listed}");
    }
    // The rights have passed from ana to ben.
    ana.deploy_version("2.0.0", Private).await.assert_problem(403, "belongs to ben");
    ben.deploy_version("2.0.0", Private).await.assert_status(201);
    // A toolkit that is removed and deployed again keeps its history.
    ben.delete("/toolkits/wat").await.assert_status(204);
    ben.deploy_version("1.0.0", Shared).await.assert_status(201);
    let (_, _, events) = una.toolkit().await;
    assert_eq!(events, ["removed ben", "taken-over ben"]);
}

#[tokio::test]
async fn what_arrives_while_a_toolkit_is_taken_over_is_not_kept_for_its_new_owner() {
    let kitbag = server().await;
    let [ana, ben, una] = ["ana", "ben", "una"].map(|name| kitbag.as_user(name));
    ana.deploy_version("1.0.0", Shared).await.assert_status(201);
    let half = async |method: &str, path: &str, length: usize| {
        let mut connection = Raw::connect(&kitbag).await;
        let (host, token) = (kitbag.base_url().authority().to_owned(), una.token().to_owned());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        connection.write(head).await;
        connection
    };
    let mut secret = half("PUT", "/toolkits/wat/secrets/KEY", 14).await;
    let mut settings = half("PATCH", "/toolkits/wat/config", 2).await;
    // By now, both requests have passed the access check, and wait for the rest of their bodies.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;

    ben.post("/toolkits/wat/take-over", &json!({})).await.assert_status(200);
    secret.write("a-secret-value").await;
    settings.write("{}").await;

    for answer in [secret.rest().await, settings.rest().await] {
        assert!(answer.starts_with("HTTP/1.1 409"), "{answer}");
        assert!(answer.contains("removed or taken over in the meantime"), "{answer}");
    }
    let listed = una.get("/toolkits/wat/secrets").await.assert_status(200).json();
    assert_eq!(listed[0]["set"], false, "{listed}");
}

#[tokio::test]
async fn a_deploy_takes_over_only_when_it_says_so_and_all_of_it_or_nothing() {
    let kitbag = server().await;
    let [ana, ben, una] = ["ana", "ben", "una"].map(|name| kitbag.as_user(name));
    ana.deploy_version("1.0.0", Private).await.assert_status(201);
    ana.set_secret("wat", "KEY", "a-secret-of-the-user").await;
    let over = async |user: &User, component: Vec<u8>| {
        user.send(http::Method::POST, "/toolkits?takeOver=true", "application/wasm", component).await
    };

    over(&una, component("2.0.0", Private)).await.assert_problem(403, "operators");
    over(&ben, b"no component".to_vec()).await.assert_status(422);
    // The version exists already with other bytes: it is not deployed, and ownership does not change.
    over(&ben, component("1.0.0", Shared)).await.assert_problem(409, "raise the version");
    assert_eq!(ana.toolkit().await.0, "ana");
    assert_eq!(ana.get("/toolkits/wat/secrets").await.json()[0]["set"], true);

    let deployed = over(&ben, component("2.0.0", Private)).await.assert_status(201).json();

    assert_eq!(deployed["takenOver"]["from"], "ana", "{deployed}");
    assert_eq!(deployed["takenOver"]["removedSecrets"], 1, "{deployed}");
    // The toolkit is now a private one of ben; other operators still see its existence and history.
    assert_eq!(ana.toolkit().await.2, ["taken-over ben"]);
    ana.call("wat__run", json!({})).await.assert_unknown_tool();
    assert_eq!(ben.call("wat__run", json!({})).await.text(), "done");
    // A deploy of one's own toolkit is not a takeover.
    let again = over(&ben, component("3.0.0", Private)).await.assert_status(201).json();
    assert!(again.get("takenOver").is_none(), "{again}");
}

#[tokio::test]
async fn removing_a_toolkit_and_deploying_it_anew_takes_nothing_over_unseen() {
    let kitbag = server().await;
    let [ana, ben] = ["ana", "ben"].map(|name| kitbag.as_user(name));
    ana.deploy_version("1.0.0", Shared).await.assert_status(201);
    ben.delete("/toolkits/wat").await.assert_status(204);

    ben.deploy_version("2.0.0", Private).await.assert_problem(403, "belonged to ana until it was removed");
    ben.deploy_version("2.0.0", Shared).await.assert_status(201);
    assert_eq!(ana.toolkit().await.0, "ana");
    ben.deploy_version("3.0.0", Private).await.assert_problem(403, "belongs to ana");

    ben.delete("/toolkits/wat").await.assert_status(204);
    let path = "/toolkits?takeOver=true";
    let taken = ben.send(http::Method::POST, path, "application/wasm", component("3.0.0", Private)).await;
    assert_eq!(taken.assert_status(201).json()["takenOver"]["from"], "ana");
    assert_eq!(ana.toolkit().await.2, ["taken-over ben", "removed ben", "removed ben"]);
}

#[tokio::test]
async fn going_back_says_that_a_released_toolkit_has_a_new_owner() {
    let kitbag = server().await;
    let [ana, ben] = ["ana", "ben"].map(|name| kitbag.as_user(name));
    for version in ["1.0.0", "2.0.0"] {
        ana.deploy_version(version, Private).await.assert_status(201);
    }
    ana.set_secret("wat", "KEY", "a-secret-of-the-user").await;
    ana.post("/toolkits/wat/release", &json!({})).await.assert_status(204);
    let rollback = "/toolkits/wat/rollback";

    let back = ben.post(rollback, &json!({})).await.assert_status(200).json();

    let taken = json!({ "from": "ana", "removedSecrets": 1, "removedSettings": 0 });
    assert_eq!(back, json!({ "id": "wat", "version": "1.0.0", "takenOver": taken }));
    let forth = ben.post(rollback, &json!({})).await.assert_status(200).json();
    assert_eq!(forth, json!({ "id": "wat", "version": "2.0.0" }));
}

#[tokio::test]
async fn a_released_toolkit_is_the_next_ones_who_needs_to_own_it() {
    let kitbag = server().await;
    let [ana, ben] = ["ana", "ben"].map(|name| kitbag.as_user(name));
    ana.deploy_version("1.0.0", Private).await.assert_status(201);
    ana.set_secret("wat", "KEY", "a-secret-of-the-user").await;
    let release = "/toolkits/wat/release";

    // A new deploy by the owner cancels the release.
    ana.post(release, &json!({})).await.assert_status(204);
    assert_eq!(ana.get("/toolkits/wat").await.json()["released"], true);
    ana.deploy_version("2.0.0", Private).await.assert_status(201);
    ben.deploy_version("3.0.0", Private).await.assert_problem(403, "belongs to ana");

    ana.post(release, &json!({})).await.assert_status(204);
    let deployed = ben.deploy_version("3.0.0", Private).await.assert_status(201).json();

    assert_eq!(deployed["takenOver"], json!({ "from": "ana", "removedSecrets": 1, "removedSettings": 0 }));
    let events = ["taken-over ben", "released ana", "kept ana", "released ana"].map(str::to_owned);
    assert_eq!(ben.toolkit().await, ("ben".to_owned(), "3.0.0".to_owned(), events.to_vec()));
    assert_eq!(ben.get("/toolkits/wat").await.json()["released"], false);
    ana.deploy_version("4.0.0", Private).await.assert_problem(403, "belongs to ben");

    // An id that was released and removed has no owner: the next operator to deploy it becomes its owner.
    ben.post(release, &json!({})).await.assert_status(204);
    ben.delete("/toolkits/wat").await.assert_status(204);
    ben.deploy_version("1.0.0", Private).await.assert_status(201);
    ana.deploy_version("2.0.0", Private).await.assert_problem(403, "belongs to ben");
}

#[tokio::test]
async fn a_removal_asks_and_says_what_goes_with_it() {
    let kitbag = server().await;
    let ana = kitbag.as_user("ana");
    for version in ["1.0.0", "2.0.0"] {
        ana.deploy_version(version, Private).await.assert_status(201);
    }
    let terminal = Terminal::at(kitbag.base_url().as_str());
    terminal.login("ana").await;

    let asked = terminal.run(&["toolkit", "remove", "wat"]).await;
    asked.assert_failed("--yes");
    for words in ["2 versions", "secrets", "accounts", "records of calls", "keys", "Documents"] {
        assert!(asked.stderr.contains(words), "{words}: {}", asked.stderr);
    }
    assert_eq!(ana.toolkit().await.0, "ana");
    terminal.run(&["toolkit", "remove", "absent", "--yes"]).await.assert_failed("no toolkit");

    terminal.run(&["toolkit", "remove", "wat", "--yes"]).await.succeeded();
    ana.get("/toolkits/wat").await.assert_status(404);
}

#[tokio::test]
async fn the_commands_ask_before_they_take_over_and_say_what_went() {
    let kitbag = server().await;
    kitbag.as_user("ana").deploy_version("1.0.0", Private).await.assert_status(201);
    let ben = Terminal::at(kitbag.base_url().as_str());
    ben.login("ben").await;
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    std::fs::write(file.path(), component("2.0.0", Private)).expect("it is ours");
    let file = file.path().to_str().expect("UTF-8");

    ben.run(&["toolkit", "deploy", file]).await.assert_failed("kitbag toolkit release wat");
    ben.run(&["toolkit", "take-over", "wat"]).await.assert_failed("belongs to ana");
    ben.run(&["toolkit", "take-over", "wat"]).await.assert_failed("--yes");
    ben.run(&["toolkit", "deploy", "--take-over", file]).await.assert_failed("--yes");
    assert_eq!(kitbag.as_user("ana").toolkit().await.0, "ana");

    let taken = ben.run(&["toolkit", "take-over", "wat", "--yes"]).await.succeeded();
    assert!(taken.contains("it was ana's"), "{taken}");
    ben.run(&["toolkit", "deploy", file]).await.succeeded();
    let shown = ben.run(&["toolkit", "show", "wat"]).await.succeeded();
    assert!(shown.contains("owned by ben") && shown.contains("taken over by ben from ana"), "{shown}");
    let listed = ben.run(&["toolkit", "list"]).await.succeeded();
    assert!(listed.contains("taken over by ben from ana"), "{listed}");
    ben.run(&["toolkit", "release", "wat"]).await.succeeded();
    let shown = ben.run(&["toolkit", "show", "wat"]).await.succeeded();
    assert!(shown.contains("released by ben"), "{shown}");
}
