//! The composition root: builds and owns all parts of a server.

mod at_rest;
mod configuration;
mod connections;
mod error;
mod listeners;
mod metrics;
mod parts;
mod reload;
mod stopping;

use std::fs::File;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use kitbag_access::{Access, Stores};
use kitbag_base::metrics::Metrics;
use kitbag_base::tasks::take_a_share;
use kitbag_base::workers::Workers;
use kitbag_database::Database;
use kitbag_database::peers::{Hints, Process};
use kitbag_identity::{ProviderSignIn, bind_issuer};
use kitbag_knowledge::Knowledge;
use kitbag_net::traces::Traces;
use kitbag_sandbox::capabilities::Services;
use kitbag_sandbox::compiler::{Compiler, Program};
use kitbag_sandbox::{Background, Sandbox};
use kitbag_toolkits::Toolkits;
use kitbag_toolkits::dispatch::{CallServices, Dispatch};
use kitbag_toolkits::invocations::Invocations;
use kitbag_toolkits::user_config::UserConfig;
use kitbag_vault::Vault;
use kitbag_vault::outbound_auth::Accounts;
use kitbag_vault::user_cache::UserCache;
use kitbag_web::Shared;
use tokio::time::timeout;
use tracing::{info, warn};
use url::Url;

use crate::settings::{Issuer, Listen, Settings};
use connections::{Service, Tls};
use listeners::Listeners;
use metrics::{Exposition, Sources};
use parts::{
    audit_log, browser_sessions, capture, claim, code_runner, embedder, join, knowledge_options,
    knowledge_tools, open_certificate, open_database, open_objects, outbound, program_keys,
    restrict_permissions, sign_in, watched_disk,
};
use stopping::Stopping;

pub use at_rest::{AtRest, AtRestError, share_data};
pub use configuration::{certificate_files, compile_limits, key_source, limits, objects_location};
use configuration::{
    admission, connection_limits, consent_by, drain, followed_registries, memory_for_calls, pace, request_shares,
    retention, roles, signature_rule, web_client,
};
pub use error::StartError;
pub use listeners::ListenError;
pub use reload::Reload;

/// Time limit for closing the database and ending the tasks that write to it. Committed data is safe anyway.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that is ready to serve.
pub struct App {
    listeners: Listeners,
    service: Service<kitbag_web::Service>,
    base_url: Url,
    database: Database,
    invocations: Arc<Invocations>,
    knowledge: Knowledge,
    process: Process,
    stopping: Stopping,
    reload: Reload,
    /// `None` if metrics are disabled.
    exposition: Option<Exposition>,
    traces: Traces,
    /// Lock on the data directory for the lifetime of the server: two servers must not share one.
    _lock: File,
}

impl App {
    /// Opens the data directory, listens, and builds all parts. Does not serve yet.
    pub async fn start(settings: &Settings) -> Result<Self, StartError> {
        Self::start_with(settings, Program::this()).await
    }

    /// Like [`start`](Self::start), for programs other than `kitbag`. `compiler`: the `kitbag` program, which
    /// is run as the compiler process.
    #[expect(clippy::too_many_lines, reason = "it lists the parts of a server, each once")]
    pub async fn start_with(settings: &Settings, compiler: Program) -> Result<Self, StartError> {
        let lock = claim(&settings.data)?;
        let listeners = Listeners::open(settings).await?;
        let addresses: Vec<_> = listeners.addresses().iter().filter_map(Listen::tcp).collect();
        let base_url = settings.base_url(&addresses)?;
        let certificate = open_certificate(settings, &base_url).await?;

        let database = open_database(settings).await?;
        // Before any user's data is read.
        bind_issuer(&database, settings.issuer.name(), settings.issuer_replaces.get().map(Issuer::name))
            .await?;
        let metrics = Metrics::default();
        let (egress, traces) = outbound(settings, &metrics)?;
        let background = Background::start().map_err(StartError::Threads)?;
        let stopping = Stopping::new(drain(settings, &listeners), &listeners);
        let disk = watched_disk(settings)?;
        let objects = open_objects(settings, &database, &egress).await?;
        let compiler =
            Compiler::new(compiler, compile_limits(settings), disk.clone(), stopping.begun.clone());
        let artifacts = objects.artifacts();
        let capture =
            capture(settings, artifacts, background.clone(), compiler.clone(), egress.clone()).await?;
        let hints = Hints::start(&database);
        let options = knowledge_options(settings, embedder(settings, &egress).await?, disk.clone(), &hints);
        let vault = Arc::new(Vault::open(database.clone(), key_source(settings)?).await?);
        let job_settings = Knowledge::job_settings(&capture, &options);
        let process = join(settings, &database, &vault, &job_settings).await?;
        let knowledge = Knowledge::open(database.clone(), process.clone(), capture, options).await?;
        let accounts = Accounts::new(egress.clone(), vault.clone());
        let cache = Arc::new(UserCache::new(database.clone(), vault.clone(), disk.clone()));
        cache.keep_sweeping();
        let services = Services::new(egress.clone())
            .with_knowledge(knowledge.clone())
            .with_accounts(accounts.clone())
            .with_cache(cache.clone());
        let workers = Workers::start("large-work", take_a_share).map_err(StartError::Threads)?;
        let request_shares = request_shares(settings, workers.clone());
        let memory = memory_for_calls(settings, request_shares.memory())?;
        let sandbox = Sandbox::new(limits(settings), services, background)?.with_memory(memory.clone());
        let instances = sandbox.instance_pool();
        let forgetting = vault.clone();
        let dependencies = kitbag_toolkits::Dependencies {
            components: objects.components(),
            database: database.clone(),
            sandbox: sandbox.clone(),
            compiler: compiler.clone(),
            disk: disk.clone(),
            egress: egress.clone(),
            on_removal: Arc::new(move || forgetting.clear_cache()),
        };
        let options = kitbag_toolkits::Options {
            consent_by: consent_by(settings),
            signature_rule: signature_rule(settings),
            followed_registries: followed_registries(settings)?,
            component_limit: settings.component_size.bytes() as u64,
        };
        let toolkits = Arc::new(Toolkits::open(&settings.data, dependencies, options).await?);
        toolkits.reviews.keep_removing_expired();
        toolkits.updates.keep_asking_registries(stopping.begun.clone());
        objects.keep_ending(stopping.begun.clone());
        let user_config = Arc::new(UserConfig::new(database.clone()));
        let records = Invocations::open(database.clone(), hints.clone(), retention(settings));
        let invocations = Arc::new(records.await?);
        let services = CallServices {
            toolkits: toolkits.clone(),
            vault: vault.clone(),
            user_config: user_config.clone(),
            invocations: invocations.clone(),
            workers,
            metrics: metrics.clone(),
            traces: traces.clone(),
        };
        let dispatch = Dispatch::new(services, admission(settings)).map_err(StartError::Threads)?;
        let stores = Stores {
            database: database.clone(),
            toolkits,
            dispatch,
            code_runner: code_runner(settings, sandbox.clone(), compiler.clone()).await?,
            vault: vault.clone(),
            accounts,
            cache,
            user_config,
            invocations: invocations.clone(),
            audit: audit_log(settings, &database),
            knowledge: knowledge.clone(),
            knowledge_tools: knowledge_tools(settings, &knowledge, &base_url),
            process: process.clone(),
            disk,
            hints,
        };

        let program_keys = program_keys(settings, &database);
        let (identity, authorization_server) =
            sign_in(settings, &base_url, egress.clone(), &database, program_keys.clone()).await?;
        let browser_sessions = browser_sessions(settings, &database);
        let provider_sign_in = web_client(settings).map(|client| {
            let (identity, sessions) = (identity.clone(), browser_sessions.clone());
            let (database, url) = (database.clone(), base_url.as_str().trim_end_matches('/'));
            Arc::new(ProviderSignIn::new(identity, sessions, vault, database, egress, client, url))
        });
        // Last, because each key file that others could read has been refused by now.
        restrict_permissions(&settings.data).await?;
        let access = Access::new(stores, roles(settings));
        access.prepare();
        let sources = Sources::new(&metrics, &access, memory, instances, certificate.as_ref(), &base_url);
        let exposition = Exposition::open(settings, sources)?;
        let tls = certificate.clone().map(|it| Tls::new(it, settings.request_timeout.get(), metrics.clone()));
        let web = kitbag_web::Service::new(Shared {
            identity,
            authorization_server,
            browser_sessions,
            program_keys,
            provider_sign_in,
            access: access.clone(),
            base_url: base_url.clone(),
            allowed_origins: settings.allowed_origins.as_slice().into(),
            pace: pace(settings),
            component_size: settings.component_size.bytes() as u64,
            request_shares,
            mcp_request_size: settings.mcp_request_size.bytes(),
            mcp_requests_per_minute: settings.mcp_requests_per_minute,
            metrics,
            certificate: certificate.clone(),
            traces: traces.clone(),
            draining: stopping.draining.clone(),
            stopping: stopping.begun.clone(),
            refusing: stopping.refusing.clone(),
        });
        Ok(Self {
            listeners,
            service: service(settings, web, tls, &stopping),
            base_url,
            database,
            invocations,
            knowledge,
            process,
            stopping,
            reload: Reload::new(access, certificate, settings.clone()),
            exposition,
            traces,
            _lock: lock,
        })
    }

    /// Socket addresses that the server listens on. Behind a reverse proxy they differ from the public URL.
    pub fn addresses(&self) -> Vec<Listen> {
        self.listeners.addresses()
    }

    /// The public URL.
    pub fn base_url(&self) -> &Url {
        &self.base_url
    }

    /// Returns a handle that applies changed settings while the server runs.
    pub fn reload(&self) -> Reload {
        self.reload.clone()
    }

    /// Serves until `stop` resolves, then waits at most 30 s for running calls.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        info!(url = %self.base_url, "serving");
        let stop = async {
            stop.await;
            self.stopping.drain_and_begin().await;
        };
        if let Some(exposition) = self.exposition {
            // Never stopped: metrics stay available while the server drains.
            tokio::spawn(exposition.serve(self.service.pace, pending()));
        }
        connections::serve(self.listeners, self.service, stop).await;
        if timeout(CLOSE_TIMEOUT, self.invocations.close()).await.is_err() {
            warn!("the last records of calls were not written in time");
        }
        self.traces.close().await;
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

fn service(
    settings: &Settings,
    handler: kitbag_web::Service,
    tls: Option<Tls>,
    stopping: &Stopping,
) -> Service<kitbag_web::Service> {
    let (pace, limits) = (pace(settings), connection_limits(settings));
    Service { handler, pace, limits, tls, draining: stopping.draining.clone() }
}
