//! Components in OCI registries: Debian's `docker-registry`, and misbehaving ones.

mod impostors;
mod updates;

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::harness::certificates::Authority;
use crate::harness::{CommandOutput, DockerRegistry, Kitbag, REGISTRY_USER, Visitor, Wat, kitbag, run};
use crate::publishers::Key;

/// A person with a folder for files and Docker credentials.
struct Person {
    folder: TempDir,
}

impl Person {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch directory");
        fs::create_dir(folder.path().join("docker")).expect("a folder");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).expect("a file");
        self.path(name).display().to_string()
    }

    /// Writes a component of this version; returns its path.
    fn component(&self, version: &str) -> String {
        self.write(&format!("wat-{version}.wasm"), Wat { version, ..Wat::default() }.component())
    }

    /// Writes the credentials file of `docker login`.
    fn sign_in(&self, registry: &str, credential: &Value) {
        let config = json!({ "auths": { registry: credential } });
        self.write("docker/config.json", config.to_string());
    }

    fn command(&self, data: &Path, arguments: &[&str]) -> Command {
        let mut command = kitbag(arguments);
        command
            .env("KITBAG_DATA", data)
            .env("DOCKER_CONFIG", self.path("docker"))
            .env_remove("SSL_CERT_FILE")
            .env_remove("SSL_CERT_DIR");
        command
    }

    async fn run(&self, server: &Kitbag, arguments: &[&str]) -> CommandOutput {
        run(self.command(server.data(), arguments)).await
    }

    /// Runs a command that needs no server.
    async fn run_alone(&self, arguments: &[&str]) -> CommandOutput {
        run(self.command(Path::new("/nonexistent"), arguments)).await
    }
}

fn password(password: &str) -> Value {
    json!({ "auth": BASE64_STANDARD.encode(format!("{}:{password}", REGISTRY_USER.0)) })
}

/// Returns the hexadecimal digest at the end of a pinned reference.
fn digest(pinned: &str) -> &str {
    pinned.trim().rsplit_once("@sha256:").expect("a digest").1
}

#[tokio::test]
async fn a_signed_component_goes_by_a_registry_to_another_server_and_only_its_publisher_updates_it() {
    let (registry, person) = (DockerRegistry::start().await, Person::new());
    let (acme, other) = (Key::new(), Key::new());
    let keys = [("acme", &acme), ("other", &other)].map(|(name, key)| {
        (
            person.write(&format!("{name}.key"), key.private()),
            person.write(&format!("{name}.pub"), key.public()),
        )
    });
    let [(acme_key, acme_pub), (other_key, other_pub)] = keys;
    let [first, second] = [Kitbag::start().await, Kitbag::start().await];
    for server in [&first, &second] {
        for (name, key) in [("acme", &acme_pub), ("other", &other_pub)] {
            person.run(server, &["publisher", "add", name, key]).await.succeeded();
        }
    }

    // The author deploys a component to one server, and pushes the same component to a registry.
    let v1 = person.component("1.0.0");
    person.run(&first, &["toolkit", "sign", &v1, "--key", &acme_key]).await.succeeded();
    let signature = format!("{v1}.sig");
    person.run(&first, &["toolkit", "deploy", &v1, "--signature", &signature]).await.succeeded();
    let tag = registry.reference("acme/wat:1.0.0");
    let pinned =
        person.run_alone(&["toolkit", "push", &v1, &tag, "--signature", &signature]).await.succeeded();
    let pinned = pinned.trim();
    assert!(pinned.starts_with(&format!("{tag}@sha256:")), "{pinned}");

    // Another operator deploys the component with this digest.
    let deployed = person.run(&second, &["toolkit", "deploy", pinned]).await.succeeded();
    assert!(deployed.contains(&format!("said to be from {pinned}, signed by acme (key ")), "{deployed}");
    assert_eq!(second.as_user("una").call("wat__run", json!({})).await.text(), "done");
    let version = second.as_operator().get("/toolkits/wat").await.json()["versions"][0].clone();
    let source = json!({ "kind": "registry", "reference": tag, "digest": format!("sha256:{}", digest(pinned)), "pulled": false });
    assert_eq!((&version["source"], &version["signedBy"]["publisher"]), (&source, &json!("acme")));
    let ours = first.as_operator().get("/toolkits/wat").await.json()["versions"][0].clone();
    assert_eq!(ours["source"], json!({ "kind": "upload" }));
    assert_eq!(ours["digest"], version["digest"], "it is the same component");

    // Later versions must be signed by the same publisher.
    let (v2, v3, v4) = (person.component("2.0.0"), person.component("3.0.0"), person.component("4.0.0"));
    let push = async |file: &str, tag: &str, further: &[&str]| {
        let reference = registry.reference(tag);
        let arguments = [&["toolkit", "push", file, &reference], further].concat();
        person.run_alone(&arguments).await.succeeded();
        reference
    };
    let by_other = push(&v2, "acme/wat:2.0.0", &["--key", &other_key]).await;
    let refused = person.run(&second, &["toolkit", "deploy", &by_other]).await;
    refused.assert_failed("its versions are signed by acme, and this one by other");
    let by_nobody = push(&v3, "acme/wat:3.0.0", &[]).await;
    let refused = person.run(&second, &["toolkit", "deploy", &by_nobody]).await;
    refused.assert_failed("its versions are signed by acme, and this one by nobody");
    let by_same = push(&v4, "acme/wat:4.0.0", &["--key", &acme_key]).await;
    let review = person.run(&second, &["toolkit", "deploy", "--review", &by_same]).await.succeeded();
    assert!(
        review.contains(&format!("from {by_same}@sha256:")) && review.contains(", signed by acme"),
        "{review}"
    );
    person.run(&second, &["toolkit", "deploy", &by_same, "--unsigned"]).await.assert_failed("by nobody");
    let updated = person.run(&second, &["toolkit", "deploy", &by_same]).await.succeeded();
    assert!(updated.contains("wat 4.0.0 is live"), "{updated}");

    let shown = person.run(&second, &["toolkit", "show", "wat"]).await.succeeded();
    assert!(shown.contains(&format!("from {pinned}, signed by acme")), "{shown}");
    let visitor = Visitor::sign_in(&second, "local").await;
    visitor.get("/ui/toolkits/wat/versions").await.assert_says(&format!("{pinned}, signed by acme"));
    let audit = person.run(&second, &["audit", "--act", "toolkit.deployed", "-o", "jsonl"]).await.succeeded();
    assert!(audit.contains(&format!("{pinned}, signed by acme")), "{audit}");
}

#[tokio::test]
async fn what_is_pushed_has_the_types_and_the_form_that_other_programs_read() {
    let (registry, person) = (DockerRegistry::start().await, Person::new());
    let (file, key) = (person.component("1.0.0"), person.write("key", Key::new().private()));
    let push = async |further: &[&str]| {
        let reference = registry.reference("wat");
        person.run_alone(&[&["toolkit", "push", &file, &reference], further].concat()).await.succeeded()
    };

    let pinned = push(&[]).await;

    let read = |digest: &str| -> Value {
        serde_json::from_slice(&fs::read(registry.blob(digest)).expect("a blob")).expect("JSON")
    };
    let manifest = read(digest(&pinned));
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["layers"].as_array().map(Vec::len), Some(1));
    let layer = &manifest["layers"][0];
    assert_eq!((&layer["mediaType"], &layer["annotations"]), (&json!("application/wasm"), &Value::Null));
    let config = read(manifest["config"]["digest"].as_str().expect("a digest").trim_start_matches("sha256:"));
    assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
    assert_eq!(config["layerDigests"], json!([layer["digest"]]));
    let exports = config["component"]["exports"].as_array().expect("a list");
    assert!(
        exports.iter().any(|it| it.as_str().is_some_and(|it| it.starts_with("kitbag:toolkit/"))),
        "{config}"
    );
    assert!(config["component"]["imports"].is_array(), "{config}");
    assert_eq!(manifest["annotations"]["org.opencontainers.image.version"], "1.0.0");
    assert_eq!(push(&[]).await, pinned, "the same component has the same digest again");

    let signed = read(digest(&push(&["--key", &key]).await));
    assert_eq!(signed["layers"].as_array().map(Vec::len), Some(1), "wkg takes one layer");
    assert!(signed["layers"][0]["annotations"]["dev.cosignproject.cosign/signature"].is_string(), "{signed}");
}

#[tokio::test]
async fn a_registry_with_a_sign_in_and_a_private_authority_is_used_with_the_persons_credentials() {
    let (authority, person) = (Authority::generate(), Person::new());
    let certificate = authority.issue(&["127.0.0.1"]).write(person.folder.path());
    let registry = DockerRegistry::start_with_sign_in(&certificate).await;
    let (file, reference) = (person.component("1.0.0"), registry.reference("acme/wat:1"));
    let trusted = person.write("authority.pem", authority.pem());
    let server = Kitbag::start().await;
    let trusting = async |arguments: &[&str]| {
        let mut command = person.command(server.data(), arguments);
        command.env("SSL_CERT_FILE", &trusted);
        run(command).await
    };

    let distrusted = person.run_alone(&["toolkit", "push", &file, &reference]).await;
    distrusted.assert_failed("did not offer a trustworthy TLS connection");
    distrusted.assert_failed("SSL_CERT_FILE");
    assert_eq!(distrusted.code, Some(3));
    let anonymous = trusting(&["toolkit", "push", &file, &reference]).await;
    anonymous.assert_failed("no Docker credentials for it");
    anonymous.assert_failed(&format!("docker login {}", registry.host()));
    person.sign_in(registry.host(), &password("wrong"));
    trusting(&["toolkit", "push", &file, &reference])
        .await
        .assert_failed("does not accept your Docker credentials");

    person.sign_in(registry.host(), &password(REGISTRY_USER.1));
    let pinned = trusting(&["toolkit", "push", &file, &reference]).await.succeeded();
    let deployed = trusting(&["toolkit", "deploy", pinned.trim()]).await.succeeded();
    assert!(deployed.contains("wat 1.0.0 is live") && deployed.contains("not signed"), "{deployed}");

    person.sign_in("other.example", &password(REGISTRY_USER.1));
    trusting(&["toolkit", "deploy", pinned.trim()]).await.assert_failed("no Docker credentials for it");
}

#[tokio::test]
async fn what_a_registry_has_changed_or_lost_is_not_deployed() {
    let (registry, person, server) = (DockerRegistry::start().await, Person::new(), Kitbag::start().await);
    let file = person.component("1.0.0");
    let reference = registry.reference("wat:1");
    let pinned = person.run_alone(&["toolkit", "push", &file, &reference]).await.succeeded();
    let component = fs::read(&file).expect("a file");
    let manifest_file = registry.blob(digest(&pinned));
    let manifest = fs::read_to_string(&manifest_file).expect("text");
    let read: Value = serde_json::from_str(&manifest).expect("JSON");
    let layer =
        read["layers"][0]["digest"].as_str().expect("a digest").trim_start_matches("sha256:").to_owned();
    let blob = registry.blob(&layer);
    let deploy = async |reference: &str| person.run(&server, &["toolkit", "deploy", reference]).await;

    let mut other = component.clone();
    other[100] ^= 1;
    fs::write(&blob, &other).expect("a file");
    deploy(pinned.trim()).await.assert_failed("the component is not what was asked for");
    fs::write(&blob, &component[..component.len() - 10]).expect("a file");
    deploy(pinned.trim()).await.assert_failed("the component ends after");
    fs::write(&blob, [&component[..], b"more"].concat()).expect("a file");
    deploy(pinned.trim()).await.assert_failed("the component is longer than");
    fs::remove_file(&blob).expect("it is there");
    let lost = deploy(pinned.trim()).await;
    assert!(matches!(lost.code, Some(1 | 3)), "{lost:?}");
    fs::write(&blob, &component).expect("a file");

    let absent = format!("{reference}@sha256:{}", "0".repeat(64));
    deploy(&absent).await.assert_failed("was not found there");
    deploy(&registry.reference("wat:2")).await.assert_failed("was not found there");
    deploy(&registry.reference("nothing")).await.assert_failed("was not found there");
    assert_eq!(server.as_operator().get("/toolkits").await.json(), json!([]), "nothing was deployed");
    deploy(pinned.trim()).await.succeeded();
}

#[tokio::test]
async fn a_component_that_is_too_large_is_refused_before_it_is_read() {
    let (registry, person, server) = (DockerRegistry::start().await, Person::new(), Kitbag::start().await);
    let reference = registry.reference("wat:1");
    person.run_alone(&["toolkit", "push", &person.component("1.0.0"), &reference]).await.succeeded();
    let mut command = person.command(server.data(), &["toolkit", "deploy", &reference]);
    command.env("KITBAG_COMPONENT_SIZE", "1KiB");

    let refused = run(command).await;

    refused.assert_failed("at most 1024 are taken");
    refused.assert_failed("--component-size takes larger ones");

    // With `--component-size`, no other setting is needed: an invalid settings file is ignored.
    person.write("kitbag.toml", "junk");
    let mut command =
        person.command(server.data(), &["toolkit", "deploy", &reference, "--component-size", "1MiB"]);
    command.current_dir(person.folder.path());
    run(command).await.succeeded();
}
