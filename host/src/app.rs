//! The composition root: builds all parts of a server, and owns them.

mod configuration;
mod connections;
mod error;
mod listeners;
mod metrics;
mod reload;

use std::fs::{File, TryLockError};
use std::future::{Future, pending};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use secrecy::ExposeSecret;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use url::Url;

use crate::access::{Access, Stores};
use crate::capabilities::Services;
use crate::compiler::{Compiler, Program};
use crate::database::Database;
use crate::disk::Disk;
use crate::dispatch::Dispatch;
use crate::egress::Egress;
use crate::extractors::Extractors;
use crate::identity::{
    Algorithms, AuthorizationServer, BrowserSessions, Identity, Lifetimes, LocalIssuer, ProviderSignIn,
    bind_issuer,
};
use crate::invocations::Invocations;
use crate::knowledge::{
    self, Capture, CaptureSettings, Embedder, Endpoint, Knowledge, MAX_TEXT_BYTES, Quota,
    TranscriptionSettings, model,
};
use crate::local_mode;
use crate::metrics::Metrics;
use crate::objects::{Files, Objects};
use crate::ownership;
use crate::peers::{Hints, Process, Profile};
use crate::sandbox::{Background, ExtractionLimits, ExtractorSandbox, Sandbox};
use crate::settings::{DatabaseLocation, Issuer, Listen, Model, ObjectsLocation, Secret, Settings};
use crate::stored_files::has_unfinished_restore;
use crate::toolkits::Toolkits;
use crate::user_config::UserConfig;
use crate::vault::Vault;
use crate::web::{self, Pace, Shared};
use connections::ConnectionLimits;
use listeners::Listeners;
use metrics::{Exposition, Sources};

use configuration::{
    admission, connection_limits, drain, egress_settings, identity_settings, memory_for_calls,
    objects_location, operators, retention, session_lifetime, shared_settings, web_client,
};
pub use configuration::{compile_limits, key_source, limits};
pub use error::StartError;
pub use listeners::ListenError;
pub use reload::Reload;

/// How long the database, and the tasks that write to it, may take to close. Committed data is safe anyway.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that is ready to serve.
pub struct App {
    listeners: Listeners,
    router: Router,
    limits: ConnectionLimits,
    /// How long a client has for the head of a request.
    head_timeout: Duration,
    base_url: Url,
    database: Database,
    invocations: Arc<Invocations>,
    knowledge: Knowledge,
    process: Process,
    /// How long it goes on after it was asked to stop, while `/readyz` says so.
    drain: Duration,
    draining: CancellationToken,
    /// Ends streams that would otherwise last as long as their client listens.
    stopping: CancellationToken,
    reload: Reload,
    /// `None` if the settings want no metrics.
    exposition: Option<Exposition>,
    /// Held as long as the server exists: two servers must not share a data directory.
    _lock: File,
}

impl App {
    /// Opens the data directory, listens, and builds all parts. Does not serve yet.
    pub async fn start(settings: &Settings) -> Result<Self, StartError> {
        Self::start_with(settings, Program::this()).await
    }

    /// As [`start`](Self::start), for programs other than `kitbag`. `compiler` is the `kitbag` program, which
    /// runs as the compiler process.
    pub async fn start_with(settings: &Settings, compiler: Program) -> Result<Self, StartError> {
        let lock = claim(&settings.data)?;
        let listeners = Listeners::open(settings).await?;
        let addresses: Vec<_> = listeners.addresses().iter().filter_map(Listen::tcp).collect();
        let base_url = settings.base_url(&addresses)?;

        let database = open_database(settings).await?;
        // Before any user's data is read.
        bind_issuer(&database, settings.issuer.name(), settings.issuer_replaces.get().map(Issuer::name))
            .await?;
        let metrics = Metrics::default();
        let egress = Egress::new(egress_settings(settings)?).with_metrics(metrics.clone());
        let background = Background::start().map_err(StartError::Threads)?;
        let (draining, stopping) = (CancellationToken::new(), CancellationToken::new());
        let disk = watched_disk(settings)?;
        let objects = open_objects(settings, &database).await?;
        let compiler = Compiler::new(compiler, compile_limits(settings), disk.clone(), stopping.clone());
        let artifacts = objects.artifacts();
        let capture =
            capture(settings, artifacts, background.clone(), compiler.clone(), egress.clone()).await?;
        let hints = Hints::start(&database);
        let options = knowledge_options(settings, embedder(settings, &egress).await?, disk.clone(), &hints);
        let vault = Arc::new(Vault::open(database.clone(), key_source(settings)?).await?);
        let job_settings = Knowledge::job_settings(&capture, &options);
        let process = join(settings, &database, &vault, &job_settings).await?;
        let knowledge = Knowledge::open(database.clone(), process.clone(), capture, options).await?;
        let services = Services::new(egress.clone()).with_knowledge(knowledge.clone());
        let memory = memory_for_calls(settings)?;
        let sandbox = Sandbox::new(limits(settings), services, background)?.with_memory(memory.clone());
        let (data, files, tables) = (&settings.data, objects.components(), database.clone());
        let opening = Toolkits::open(data, files, tables, sandbox, compiler, disk.clone(), egress.clone());
        let forgetting = vault.clone();
        let toolkits = Arc::new(opening.await?.on_removal(move || forgetting.clear_cache()));
        toolkits.keep_removing_expired_uploads();
        objects.keep_ending(stopping.clone());
        let user_config = Arc::new(UserConfig::new(database.clone()));
        let records = Invocations::open(database.clone(), hints.clone(), retention(settings));
        let invocations = Arc::new(records.await?);
        let (secrets, values, records) = (vault.clone(), user_config.clone(), invocations.clone());
        let dispatch = Dispatch::new(secrets, values, records, admission(settings), metrics.clone());
        let dispatch = dispatch.map_err(StartError::Threads)?;
        let stores = Stores {
            database: database.clone(),
            toolkits,
            dispatch,
            vault: vault.clone(),
            user_config,
            invocations: invocations.clone(),
            knowledge: knowledge.clone(),
            process: process.clone(),
            disk,
            hints,
        };

        let (identity, authorization_server) =
            sign_in(settings, &base_url, egress.clone(), &database).await?;
        let (issuer, lifetime) = (settings.issuer.name(), session_lifetime(settings));
        let browser_sessions = Arc::new(BrowserSessions::new(database.clone(), issuer, lifetime));
        let provider_sign_in = web_client(settings).map(|client| {
            let (identity, sessions) = (identity.clone(), browser_sessions.clone());
            let (database, url) = (database.clone(), base_url.as_str().trim_end_matches('/'));
            Arc::new(ProviderSignIn::new(identity, sessions, vault, database, egress, client, url))
        });
        // Last: by now each key file has been refused if others could read it.
        restrict_permissions(&settings.data).await?;
        let access = Access::new(stores, operators(settings));
        access.prepare();
        let sources =
            Sources { metrics: metrics.clone(), access: access.clone(), memory, last: Arc::default() };
        let exposition = Exposition::open(settings, sources)?;
        let router = web::router(Shared {
            identity,
            authorization_server,
            browser_sessions,
            provider_sign_in,
            access: access.clone(),
            base_url: base_url.clone(),
            allowed_origins: settings.allowed_origins.as_slice().into(),
            pace: Pace { pause: settings.request_timeout.get(), rate: settings.request_rate.bytes() },
            component_size: settings.component_size.bytes() as u64,
            mcp_request_size: settings.mcp_request_size.bytes(),
            mcp_requests_per_minute: settings.mcp_requests_per_minute,
            metrics,
            draining: draining.clone(),
            stopping: stopping.clone(),
        });
        Ok(Self {
            listeners,
            router,
            limits: connection_limits(settings),
            head_timeout: settings.request_timeout.get(),
            base_url,
            database,
            invocations,
            knowledge,
            process,
            drain: drain(settings),
            draining,
            stopping,
            reload: Reload::new(access, settings.clone()),
            exposition,
            _lock: lock,
        })
    }

    /// The addresses that it listens on. Behind a reverse proxy they differ from the public URL.
    pub fn addresses(&self) -> Vec<Listen> {
        self.listeners.addresses()
    }

    /// The public URL, without a path.
    pub fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// What applies changed settings while the server runs.
    pub fn reload(&self) -> Reload {
        self.reload.clone()
    }

    /// Serves until `stop` resolves, then waits at most 30 s for running calls.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        info!(url = %self.base_url, "serving");
        let stop = async {
            stop.await;
            self.draining.cancel();
            sleep(self.drain).await;
            info!("stopping: waiting for calls under way");
            self.stopping.cancel();
        };
        if let Some(exposition) = self.exposition {
            // To the end: what a server does while it stops is of interest too.
            tokio::spawn(exposition.serve(self.head_timeout, pending()));
        }
        connections::serve(self.listeners, self.router, self.head_timeout, self.limits, stop).await;
        if timeout(CLOSE_TIMEOUT, self.invocations.close()).await.is_err() {
            warn!("the last records of calls were not written in time");
        }
        if timeout(CLOSE_TIMEOUT, self.knowledge.close()).await.is_err() {
            warn!("the jobs of the knowledge base did not stop in time");
        }
        if timeout(CLOSE_TIMEOUT, self.process.leave()).await.is_err() {
            warn!("the database does not know yet that this process has ended");
        }
        if timeout(CLOSE_TIMEOUT, self.database.close()).await.is_err() {
            warn!("the database did not close in time");
        }
    }
}

async fn open_database(settings: &Settings) -> Result<Database, StartError> {
    Ok(match &settings.database {
        DatabaseLocation::Server(url) => {
            Database::connect(url.expose_secret(), settings.database_connections).await?
        }
        DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => Database::open(&settings.data).await?,
    })
}

/// The disk with the data directory, which is measured from now on.
fn watched_disk(settings: &Settings) -> Result<Disk, StartError> {
    let reserve = settings.free_disk_space.get().map(|size| size.bytes() as u64);
    let disk = Disk::new(&settings.data, reserve);
    let disk = disk.map_err(|cause| StartError::Data { path: settings.data.clone(), cause })?;
    disk.watch();
    Ok(disk)
}

/// Opens the store of components and captured files. A folder of its own is for the server's user alone, as the data
/// directory is.
async fn open_objects(settings: &Settings, database: &Database) -> Result<Objects, StartError> {
    let location = objects_location(settings);
    if let ObjectsLocation::Folder(folder) = &settings.objects {
        ownership::claim_directory(folder)?;
    }
    let objects = Objects::open(database.clone(), &location).await?;
    objects.expect_shared().await?;
    Ok(objects)
}

/// Joins the processes that use the database.
async fn join(
    settings: &Settings,
    database: &Database,
    vault: &Vault,
    job_settings: &str,
) -> Result<Process, StartError> {
    let profile = Profile {
        master_keys: vault.master_keys(),
        settings: shared_settings(settings),
        ..Profile::of_this_program(job_settings)
    };
    Ok(Process::register(database, profile, &settings.data).await?)
}

/// Creates the verifier of tokens and, in local mode, the authorization server.
async fn sign_in(
    settings: &Settings,
    base_url: &Url,
    egress: Egress,
    database: &Database,
) -> Result<(Arc<Identity>, Option<Arc<AuthorizationServer>>), StartError> {
    let mut identity = identity_settings(settings, base_url);
    let Issuer::External(issuer) = &settings.issuer else {
        let local = Arc::new(LocalIssuer::open(&settings.data, base_url.as_str())?);
        local_mode::announce(&settings.data, base_url)
            .map_err(|cause| StartError::Data { path: settings.data.clone(), cause })?;
        let identity = Identity::with_local_issuer(identity, local.clone())?;
        let lifetimes =
            Lifetimes { access_token: settings.access_token_lifetime.get(), ..Lifetimes::default() };
        let server = AuthorizationServer::open(local, &settings.data, database.clone(), lifetimes).await?;
        return Ok((Arc::new(identity), Some(Arc::new(server))));
    };
    if !settings.token_algorithms.is_empty() {
        identity.algorithms = Algorithms::parse(settings.token_algorithms.iter())?;
    }
    Ok((Arc::new(Identity::with_provider(identity, issuer, egress)?), None))
}

fn knowledge_options(
    settings: &Settings,
    embedder: Option<Embedder>,
    disk: Disk,
    hints: &Hints,
) -> knowledge::Options {
    knowledge::Options {
        embedder,
        search_memory: settings.search_memory.bytes(),
        quota: Quota {
            documents: settings.documents_per_user,
            bytes: settings.documents_size_per_user.bytes() as u64,
        },
        uploads_per_minute: settings.uploads_per_minute,
        disk,
        hints: hints.clone(),
        ..knowledge::Options::default()
    }
}

/// Keeps other users out of the data directory.
async fn restrict_permissions(data: &Path) -> Result<(), StartError> {
    let directory = data.to_owned();
    spawn_blocking(move || ownership::restrict_permissions(&directory))
        .await
        .map_err(io::Error::other)
        .and_then(|restricted| restricted)
        .map_err(|cause| StartError::Data { path: data.to_owned(), cause })
}

/// Creates the part that captures files, with the installed extractors.
async fn capture(
    settings: &Settings,
    artifacts: Files,
    background: Background,
    compiler: Compiler,
    egress: Egress,
) -> Result<Capture, StartError> {
    let failed = |cause| StartError::Data { path: settings.data.clone(), cause };
    let limits = ExtractionLimits {
        time: settings.extraction_time.get(),
        memory: settings.extraction_memory.bytes(),
        text: MAX_TEXT_BYTES,
    };
    let sandbox = ExtractorSandbox::new(limits, background)?;
    let extractors = Extractors::open(&settings.data, settings.extractors.clone(), sandbox, compiler);
    let extract = extractors.await.map_err(failed)?.into_extract();
    let transcription = settings.transcription_url.get().map(|url| TranscriptionSettings {
        url: url.clone(),
        model: settings.transcription_model.clone(),
        key: settings.transcription_key.get().map(Secret::get).cloned(),
    });
    let capture = CaptureSettings {
        size: settings.capture_size.bytes() as u64,
        time: settings.capture_time.get(),
        transcription,
    };
    Capture::open(&settings.data, artifacts, egress, capture, extract).await.map_err(failed)
}

/// Creates the data directory, or checks that only its owner can access it, and locks it.
fn claim(data: &Path) -> Result<File, StartError> {
    let failed = |cause| StartError::Data { path: data.to_owned(), cause };
    ownership::claim_directory(data)?;
    if has_unfinished_restore(data) {
        return Err(StartError::UnfinishedRestore(data.to_owned()));
    }
    let lock = File::options().create(true).truncate(false).write(true).mode(0o600).open(data.join("lock"));
    let lock = lock.map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(data.to_owned())),
        Err(TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

/// Creates the embedder, if one is configured, and logs how search works.
async fn embedder(settings: &Settings, egress: &Egress) -> Result<Option<Embedder>, StartError> {
    if let (Some(url), Some(name)) = (settings.embedding_url.get(), settings.embedding_model.get()) {
        let key = settings.embedding_key.get().map(Secret::get).cloned();
        let endpoint = Endpoint { url: url.clone(), model: name.clone(), key };
        info!(model = name, "search goes by words and by meaning: a service embeds every document and query");
        return Ok(Some(Embedder::remote(egress.clone(), endpoint)));
    }
    let folder = match &settings.model {
        Model::None => {
            info!("search goes by words alone, as the setting model says");
            return Ok(None);
        }
        Model::Folder(folder) => folder.clone(),
        Model::Default => {
            let folder = model::folder(&settings.data);
            if !folder.exists() {
                info!(
                    "search goes by words alone, for there is no model: run `kitbag model fetch`, and start again"
                );
                return Ok(None);
            }
            folder
        }
    };
    let embedder = Embedder::open(&folder).await?;
    info!(model = embedder.model(), folder = %folder.display(), "search goes by words and by meaning");
    Ok(Some(embedder))
}
