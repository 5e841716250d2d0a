//! The composition root: builds every part of a server, and owns them.

mod connections;

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use url::Url;

use crate::capabilities::fetch::FetchLimits;
use crate::compiler::{CompileLimits, Compiler, Program};
use crate::database::Database;
use crate::dispatch::{AdmissionLimits, Dispatch};
use crate::egress::{Egress, EgressSettings};
use crate::extractors::Extractors;
use crate::identity::{
    Algorithms, AuthorizationServer, Identity, IdentitySettings, InvalidSettings, Lifetimes, LocalIssuer,
    LocalIssuerError, SessionAudience,
};
use crate::invocations::{Invocations, RetentionLimits};
use crate::knowledge::{
    self, Capture, CaptureSettings, Embedder, Endpoint, Knowledge, KnowledgeError, LONGEST_TEXT, ModelError,
    TranscriptionSettings, model,
};
use crate::local_mode;
use crate::sandbox::{EngineError, ExtractionLimits, Limits, Sandbox};
use crate::settings::{self, Issuer, MasterKey, Model, Secret, Settings, SettingsError};
use crate::toolkits::{ToolkitError, Toolkits};
use crate::user_config::UserConfig;
use crate::vault::{KeySource, OpenError, Vault};
use crate::web::{self, Shared};

/// How long the database may take to end what is under way. What was committed is safe anyway.
const CLOSE: Duration = Duration::from_secs(5);

/// A server that is ready to serve.
pub struct App {
    listener: TcpListener,
    router: Router,
    address: SocketAddr,
    base_url: Url,
    database: Database,
    invocations: Arc<Invocations>,
    knowledge: Knowledge,
    /// Ends what would otherwise go on for as long as its client listens.
    stopping: CancellationToken,
    /// Held as long as the server lives: two servers must not share a data directory.
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
        /// What happened.
        cause: io::Error,
    },
    /// Another server has the data directory.
    #[error("another server is running on the data directory {0}")]
    InUse(PathBuf),
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What happened.
        cause: io::Error,
    },
    /// The database cannot be opened.
    #[error("cannot open the database: {0}")]
    Database(#[from] sqlx::Error),
    /// The engine did not start.
    #[error("cannot start the sandbox: {0}")]
    Sandbox(#[from] EngineError),
    /// Sign-in cannot be set up.
    #[error("cannot set up sign-in: {0}")]
    Identity(#[from] InvalidSettings),
    /// The local issuer's key cannot be read or made.
    #[error("cannot set up local sign-in: {0}")]
    LocalIssuer(#[from] LocalIssuerError),
    /// The settings contradict each other, or name what is not there.
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
    /// What is deployed cannot be read.
    #[error("cannot read the deployed toolkits: {0}")]
    Toolkits(#[from] ToolkitError),
}

impl App {
    /// Opens the data directory, listens, and builds every part; serves nothing yet.
    pub async fn start(settings: &Settings) -> Result<Self, StartError> {
        Self::start_with(settings, Program::this()).await
    }

    /// The same in another program than `kitbag`, which `compiler` is.
    pub async fn start_with(settings: &Settings, compiler: Program) -> Result<Self, StartError> {
        let lock = claim(&settings.data)?;
        let address = settings.listen;
        let listen = |cause| StartError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let base_url = settings.base_url(address);

        let database = Database::open(&settings.data.join("kitbag.sqlite")).await?;
        let egress = Egress::new(EgressSettings {
            allowed_ranges: settings.allow_private_ranges.to_vec(),
            ..EgressSettings::default()
        });
        let sandbox = Sandbox::new(limits(settings), egress.clone())?;
        let stopping = CancellationToken::new();
        let compiler = Compiler::new(compiler, compile_limits(settings), stopping.clone());
        let capture = capture(settings, &sandbox, compiler.clone(), egress.clone()).await?;
        let options = knowledge::Options {
            embedder: embedder(settings, &egress).await?,
            search_memory: settings.search_memory.bytes(),
            ..knowledge::Options::default()
        };
        let knowledge = Knowledge::open(database.clone(), capture, options).await?;
        let sandbox = sandbox.with_knowledge(knowledge.clone());
        let vault = Arc::new(Vault::open(database.clone(), key_source(settings)?).await?);
        let forget_secrets = {
            let vault = vault.clone();
            move || vault.forget_opened()
        };
        let toolkits =
            Toolkits::open(&settings.data, database.clone(), sandbox, compiler, forget_secrets).await?;
        let toolkits = Arc::new(toolkits);
        let user_config = Arc::new(UserConfig::new(database.clone()));
        let invocations = Arc::new(Invocations::open(database.clone(), retention(settings)).await?);
        let dispatch = Arc::new(Dispatch::new(
            toolkits.clone(),
            vault.clone(),
            user_config.clone(),
            invocations.clone(),
            admission(settings),
        ));

        let mut operators: HashSet<_> = settings.operators.iter().cloned().collect();
        let (identity, authorization_server) = match &settings.issuer {
            Issuer::External(issuer) => {
                let mut identity = identity_settings(settings, &base_url);
                if !settings.token_algorithms.is_empty() {
                    identity.algorithms = Algorithms::parse(settings.token_algorithms.iter())?;
                }
                (Identity::with_provider(identity, issuer, egress)?, None)
            }
            Issuer::Local => {
                let local = Arc::new(LocalIssuer::open(&settings.data, base_url.as_str())?);
                operators.insert(local_mode::USER.to_owned());
                local_mode::announce(&settings.data, &base_url)
                    .map_err(|cause| StartError::Data { path: settings.data.clone(), cause })?;
                let identity =
                    Identity::with_local_issuer(identity_settings(settings, &base_url), local.clone())?;
                let lifetimes =
                    Lifetimes { access_token: settings.access_token_lifetime.get(), ..Lifetimes::default() };
                let server = AuthorizationServer::new(local, database.clone(), lifetimes);
                (identity, Some(Arc::new(server)))
            }
        };
        let router = web::router(Shared {
            identity: Arc::new(identity),
            authorization_server,
            toolkits,
            vault,
            dispatch,
            user_config,
            invocations: invocations.clone(),
            knowledge: knowledge.clone(),
            base_url: base_url.clone(),
            operators: Arc::new(operators),
            allowed_origins: settings.allowed_origins.as_slice().into(),
            component_size: settings.component_size.bytes() as u64,
            mcp_request_size: settings.mcp_request_size.bytes(),
            mcp_requests_per_minute: settings.mcp_requests_per_minute,
            stopping: stopping.clone(),
        });
        Ok(Self {
            listener,
            router,
            address,
            base_url,
            database,
            invocations,
            knowledge,
            stopping,
            _lock: lock,
        })
    }

    /// The address that it listens on; behind a reverse proxy, another than that of the public URL.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The public URL, without a path.
    pub fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// Serves until `stop` resolves, then lets calls under way end, for half a minute at most.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        info!(url = %self.base_url, "serving");
        let stop = async {
            stop.await;
            info!("stopping: waiting for calls under way");
            self.stopping.cancel();
        };
        connections::serve(self.listener, self.router, stop).await;
        if timeout(CLOSE, self.invocations.close()).await.is_err() {
            warn!("the last records of calls were not written in time");
        }
        if timeout(CLOSE, self.knowledge.close()).await.is_err() {
            warn!("the jobs of the knowledge base did not stop in time");
        }
        if timeout(CLOSE, self.database.close()).await.is_err() {
            warn!("the database did not close in time");
        }
    }
}

/// Opens what captures files, with the extractors that are installed.
async fn capture(
    settings: &Settings,
    sandbox: &Sandbox,
    compiler: Compiler,
    egress: Egress,
) -> Result<Capture, StartError> {
    let failed = |cause| StartError::Data { path: settings.data.clone(), cause };
    let sandbox = sandbox.for_extractors(ExtractionLimits {
        time: settings.extraction_time.get(),
        memory: settings.extraction_memory.bytes(),
        text: LONGEST_TEXT,
    })?;
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

/// Makes the data directory, for its owner alone, and locks it.
fn claim(data: &Path) -> Result<File, StartError> {
    let failed = |cause| StartError::Data { path: data.to_owned(), cause };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(failed)?;
    let lock = File::create(data.join("lock")).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(data.to_owned())),
        Err(TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

/// The sandbox's limits as set.
pub fn limits(settings: &Settings) -> Limits {
    Limits {
        call_time: settings.call_time.get(),
        memory: settings.call_memory.bytes(),
        table_elements: settings.call_table_elements,
        resources: settings.call_resources,
        result: settings.call_result.bytes(),
        log: settings.call_log.bytes(),
        instances: settings.concurrent_calls.saturating_add(DESCRIBE_SLOTS),
        fetch: FetchLimits {
            in_flight: settings.call_requests_in_flight,
            requests: settings.call_requests,
            request_body: settings.call_request_body.bytes(),
            response_body: settings.call_response_body.bytes(),
        },
    }
}

/// What one compilation may take, as set.
pub fn compile_limits(settings: &Settings) -> CompileLimits {
    CompileLimits::new(settings.compile_time.get(), settings.compile_memory.bytes())
}

/// What makes vectors, and a line in the log that says what search goes by.
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

fn key_source(settings: &Settings) -> Result<KeySource, SettingsError> {
    Ok(match &settings.master_key {
        MasterKey::File(path) => {
            KeySource::File(path.clone().unwrap_or_else(|| settings.data.join("master-key")))
        }
        MasterKey::Variable(name) => KeySource::Text(settings::variable(name)?),
        MasterKey::Command(line) => KeySource::Command(line.clone()),
        MasterKey::Nowhere => return Err(SettingsError::MasterKey),
    })
}

fn identity_settings(settings: &Settings, base_url: &Url) -> IdentitySettings {
    IdentitySettings {
        base_url: base_url.to_string(),
        algorithms: Algorithms::default(),
        allowed_origins: settings.allowed_origins.to_vec(),
        session_audience: if settings.accept_missing_audience {
            SessionAudience::Optional
        } else {
            SessionAudience::Required
        },
    }
}

fn retention(settings: &Settings) -> RetentionLimits {
    RetentionLimits {
        age: settings.log_retention.get(),
        records: settings.log_records_per_toolkit,
        bytes: settings.log_size_per_toolkit.bytes(),
    }
}

fn admission(settings: &Settings) -> AdmissionLimits {
    AdmissionLimits {
        per_user: settings.concurrent_calls_per_user,
        per_toolkit: settings.concurrent_calls_per_toolkit,
        in_all: settings.concurrent_calls as usize,
    }
}

/// Instances beyond those of calls: a deploy asks its component for the declaration. Deploys are
/// inspected one at a time.
const DESCRIBE_SLOTS: u32 = 2;
