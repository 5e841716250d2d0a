//! The command that shows the log, and changes of the database that `doctor` and the verification find.

use serde_json::Value;

use super::{CANARY, entries, server, text};
use crate::harness::{CommandOutput, Kitbag, kitbag, run};
use crate::ui_review::wat;

#[tokio::test]
async fn the_command_shows_the_log_and_doctor_finds_what_was_changed() {
    let kitbag_server = server().await;
    let ana = kitbag_server.as_user("ana");
    ana.deploy(wat("1.0.0").component()).await.assert_status(201);
    ana.put("/toolkits/wat/secrets/KEY", CANARY).await.assert_status(200);
    let (url, token) = (kitbag_server.base_url().to_string(), ana.token().to_owned());
    let audit = async |arguments: &[&str]| {
        let all = [&["audit", "--server", &url], arguments].concat();
        let mut command = kitbag(&all);
        command.env("KITBAG_TOKEN", &token);
        run(command).await.succeeded()
    };

    let shown = audit(&["--since", "1h"]).await;
    assert!(shown.contains("  toolkit.deployed  ana  client=spec  toolkit=wat  version=1.0.0  name=from uploaded file, not signed\n"), "{shown}");
    assert!(shown.contains("  secret.set  ana  client=spec  toolkit=wat  name=KEY\n"), "{shown}");
    let all: Value = serde_json::from_str(&audit(&["--act", "secret", "-o", "json"]).await).expect("JSON");
    assert_eq!(all[0]["act"], "secret.set");
    assert_eq!(audit(&["--user", "nobody"]).await, "");

    let stopped = kitbag_server.stop().await;
    let doctor = async || {
        let data = stopped.data().to_str().expect("UTF-8").to_owned();
        run(kitbag(["doctor", "--data", &data])).await
    };
    assert!(doctor().await.stdout.contains("entries of the audit log: 2"));
    stopped.alter("UPDATE audit SET actor = 'eve' WHERE act = 'secret.set'").await;
    let found = doctor().await;
    let said = format!("{}{}", found.stdout, found.stderr);
    assert!(
        said.contains("chains of the audit log are broken") && said.contains("entry 2 was changed"),
        "{said}"
    );
}

/// Changes of the database that need no hash to be computed, and the fault that each causes.
const TAMPERINGS: [(&str, &str); 5] = [
    (
        "DELETE FROM audit WHERE sequence > 2;
         UPDATE audit_chains SET newest = 2, newest_hash = (SELECT hash FROM audit WHERE sequence = 2)",
        "the record of its ends was changed",
    ),
    (
        "UPDATE audit_chains SET removed = 2, removed_hash = (SELECT hash FROM audit WHERE sequence = 2);
         DELETE FROM audit WHERE sequence <= 2",
        "the record of its ends was changed",
    ),
    ("DELETE FROM audit WHERE sequence = 2", "the entries 2 to 2 were removed"),
    (
        "DELETE FROM audit; UPDATE audit_chains SET removed = newest, removed_hash = newest_hash",
        "the record of its ends was changed",
    ),
    ("DELETE FROM audit; DELETE FROM audit_chains", "the list of chains was changed"),
];

#[tokio::test]
async fn what_is_removed_from_an_end_from_the_middle_or_altogether_is_found_by_doctor_and_over_http() {
    for (tampering, fault) in TAMPERINGS {
        let server = server().await;
        let ana = server.as_user("ana");
        ana.deploy(wat("1.0.0").component()).await.assert_status(201);
        for _ in 0..3 {
            ana.put("/toolkits/wat/secrets/KEY", CANARY).await.assert_status(200);
        }
        let last = entries(&ana, "limit=1").await.remove(0);
        let shown = verify(&server, &[]).await.succeeded();
        let end = format!("  newest:  4, with the hash {}\n", text(&last, "hash"));
        assert!(
            shown.contains("Entries that are as they were written: 4.") && shown.contains(&end),
            "{shown}"
        );

        let stopped = server.stop().await;
        let doctor = async || {
            let data = stopped.data().to_str().expect("UTF-8").to_owned();
            run(kitbag(["doctor", "--data", &data])).await
        };
        assert!(doctor().await.stdout.contains("entries of the audit log: 4"));
        stopped.alter(tampering).await;
        let found = doctor().await;
        assert!(found.code == Some(5) && found.stdout.contains(fault), "{tampering}: {found:?}");

        let server = stopped.start().await;
        let found = verify(&server, &[]).await;
        assert!(found.code == Some(5) && found.stdout.contains("problem: "), "{tampering}: {found:?}");
        let ana = server.as_user("ana");
        ana.put("/toolkits/wat/secrets/KEY", CANARY).await.assert_status(200);
        let found = verify(&server, &["-o", "json"]).await;
        let document: Value = serde_json::from_str(&found.stdout).expect("JSON");
        assert!(found.code == Some(5) && document["faults"][0]["what"].is_string(), "{tampering}: {found:?}");
        assert_eq!(ana.get("/audit/verification").await.json(), document);
    }
}

/// Runs `kitbag audit --verify` as the operator `ana`.
async fn verify(server: &Kitbag, further: &[&str]) -> CommandOutput {
    let url = server.base_url().to_string();
    let mut command = kitbag(["audit", "--verify", "--server", &url].iter().chain(further));
    command.env("KITBAG_TOKEN", server.as_user("ana").token());
    run(command).await
}
