//! End-to-end day of an organisation: two groups, two operators and an identity provider, on one process or
//! on two over one database.

use serde_json::{Value, json};

use crate::harness::{Kitbag, Outcome, Provider, User, Wat, guests};

/// A service of one or more processes.
pub(crate) trait Service {
    /// Returns a client for a user at process 0 or 1, with a token that names `groups`.
    fn user(&self, process: usize, name: &str, groups: &[&str]) -> User;
}

/// A service of one process.
struct Alone {
    kitbag: Kitbag,
    provider: Provider,
}

impl Service for Alone {
    fn user(&self, _process: usize, name: &str, groups: &[&str]) -> User {
        let mut claims = self.provider.access_claims(&self.kitbag, name);
        claims["groups"] = json!(groups);
        self.kitbag.with_token(&self.provider.sign("at+jwt", &claims))
    }
}

#[tokio::test]
async fn two_groups_two_operators_and_a_provider() {
    let provider = Provider::start().await;
    let kitbag = provider
        .kitbag_with(|settings| {
            settings.operators = "olga,group:platform".parse().expect("a list");
            settings.groups_claim = "groups".parse().expect("a claim");
        })
        .await;
    a_day(&Alone { kitbag, provider }).await;
}

/// Plays the day. Olga is an operator by name, Otto by his group. Sal is in sales, Sue in support.
pub(crate) async fn a_day(at: &impl Service) {
    let [olga, otto] = [at.user(0, "olga", &[]), at.user(1, "otto", &["platform"])];
    let [sal, sue] = [0, 1].map(|process| {
        let (name, group) = if process == 0 { ("sal", "sales") } else { ("sue", "support") };
        move |of: usize| at.user(of, name, &[group])
    });
    let wat = |version: &'static str, hosts: &'static [&'static str]| {
        Wat { version, egress: hosts, secrets: &["KEY"], ..Wat::default() }.component()
    };
    olga.deploy(guests::TEXT.bytes()).await.assert_status(201);
    olga.deploy(wat("1.0.0", &["a.example"])).await.assert_status(201);

    // Share the toolkit with groups, one of them restricted to one tool and a daily quota.
    share(&olga, json!([{ "group": "sales" }])).await;
    share(&otto, json!([{ "group": "support", "tool": "count", "perDay": 2 }])).await;
    let listed = async |user: &User| {
        let mut names = user.tool_names().await;
        names.retain(|name| name.starts_with("text__"));
        names
    };
    assert!(listed(&sal(1)).await.len() > 1);
    assert_eq!(listed(&sue(0)).await, ["text__count"]);
    assert_eq!(listed(&at.user(1, "una", &["platform-guests"])).await, [""; 0]);

    // Exceed the quota.
    for process in [0, 1] {
        count(&sue(process)).await.structured();
    }
    for process in [0, 1] {
        count(&sue(process)).await.assert_retryable("The limit of 2 calls a day that the group support");
        count(&sal(process)).await.structured();
    }

    // Widen a toolkit's reach, and consent to it.
    sal(0).set_secret("wat", "KEY", "a-secret-value").await;
    otto.deploy(wat("2.0.0", &["a.example", "b.example"])).await.assert_status(201);
    for process in [0, 1] {
        let refused = sal(process).call("wat__run", json!({})).await;
        refused.assert_tool_error("kitbag toolkit agree wat");
        assert!(refused.raw().contains("b.example"), "{}", refused.raw());
    }
    let waiting = sal(0).get("/toolkits/wat/consent").await.assert_status(200).json();
    let digest = json!({ "digest": waiting["digest"] });
    sal(1).post("/toolkits/wat/consent", &digest).await.assert_status(204);
    for process in [0, 1] {
        assert!(!sal(process).call("wat__run", json!({})).await.raw().contains("toolkit agree"));
    }

    // Leave a group.
    let left = at.user(0, "sal", &[]);
    assert_eq!(listed(&left).await, [""; 0]);
    count(&left).await.assert_unknown_tool();
    left.get("/toolkits/text").await.assert_status(404);
    left.get("/audit").await.assert_status(403);

    // Read the audit log.
    let entries = otto.get("/audit?since=1h&limit=1000").await.assert_status(200).json_lines();
    let mut acts: Vec<String> = entries.iter().map(in_words).collect();
    acts.sort();
    assert_eq!(
        acts,
        [
            "olga toolkit.deployed text from uploaded file, not signed",
            "olga toolkit.deployed wat from uploaded file, not signed",
            "olga toolkit.shared text group:sales",
            "otto toolkit.deployed wat from uploaded file, not signed",
            "otto toolkit.shared text group:support count 2/d",
            "sal consent.given wat ",
            "sal operator.refused  GET /audit",
            "sal secret.set wat KEY",
        ]
    );
}

async fn share(by: &User, grants: Value) {
    by.post("/toolkits/text/audience", &json!({ "grants": grants })).await.assert_status(200);
}

async fn count(user: &User) -> Outcome {
    user.call("text__count", json!({ "text": "one two" })).await
}

fn in_words(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    ["user", "act", "toolkit", "name"].map(text).join(" ")
}
