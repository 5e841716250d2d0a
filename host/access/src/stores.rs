//! The stores that [`Access`](super::Access) protects.

use std::sync::Arc;

use kitbag_base::disk::Disk;
use kitbag_database::Database;
use kitbag_database::audit::Audit;
use kitbag_database::peers::{Hints, Process};
use kitbag_identity::{ProgramKeys, Provisioning, Users};
use kitbag_knowledge::Knowledge;
use kitbag_knowledge::collections::Collections;
use kitbag_net::egress::LiveHostPolicy;
use kitbag_toolkits::Toolkits;
use kitbag_toolkits::code_runner::CodeRunner;
use kitbag_toolkits::dispatch::Dispatch;
use kitbag_toolkits::invocations::Invocations;
use kitbag_toolkits::knowledge_tools::KnowledgeTools;
use kitbag_toolkits::user_config::UserConfig;
use kitbag_vault::Vault;
use kitbag_vault::outbound_auth::Accounts;
use kitbag_vault::user_cache::UserCache;

/// Stores that are accessible only through [`Access`](super::Access).
pub struct Stores {
    /// The database of all stores.
    pub database: Database,
    /// Deployment of toolkits, and the registry of live ones.
    pub toolkits: Arc<Toolkits>,
    /// Dispatch of tool calls.
    pub dispatch: Dispatch,
    /// Runtime for code written by models.
    pub code_runner: Arc<CodeRunner>,
    /// Users who have signed in, or whose access was ended.
    pub users: Users,
    /// Users and groups that the identity provider maintains here.
    pub provisioning: Provisioning,
    /// Keys of programs, also where none is accepted.
    pub program_keys: ProgramKeys,
    /// Secrets of users.
    pub vault: Arc<Vault>,
    /// Connected accounts of users.
    pub accounts: Accounts,
    /// Hosts that the operator permits to toolkits.
    pub host_policy: LiveHostPolicy,
    /// Data that toolkits cache for users between calls.
    pub cache: Arc<UserCache>,
    /// Settings of users.
    pub user_config: Arc<UserConfig>,
    /// Records of calls.
    pub invocations: Arc<Invocations>,
    /// Audit log.
    pub audit: Arc<Audit>,
    /// Documents of users and of collections.
    pub knowledge: Knowledge,
    /// Collections, and who may read them.
    pub collections: Collections,
    /// The server's own tools, if clients may use them.
    pub knowledge_tools: Option<Arc<KnowledgeTools>>,
    /// State of this process among others.
    pub process: Process,
    /// The disk of the data directory.
    pub disk: Disk,
    /// The disk of the folder with components and captured files, if it is another one.
    pub objects_disk: Option<Disk>,
    /// Sends hints about changes to other processes.
    pub hints: Hints,
}
