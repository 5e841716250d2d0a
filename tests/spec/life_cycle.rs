//! Life cycle of toolkit versions: deploy, replacement, rollback, removal.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Kitbag, User, guests};

impl User {
    async fn greeting(&self) -> String {
        self.call("greeter__greet", json!({ "name": "Ana" })).await.text().to_owned()
    }

    async fn greeter(&self) -> Value {
        self.get("/toolkits/greeter").await.assert_status(200).json()
    }
}

#[tokio::test]
async fn a_new_version_replaces_the_one_before() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();
    kitbag.deploy(guests::GREETER_V1).await;
    assert_eq!(operator.greeting().await, "Hello, Ana!");

    kitbag.deploy(guests::GREETER_V2).await;

    assert_eq!(operator.greeting().await, "Good day, Ana!");
    assert_eq!(operator.greeter().await["liveVersion"], "2.0.0");
    assert_eq!(operator.tool_names().await, ["greeter__greet"]);
}

#[tokio::test]
async fn a_call_under_way_finishes_on_the_version_it_started_on() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();
    let started = Instant::now();
    kitbag.deploy(guests::GREETER_V1).await;
    // Long enough for the next deploy, which takes about as long as this one, to end during the call.
    let mut wait = (10 * started.elapsed()).max(Duration::from_secs(1));

    loop {
        let greeting =
            json!({ "name": "Ana", "wait_ms": u64::try_from(wait.as_millis()).expect("a short wait") });
        let under_way = operator.start_call("greeter__greet", greeting);
        assert_eq!(operator.greeting().await, "Hello, Ana!");
        kitbag.deploy(guests::GREETER_V2).await;
        assert_eq!(operator.greeting().await, "Good day, Ana!");
        let was_under_way = !under_way.is_finished();

        assert_eq!(under_way.await.expect("no panic").text(), "Hello, Ana!");

        if was_under_way {
            break;
        }
        wait *= 2;
        assert!(wait < Duration::from_mins(1), "every deploy takes longer than the call");
        kitbag.deploy(guests::GREETER_V1).await;
    }
}

#[tokio::test]
async fn the_same_version_with_other_bytes_is_refused_and_leaves_nothing() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();
    kitbag.deploy(guests::GREETER_V1).await;
    let before = (kitbag.files("components"), kitbag.files("code"));

    let answer = operator.deploy(guests::GREETER_V1_CHANGED.bytes()).await;

    answer.assert_problem(409, "raise the version");
    assert_eq!(operator.greeting().await, "Hello, Ana!");
    assert_eq!((kitbag.files("components"), kitbag.files("code")), before);
}

#[tokio::test]
async fn the_same_bytes_again_change_nothing() {
    let kitbag = Kitbag::start().await;
    let first = kitbag.deploy(guests::GREETER_V1).await;

    let again = kitbag.deploy(guests::GREETER_V1).await;

    assert_eq!(again["digest"], first["digest"]);
    let operator = kitbag.as_operator();
    assert_eq!(operator.greeter().await["versions"].as_array().map(Vec::len), Some(1));
    assert_eq!(operator.greeting().await, "Hello, Ana!");
}

#[tokio::test]
async fn a_deploy_says_what_the_version_may_do_that_the_one_before_might_not() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::GREETER_V1).await;

    let deployed = kitbag.deploy(guests::GREETER_V2).await;

    let changes = json!({ "added": ["egress greetings.test"], "removed": [] });
    assert_eq!(deployed["changes"], changes);
    assert_eq!(deployed["capabilities"], json!(["egress greetings.test"]));
    let shown = kitbag.as_operator().greeter().await;
    assert_eq!(
        (&shown["versions"][0]["version"], &shown["versions"][0]["changes"]),
        (&json!("2.0.0"), &changes)
    );
    assert_eq!(shown["manifest"]["egress"], json!(["greetings.test"]));
}

#[tokio::test]
async fn a_roll_back_makes_the_version_before_live_or_the_one_that_is_named() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.deploy(guests::GREETER_V2).await;

    let back = operator.post("/toolkits/greeter/rollback", &json!({})).await.assert_status(200);
    assert_eq!(back.json(), json!({ "id": "greeter", "version": "1.0.0" }));
    assert_eq!(operator.greeting().await, "Hello, Ana!");
    assert_eq!(operator.greeter().await["liveVersion"], "1.0.0");

    operator.post("/toolkits/greeter/rollback", &json!({ "version": "2.0.0" })).await.assert_status(200);
    assert_eq!(operator.greeting().await, "Good day, Ana!");
}

#[tokio::test]
async fn there_is_no_way_back_to_what_never_was() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();
    kitbag.deploy(guests::GREETER_V1).await;

    let rollback = "/toolkits/greeter/rollback";
    operator.post(rollback, &json!({})).await.assert_problem(409, "no version other than 1.0.0");
    operator.post(rollback, &json!({ "version": "3.0.0" })).await.assert_problem(409, "no version 3.0.0");
    operator.post(rollback, &json!({ "verison": "1.0.0" })).await.assert_problem(400, "verison");
    operator.post(rollback, &json!(["1.0.0"])).await.assert_problem(400, "a JSON object");

    assert_eq!(operator.greeting().await, "Hello, Ana!");
}

#[tokio::test]
async fn a_removed_toolkit_is_gone_with_its_files_and_its_neighbours_stay() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();
    kitbag.deploy(guests::HINTS).await;
    let files = (kitbag.files("components"), kitbag.files("code"));
    kitbag.deploy(guests::GREETER_V1).await;
    kitbag.deploy(guests::GREETER_V2).await;

    operator.delete("/toolkits/greeter").await.assert_status(204);

    operator.call("greeter__greet", json!({ "name": "Ana" })).await.assert_unknown_tool();
    operator.get("/toolkits/greeter").await.assert_status(404);
    assert_eq!((kitbag.files("components"), kitbag.files("code")), files);
    assert_eq!(operator.call("hints__plain", json!({})).await.text(), "plain");
}

#[tokio::test]
async fn a_removed_version_may_come_back_with_other_bytes() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();
    kitbag.deploy(guests::GREETER_V1).await;
    operator.delete("/toolkits/greeter").await.assert_status(204);

    kitbag.deploy(guests::GREETER_V1_CHANGED).await;

    assert_eq!(operator.greeting().await, "Hello again, Ana!");
}

#[tokio::test]
async fn what_does_not_exist_cannot_be_shown_rolled_back_or_removed() {
    let kitbag = Kitbag::start().await;
    let operator = kitbag.as_operator();

    operator.get("/toolkits/absent").await.assert_problem(404, "no toolkit");
    operator.delete("/toolkits/absent").await.assert_problem(404, "no toolkit");
    operator.post("/toolkits/absent/rollback", &json!({})).await.assert_problem(404, "no toolkit");
}

#[tokio::test]
async fn only_operators_deploy_roll_back_and_remove() {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::HINTS).await;
    let ana = kitbag.as_user("ana");

    ana.deploy(guests::TEXT.bytes()).await.assert_problem(403, "operators");
    ana.post("/toolkits/hints/rollback", &json!({})).await.assert_problem(403, "operators");
    ana.delete("/toolkits/hints").await.assert_problem(403, "operators");

    assert_eq!(ana.call("hints__plain", json!({})).await.text(), "plain");
    assert_eq!(kitbag.files("uploads"), [""; 0]);
}
