//! `kitbag database copy`: from a data directory to a PostgreSQL database and back, or, without `TEST_DATABASE`, to
//! another data directory and back.

use std::fs;
use std::path::{Path, PathBuf};

use kitbag::settings::DatabaseLocation;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::process::Command;
use url::Url;

use crate::backup::{shown, upload};
use crate::harness::signer::now;
use crate::harness::{CommandOutput, Http, Provider, ServerProcess, User, database, guests, kitbag, run};

const OPERATOR: &str = "operator";
const VALUE: &str = "canary-5ecret";

/// Source service (a data directory), target service (a settings file) and their shared identity provider.
struct Services {
    folder: tempfile::TempDir,
    provider: Provider,
}

impl Services {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch directory");
        database::create(folder.path()).await;
        let services = Self { folder, provider: Provider::start().await };
        services.write_settings(&services.path("old/master-key"));
        services
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the settings file of the target service.
    fn write_settings(&self, key: &Path) {
        let (data, objects) = (self.path("new"), self.path("objects"));
        let mut settings = format!(
            "data = {}\nobjects.location = \"folder:{}\"\nmaster-key = \"file:{}\"\nissuer = {:?}\noperators = {OPERATOR:?}\n\
             concurrent-calls = 40\ndrain = \"0s\"\n",
            json!(data),
            objects.display(),
            key.display(),
            self.provider.issuer(),
        );
        if let DatabaseLocation::Server(url) = database::location(self.folder.path()) {
            settings += "database-connections = 8\ndatabase = ";
            settings += &json!(url.expose_secret()).to_string();
        }
        fs::write(self.path("new.toml"), settings).expect("the folder is ours");
    }

    /// Starts a server on a data directory; returns it and a client signed in as its operator.
    async fn start(&self, data: &str, configure: impl FnOnce(&mut Command)) -> (ServerProcess, User) {
        let data = self.path(data);
        let started = ServerProcess::start_saying(&data, |command| {
            command
                .env("KITBAG_ISSUER", self.provider.issuer())
                .env("KITBAG_OPERATORS", OPERATOR)
                .env("KITBAG_CONCURRENT_CALLS", "40");
            configure(command);
        });
        let (line, server) = started.await;
        let url: Url = line.strip_prefix("Kitbag serves ").expect(&line).parse().expect("a URL");
        let claims = json!({
            "iss": self.provider.issuer(), "aud": format!("{url}mcp"), "sub": OPERATOR,
            "client_id": "assistant", "iat": now(), "exp": now() + 600, "jti": "1",
        });
        let user = User::new(Http::new(url), &self.provider.sign("at+jwt", &claims));
        (server, user)
    }

    async fn start_new(&self) -> (ServerProcess, User) {
        let settings = self.path("new.toml");
        self.start("new", |command| {
            command.arg("--config").arg(settings);
        })
        .await
    }

    /// Runs `kitbag database copy` from the source service to the target.
    async fn copy(&self, flags: &[&str]) -> CommandOutput {
        let mut command = kitbag(["database", "copy", "--data"]);
        command.arg(self.path("old")).arg("--to").arg(self.path("new.toml")).args(flags);
        command.current_dir(self.folder.path());
        run(command).await
    }

    /// Runs `kitbag database copy` from the target service into the data directory `data`.
    async fn copy_back(&self, data: &str) -> CommandOutput {
        let mut command = kitbag(["database", "copy", "--json", "--from"]);
        command.arg(self.path("new.toml")).arg("--data").arg(self.path(data));
        command.arg(format!("--master-key=file:{}", self.path("old/master-key").display()));
        command.env("KITBAG_ISSUER", self.provider.issuer()).current_dir(self.folder.path());
        run(command).await
    }
}

#[tokio::test]
async fn a_service_goes_on_in_another_database_and_comes_back() {
    let services = Services::new().await;
    let (server, user) = services.start("old", |_| {}).await;
    for guest in [guests::PROBE, guests::GREETER_V1, guests::GREETER_V2] {
        user.deploy(guest.bytes()).await.assert_status(201);
    }
    user.set_secret("probe", "API_KEY", VALUE).await;
    user.ingest(json!([{ "title": "A decision", "text": "The new pricing", "url": "https://a.example/1" }]))
        .await;
    let file = upload(&user, "file", "a file of its own".to_owned()).await;
    user.call("probe__secret", json!({ "name": "API_KEY" })).await.text();
    user.settled().await;
    let before = shown(&user).await;

    services.copy(&[]).await.assert_failed("another server is running");
    assert!(server.terminate().await.success());
    let said = services.copy(&[]).await.succeeded();

    assert!(said.contains("Copied: 2 documents, 1 secret, 3 toolkit versions, 1 call record\n"), "{said}");
    assert!(said.contains("files: 4 written") && said.contains("kitbag serve --config"), "{said}");
    let (server, user) = services.start_new().await;
    assert_eq!(shown(&user).await, before);
    let answer = user.get(&format!("/documents/{file}/artifact")).await.assert_status(200);
    assert_eq!(answer.text(), "a file of its own");
    let secret = user.call("probe__secret", json!({ "name": "API_KEY" })).await;
    assert!(secret.text().contains("[redacted]"), "{}", secret.raw());
    assert_eq!(user.call("greeter__greet", json!({ "name": "Ana" })).await.text(), "Good day, Ana!");
    user.post("/toolkits/greeter/rollback", &json!({})).await.assert_status(200);
    assert_eq!(user.call("greeter__greet", json!({ "name": "Ana" })).await.text(), "Hello, Ana!");
    user.ingest(json!([{ "title": "Later", "text": "More of pricing", "url": "https://a.example/2" }])).await;
    user.settled().await;
    let before = shown(&user).await;
    services.copy(&[]).await.assert_failed(if is_file(&services) {
        "another server is running"
    } else {
        "is not empty"
    });
    let again = services.copy_back("back").await;
    let words = if is_file(&services) { "another server is running" } else { "stop all servers" };
    again.assert_failed(words);
    assert!(server.terminate().await.success());

    let copied: Value = serde_json::from_str(&services.copy_back("back").await.succeeded()).expect("JSON");

    assert_eq!(
        (&copied["counts"]["documents"], &copied["files"]["written"]),
        (&json!(3), &json!(4)),
        "{copied}"
    );
    let key = format!("--master-key=file:{}", services.path("old/master-key").display());
    let (_server, user) = services
        .start("back", |command| {
            command.arg(key);
        })
        .await;
    assert_eq!(shown(&user).await, before);
    let secret = user.call("probe__secret", json!({ "name": "API_KEY" })).await;
    assert!(secret.text().contains("[redacted]"), "{}", secret.raw());
}

fn is_file(services: &Services) -> bool {
    matches!(database::location(services.folder.path()), DatabaseLocation::DataDirectory)
}

#[tokio::test]
async fn what_is_refused_is_explained_and_nothing_is_made_of_it() {
    let services = Services::new().await;
    let (server, user) = services.start("old", |_| {}).await;
    user.deploy(guests::PROBE.bytes()).await.assert_status(201);
    user.set_secret("probe", "API_KEY", VALUE).await;
    let file = upload(&user, "file", "a file of its own".to_owned()).await;
    user.settled().await;
    assert!(server.terminate().await.success());

    let other_key = services.path("other-key");
    fs::write(&other_key, hex::encode([9; 32])).expect("the folder is ours");
    fs::set_permissions(&other_key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it is ours");
    services.write_settings(&other_key);
    let refused = services.copy(&[]).await;
    refused.assert_failed("was not given all master keys");
    refused.assert_failed("which seals 1 of them");
    services.write_settings(&services.path("old/master-key"));

    let settings = fs::read_to_string(services.path("new.toml")).expect("a file");
    let other_issuer = settings.replace(services.provider.issuer(), "https://other.example");
    fs::write(services.path("new.toml"), &other_issuer).expect("the folder is ours");
    services.copy(&[]).await.assert_failed("--users");
    fs::write(services.path("users.json"), r#"{"somebody": "else"}"#).expect("the folder is ours");
    let refused = services.copy(&["--users", "users.json"]).await;
    refused.assert_failed("users have no new id: 1");
    refused.assert_failed(OPERATOR);
    let same_files = settings.replace(
        &format!("folder:{}", services.path("objects").display()),
        &format!("folder:{}", services.path("old").display()),
    );
    fs::write(services.path("new.toml"), same_files).expect("the folder is ours");
    services.copy(&[]).await.assert_failed("the same place for files");
    fs::write(services.path("new.toml"), &settings).expect("the folder is ours");
    let mut nothing = kitbag(["database", "copy", "--data"]);
    nothing.arg(services.path("absent")).arg("--to").arg(services.path("new.toml"));
    run(nothing).await.assert_failed("the old service:");
    assert!(!services.path("absent").exists());
    assert_eq!(run(kitbag(["database", "copy"])).await.code, Some(2));

    fs::remove_dir_all(services.path("old/artifacts")).expect("it is ours");
    services.copy(&[]).await.assert_failed("it is not there");
    let without = services.copy(&["--without-missing-files"]).await;
    assert_eq!(without.code, Some(5), "{without:?}");
    assert!(without.stderr.contains("it is not there (in the old service)"), "{without:?}");
    let (_server, user) = services.start_new().await;
    user.get(&format!("/documents/{file}/artifact")).await.assert_status(404);
    let secret = user.call("probe__secret", json!({ "name": "API_KEY" })).await;
    assert!(secret.text().contains("[redacted]"), "{}", secret.raw());
}
