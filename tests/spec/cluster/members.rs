//! Processes of one service, each with its own data directory.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kitbag::settings::DatabaseLocation;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;
use url::Url;

use crate::harness::database::{self, Database};
use crate::harness::signer::now;
use crate::harness::{CommandOutput, Http, Provider, ServerProcess, User, files_below, kitbag, run};

pub(super) const OPERATOR: &str = "operator";

/// Object storage of the processes.
#[derive(Clone, Copy)]
pub(super) enum Files {
    Folder,
    /// Bucket on the server of `TEST_S3`.
    Bucket,
}

/// Shared part of a service: data folder, token issuer, object storage. Dropping it deletes the folder, but
/// neither the database nor files in a bucket.
pub(super) struct Cluster {
    folder: TempDir,
    provider: Provider,
    files: Files,
}

/// One process. Killed when dropped.
pub(super) struct Member {
    pub(super) server: ServerProcess,
    http: Http,
    /// Base URL of this process: these tests have no load balancer.
    base_url: Url,
}

impl Cluster {
    /// Creates a service without processes. Its files are in a bucket if `TEST_S3` is set.
    pub(super) async fn new() -> Self {
        let is_bucket = std::env::var_os("TEST_S3").is_some();
        Self::with(if is_bucket { Files::Bucket } else { Files::Folder }).await
    }

    /// Creates a service without processes, with this object storage.
    pub(super) async fn with(files: Files) -> Self {
        assert!(database::is_server(), "`TEST_DATABASE` is not set");
        let folder = tempfile::tempdir().expect("a scratch directory");
        database::create(folder.path()).await;
        let cluster = Self { folder, provider: Provider::start().await, files };
        cluster.give_keys(&[1]);
        cluster
    }

    /// Creates a service with `COUNT` processes.
    pub(super) async fn start<const COUNT: usize>() -> (Self, [Member; COUNT]) {
        Self::new().await.with_members().await
    }

    /// Creates a service with `COUNT` processes and this object storage.
    pub(super) async fn start_with<const COUNT: usize>(files: Files) -> (Self, [Member; COUNT]) {
        Self::with(files).await.with_members().await
    }

    async fn with_members<const COUNT: usize>(self) -> (Self, [Member; COUNT]) {
        let cluster = self;
        let mut members = Vec::new();
        for number in 0..COUNT {
            members.push(cluster.join(&number.to_string()).await);
        }
        (cluster, members.try_into().ok().expect("as many"))
    }

    /// Starts a process with the data directory `name`.
    pub(super) async fn join(&self, name: &str) -> Member {
        self.join_with(name, |_| {}).await
    }

    /// Starts a process whose flags and variables `change` can extend.
    pub(super) async fn join_with(&self, name: &str, change: impl FnOnce(&mut Command)) -> Member {
        let (data, address) = (self.data(name), free_address());
        let started = ServerProcess::start_saying(&data, |command| {
            self.configure(command);
            command.env("KITBAG_LISTEN", address.to_string());
            change(command);
        });
        let (_, server) = started.await;
        let base_url: Url = format!("http://{address}").parse().expect("a URL");
        Member { server, http: Http::new(base_url.clone()), base_url }
    }

    /// Runs a process that is expected to fail at its start, and returns its output.
    pub(super) async fn try_to_join(&self, name: &str) -> CommandOutput {
        self.run(["serve", "--listen", "127.0.0.1:0"], name).await
    }

    /// Runs a command with the settings of the process with the data directory `name`.
    pub(super) async fn run<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        name: &str,
    ) -> CommandOutput {
        self.run_with(arguments, name, |_| {}).await
    }

    /// As [`run`](Self::run), with flags and variables that `change` adds or replaces.
    pub(super) async fn run_with<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a str>,
        name: &str,
        change: impl FnOnce(&mut Command),
    ) -> CommandOutput {
        let mut command = kitbag(arguments);
        command.arg("--data").arg(self.data(name));
        self.configure(&mut command);
        change(&mut command);
        run(command).await
    }

    fn configure(&self, command: &mut Command) {
        command
            .env("KITBAG_DATABASE", self.database_url().as_str())
            .env("KITBAG_DATABASE_CONNECTIONS", "8")
            .env("KITBAG_ISSUER", self.provider.issuer())
            .env("KITBAG_OPERATORS", OPERATOR)
            .env("KITBAG_CONCURRENT_CALLS", "40")
            .env("KITBAG_MCP_REQUESTS_PER_MINUTE", "1000000")
            .env("KITBAG_UPLOADS_PER_MINUTE", "1000000")
            .arg(format!("--master-key=file:{}", self.key_file().display()));
        match self.files {
            Files::Folder => {
                command.env("KITBAG_OBJECTS", format!("folder:{}", self.objects_folder().display()))
            }
            Files::Bucket => self.configure_bucket(command),
        };
    }

    fn configure_bucket<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let server = bucket_server();
        let mut endpoint = server.clone();
        endpoint.set_username("").expect("it has a host");
        endpoint.set_password(None).expect("it has a host");
        command
            .env("KITBAG_OBJECTS", format!("s3://kitbag-tests/{}", self.name()))
            .env("KITBAG_OBJECTS_ENDPOINT", endpoint.as_str())
            .env("KITBAG_OBJECTS_KEY_ID", server.username())
            .env("KITBAG_OBJECTS_SECRET", server.password().expect("a secret"))
    }

    /// Name that no other test uses.
    fn name(&self) -> String {
        let name = self.folder.path().file_name().expect("it has a name").to_string_lossy();
        name.trim_start_matches('.').to_owned()
    }

    /// Writes the master key file, which processes read at their start. The first key encrypts.
    pub(super) fn give_keys(&self, keys: &[u8]) {
        let lines: String = keys.iter().map(|key| hex::encode([*key; 32]) + "\n").collect();
        std::fs::write(self.key_file(), lines).expect("the folder is ours");
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(self.key_file(), private).expect("the file is ours");
    }

    pub(super) fn key_file(&self) -> PathBuf {
        self.folder.path().join("master-key")
    }

    fn objects_folder(&self) -> PathBuf {
        self.folder.path().join("objects")
    }

    /// Renames the object folder, as if it were not mounted.
    pub(super) fn move_objects_away(&self) {
        let folder = self.objects_folder();
        std::fs::rename(&folder, folder.with_extension("unmounted")).expect("it is ours");
    }

    /// Number of shared files. For a bucket, the number of rows: a row exists until the file is deleted.
    pub(super) async fn objects(&self) -> usize {
        match self.files {
            Files::Folder => ["components", "artifacts"]
                .map(|kind| files_below(&self.objects_folder().join(kind)).len())
                .iter()
                .sum(),
            Files::Bucket => {
                self.database().await.rows::<(String,)>("SELECT object FROM files", &[]).await.len()
            }
        }
    }

    pub(super) fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("data-{name}"))
    }

    pub(super) fn database_url(&self) -> Url {
        let DatabaseLocation::Server(url) = database::location(self.folder.path()) else {
            panic!("the database is a server's")
        };
        url.expose_secret().parse().expect("a URL")
    }

    /// Opens a database session in addition to those of the processes.
    pub(super) async fn database(&self) -> Database {
        Database::of(self.folder.path()).await
    }

    /// Creates a user who talks to this process.
    pub(super) fn user(&self, member: &Member, name: &str) -> User {
        self.member_of(&[], member, name)
    }

    /// Creates a user who talks to this process, with these groups in the token.
    pub(super) fn member_of(&self, groups: &[&str], member: &Member, name: &str) -> User {
        self.user_since(now(), groups, member, name)
    }

    /// Like [`Self::user`], with a token from a provider whose clock is a minute ahead.
    pub(super) fn user_later(&self, member: &Member, name: &str) -> User {
        self.user_since(now() + 60, &[], member, name)
    }

    fn user_since(&self, issued_at: u64, groups: &[&str], member: &Member, name: &str) -> User {
        let claims = json!({
            "groups": groups,
            "iss": self.provider.issuer(), "aud": format!("{}mcp", member.base_url), "sub": name,
            "client_id": "assistant", "iat": issued_at, "exp": now() + 600, "jti": "1",
        });
        User::new(member.http.clone(), &self.provider.sign("at+jwt", &claims))
    }

    pub(super) fn operator(&self, member: &Member) -> User {
        self.user(member, OPERATOR)
    }
}

/// URL of the tests' S3 server, with key id and secret.
pub(super) fn bucket_server() -> Url {
    std::env::var("TEST_S3").expect("it is set").parse().expect("a URL")
}

/// Returns a loopback address whose port is free at the moment.
pub(super) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}

impl Member {
    /// Creates a client of this process with a token, or a key.
    pub(super) fn with_token(&self, token: &str) -> User {
        User::new(self.http.clone(), token)
    }

    /// Returns status and body of `/readyz`.
    pub(super) async fn readiness(&self) -> (u16, Value) {
        let answer = self.http.get("/readyz").await;
        (answer.status.as_u16(), answer.json())
    }

    /// Client of this process, without a token.
    pub(super) fn http(&self) -> Http {
        self.http.clone()
    }

    pub(super) fn base_url(&self) -> &Url {
        &self.base_url
    }

    pub(super) fn data(&self) -> &Path {
        self.server.data()
    }

    pub(super) fn log(&self) -> String {
        String::from_utf8(self.server.log()).expect("the log is text")
    }

    /// Sends a signal to the process, such as `STOP`.
    pub(super) async fn signal(&self, name: &str) {
        let process = self.server.process().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &process]).status().await;
        assert!(sent.expect("there is `kill`").success());
    }
}
