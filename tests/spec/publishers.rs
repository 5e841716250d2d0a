//! Publisher signatures: versions that may become live, and the signer shown for each version.

use std::fs;
use std::path::Path;

use http::Method;
use kitbag_base::signatures::SigningKey;
use serde_json::{Value, json};

use crate::harness::certificates::pem;
use crate::harness::{Answer, Kitbag, User, Visitor, Wat, kitbag, run};

/// Signing key of a publisher.
pub(crate) struct Key(rcgen::KeyPair);

impl Key {
    pub(crate) fn new() -> Self {
        Self(rcgen::KeyPair::generate().expect("a key"))
    }

    pub(crate) fn private(&self) -> String {
        self.0.serialize_pem()
    }

    pub(crate) fn public(&self) -> String {
        self.0.public_key_pem()
    }

    fn sign(&self, component: &[u8]) -> String {
        SigningKey::from_pem(&self.private().into()).expect("a key").sign(component).to_string()
    }
}

/// Starts a server with two operators, `ana` and `ben`.
async fn server() -> Kitbag {
    Kitbag::start_with(|settings| settings.operators = "ana,ben".parse().expect("a list")).await
}

/// Starts [`server`], and adds the publisher `acme`; returns the server, operator `ana` and the key of
/// `acme`.
async fn server_with_acme() -> (Kitbag, User, Key) {
    let (server, acme) = (server().await, Key::new());
    let ana = server.as_user("ana");
    ana.add_publisher("acme", &acme).await.assert_status(201);
    (server, ana, acme)
}

fn wat(version: &str) -> Vec<u8> {
    Wat { version, ..Wat::default() }.component()
}

/// Returns the SHA-256 of a component in hexadecimal.
fn hash(component: &[u8]) -> String {
    hex::encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, component))
}

impl User {
    pub(crate) async fn add_publisher(&self, name: &str, key: &Key) -> Answer {
        self.post("/publishers", &json!({ "name": name, "key": key.public() })).await
    }

    async fn send_signed(&self, path: &str, component: Vec<u8>, signature: &str) -> Answer {
        let query =
            url::form_urlencoded::Serializer::new(String::new()).append_pair("signature", signature).finish();
        self.send(Method::POST, &format!("{path}?{query}"), "application/wasm", component).await
    }

    pub(crate) async fn deploy_signed(&self, component: Vec<u8>, key: &Key) -> Answer {
        let signature = key.sign(&component);
        self.send_signed("/toolkits", component, &signature).await
    }

    async fn live_version(&self) -> Value {
        self.get("/toolkits/wat").await.json()["liveVersion"].clone()
    }
}

#[tokio::test]
async fn what_a_publisher_signed_is_followed_by_what_the_same_one_signed() {
    let server = server().await;
    let ana = server.as_user("ana");
    let (acme, other) = (Key::new(), Key::new());
    let added = ana.add_publisher("acme", &acme).await.assert_status(201).json();
    ana.add_publisher("other", &other).await.assert_status(201);
    // An unsigned version may be followed by a signed one.
    ana.deploy(wat("1.0.0")).await.assert_status(201);

    let signed = ana.deploy_signed(wat("1.1.0"), &acme).await.assert_status(201).json();

    assert_eq!(signed["signedBy"], json!({ "publisher": "acme", "key": added["key"] }));
    ana.deploy(wat("1.2.0")).await.assert_problem(403, "signed by acme, and this one by nobody");
    ana.deploy_signed(wat("1.2.0"), &other)
        .await
        .assert_problem(403, "signed by acme, and this one by other");
    // A review, a rollback and a removal do not circumvent this either.
    let upload = ana.send(Method::POST, "/uploads", "application/wasm", wat("1.2.0")).await;
    upload.assert_problem(403, "by nobody");
    let back = ana.post("/toolkits/wat/rollback", &json!({ "version": "1.0.0" })).await;
    back.assert_problem(403, "by nobody");
    assert_eq!(ana.live_version().await, "1.1.0");
    ana.delete("/toolkits/wat").await.assert_status(204);
    ana.deploy(wat("1.2.0")).await.assert_problem(403, "by nobody");

    ana.deploy_signed(wat("1.3.0"), &acme).await.assert_status(201);
    let record = ana.get("/toolkits/wat").await.json();
    assert_eq!(
        (&record["publisher"]["publisher"], &record["liveVersion"]),
        (&json!("acme"), &json!("1.3.0"))
    );
    let refused = ana.get("/audit?act=operator.refused").await.json_lines();
    assert!(
        refused.iter().any(|it| it["name"] == "toolkit.deployed" && it["toolkit"] == "wat"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn an_operator_resets_the_publisher_explicitly_and_that_is_recorded() {
    let server = server().await;
    let [ana, ben, una] = ["ana", "ben", "una"].map(|name| server.as_user(name));
    let (acme, other) = (Key::new(), Key::new());
    for (name, key) in [("acme", &acme), ("other", &other)] {
        ana.add_publisher(name, key).await.assert_status(201);
    }
    ana.delete("/toolkits/wat/publisher").await.assert_problem(404, "no toolkit");
    ana.deploy(wat("1.0.0")).await.assert_status(201);
    ana.delete("/toolkits/wat/publisher").await.assert_problem(409, "not bound");
    ana.deploy_signed(wat("1.1.0"), &acme).await.assert_status(201);

    una.delete("/toolkits/wat/publisher").await.assert_problem(403, "operators");
    ana.deploy(wat("1.2.0")).await.assert_status(403);
    let reset = ben.delete("/toolkits/wat/publisher").await.assert_status(200).json();

    assert_eq!(reset["publisher"], "acme");
    ana.deploy(wat("1.2.0")).await.assert_status(201);
    ana.deploy_signed(wat("1.3.0"), &other).await.assert_status(201);
    ana.deploy_signed(wat("1.4.0"), &acme).await.assert_problem(403, "signed by other, and this one by acme");
    let recorded = ana.get("/audit?act=toolkit.publisher_reset").await.json_lines();
    assert_eq!(
        (recorded.len(), &recorded[0]["user"], &recorded[0]["toolkit"]),
        (1, &json!("ben"), &json!("wat"))
    );
    assert!(recorded[0]["name"].as_str().expect("a name").starts_with("acme "), "{recorded:?}");
}

#[tokio::test]
async fn a_signature_of_other_bytes_or_by_an_unknown_key_is_refused() {
    let (_server, ana, acme) = server_with_acme().await;
    let stranger = Key::new();

    for path in ["/toolkits", "/uploads"] {
        let of_other_bytes = acme.sign(&wat("1.0.1"));
        let refused = ana.send_signed(path, wat("1.0.0"), &of_other_bytes).await;
        refused.assert_problem(422, "not made for these bytes by any publisher");
        let by_stranger = stranger.sign(&wat("1.0.0"));
        ana.send_signed(path, wat("1.0.0"), &by_stranger).await.assert_problem(422, "publisher is missing");
        for malformed in ["", "x", "MEYCIQ==", &"A".repeat(1_000)] {
            let status = ana.send_signed(path, wat("1.0.0"), malformed).await.status;
            assert!(matches!(status.as_u16(), 400 | 422), "{malformed}: {status}");
        }
    }
    ana.get("/toolkits/wat").await.assert_status(404);
    assert_eq!(ana.get("/uploads").await.json(), json!([]));
    let refused = ana.get("/audit?act=operator.refused").await.json_lines();
    for act in ["toolkit.deployed", "toolkit.uploaded"] {
        assert!(refused.iter().any(|it| it["name"] == act && it["toolkit"].is_null()), "{act}: {refused:?}");
    }

    ana.deploy_signed(wat("1.0.0"), &acme).await.assert_status(201);
}

#[tokio::test]
async fn nothing_that_a_removed_publisher_signed_becomes_live() {
    let (_server, ana, acme) = server_with_acme().await;
    ana.deploy_signed(wat("1.0.0"), &acme).await.assert_status(201);
    ana.deploy_signed(wat("1.1.0"), &acme).await.assert_status(201);
    let component = wat("1.2.0");
    let signature = acme.sign(&component);
    let review = ana.send_signed("/uploads", component, &signature).await.assert_status(201).json();
    assert_eq!(review["signedBy"]["publisher"], "acme");

    ana.delete("/publishers/acme").await.assert_status(204);

    ana.deploy_signed(wat("1.3.0"), &acme).await.assert_problem(422, "publisher is missing");
    let path = format!("/uploads/{}/deploy", review["digest"].as_str().expect("a digest"));
    let reviewed = json!({ "live": review["live"], "manifestDigest": review["manifestDigest"] });
    ana.post(&path, &reviewed).await.assert_problem(403, "signed by acme, who was removed");
    let back = ana.post("/toolkits/wat/rollback", &json!({})).await;
    back.assert_problem(403, "signed by acme, who was removed");
    ana.deploy(wat("1.3.0")).await.assert_problem(403, "by nobody");
    assert_eq!(ana.live_version().await, "1.1.0");
    ana.delete("/publishers/acme").await.assert_problem(404, "no publisher");

    // The key identifies a publisher, not the name.
    ana.add_publisher("acme-corp", &acme).await.assert_status(201);
    let deployed = ana.post(&path, &reviewed).await.assert_status(201).json();
    assert_eq!(deployed["signedBy"]["publisher"], "acme-corp");
}

#[tokio::test]
async fn a_server_that_requires_signatures_takes_no_version_without_one() {
    let stopped =
        crate::harness::Stopped::with(|settings| settings.operators = "ana".parse().expect("a list"));
    let server = stopped.start().await;
    let ana = server.as_user("ana");
    ana.deploy(wat("1.0.0")).await.assert_status(201);
    ana.deploy(wat("1.1.0")).await.assert_status(201);

    let server = server.stop().await.changed(|settings| settings.require_signature = true).start().await;
    let ana = server.as_user("ana");
    let acme = Key::new();
    ana.add_publisher("acme", &acme).await.assert_status(201);

    ana.deploy(wat("2.0.0")).await.assert_problem(403, "require-signature");
    let upload = ana.send(Method::POST, "/uploads", "application/wasm", wat("2.0.0")).await;
    upload.assert_problem(403, "require-signature");
    ana.post("/toolkits/wat/rollback", &json!({})).await.assert_problem(403, "require-signature");
    assert_eq!(ana.live_version().await, "1.1.0");
    ana.deploy_signed(wat("2.0.0"), &acme).await.assert_status(201);
    assert_eq!(ana.live_version().await, "2.0.0");
}

#[tokio::test]
async fn only_operators_see_add_and_remove_publishers() {
    let server = server().await;
    let [ana, una] = ["ana", "una"].map(|name| server.as_user(name));
    let acme = Key::new();

    una.add_publisher("acme", &acme).await.assert_problem(403, "operators");
    una.get("/publishers").await.assert_problem(403, "operators");
    assert_eq!(ana.get("/publishers").await.json(), json!([]));
    let added = ana.add_publisher("acme", &acme).await.assert_status(201).json();
    una.delete("/publishers/acme").await.assert_problem(403, "operators");

    assert_eq!(ana.get("/publishers").await.json(), json!([added]));
    assert_eq!((&added["addedBy"], added["key"].as_str().map(str::len)), (&json!("ana"), Some(64)));
    let acts: Vec<_> = ana.get("/audit?act=publisher").await.json_lines();
    assert_eq!(
        (acts.len(), &acts[0]["act"], &acts[0]["user"]),
        (1, &json!("publisher.added"), &json!("ana"))
    );
}

#[tokio::test]
async fn a_key_of_a_program_deploys_and_does_not_decide_whom_to_trust() {
    let (server, ana, acme) = server_with_acme().await;
    let other = Key::new();
    let key = ana.post("/keys", &json!({ "name": "pipeline" })).await.assert_status(201).json();
    let pipeline = server.with_token(key["key"].as_str().expect("a key"));

    pipeline.deploy_signed(wat("1.0.0"), &acme).await.assert_status(201);

    pipeline.add_publisher("other", &other).await.assert_problem(403, "an operator who has signed in");
    pipeline.delete("/toolkits/wat/publisher").await.assert_problem(403, "an operator who has signed in");
    pipeline.delete("/publishers/acme").await.assert_problem(403, "an operator who has signed in");
    pipeline.deploy(wat("1.1.0")).await.assert_problem(403, "by nobody");
    let refused = ana.get("/audit?act=operator.refused").await.json_lines();
    for (act, toolkit) in [
        ("publisher.added", Value::Null),
        ("publisher.removed", Value::Null),
        ("toolkit.publisher_reset", json!("wat")),
    ] {
        let is_it = |it: &&Value| it["name"] == act && it["toolkit"] == toolkit && it["key"].is_string();
        assert_eq!(refused.iter().filter(is_it).count(), 1, "{act}: {refused:?}");
    }
    assert_eq!(ana.live_version().await, "1.0.0");
    ana.delete("/toolkits/wat/publisher").await.assert_status(200);
}

#[tokio::test]
async fn what_is_no_publisher_is_refused() {
    let (_server, ana, acme) = server_with_acme().await;
    let other = Key::new();

    ana.add_publisher("acme", &other).await.assert_problem(409, "there is a publisher acme");
    ana.add_publisher("again", &acme).await.assert_problem(409, "that of the publisher acme");
    for name in ["", "a b", "a/b", "not\u{202e}", &"x".repeat(65)] {
        ana.add_publisher(name, &other).await.assert_problem(422, "name a publisher");
    }
    for name in ["ACME", "ac-me", "acrne"] {
        ana.add_publisher(name, &other).await.assert_problem(409, "there is a publisher acme");
    }
    for name in ["nobody", "Nobody", "n0body", "no-body", "unsigned", "not-signed", "kitbag"] {
        ana.add_publisher(name, &other).await.assert_problem(422, "no name for a publisher");
    }
    let refused = async |key: &str, words: &str| {
        ana.post("/publishers", &json!({ "name": "new", "key": key })).await.assert_problem(422, words);
    };
    refused(&other.private(), "private key").await;
    refused(&format!("{}{}", other.private(), other.public()), "private key").await;
    refused(&format!("{}{}", other.public(), Key::new().public()), "several public keys").await;
    refused("", "no public key").await;
    refused(&pem("PUBLIC KEY", b"x"), "P-256").await;
    for body in
        [json!({}), json!([]), json!({ "name": "new" }), json!({ "name": "new", "key": "", "more": 1 })]
    {
        ana.post("/publishers", &body).await.assert_status(400);
    }
    assert_eq!(ana.get("/publishers").await.json().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn an_upload_that_waits_is_not_replaced_by_one_with_another_signature() {
    let (_server, ana, acme) = server_with_acme().await;
    let component = wat("1.0.0");
    let signature = acme.sign(&component);
    ana.send_signed("/uploads", component.clone(), &signature).await.assert_status(201);

    let again = ana.send(Method::POST, "/uploads", "application/wasm", component.clone()).await;

    again.assert_problem(422, "refused");
    assert_eq!(ana.get("/uploads").await.json()[0]["signedBy"]["publisher"], "acme");
    ana.send_signed("/uploads", component.clone(), &signature).await.assert_status(201);

    // The same bytes without the signature are not deployed with the review of the signed upload.
    let digest = ana.get("/uploads").await.json()[0]["digest"].as_str().expect("a digest").to_owned();
    let path = format!("/uploads/{digest}");
    let review = ana.get(&path).await.assert_status(200).json();
    ana.delete(&path).await.assert_status(204);
    ana.send(Method::POST, "/uploads", "application/wasm", component).await.assert_status(201);
    let reviewed = json!({ "live": review["live"], "manifestDigest": review["manifestDigest"] });
    ana.post(&format!("{path}/deploy"), &reviewed).await.assert_status(409);
}

#[tokio::test]
async fn a_version_that_was_signed_binds_also_when_it_becomes_live_again_and_stays_signed() {
    let (_server, ana, acme) = server_with_acme().await;
    ana.deploy_signed(wat("1.0.0"), &acme).await.assert_status(201);
    ana.deploy_signed(wat("1.1.0"), &acme).await.assert_status(201);
    ana.delete("/toolkits/wat/publisher").await.assert_status(200);
    // A deploy of the same bytes without the signature does not remove the signature.
    ana.deploy(wat("1.1.0")).await.assert_status(201);
    let versions = ana.get("/toolkits/wat").await.json()["versions"].clone();
    let signed = |it: &Value| it["signedBy"]["publisher"] == "acme";
    assert!(versions.as_array().expect("a list").iter().all(signed), "{versions}");

    ana.post("/toolkits/wat/rollback", &json!({ "version": "1.0.0" })).await.assert_status(200);

    ana.deploy(wat("1.2.0")).await.assert_problem(403, "signed by acme, and this one by nobody");
}

#[tokio::test]
async fn the_source_of_a_version_is_that_of_its_latest_deploy_everywhere() {
    let (server, ana, acme) = server_with_acme().await;
    ana.deploy_signed(wat("1.0.0"), &acme).await.assert_status(201);
    let deploy = async |source: &str| {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("signature", &acme.sign(&wat("1.0.0")))
            .append_pair("source", source)
            .finish();
        let path = format!("/toolkits?{query}");
        ana.send(Method::POST, &path, "application/wasm", wat("1.0.0")).await.assert_status(201);
    };

    for (reference, digit) in
        [("oci://r.example/acme/wat:1.0.0", "a"), ("oci://other.example/wat:latest", "b")]
    {
        let digest = format!("sha256:{}", digit.repeat(64));
        deploy(&format!("{reference}@{digest}")).await;

        let version = ana.get("/toolkits/wat").await.json()["versions"][0].clone();
        let source = json!({ "kind": "registry", "reference": reference, "digest": digest, "pulled": false });
        assert_eq!((&version["source"], &version["signedBy"]["publisher"]), (&source, &json!("acme")));
        let tracked = ana.get("/updates").await.json();
        assert_eq!((&tracked[0]["reference"], &tracked[0]["digest"]), (&json!(reference), &json!(digest)));
        let visitor = Visitor::sign_in(&server, "ana").await;
        visitor.get("/ui/toolkits/wat/versions").await.assert_says(reference);
    }

    ana.deploy_signed(wat("1.0.0"), &acme).await.assert_status(201);
    assert_eq!(ana.get("/toolkits/wat").await.json()["versions"][0]["source"], json!({ "kind": "upload" }));
    assert_eq!(ana.get("/updates").await.json(), json!([]));
}

#[tokio::test]
async fn a_signature_is_given_on_the_page_of_uploads_too() {
    let server = server().await;
    let ana = server.as_user("ana");
    let (acme, visitor) = (Key::new(), Visitor::sign_in(&server, "ana").await);
    ana.add_publisher("acme", &acme).await.assert_status(201);
    let component = wat("1.0.0");
    let upload = async |signature: &str| {
        let fields = [("signature", signature)];
        visitor.post_file_after("/ui/operate/uploads", &fields, "component", &component).await
    };

    visitor.get("/ui/operate").await.assert_says("name=\"signature\"");
    upload("none").await.assert_status(422).assert_says("what was given is not a signature");
    let of_other_bytes = acme.sign(&wat("1.0.1"));
    upload(&of_other_bytes).await.assert_status(422).assert_says("not made for these bytes");
    let review = upload(&acme.sign(&component)).await.assert_status(303);

    let review = review.header("location").expect("a page").to_owned();
    visitor.get(&review).await.assert_says("uploaded file, signed by acme");
}

#[tokio::test]
async fn a_component_is_signed_and_deployed_from_a_terminal_and_pages_say_by_whom() {
    let server = Kitbag::start().await;
    let folder = tempfile::tempdir().expect("a scratch directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let command = async |arguments: &[&str]| {
        let mut command = kitbag(arguments);
        command.env("KITBAG_DATA", server.data());
        run(command).await
    };
    let acme = Key::new();
    let write = |name: &str, content: &[u8]| fs::write(Path::new(&path(name)), content).expect("a file");
    write("acme.key", acme.private().as_bytes());
    write("acme.pub", acme.public().as_bytes());
    write("wat.wasm", &wat("1.0.0"));
    write("next.wasm", &wat("1.1.0"));

    let listed = command(&["publisher", "list"]).await.succeeded();
    assert!(listed.contains("There are no publishers"), "{listed}");
    command(&["publisher", "add", "acme", &path("acme.key")]).await.assert_failed("it has a private key");
    let added = command(&["publisher", "add", "acme", &path("acme.pub")]).await.succeeded();
    assert!(added.starts_with("acme is a publisher, with the key "), "{added}");
    let signed =
        command(&["toolkit", "sign", &path("wat.wasm"), "--key", &path("acme.key")]).await.succeeded();
    assert_eq!(signed.trim(), path("wat.wasm.sig"));
    command(&["toolkit", "sign", &path("wat.wasm"), "--key", &path("acme.pub")])
        .await
        .assert_failed("no private key");

    let deployed = command(&["toolkit", "deploy", &path("wat.wasm"), "--signature", &path("wat.wasm.sig")])
        .await
        .succeeded();

    assert!(deployed.contains("from uploaded file, signed by acme (key "), "{deployed}");
    assert!(deployed.contains(&format!("SHA-256 {}", hash(&wat("1.0.0")))), "{deployed}");
    let refused =
        command(&["toolkit", "deploy", &path("next.wasm"), "--signature", &path("wat.wasm.sig")]).await;
    refused.assert_failed("not made for these bytes");
    command(&["toolkit", "deploy", &path("next.wasm")])
        .await
        .assert_failed("kitbag toolkit reset-publisher wat");
    let shown = command(&["toolkit", "show", "wat"]).await.succeeded();
    assert!(
        shown.contains("versions are signed by acme") && shown.contains("uploaded file, signed by acme"),
        "{shown}"
    );
    assert!(shown.contains(&format!("SHA-256 {}", hash(&wat("1.0.0")))), "{shown}");
    let visitor = Visitor::sign_in(&server, "local").await;
    for page in ["/ui/toolkits/wat/versions", "/ui/toolkits/wat"] {
        visitor.get(page).await.assert_says("uploaded file, signed by acme");
    }
    let version = server.as_operator().get("/toolkits/wat").await.json()["versions"][0].take();
    assert_eq!(
        (&version["source"], &version["signedBy"]["publisher"]),
        (&json!({ "kind": "upload" }), &json!("acme")),
        "{version}"
    );

    command(&["toolkit", "reset-publisher", "wat"]).await.assert_failed("no terminal to ask");
    let reset = command(&["toolkit", "reset-publisher", "wat", "--yes"]).await.succeeded();
    assert_eq!(reset, "wat is no longer bound to acme.\n");
    let review = command(&["toolkit", "deploy", "--review", &path("next.wasm")]).await.succeeded();
    assert!(review.contains("from uploaded file, not signed"), "{review}");
    assert!(review.contains(&format!("SHA-256 {}", hash(&wat("1.1.0")))), "{review}");
    let page = visitor.get("/ui/operate").await.text().to_owned();
    assert!(page.contains("uploaded file, not signed"), "{page}");
    let link = page
        .split("href=\"/ui/operate/uploads/")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a link");
    visitor.get(&format!("/ui/operate/uploads/{link}")).await.assert_says("uploaded file, not signed");
    let removed = command(&["publisher", "remove", "acme"]).await.succeeded();
    assert_eq!(removed, "acme is no publisher any more.\n");
    let audit = command(&["audit", "-o", "jsonl"]).await.succeeded();
    for expected in ["uploaded file, signed by acme", "uploaded file, not signed", "publisher.removed"] {
        assert!(audit.contains(expected), "{expected}: {audit}");
    }
}

#[tokio::test]
async fn of_two_publishers_who_deploy_a_new_toolkit_at_once_one_has_it() {
    for _ in 0..3 {
        let (_server, ana, acme) = server_with_acme().await;
        let other = Key::new();
        ana.add_publisher("other", &other).await.assert_status(201);

        let (one, two) =
            tokio::join!(ana.deploy_signed(wat("1.0.0"), &acme), ana.deploy_signed(wat("1.1.0"), &other));

        let mut statuses = [one.status.as_u16(), two.status.as_u16()];
        let (winner, loser) = if statuses[0] == 201 { ("acme", &other) } else { ("other", &acme) };
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 403]);
        let record = ana.get("/toolkits/wat").await.json();
        assert_eq!(
            (&record["publisher"]["publisher"], record["versions"].as_array().map(Vec::len)),
            (&json!(winner), Some(1))
        );
        ana.deploy_signed(wat("2.0.0"), loser).await.assert_status(403);
    }
}

#[tokio::test]
async fn a_name_that_is_added_again_with_another_key_is_another_publisher() {
    let (server, ana, acme) = server_with_acme().await;
    ana.deploy_signed(wat("1.0.0"), &acme).await.assert_status(201);
    ana.deploy_signed(wat("1.1.0"), &acme).await.assert_status(201);
    ana.delete("/publishers/acme").await.assert_status(204);
    let new = Key::new();
    let added = ana.add_publisher("acme", &new).await.assert_status(201).json();

    ana.deploy_signed(wat("1.2.0"), &new).await.assert_problem(403, "by another key of that name");
    ana.post("/toolkits/wat/rollback", &json!({})).await.assert_problem(403, "who was removed");

    let record = ana.get("/toolkits/wat").await.json();
    for version in record["versions"].as_array().expect("a list") {
        let by = &version["signedBy"];
        assert_eq!((&by["publisher"], &by["removed"]), (&json!("acme"), &json!(true)), "{version}");
        assert_eq!((&by["key"], &version["source"]["kind"]), (&record["publisher"]["key"], &json!("upload")));
        assert_ne!(by["key"], added["key"]);
    }
    assert_eq!(record["publisher"]["removed"], true);
    let visitor = Visitor::sign_in(&server, "ana").await;
    let key = &record["publisher"]["key"].as_str().expect("a key")[..16];
    let page = visitor.get("/ui/toolkits/wat/versions").await;
    page.assert_says(&format!("uploaded file, signed by acme (key {key}, removed since)"));
    page.assert_says("no publisher’s any more");
}
