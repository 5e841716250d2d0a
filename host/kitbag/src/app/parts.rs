//! Opens the parts of a server according to the settings.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use kitbag_base::disk::Disk;
use kitbag_base::local_mode;
use kitbag_base::metrics::Metrics;
use kitbag_base::ownership;
use kitbag_base::workers::Workers;
use kitbag_database::Database;
use kitbag_database::audit::Audit;
use kitbag_database::peers::{Hints, Process, Profile};
use kitbag_files::objects::{Files, Objects};
use kitbag_files::stored_files::has_unfinished_restore;
use kitbag_identity::{
    Algorithms, AuthorizationServer, BrowserSessions, Identity, Lifetimes, LocalIssuer, ProgramKeys,
    SignInCode,
};
use kitbag_knowledge::{
    Capture, CaptureSettings, Embedder, Endpoint, Knowledge, MAX_TEXT_BYTES, Quota, SearchFiles,
    TranscriptionSettings, model,
};
use kitbag_net::certificate::{CertificateError, LiveCertificate};
use kitbag_net::egress::Egress;
use kitbag_net::traces::Traces;
use kitbag_sandbox::compiler::Compiler;
use kitbag_sandbox::extractors::Extractors;
use kitbag_sandbox::{Background, ExtractionLimits, ExtractorSandbox, Sandbox};
use kitbag_toolkits::Toolkits;
use kitbag_toolkits::code_runner::CodeRunner;
use kitbag_toolkits::dispatch::Dispatch;
use kitbag_toolkits::invocations::Invocations;
use kitbag_toolkits::knowledge_tools::KnowledgeTools;
use kitbag_toolkits::user_config::UserConfig;
use kitbag_vault::Vault;
use secrecy::ExposeSecret;
use tokio::task::spawn_blocking;
use tracing::info;
use url::Url;

use super::StartError;
use super::configuration::{
    admission, certificate_files, egress_settings, identity_settings, objects_location, session_lifetime,
    shared_settings, traces,
};
use crate::settings::{DatabaseLocation, Issuer, Model, ObjectsLocation, Secret, Settings};

/// Opens the audit log and removes expired entries.
pub(super) fn audit_log(settings: &Settings, database: &Database) -> Arc<Audit> {
    let audit = Arc::new(Audit::new(database.clone(), settings.audit_retention.get()));
    audit.keep_removing();
    audit
}

/// Loads the certificate, if one is configured, and reloads it whenever it changes.
pub(super) async fn open_certificate(
    settings: &Settings,
    base_url: &Url,
) -> Result<Option<LiveCertificate>, CertificateError> {
    let Some(files) = certificate_files(settings) else { return Ok(None) };
    let url = base_url.clone();
    let opened = spawn_blocking(move || LiveCertificate::open(files, &url)).await;
    let certificate = opened.expect("reading a certificate does not panic")?;
    certificate.watch();
    Ok(Some(certificate))
}

/// Opens the configured database.
pub(super) async fn open_database(settings: &Settings) -> Result<Database, StartError> {
    Ok(match &settings.database {
        DatabaseLocation::Server(url) => {
            Database::connect(url.expose_secret(), settings.database_connections).await?
        }
        DatabaseLocation::DataDirectory | DatabaseLocation::Invalid => Database::open(&settings.data).await?,
    })
}

/// Starts to monitor the free space of the disk with the data directory.
pub(super) fn watched_disk(settings: &Settings) -> Result<Disk, StartError> {
    let reserve = settings.free_disk_space.get().map(|size| size.bytes() as u64);
    let disk = Disk::new(&settings.data, reserve);
    let disk = disk.map_err(|cause| StartError::Data { path: settings.data.clone(), cause })?;
    disk.watch();
    Ok(disk)
}

/// Opens the store of components and captured files. A separate folder must be accessible only to the
/// server's user, like the data directory.
pub(super) async fn open_objects(
    settings: &Settings,
    database: &Database,
    egress: &Egress,
) -> Result<Objects, StartError> {
    let location = objects_location(settings);
    if let ObjectsLocation::Folder(folder) = &settings.objects {
        ownership::claim_directory(folder)?;
    }
    let objects = Objects::open(database.clone(), &location, egress).await?;
    objects.expect_shared().await?;
    Ok(objects)
}

/// Registers this process with the other processes on the database.
pub(super) async fn join(
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

/// Creates the dispatcher of tool calls.
pub(super) fn dispatch(
    settings: &Settings,
    toolkits: &Arc<Toolkits>,
    (vault, values, records): (&Arc<Vault>, &Arc<UserConfig>, &Arc<Invocations>),
    workers: Workers,
    (metrics, traces): (&Metrics, &Traces),
) -> Result<Dispatch, StartError> {
    let (toolkits, records) = (toolkits.clone(), records.clone());
    let of_users = (vault.clone(), values.clone());
    let observers = (metrics.clone(), traces.clone());
    Dispatch::new(toolkits, of_users, records, admission(settings), workers, observers)
        .map_err(StartError::Threads)
}

/// Creates the client for all outbound requests, and the exporter of traces, which uses it.
pub(super) fn outbound(settings: &Settings, metrics: &Metrics) -> Result<(Egress, Traces), StartError> {
    let egress = Egress::new(egress_settings(settings)?).with_metrics(metrics.clone());
    let traces = traces(settings, &egress, metrics)?;
    Ok((egress, traces))
}

/// Creates the store of browser sessions.
pub(super) fn browser_sessions(settings: &Settings, database: &Database) -> Arc<BrowserSessions> {
    let (issuer, lifetime) = (settings.issuer.name(), session_lifetime(settings));
    Arc::new(BrowserSessions::new(database.clone(), issuer, lifetime))
}

/// Creates the store of API keys for programs; `None` if the operator disables them.
pub(super) fn program_keys(settings: &Settings, database: &Database) -> Option<ProgramKeys> {
    settings.keys.then(|| ProgramKeys::new(database.clone(), settings.issuer.name()))
}

/// Creates the token verifier and, in local mode, the authorization server.
pub(super) async fn sign_in(
    settings: &Settings,
    base_url: &Url,
    egress: Egress,
    database: &Database,
    keys: Option<ProgramKeys>,
) -> Result<(Arc<Identity>, Option<Arc<AuthorizationServer>>), StartError> {
    let mut identity = identity_settings(settings, base_url);
    let Issuer::External(issuer) = &settings.issuer else {
        // Must precede reading the key: a changed sign-in code replaces the key.
        let code = SignInCode::open(&settings.data, database).await?;
        let local = Arc::new(LocalIssuer::open(&settings.data, base_url.as_str())?);
        local_mode::announce(&settings.data, base_url)
            .map_err(|cause| StartError::Data { path: settings.data.clone(), cause })?;
        let identity = Identity::with_local_issuer(identity, local.clone())?.accepting(keys);
        let lifetimes = Lifetimes {
            access_token: settings.bounds.access_token_lifetime,
            replaced_token: settings.refresh_grace.get(),
            ..Lifetimes::default()
        };
        let server = AuthorizationServer::new(local, code, database.clone(), egress, lifetimes);
        return Ok((Arc::new(identity), Some(Arc::new(server))));
    };
    if !settings.token_algorithms.is_empty() {
        identity.algorithms = Algorithms::parse(settings.token_algorithms.iter())?;
    }
    Ok((Arc::new(Identity::with_provider(identity, issuer, egress)?.accepting(keys)), None))
}

/// Creates the server's own tools, unless they are disabled.
pub(super) fn knowledge_tools(
    settings: &Settings,
    knowledge: &Knowledge,
    base_url: &Url,
) -> Option<Arc<KnowledgeTools>> {
    settings.knowledge_tools.then(|| Arc::new(KnowledgeTools::new(knowledge.clone(), base_url)))
}

/// Limits and dependencies of the knowledge base.
pub(super) fn knowledge_options(
    settings: &Settings,
    embedder: Option<Embedder>,
    disk: Disk,
    hints: &Hints,
) -> kitbag_knowledge::Options {
    kitbag_knowledge::Options {
        embedder,
        search_memory: settings.search_memory.bytes(),
        search_files: Some(SearchFiles::of(&settings.data)),
        quota: Quota {
            documents: settings.documents_per_user,
            bytes: settings.documents_size_per_user.bytes() as u64,
        },
        uploads_per_minute: settings.uploads_per_minute,
        disk,
        hints: hints.clone(),
        ..kitbag_knowledge::Options::default()
    }
}

/// Restricts the data directory to its owner.
pub(super) async fn restrict_permissions(data: &Path) -> Result<(), StartError> {
    let directory = data.to_owned();
    spawn_blocking(move || ownership::restrict_permissions(&directory))
        .await
        .map_err(io::Error::other)
        .and_then(|restricted| restricted)
        .map_err(|cause| StartError::Data { path: data.to_owned(), cause })
}

/// Creates the runner for code written by models, if its component is installed.
pub(super) async fn code_runner(
    settings: &Settings,
    sandbox: Sandbox,
    compiler: Compiler,
) -> Result<Arc<CodeRunner>, StartError> {
    let runner = CodeRunner::open(&settings.data, settings.extractors.clone(), sandbox, compiler).await;
    runner.map(Arc::new).map_err(|cause| StartError::Data { path: settings.data.clone(), cause })
}

/// Creates the capture of files, with the installed extractors.
pub(super) async fn capture(
    settings: &Settings,
    artifacts: Files,
    background: Background,
    compiler: Compiler,
    egress: Egress,
) -> Result<Capture, StartError> {
    let failed = |cause| StartError::Data { path: settings.data.clone(), cause };
    let limits = ExtractionLimits {
        time: settings.bounds.extraction_time,
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
        time: settings.bounds.capture_time,
        transcription,
    };
    Capture::open(&settings.data, artifacts, egress, capture, extract).await.map_err(failed)
}

/// Locks the data directory, after creating it or checking that only its owner can access it.
pub(super) fn claim(data: &Path) -> Result<File, StartError> {
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

/// Creates the embedder, if one is configured, and logs the search mode.
pub(super) async fn embedder(settings: &Settings, egress: &Egress) -> Result<Option<Embedder>, StartError> {
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
        Model::NameOrFolder(named) => {
            let located = model::located(&settings.data, named);
            if let Some(name) = located.not_fetched() {
                return Err(StartError::ModelNotFetched { name, folder: located.folder });
            }
            located.folder
        }
        Model::Default => {
            let folder = model::folder(&settings.data, model::default_model());
            if !folder.exists() {
                log_no_default_model(&settings.data);
                return Ok(None);
            }
            folder
        }
    };
    let embedder = Embedder::open(&folder).await?;
    info!(model = embedder.model(), folder = %folder.display(), "search goes by words and by meaning");
    Ok(Some(embedder))
}

fn log_no_default_model(data: &Path) {
    let fetched: Vec<_> = model::fetched(data).map(|model| model.name).collect();
    if fetched.is_empty() {
        info!("search goes by words alone, for there is no model: run `kitbag model fetch`, and start again");
    } else {
        let fetched = fetched.join(", ");
        info!(
            fetched,
            "search goes by words alone: the default model is not there, and the setting model names no other"
        );
    }
}
