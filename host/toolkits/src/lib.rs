//! Toolkits: deployment of uploaded components, calls, and the records of calls.
//!
//! Invariant: components are stored before the database refers to them, and a version becomes live in one
//! transaction. After a crash at any point, the next start finds either the old or the new version live,
//! complete.
//!
//! # Modules
//!
//! [`Toolkits`] has a field for each thing that is done with toolkits; each is a type of its own, with a file
//! in `store`, where all SQL is:
//!
//! - `current`: the current registry, replaced at each change; `registry`, `live`: the live toolkits at one
//!   moment, and the code of each version
//! - `deploys`, `owners`: who may change which toolkit is decided in `store/ownership`
//! - `components`: components on their way in, and their machine code
//! - `store/versions`: deployed versions, as they are read
//! - `dispatch`: (caller, call of a tool, a prompt, a resource or a completion) → reply: admission,
//!   validation of arguments and results, one record per call
//! - `code_runner`: the component that runs code of models, and its tool `run_code` (docs/decisions/0073);
//!   `capabilities/fetch/inner_calls` receives its tool calls, `access/code` runs them
//! - `knowledge_tools`: the server's own tools `search` and `fetch`, which clients call like those of
//!   toolkits (docs/decisions/0062)
//! - `invocations`: the records of calls: written in the background, stored for a limited time, listed,
//!   filtered and followed; `invocations/usage` counts calls and failures of the last day,
//!   `invocations/counts` the calls of the last thirty days (docs/decisions/0071)
//! - `user_config`: users' values for the settings that toolkits declare; refuses values that look like a
//!   secret
//! - `icons`: pictures of toolkits whose icon is a URL: fetched at deploy, their type verified from their
//!   bytes
//! - `audience`, `audiences`, `limited_calls`: the users who may use toolkits and tools, and limits of their
//!   calls (docs/decisions/0069)
//! - `reach`, `consents`: the hosts, secrets and documents that a toolkit reaches, and the part of them that
//!   a user has not agreed to; `dispatch` checks it before it reads any data of the user
//!   (docs/decisions/0070)
//! - `hidden`, `hidden_tools`: toolkits and tools that users hide from models, read once per user and state of
//!   the registry
//! - `updates`, `successor`: asks the registries in the settings for newer versions, once an hour in one
//!   process, and stores later versions for review (docs/decisions/0076)
//! - `provenance`, `signatures`, `store/publishers`: the source and the signer of each version, and which
//!   versions may follow a signed one (docs/decisions/0075)
//! - `reviews`, `difference`: uploads that wait for review (docs/decisions/0025), and the differences between
//!   two versions: capabilities, imports, and texts line by line

mod agreed;
mod artifacts;
pub mod audience;
mod audiences;
mod code;
pub mod code_runner;
mod components;
mod consents;
mod current;
mod deploys;
pub mod difference;
pub mod dispatch;
mod error;
pub mod invocations;
pub mod knowledge_tools;
mod limited_calls;
#[doc(hidden)]
pub mod fuzzing {
    //! Entry points for `fuzz/`.
    pub use super::icons::fuzzing::picture;
}
mod hidden;
mod hidden_tools;
mod icons;
mod inspect;
mod leaving;
mod live;
mod narrowed;
mod offers;
mod owners;
mod provenance;
mod reach;
mod registry;
mod reviews;
mod schemas;
mod signatures;
mod store;
mod successor;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod updates;
pub mod user_config;
mod vouch;

use std::path::Path;
use std::sync::Arc;

use kitbag_base::disk::Disk;
use kitbag_database::Database;
use kitbag_files::objects::Files;
use kitbag_manifest::schema;
use kitbag_net::egress::Egress;
use kitbag_sandbox::Sandbox;
use kitbag_sandbox::compiler::Compiler;

use artifacts::Artifacts;
pub use audiences::Audiences;
use code::CodeLoader;
pub use code::{NotReady, Ready};
use components::Components;
pub use components::Incoming;
pub use consents::{Consent, ConsentBy, Consents};
pub use current::CurrentRegistry;
pub use deploys::{DeployTerms, Deployed, Deploys, RolledBack};
pub use difference::{Changes, Difference, Side, capabilities};
pub use error::ToolkitError;
pub use hidden::Hidden;
pub use hidden_tools::HiddenTools;
pub use icons::Picture;
pub use inspect::{Inspected, inspect};
pub use leaving::Leaving;
pub use limited_calls::{LimitUsage, LimitedCalls, OverLimit};
pub use live::{FormerOwner, Live};
pub use offers::{Offer, OfferKind, record_names};
pub use owners::Owners;
pub use provenance::{Origin, Provenance, Publisher, SignatureRule, SignedBy, Source};
pub use reach::{Reach, ReachItem};
pub use registry::{Registry, Tool, listed_name, names_of, toolkit_of};
pub use reviews::{Review, Reviewed, Reviews, UploadRecord};
pub use schemas::Schemas;
use signatures::Signatures;
pub use store::{
    AskedCall, AskedCalls, Claim, CodeTools, Expected, FirstAct, Forgotten, LiveVersion, OwnershipRecord,
    Publishers, Rollback, TakenOver, ToolkitRecord, Version, VersionRecord, Versions,
};
use store::{
    AudienceStore, ConsentStore, DeployStore, HiddenStore, LeavingStore, LiveStore, OwnershipStore,
    UpdateStore, UploadStore,
};
use updates::Followed;
pub use updates::{NewerState, NewerVersion, Tracked, Updates};
pub use vouch::{Vouch, VouchReason};

/// All deployed toolkits, a field for each thing that is done with them.
pub struct Toolkits {
    /// The live toolkits.
    pub registry: Arc<CurrentRegistry>,
    /// Deployed versions.
    pub versions: Versions,
    /// Deploys, rollbacks and removals.
    pub deploys: Deploys,
    /// Uploads that wait for review.
    pub reviews: Arc<Reviews>,
    /// Newer versions in registries.
    pub updates: Arc<Updates>,
    /// Owners.
    pub owners: Owners,
    /// Publishers, whose signatures are accepted.
    pub publishers: Publishers,
    /// Grants to users and groups.
    pub audiences: Audiences,
    /// Counters of limited calls.
    pub limited_calls: LimitedCalls,
    /// Consents of users.
    pub consents: Consents,
    /// Toolkits and tools that users hide.
    pub hidden: HiddenTools,
    /// Tools that users allow code of models to call.
    pub code_tools: CodeTools,
    /// Calls that continue with an answer of their user.
    pub asked_calls: AskedCalls,
    /// What users who have left had.
    pub leaving: Leaving,
}

/// Parts of the server that toolkits use.
pub struct Dependencies {
    /// The stored components.
    pub components: Files,
    /// The database.
    pub database: Database,
    /// The sandbox in which components run.
    pub sandbox: Sandbox,
    /// The compiler of components.
    pub compiler: Compiler,
    /// The disk with the data directory.
    pub disk: Disk,
    /// Outbound requests.
    pub egress: Egress,
    /// Called after users' secrets for a toolkit were deleted, because the toolkit was removed or its owner
    /// changed.
    pub on_removal: Arc<dyn Fn() + Send + Sync>,
}

/// Settings of the operator about toolkits.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The party that consents to a further reach.
    pub consent_by: ConsentBy,
    /// The rule for signatures of versions.
    pub signature_rule: SignatureRule,
    /// The registries that are asked for newer versions.
    pub followed_registries: Vec<String>,
    /// Maximum size of a component that is pulled from there, in bytes.
    pub component_limit: u64,
}

impl Toolkits {
    /// Reads the deployed toolkits, with machine code in `directory`. Machine code is loaded at the first
    /// call of each toolkit, so that start-up time does not grow with the number of toolkits.
    pub async fn open(
        directory: &Path,
        dependencies: Dependencies,
        options: Options,
    ) -> Result<Self, ToolkitError> {
        let Dependencies { components, database, sandbox, compiler, disk, egress, on_removal } = dependencies;
        let artifacts = Artifacts::open(directory, &sandbox.code_version(), components).await?;
        let loader = CodeLoader { sandbox, compiler, artifacts };
        let store = DeployStore::new(database.clone());
        let components = Components { loader: loader.clone(), disk, deploys: store.clone() };
        components.sweep_code().await?;
        let registry = Arc::new(CurrentRegistry::open(LiveStore::new(database.clone()), loader).await?);
        // In the background: the first call uses the result, or waits for the rest.
        tokio::task::spawn_blocking(schema::prepare);

        let publishers = Publishers::new(database.clone());
        let signatures = Signatures { publishers: publishers.clone(), rule: options.signature_rule };
        let owners =
            Owners { store: OwnershipStore::new(database.clone()), registry: registry.clone(), on_removal };
        let deploys = Deploys {
            components: components.clone(),
            egress: egress.clone(),
            owners: owners.clone(),
            registry: registry.clone(),
            signatures: signatures.clone(),
            store,
        };
        let reviews = Arc::new(Reviews {
            components: components.clone(),
            deploys: deploys.clone(),
            egress: egress.clone(),
            registry: registry.clone(),
            signatures,
            store: UploadStore::new(database.clone()),
        });
        let updates = Updates {
            components,
            egress,
            followed: Followed { registries: options.followed_registries, limit: options.component_limit },
            reviews: reviews.clone(),
            store: UpdateStore::new(database.clone()),
            uploads: UploadStore::new(database.clone()),
        };
        Ok(Self {
            versions: Versions::new(database.clone()),
            deploys,
            reviews,
            updates: Arc::new(updates),
            owners,
            publishers,
            audiences: Audiences { store: AudienceStore::new(database.clone()), registry: registry.clone() },
            limited_calls: LimitedCalls::new(database.clone()),
            consents: Consents {
                store: ConsentStore::new(database.clone()),
                registry: registry.clone(),
                consent_by: options.consent_by,
            },
            hidden: HiddenTools { store: HiddenStore::new(database.clone()), registry: registry.clone() },
            code_tools: CodeTools::new(database.clone()),
            leaving: Leaving {
                store: LeavingStore::new(database.clone()),
                ownership: OwnershipStore::new(database.clone()),
                registry: registry.clone(),
            },
            asked_calls: AskedCalls::new(database),
            registry,
        })
    }
}
