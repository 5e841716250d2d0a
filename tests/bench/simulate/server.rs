//! Simulated service: the real server, in this process.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use http::StatusCode;
use kitbag::app::App;
use kitbag::settings::{DatabaseLocation, Settings};
use kitbag_identity::{BrowserSessions, SessionLifetime};
use kitbag_sandbox::compiler::Program;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::api::Client;
use super::database::Database;
use super::log::ServerLog;
use super::statements::{Recorder, Statements};
use crate::Outcome;
use crate::service::{Engine, OPERATOR, Service, free_address};

/// Time limit for the server to become ready.
const START_TIMEOUT: Duration = Duration::from_mins(5);
/// Lifetime of browser sessions.
const SESSION_LIFETIME: Duration = Duration::from_hours(12);

/// Service that may be stopped.
pub(crate) struct Simulated {
    service: Service,
    settings: Settings,
    metrics: SocketAddr,
}

/// Running server.
pub(crate) struct Running<'s> {
    simulated: &'s Simulated,
    /// Time from the start until the server reports that it is ready.
    pub(crate) ready_after: Duration,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
    /// Threads of this start only: the tasks that a server leaves behind end with its process.
    _threads: Background,
}

/// Runtime whose threads end when this value is dropped.
struct Background(Option<Runtime>);

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Simulated {
    /// Creates an empty service.
    pub(crate) fn create(engine: Engine, model: &Path) -> Outcome<Self> {
        let service = Service::create(engine, free_address()?)?;
        let metrics = free_address()?;
        let settings = Settings {
            listen: service.address().into(),
            data: service.data("data")?,
            database: match service.database() {
                None => DatabaseLocation::DataDirectory,
                Some(url) => DatabaseLocation::Server(url.as_str().into()),
            },
            objects: format!("folder:{}", service.objects().display()).parse()?,
            master_key: format!("file:{}", service.master_key().display()).parse()?,
            issuer: service.issuer().parse()?,
            operators: OPERATOR.parse()?,
            model: model.to_str().ok_or("the model's path is no text")?.parse()?,
            metrics_listen: metrics.to_string().parse()?,
            drain: "0s".parse()?,
            mcp_requests_per_minute: std::num::NonZeroU32::MAX,
            uploads_per_minute: std::num::NonZeroU32::MAX,
            ..Settings::default()
        };
        Ok(Self { service, settings, metrics })
    }

    /// Starts the server and waits until it is ready.
    pub(crate) async fn start(&self) -> Outcome<Running<'_>> {
        let started = Instant::now();
        let threads = Background(Some(Builder::new_multi_thread().enable_all().build()?));
        let runtime = threads.0.as_ref().ok_or("it was just built")?;
        let (settings, compiler) =
            (self.settings.clone(), Program::at(Path::new(env!("CARGO_BIN_EXE_kitbag"))));
        let app = runtime.spawn(async move { App::start_with(&settings, compiler).await }).await??;
        let (stop, stopping) = oneshot::channel();
        let served = runtime.spawn(app.serve(async { drop(stopping.await) }));
        let ready_after = Duration::ZERO;
        let mut running = Running { simulated: self, ready_after, stop, served, _threads: threads };
        let client = &mut running.client(OPERATOR)?;
        while client.get("/readyz").await?.status != StatusCode::OK {
            if started.elapsed() > START_TIMEOUT {
                return Err("the server does not become ready".into());
            }
            sleep(Duration::from_millis(10)).await;
        }
        running.ready_after = started.elapsed();
        Ok(running)
    }

    /// Opens a separate connection to the database.
    pub(crate) async fn database(&self) -> Outcome<Database> {
        Database::open(&self.settings.data, self.service.database()).await
    }

    /// Opens the program's own store of browser sessions. Signing in with a provider would take a browser.
    pub(crate) async fn sessions(&self) -> Outcome<BrowserSessions> {
        let database = match self.service.database() {
            None => kitbag_database::Database::open(&self.settings.data).await?,
            Some(url) => kitbag_database::Database::connect(url.as_str(), 4).await?,
        };
        Ok(BrowserSessions::new(database, self.service.issuer(), SessionLifetime::of(SESSION_LIFETIME)))
    }

    /// Issuer of the users' tokens.
    pub(crate) fn issuer(&self) -> &str {
        self.service.issuer()
    }

    /// Starts to record the statements that the server executes.
    pub(crate) async fn statements<'r>(
        &self,
        recorder: &'r Recorder,
        database: &mut Database,
    ) -> Outcome<Statements<'r>> {
        Ok(match self.service.database() {
            None => Statements::of_events(recorder),
            Some(url) => {
                Statements::OfLog(ServerLog::open(url.path().trim_start_matches('/'), database).await?)
            }
        })
    }
}

impl Running<'_> {
    /// Creates a client for a user.
    pub(crate) fn client(&self, user: &str) -> Outcome<Client> {
        Ok(Client::new(self.simulated.service.address(), self.simulated.service.token(user)?))
    }

    /// Creates a client for the metrics address.
    pub(crate) fn metrics_client(&self) -> Client {
        Client::new(self.simulated.metrics, String::new())
    }

    /// Stops the server and waits until it has ended.
    pub(crate) async fn stop(self) -> Outcome<()> {
        // Fails if the server has already ended, which the next line detects.
        let _ = self.stop.send(());
        Ok(self.served.await?)
    }
}
