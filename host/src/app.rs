//! The composition root: builds all parts of a server, and owns them.

mod configuration;
mod connections;

use std::fs::{File, TryLockError};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use url::Url;

use crate::access::{Access, Stores};
use crate::capabilities::Services;
use crate::compiler::{Compiler, Program};
use crate::database::{Database, DatabaseError};
use crate::disk::Disk;
use crate::dispatch::Dispatch;
use crate::egress::Egress;
use crate::extractors::Extractors;
use crate::identity::{
    Algorithms, AuthorizationServer, Identity, InvalidSettings, IssuerChange, Lifetimes, LocalIssuer,
    LocalIssuerError, bind_issuer,
};
use crate::invocations::Invocations;
use crate::knowledge::{
    self, Capture, CaptureSettings, Embedder, Endpoint, Knowledge, KnowledgeError, MAX_TEXT_BYTES,
    ModelError, Quota, TranscriptionSettings, model,
};
use crate::local_mode;
use crate::ownership::{self, DirectoryError};
use crate::sandbox::{Background, EngineError, ExtractionLimits, ExtractorSandbox, Sandbox};
use crate::settings::{Issuer, Model, Secret, Settings, SettingsError};
use crate::toolkits::{ToolkitError, Toolkits};
use crate::user_config::UserConfig;
use crate::vault::{OpenError, Vault};
use crate::web::{self, Pace, Shared};
use connections::ConnectionLimits;

use configuration::{
    admission, egress_settings, identity_settings, key_source, memory_for_calls, operators, retention,
};
pub use configuration::{compile_limits, limits};

/// How long the database, and the tasks that write to it, may take to close. Committed data is safe anyway.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that is ready to serve.
pub struct App {
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    /// How long a client has for the head of a request.
    head_timeout: Duration,
    address: SocketAddr,
    base_url: Url,
    database: Database,
    invocations: Arc<Invocations>,
    knowledge: Knowledge,
    /// Ends streams that would otherwise last as long as their client listens.
    stopping: CancellationToken,
    /// Held as long as the server exists: two servers must not share a data directory.
    _lock: File,
}

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error("cannot use the data directory {path}: {cause}")]
    Data {
        /// The directory.
        path: PathBuf,
        /// The cause.
        cause: io::Error,
    },
    /// Other users can access the data directory.
    #[error("cannot use the data directory: {0}")]
    Directory(#[from] DirectoryError),
    /// Another server uses the data directory.
    #[error("another server is running on the data directory {0}")]
    InUse(PathBuf),
    /// The address is in use, or not an address of this machine.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        cause: io::Error,
    },
    /// The database cannot be opened.
    #[error("cannot open the database: {0}")]
    Database(#[from] DatabaseError),
    /// The engine did not start.
    #[error("cannot start the sandbox: {0}")]
    Sandbox(#[from] EngineError),
    /// Threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
    /// Sign-in cannot be set up.
    #[error("cannot set up sign-in: {0}")]
    Identity(#[from] InvalidSettings),
    /// The users in the data directory belong to another issuer.
    #[error(transparent)]
    Issuer(#[from] IssuerChange),
    /// The local issuer's key, or its sign-in code, cannot be read or created.
    #[error("cannot set up local sign-in: {0}")]
    LocalIssuer(#[from] LocalIssuerError),
    /// The settings contradict each other, or refer to something missing.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The vault did not open.
    #[error("cannot open the vault: {0}")]
    Vault(#[from] OpenError),
    /// The knowledge base cannot be read.
    #[error("cannot open the knowledge base: {0}")]
    Knowledge(#[from] KnowledgeError),
    /// The model of the knowledge base cannot be used.
    #[error(
        "{0}\n(`kitbag model fetch` gets a model that works, and `--model none` searches by words alone)"
    )]
    Model(#[from] ModelError),
    /// The deployed toolkits cannot be read.
    #[error("cannot read the deployed toolkits: {0}")]
    Toolkits(#[from] ToolkitError),
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
        let address = settings.listen;
        let listen = |cause| StartError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let base_url = settings.base_url(address);

        let database = Database::open(&settings.data).await?;
        // Before any user's data is read.
        bind_issuer(&database, settings.issuer.name(), settings.issuer_replaces.get().map(Issuer::name))
            .await?;
        let egress = Egress::new(egress_settings(settings)?);
        let background = Background::start().map_err(StartError::Threads)?;
        let stopping = CancellationToken::new();
        let disk = Disk::new(&settings.data, settings.free_disk_space.get().map(|size| size.bytes() as u64))
            .map_err(|cause| StartError::Data { path: settings.data.clone(), cause })?;
        disk.watch();
        let compiler = Compiler::new(compiler, compile_limits(settings), disk.clone(), stopping.clone());
        let capture = capture(settings, background.clone(), compiler.clone(), egress.clone()).await?;
        let options = knowledge::Options {
            embedder: embedder(settings, &egress).await?,
            search_memory: settings.search_memory.bytes(),
            quota: Quota {
                documents: settings.documents_per_user,
                bytes: settings.documents_size_per_user.bytes() as u64,
            },
            uploads_per_minute: settings.uploads_per_minute,
            disk: disk.clone(),
            ..knowledge::Options::default()
        };
        let knowledge = Knowledge::open(database.clone(), capture, options).await?;
        let services = Services::new(egress.clone()).with_knowledge(knowledge.clone());
        let sandbox = Sandbox::new(limits(settings), services, background)?;
        let sandbox = sandbox.with_memory(memory_for_calls(settings)?);
        let vault = Arc::new(Vault::open(database.clone(), key_source(settings)?).await?);
        let forget_secrets = {
            let vault = vault.clone();
            move || vault.clear_cache()
        };
        let toolkits =
            Toolkits::open(&settings.data, database.clone(), sandbox, compiler, disk.clone(), forget_secrets);
        let toolkits = Arc::new(toolkits.await?);
        let user_config = Arc::new(UserConfig::new(database.clone()));
        let invocations = Arc::new(Invocations::open(database.clone(), retention(settings)).await?);
        let dispatch =
            Dispatch::new(vault.clone(), user_config.clone(), invocations.clone(), admission(settings))
                .map_err(StartError::Threads)?;
        let stores = Stores {
            database: database.clone(),
            toolkits,
            dispatch,
            vault,
            user_config,
            invocations: invocations.clone(),
            knowledge: knowledge.clone(),
            disk,
        };

        let (identity, authorization_server) = sign_in(settings, &base_url, egress, &database).await?;
        // Last: by now each key file has been refused if others could read it.
        let directory = settings.data.clone();
        spawn_blocking(move || ownership::restrict_permissions(&directory))
            .await
            .map_err(io::Error::other)
            .and_then(|restricted| restricted)
            .map_err(|cause| StartError::Data { path: settings.data.clone(), cause })?;
        let router = web::router(Shared {
            identity,
            authorization_server,
            access: Access::new(stores, operators(settings)),
            base_url: base_url.clone(),
            allowed_origins: settings.allowed_origins.as_slice().into(),
            pace: Pace { pause: settings.request_timeout.get(), rate: settings.request_rate.bytes() },
            component_size: settings.component_size.bytes() as u64,
            mcp_request_size: settings.mcp_request_size.bytes(),
            mcp_requests_per_minute: settings.mcp_requests_per_minute,
            stopping: stopping.clone(),
        });
        Ok(Self {
            listener,
            router,
            limits: ConnectionLimits {
                total: settings.connections,
                per_address: settings.connections_per_address,
                proxies: settings.trusted_proxies.to_vec(),
            },
            head_timeout: settings.request_timeout.get(),
            address,
            base_url,
            database,
            invocations,
            knowledge,
            stopping,
            _lock: lock,
        })
    }

    /// The address that it listens on. Behind a reverse proxy it differs from the public URL.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The public URL, without a path.
    pub fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// Serves until `stop` resolves, then waits at most 30 s for running calls.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        info!(url = %self.base_url, "serving");
        let stop = async {
            stop.await;
            info!("stopping: waiting for calls under way");
            self.stopping.cancel();
        };
        connections::serve(self.listener, self.router, self.head_timeout, self.limits, stop).await;
        if timeout(CLOSE_TIMEOUT, self.invocations.close()).await.is_err() {
            warn!("the last records of calls were not written in time");
        }
        if timeout(CLOSE_TIMEOUT, self.knowledge.close()).await.is_err() {
            warn!("the jobs of the knowledge base did not stop in time");
        }
        if timeout(CLOSE_TIMEOUT, self.database.close()).await.is_err() {
            warn!("the database did not close in time");
        }
    }
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

/// Creates the part that captures files, with the installed extractors.
async fn capture(
    settings: &Settings,
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
    Capture::open(&settings.data, egress, capture, extract).await.map_err(failed)
}

/// Creates the data directory, or checks that only its owner can access it, and locks it.
fn claim(data: &Path) -> Result<File, StartError> {
    let failed = |cause| StartError::Data { path: data.to_owned(), cause };
    ownership::claim_directory(data)?;
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
