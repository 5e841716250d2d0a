//! The composition root: builds and owns all parts of a server.

mod address;
mod anchors;
mod at_rest;
mod connections;
mod data;
mod error;
mod identity;
mod knowledge;
mod listeners;
mod metrics;
mod outbound;
mod process;
mod reload;
mod resources;
mod sandbox;
mod sandbox_limits;
mod stopping;
mod storage;
mod toolkits;
mod vault;
mod web;

use std::fs::File;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use kitbag_access::{Access, Stores};
use kitbag_database::Database;
use kitbag_database::peers::Process;
use kitbag_identity::Users;
use kitbag_knowledge::collections::Collections;
use kitbag_knowledge::{Knowledge, KnowledgeError};
use kitbag_net::traces::Traces;
use kitbag_sandbox::compiler::Program;
use kitbag_toolkits::invocations::Invocations;
use tokio::time::timeout;
use tracing::{info, warn};
use url::Url;

use crate::settings::{Listen, Settings};
use address::Address;
pub use address::certificate_files;
use anchors::Anchors;
pub use at_rest::{AtRest, AtRestError, share_data};
use connections::Service;
pub use error::StartError;
use identity::SignIn;
pub use listeners::ListenError;
use listeners::Listeners;
use metrics::{Exposition, Sources};
pub use outbound::egress_settings;
pub use reload::Reload;
use resources::Resources;
use sandbox::Execution;
pub use sandbox_limits::{compile_limits, limits};
use stopping::Stopping;
pub use storage::{audit_retention, objects_location};
use toolkits::ToolkitParts;
use vault::UserData;
pub use vault::key_source;

/// Time limit for closing the database and ending the tasks that write to it. Committed data is safe anyway.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that is ready to serve.
pub struct App {
    listeners: Listeners,
    service: Service<kitbag_web::Service>,
    address: Address,
    database: Database,
    invocations: Arc<Invocations>,
    knowledge: Knowledge,
    process: Process,
    /// `None` if the audit log is not anchored.
    anchors: Option<Anchors>,
    users: Users,
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
    pub async fn start_with(settings: &Settings, compiler: Program) -> Result<Self, StartError> {
        let lock = data::claim(&settings.data)?;
        let listeners = Listeners::open(settings).await?;
        let address = Address::of(settings, &listeners).await?;
        let stopping = Stopping::new(settings, &listeners);

        let database = storage::open_database(settings).await?;
        // Before any user's data is read.
        identity::bind(settings, &database).await?;
        let resources = Resources::open(settings, database, compiler, &stopping.begun).await?;
        let Resources { database, hints, .. } = &resources;
        let prepared = knowledge::Prepared::new(settings, &resources).await?;
        let vault = vault::open(settings, database).await?;
        let process = process::join(settings, database, &vault, &prepared.job_settings()).await?;
        let knowledge = prepared.open(database, &process).await?;
        let user_data = UserData::of(vault.clone(), &resources);
        let collections = Collections::open(database.clone()).await.map_err(KnowledgeError::from)?;
        knowledge.keep_emptying_bins(&collections, settings.bin.get(), stopping.begun.clone());
        let users = Users::open(database.clone()).await?;
        let provisioning = identity::provisioning(settings, database, &users).await?;
        let execution = Execution::start(settings, &resources, &knowledge, &user_data)?;
        let parts =
            ToolkitParts::open(settings, &resources, &process, &vault, &execution, &stopping.begun).await?;
        resources.objects.keep_ending(stopping.begun.clone());
        let invocations = parts.invocations.clone();
        let audit = storage::audit_log(settings, database);
        let anchors = Anchors::start(settings, &audit, &resources.egress)?;
        let stores = Stores {
            database: database.clone(),
            toolkits: parts.toolkits,
            dispatch: parts.dispatch,
            code_runner: parts.code_runner,
            vault: user_data.vault,
            accounts: user_data.accounts,
            host_policy: resources.egress.host_policy().clone(),
            cache: user_data.cache,
            user_config: parts.user_config,
            invocations: parts.invocations,
            audit,
            knowledge: knowledge.clone(),
            collections,
            users: users.clone(),
            provisioning,
            program_keys: identity::program_keys(settings, database),
            knowledge_tools: knowledge::own_tools(settings, &knowledge, &address.base_url),
            process: process.clone(),
            disk: resources.disk.clone(),
            objects_disk: resources.objects_disk.clone(),
            hints: hints.clone(),
        };

        let sign_in = SignIn::open(settings, &address.base_url, &resources, &vault, &users).await?;
        // Last, because each key file that others could read has been refused by now.
        data::restrict_permissions(&settings.data).await?;
        let access = Access::new(stores, identity::roles(settings));
        access.prepare();
        let sources = Sources::new(&resources.metrics, &access, &execution, &address)
            .with_anchors(anchors.as_ref().map(Anchors::last));
        let exposition = Exposition::open(settings, sources)?;
        let shares = execution.request_shares;
        let service =
            web::service(settings, &address, &resources, sign_in, access.clone(), shares, &stopping);
        Ok(Self {
            listeners,
            service,
            reload: Reload::new(access, &resources.egress, address.certificate.clone(), settings.clone()),
            address,
            database: resources.database,
            invocations,
            knowledge,
            process,
            anchors,
            users,
            stopping,
            exposition,
            traces: resources.traces,
            _lock: lock,
        })
    }

    /// Socket addresses that the server listens on. Behind a reverse proxy they differ from the public URL.
    pub fn addresses(&self) -> Vec<Listen> {
        self.listeners.addresses()
    }

    /// The public URL.
    pub fn base_url(&self) -> &Url {
        &self.address.base_url
    }

    /// The users of this server.
    pub fn users(&self) -> &Users {
        &self.users
    }

    /// Returns a handle that applies changed settings while the server runs.
    pub fn reload(&self) -> Reload {
        self.reload.clone()
    }

    /// Serves until `stop` resolves, then waits at most 30 s for running calls.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        info!(url = %self.address.base_url, "serving");
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
        if let Some(anchors) = self.anchors {
            anchors.close().await;
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
