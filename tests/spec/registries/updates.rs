//! Followed registries: the server finds newer versions of toolkits.

use serde_json::{Value, json};

use super::Person;
use crate::harness::{DockerRegistry, Kitbag, Visitor, eventually};
use crate::publishers::Key;

/// A server that follows a registry. `wat` 1.0.0 from there is live, signed by acme.
struct Following {
    registry: DockerRegistry,
    person: Person,
    server: Kitbag,
}

impl Following {
    async fn start(tag: &str, acme: &Key) -> Self {
        let (registry, person) = (DockerRegistry::start().await, Person::new());
        let followed = registry.host().parse().expect("a list");
        let server = Kitbag::start_with(|settings| settings.follow_registries = followed).await;
        server.as_operator().add_publisher("acme", acme).await.assert_status(201);
        let this = Self { registry, person, server };
        this.push("1.0.0", tag, Some(acme)).await;
        let reference = this.reference(tag);
        this.person.run(&this.server, &["toolkit", "deploy", &reference]).await.succeeded();
        this
    }

    fn reference(&self, tag: &str) -> String {
        self.registry.reference(&format!("acme/wat:{tag}"))
    }

    /// Pushes a version to the registry; returns its digest there.
    async fn push(&self, version: &str, tag: &str, key: Option<&Key>) -> String {
        let (file, reference) = (self.person.component(version), self.reference(tag));
        let key = key.map(|key| self.person.write("key", key.private()));
        let mut arguments = vec!["toolkit", "push", &file, &reference];
        arguments.extend(key.iter().flat_map(|key| ["--key", key.as_str()]));
        let pinned = self.person.run_alone(&arguments).await.succeeded();
        format!("sha256:{}", super::digest(&pinned))
    }

    async fn updates(&self) -> Value {
        self.server.as_operator().get("/updates").await.assert_status(200).json()
    }

    /// Restarts the server as if an hour had passed, and waits until it has queried the registry and reports
    /// `expected`.
    async fn an_hour_later(self, expected: impl Fn(&Value) -> bool) -> Self {
        self.later("UPDATE registry_questions SET asked_at = 0", expected).await
    }

    async fn later(self, change: &'static str, expected: impl Fn(&Value) -> bool) -> Self {
        let Self { registry, person, server } = self;
        let stopped = server.stop().await;
        stopped.alter(change).await;
        let this = Self { registry, person, server: stopped.start().await };
        eventually("the server has asked, and says so", async || {
            let updates = this.updates().await;
            let is_asked = updates[0]["askedAt"].as_str().is_some_and(|at| !at.starts_with("1970"));
            is_asked && expected(&updates[0])
        })
        .await;
        this
    }

    async fn run(&self, arguments: &[&str]) -> String {
        self.person.run(&self.server, arguments).await.succeeded()
    }

    async fn uploads(&self) -> Vec<Value> {
        self.server.as_operator().get("/uploads").await.json().as_array().expect("a list").clone()
    }

    async fn live_version(&self) -> Value {
        self.server.as_operator().get("/toolkits/wat").await.json()["liveVersion"].clone()
    }
}

fn is(state: &'static str) -> impl Fn(&Value) -> bool {
    move |toolkit| toolkit["newer"]["state"] == state
}

#[tokio::test]
async fn an_update_of_the_same_publisher_waits_for_its_review_and_goes_live_by_an_operator_alone() {
    let acme = Key::new();
    let following = Following::start("1.0.0", &acme).await;
    for version in ["1.1.0", "1.9.0", "1.10.0"] {
        following.push(version, version, Some(&acme)).await;
    }
    let pinned = format!(
        "{}@{}",
        following.reference("1.10.0"),
        following.push("1.10.0", "1.10.0", Some(&acme)).await
    );
    let outdated = following.run(&["toolkit", "outdated"]).await;
    assert!(outdated.contains(&format!("kitbag toolkit deploy {pinned} --review")), "{outdated}");

    let following = following.an_hour_later(is("waiting")).await;

    let uploads = following.uploads().await;
    let digest = uploads[0]["digest"].as_str().expect("a digest");
    assert_eq!(
        (uploads.len(), &uploads[0]["version"], &uploads[0]["uploadedBy"]),
        (1, &json!("1.10.0"), &json!(""))
    );
    assert_eq!(uploads[0]["signedBy"]["publisher"], "acme");
    assert_eq!(uploads[0]["source"]["pulled"], true);
    assert_eq!(following.live_version().await, "1.0.0", "it waits");
    let outdated = following.run(&["toolkit", "outdated"]).await;
    assert!(
        outdated.contains(&format!("1.10.0 waits for its review: kitbag toolkit uploads deploy {digest}")),
        "{outdated}"
    );
    let json: Value =
        serde_json::from_str(&following.run(&["toolkit", "outdated", "-o", "json"]).await).expect("JSON");
    assert_eq!((&json[0]["newer"]["upload"], &json[0]["followed"]), (&json!(digest), &json!(true)));
    let visitor = Visitor::sign_in(&following.server, "local").await;
    let page = visitor.get("/ui/operate").await;
    page.assert_says("Newer in registries");
    page.assert_says("by <bdi>this server</bdi>");
    page.assert_says(&format!("<a href=\"/ui/operate/uploads/{digest}\">Review wat 1.10.0</a>"));
    let una = following.server.as_user("una");
    una.get("/updates").await.assert_problem(403, "operators");

    following.run(&["toolkit", "uploads", "deploy", digest, "--yes"]).await;

    assert_eq!(following.live_version().await, "1.10.0");
    let shown = following.run(&["toolkit", "show", "wat"]).await;
    assert!(shown.contains(&format!("  from {pinned}, signed by acme (key ")), "{shown}");
    assert!(shown.contains(&format!("said to be from {}@", following.reference("1.0.0"))), "{shown}");
    let acts = following.server.as_operator().get("/audit?act=toolkit.uploaded").await.json_lines();
    assert_eq!((acts.len(), &acts[0]["user"], &acts[0]["version"]), (1, &Value::Null, &json!("1.10.0")));

    // After a rollback, the version that was live before does not wait for a review again.
    following.run(&["toolkit", "rollback", "wat"]).await;
    let following = following.later("DELETE FROM registry_questions", is("deployed")).await;
    assert_eq!(following.uploads().await.len(), 0);
    assert_eq!(following.live_version().await, "1.0.0");
    let outdated = following.run(&["toolkit", "outdated"]).await;
    assert!(outdated.contains("deployed before: kitbag toolkit rollback wat --to 1.10.0"), "{outdated}");
}

#[tokio::test]
async fn what_the_publisher_has_not_signed_does_not_wait_and_says_why() {
    let (acme, other) = (Key::new(), Key::new());
    let following = Following::start("stable", &acme).await;
    following.server.as_operator().add_publisher("other", &other).await.assert_status(201);
    let mut following = following;
    for (version, key, why) in [
        ("1.1.0", Some(&other), "signed by acme, and this one by other"),
        ("1.2.0", None, "signed by acme, and this one by nobody"),
        ("1.3.0", Some(&Key::new()), "not made for these bytes by any publisher"),
    ] {
        let digest = following.push(version, "stable", key).await;

        let refused = |it: &Value| it["newer"]["digest"] == digest.as_str() && is("refused")(it);
        following = following.an_hour_later(refused).await;

        let problem = following.updates().await[0]["problem"].clone();
        assert!(problem.as_str().is_some_and(|problem| problem.contains(why)), "{version}: {problem}");
        assert_eq!(following.uploads().await.len(), 0, "{version}");
        let outdated = following.run(&["toolkit", "outdated"]).await;
        assert!(outdated.contains("refused by the server") && outdated.contains(why), "{outdated}");
        Visitor::sign_in(&following.server, "local").await.get("/ui/operate").await.assert_says(why);
    }
    let acts = following.server.as_operator().get("/audit?act=toolkit.newer_refused").await.json_lines();
    assert_eq!((acts.len(), &acts[0]["toolkit"]), (3, &json!("wat")));
    assert_eq!(following.live_version().await, "1.0.0");

    // A version signed by the publisher waits for a review; once discarded, it does not return.
    following.push("1.4.0", "stable", Some(&acme)).await;
    let following = following.an_hour_later(is("waiting")).await;
    let digest = following.uploads().await[0]["digest"].as_str().expect("a digest").to_owned();
    following.run(&["toolkit", "uploads", "discard", &digest]).await;
    let following =
        following.later("UPDATE registry_questions SET asked_at = 0, pulled_at = 0", is("discarded")).await;
    assert_eq!(following.uploads().await.len(), 0);
}

#[tokio::test]
async fn a_toolkit_from_a_registry_is_not_asked_for_unless_the_settings_say_so() {
    let (registry, person, server) = (DockerRegistry::start().await, Person::new(), Kitbag::start().await);
    let reference = registry.reference("wat:1.0.0");
    let nothing = person.run(&server, &["toolkit", "outdated"]).await.succeeded();
    assert!(nothing.contains("No toolkit came from a registry by a tag"), "{nothing}");
    person.run_alone(&["toolkit", "push", &person.component("1.0.0"), &reference]).await.succeeded();
    person.run(&server, &["toolkit", "deploy", &reference]).await.succeeded();

    let server = server.stop().await.start().await;

    let current = person.run(&server, &["toolkit", "outdated"]).await.succeeded();
    assert!(current.contains("Nothing newer"), "{current}");
    let updates = server.as_operator().get("/updates").await.json();
    assert_eq!((&updates[0]["followed"], &updates[0]["askedAt"]), (&json!(false), &Value::Null));
    drop(registry);
    let unanswered = person.run(&server, &["toolkit", "outdated"]).await;
    unanswered.assert_failed("registries did not say what is newer for 1 toolkit");
    assert_eq!(unanswered.code, Some(3));
}

#[tokio::test]
async fn an_older_version_does_not_come_back_as_a_newer_one() {
    let acme = Key::new();
    let following = Following::start("stable", &acme).await;
    following.push("1.5.0", "stable", Some(&acme)).await;
    following.run(&["toolkit", "deploy", &following.reference("stable")]).await;
    // Anyone with write access to the registry can push an older version that the publisher has signed.
    let older = following.push("1.2.0", "stable", Some(&acme)).await;

    let refused = |it: &Value| it["newer"]["digest"] == older.as_str() && is("refused")(it);
    let following = following.an_hour_later(refused).await;

    let problem = following.updates().await[0]["problem"].clone();
    assert!(problem.as_str().is_some_and(|it| it.contains("1.5.0 is live: it is not later")), "{problem}");
    assert_eq!(following.uploads().await.len(), 0);

    let following = Following::start("1.0.0", &acme).await;
    following.push("1.6.0", "9.9.9", Some(&acme)).await;
    let following = following.an_hour_later(is("refused")).await;
    let problem = following.updates().await[0]["problem"].clone();
    assert!(problem.as_str().is_some_and(|it| it.contains("it is 1.6.0, and not 9.9.9")), "{problem}");
    assert_eq!(following.uploads().await.len(), 0);
}

#[tokio::test]
async fn what_a_person_and_the_server_have_wait_is_one_upload() {
    let acme = Key::new();
    let following = Following::start("stable", &acme).await;
    let reference = following.reference("stable");
    following.push("1.1.0", "stable", Some(&acme)).await;
    following.run(&["toolkit", "deploy", &reference, "--review"]).await;

    let following = following.an_hour_later(is("waiting")).await;

    let uploads = following.uploads().await;
    assert_eq!((uploads.len(), &uploads[0]["source"]["pulled"]), (1, &json!(false)), "it was there");
    assert_eq!(following.updates().await[0]["problem"], Value::Null);
    let digest = uploads[0]["digest"].as_str().expect("a digest");
    following.run(&["toolkit", "uploads", "discard", digest]).await;
    let following =
        following.later("UPDATE registry_questions SET asked_at = 0, pulled_at = 0", is("discarded")).await;
    assert_eq!(following.uploads().await.len(), 0);

    following.push("1.2.0", "stable", Some(&acme)).await;
    let following = following.an_hour_later(is("waiting")).await;
    let uploads = following.run(&["toolkit", "uploads", "list"]).await;
    assert!(uploads.contains("wat 1.2.0, by this server, "), "{uploads}");
    following.run(&["toolkit", "deploy", &reference, "--review"]).await;
    let uploads = following.uploads().await;
    assert_eq!((uploads.len(), &uploads[0]["source"]["pulled"]), (1, &json!(true)), "it was pulled");
    assert_ne!(uploads[0]["uploadedBy"], "");
    let refused = following.server.as_operator().get("/audit?act=toolkit.newer_refused").await.json_lines();
    assert_eq!(refused.len(), 0);
}

#[tokio::test]
async fn a_registry_that_says_no_is_not_one_that_is_away() {
    let following = Following::start("1.0.0", &Key::new()).await;
    let (host, message) =
        (following.registry.host().to_owned(), "registries did not say what is newer for 1 toolkit");

    let lost = |it: &Value| it["problem"].as_str().is_some_and(|problem| problem.contains("was not found"));
    let following = following
        .later("UPDATE toolkit_provenance SET source = replace(source, '/wat:', '/none:')", lost)
        .await;

    let outdated = following.person.run(&following.server, &["toolkit", "outdated"]).await;
    outdated.assert_failed(message);
    assert_eq!(outdated.code, Some(1), "it will not be there later either");
    assert!(outdated.stdout.contains("/none:1.0.0 was not found there"), "{outdated:?}");
    assert!(outdated.stderr.contains(&format!("Asking {host} for 1 toolkit")), "{outdated:?}");
}
