//! A server inside the test's process, with its own threads and log.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kitbag::app::{App, StartError};
use kitbag::settings::{Listen, Settings};
use kitbag_base::local_mode;
use kitbag_identity::{AccessGrant, LocalIssuer, Users};
use kitbag_sandbox::compiler::Program;
use secrecy::ExposeSecret;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use url::Url;

use super::database::{self, Database};
use super::{Guest, Http, Log, User, sign_in_code, within};

/// A running server. Dropping it stops it and deletes its data.
pub(crate) struct Kitbag {
    running: Running,
    stopped: Stopped,
}

/// Stopped server: its settings and its data.
pub(crate) struct Stopped {
    settings: Settings,
    data: TempDir,
    compiler: Program,
    log: Log,
}

struct Running {
    runtime: Option<Runtime>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
    address: SocketAddr,
    base_url: Url,
    users: Users,
}

impl Kitbag {
    /// Starts a server with default settings on an empty data directory.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a server on an empty data directory, with default settings changed by `change`.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Settings)) -> Self {
        Stopped::with(change).start().await
    }

    /// Stops the server gracefully and waits until it has ended.
    pub(crate) async fn stop(self) -> Stopped {
        let Self { mut running, stopped } = self;
        let (stop, _) = oneshot::channel();
        drop(std::mem::replace(&mut running.stop, stop));
        within("the server's end", &mut running.served).await.expect("the server does not panic");
        stopped
    }

    pub(crate) fn base_url(&self) -> &Url {
        &self.running.base_url
    }

    /// Listening address. Behind a proxy it differs from that in the server's URL.
    pub(crate) fn address(&self) -> SocketAddr {
        self.running.address
    }

    /// The data directory.
    pub(crate) fn data(&self) -> &Path {
        self.stopped.data()
    }

    /// The server's users.
    pub(crate) fn users(&self) -> &Users {
        &self.running.users
    }

    pub(crate) fn log(&self) -> &Log {
        &self.stopped.log
    }

    /// Creates a client without a token.
    pub(crate) fn anonymous(&self) -> Http {
        Http::new(self.base_url().clone())
    }

    /// Creates a client signed in as `name`.
    pub(crate) fn as_user(&self, name: &str) -> User {
        self.as_client(name, "spec")
    }

    /// Creates a client signed in as `name`, with an OAuth client id.
    pub(crate) fn as_client(&self, name: &str, client_id: &str) -> User {
        let issuer =
            LocalIssuer::open(self.data(), self.base_url().as_str()).expect("the server has made its key");
        let token = issuer.mint_access_token(AccessGrant {
            user: name,
            client_id,
            scopes: &["profile"],
            lifetime: Duration::from_hours(1),
        });
        self.with_token(token.expose_secret())
    }

    /// Creates a client with an access token.
    pub(crate) fn with_token(&self, token: &str) -> User {
        User::new(self.anonymous(), token)
    }

    /// Creates a client signed in as the operator.
    pub(crate) fn as_operator(&self) -> User {
        self.as_user(local_mode::USER)
    }

    /// Deploys a toolkit and returns the server's response; panics on failure.
    pub(crate) async fn deploy(&self, guest: Guest) -> Value {
        self.as_operator().deploy(guest.bytes()).await.assert_status(201).json()
    }

    /// Names of the files in a folder of the data directory, its subfolders included.
    pub(crate) fn files(&self, folder: &str) -> Vec<String> {
        self.stopped.files(folder)
    }

    /// Whether the data directory has a captured file with this digest.
    pub(crate) fn has_artifact(&self, digest: &str) -> bool {
        self.files("artifacts").iter().any(|name| name.starts_with(digest))
    }
}

impl Stopped {
    /// Creates settings, changed by `change`, and an empty data directory.
    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let data = tempfile::tempdir().expect("a scratch directory");
        make_private(data.path());
        let mut settings = Settings {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
            data: data.path().to_owned(),
            database: database::location(data.path()),
            database_connections: 6,
            drain: "0s".parse().expect("a duration"),
            // Every server reserves address space for this many calls; a hundred servers must fit.
            concurrent_calls: 40,
            // Rates are unlimited because tests poll.
            mcp_requests_per_minute: NonZeroU32::MAX,
            uploads_per_minute: NonZeroU32::MAX,
            ..Settings::default()
        };
        change(&mut settings);
        Self { settings, data, compiler: caching_compiler(), log: Log::default() }
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    /// Changes the settings.
    pub(crate) fn changed(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Compiles every component again, as servers that people run do.
    pub(crate) fn compiling_each_time(self) -> Self {
        Self { compiler: compiler_program(), ..self }
    }

    /// Sets the program that is run as the compiler process.
    pub(crate) fn compiling_with(self, program: &Path) -> Self {
        Self { compiler: Program::at(program), ..self }
    }

    /// Starts the server.
    pub(crate) async fn start(self) -> Kitbag {
        let subscriber = self.log.subscriber();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&subscriber)))
            .build()
            .expect("threads can be started");
        database::create(self.data()).await;
        let start = start(self.settings.clone(), self.compiler.clone());
        let app = within("the server's start", runtime.spawn(start)).await;
        let app = app.expect("no panic").expect("the server starts");
        let address = app.addresses().iter().find_map(Listen::tcp).expect("it listens on loopback");
        let base_url = app.base_url().clone();
        let users = app.users().clone();
        sign_in_code::remember(&base_url, self.data());
        let (stop, stopping) = oneshot::channel();
        let served = runtime.spawn(app.serve(async { drop(stopping.await) }));
        Kitbag {
            running: Running { runtime: Some(runtime), stop, served, address, base_url, users },
            stopped: self,
        }
    }

    /// The data directory.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// Changes the database directly, into a state that the toolkits of tests cannot produce.
    pub(crate) async fn alter(&self, sql: &'static str) {
        Database::of(self.data()).await.execute(sql, &[]).await;
    }

    /// Changes the manifests of all deployed versions.
    pub(crate) async fn alter_manifests(&self, change: impl Fn(&mut Value)) {
        let mut database = Database::of(self.data()).await;
        let manifests: Vec<(String, String, String)> =
            database.rows("SELECT toolkit_id, version, manifest FROM toolkit_versions", &[]).await;
        for (id, version, manifest) in manifests {
            let mut manifest = serde_json::from_str(&manifest).expect("it is JSON");
            change(&mut manifest);
            let update = "UPDATE toolkit_versions SET manifest = $1 WHERE toolkit_id = $2 AND version = $3";
            database.execute(update, &[&manifest.to_string(), &id, &version]).await;
        }
    }

    /// Like [`Kitbag::files`].
    pub(crate) fn files(&self, folder: &str) -> Vec<String> {
        files_below(&self.data().join(folder))
    }
}

/// Names of the files in a folder, including its subfolders; empty if the folder does not exist.
pub(crate) fn files_below(folder: &Path) -> Vec<String> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let (inner, here): (Vec<PathBuf>, _) =
            entries.map(|entry| entry.path()).partition(|path| path.is_dir());
        folders.extend(inner);
        files.extend(here.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())));
    }
    files.sort();
    files
}

/// Restricts a scratch directory to its owner: a server rejects any other data directory.
pub(crate) fn make_private(directory: &Path) {
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(directory, private).expect("the directory is ours");
}

/// Starts the application, and retries while the data directory is locked: a process started by another test
/// may hold a copy of the lock between its fork and its exec.
async fn start(settings: Settings, compiler: Program) -> Result<App, StartError> {
    loop {
        match App::start_with(&settings, compiler.clone()).await {
            Err(StartError::InUse(_)) => sleep(Duration::from_millis(1)).await,
            outcome => return outcome,
        }
    }
}

/// Program for the compiler process. The tests' own program is not `kitbag`.
pub(crate) fn compiler_program() -> Program {
    Program::at(env!("CARGO_BIN_EXE_kitbag"))
}

/// Program that compiles each component once for all tests (`caching_compiler.rs`), which `cargo test` builds
/// unless a target is selected; then a program of an earlier build may be missing.
fn caching_compiler() -> Program {
    let program = Path::new(env!("CARGO_BIN_EXE_kitbag")).with_file_name("examples").join("caching-compiler");
    if cfg!(target_os = "linux") && program.is_file() { Program::at(program) } else { compiler_program() }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
