//! Authorization: the only way from a route to toolkits, calls, secrets, settings, records and documents.
//!
//! A route acts on behalf of the signed-in user, and gets only what that user may access:
//!
//! | function | allowed |
//! |---|---|
//! | [`User::toolkit`], [`User::call`] | own toolkits, and toolkits or tools whose audience includes the user; the server's own tools, on own documents |
//! | [`User::prompt`], [`User::resource`], [`User::complete`] | those of toolkits whose tools the user may all call |
//! | [`User::query_vector`], [`Access::text_vectors`] | everyone: they access no stored data |
//! | [`User::listed`] | toolkits that the user may call; operators: all |
//! | [`User::hide`] | tools that the user may call; affects only the user's own clients |
//! | [`User::secret`], [`VisibleToolkit::settings`] | own ones, for a toolkit that the user can see and that declares them |
//! | [`VisibleToolkit::account`], [`VisibleToolkit::connect`] | own ones, for a toolkit that the user can see and that declares one |
//! | [`VisibleToolkit::consent`], [`VisibleToolkit::agree`] | own ones, for a toolkit that the user can see; keys of programs cannot agree |
//! | [`VisibleToolkit::cached`] | own ones, for a toolkit that the user can see |
//! | [`User::stored_for`] | own secrets, accounts, cached data, hidden tools and permissions of code, also for a toolkit that the user can no longer see |
//! | [`Operator::set_secret_for_everyone`] | operators, for a toolkit that they can see and that declares it |
//! | [`User::link_to`], [`Access::set_linked_secret`] | own ones, once; also anyone who has the link, without a token |
//! | [`User::records`], [`Records::usage`] | own calls in full; operators, and the owner of a private toolkit, see others' calls without content |
//! | [`User::documents`] | own ones, and those of collections that the user may read |
//! | [`HolderDocuments::ingest`], [`HolderDocuments::delete`], and all acts beside | own ones, and those of collections that the user keeps |
//! | [`UserCollections::list`], [`UserCollections::get`] | members of the collection |
//! | [`UserCollections::create`] | everyone, or operators (setting `collections`) |
//! | [`UserCollections::share`], and all acts beside | curators of the collection |
//! | [`AllCollections::list`], [`AllCollections::take_over`] | operators: that a collection exists, its size and its members, not its documents |
//! | [`AllUsers::list`], [`AllUsers::get`] | operators: that things of a user exist, without values, texts and titles |
//! | [`AllUsers::end`], [`AllUsers::end_access`] | operators, not themselves, and not by a key of a program |
//! | [`AllUsers::export`] | operators, of users whose access was ended, and not by a key of a program |
//! | [`AllUsers::revoke_key`] | operators, and not by a key of a program |
//! | [`User::export`] | the user |
//! | [`ScimTokens::create`], [`ScimTokens::revoke`] | operators, and not by a key of a program |
//! | [`Access::provisioner`] | identity providers with a token of their own: provisioned users and groups alone |
//! | [`Operator::reviews`], [`Operator::versions`] | operators; who may deploy an upload depends on the owner |
//! | [`ToolkitAudiences::of`] | operators |
//! | [`ToolkitAudiences::share`], [`ToolkitAudiences::unshare`] | operators, for own toolkits and those that are shared |
//! | [`TrustedPublishers::reset`] | operators, for own toolkits and those that are shared |
//! | [`TrustedPublishers::add`], [`TrustedPublishers::remove`] | operators |
//! | [`Operator::audit`], [`Operator::calls`], [`Operator::verify_audit`], [`Operator::overview`] | operators |
//! | [`User::operator`] | operators: deploy, review and manage toolkits, see which fail, rotate the master key |
//!
//! Which operator may change which toolkit depends on its owner at that moment, so the transaction that
//! changes it checks that (`toolkits/store/ownership`).
//!
//! Invariant: the stores are private fields here, and every function that uses one takes its user from a
//! verified [`Caller`](kitbag_identity::Caller). A route without such a check does not compile (docs/decisions/0017). This does:
//!
//! ```
//! use std::sync::Arc;
//!
//! use kitbag_access::{Access, AccessError};
//! use kitbag_identity::Caller;
//!
//! async fn rotate(access: &Access, caller: &Arc<Caller>) -> Result<(), AccessError> {
//!     access.of(caller).operator()?.rotate_master_key().await?;
//!     Ok(())
//! }
//! ```
//!
//! A [`User`] has no functions of an [`Operator`]:
//!
//! ```compile_fail,E0599
//! use std::sync::Arc;
//!
//! use kitbag_access::{Access, AccessError};
//! use kitbag_identity::Caller;
//!
//! async fn rotate(access: &Access, caller: &Arc<Caller>) -> Result<(), AccessError> {
//!     access.of(caller).rotate_master_key().await?;
//!     Ok(())
//! }
//! ```
//!
//! A route cannot access the stores directly, or construct an [`Operator`]:
//!
//! ```compile_fail,E0616
//! use kitbag_access::{Access, AccessError};
//!
//! async fn rotate(access: &Access) -> Result<(), AccessError> {
//!     access.0.vault.rotate().await?;
//!     Ok(())
//! }
//! ```
//!
//! ```compile_fail,E0423
//! use kitbag_access::{Operator, User};
//!
//! fn promote(user: User) -> Operator {
//!     Operator(user)
//! }
//! ```

mod accounts;
mod asking;
mod audience;
mod audit;
mod cache;
mod code;
mod code_tools;
mod collections;
mod consents;
mod documents;
mod error;
mod finding;
mod freshness;
mod health;
mod hidden;
mod hints;
mod links;
mod listed;
mod offers;
mod operator;
mod overview;
mod preparation;
mod provisioning;
mod publishers;
mod readings;
mod records;
mod reviews;
mod roles;
mod rules;
mod secrets;
mod settings;
mod stored;
mod stores;
#[cfg(test)]
mod tests;
mod toolkits;
mod user;
mod users;
pub mod values;
mod versions;
mod view;

use std::num::NonZeroU32;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kitbag_base::rate::RateLimit;
use kitbag_base::shares::Shares;
use kitbag_database::peers::Freshness;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use accounts::AccountStatus;
pub use asking::{Asked, ForwardedAnswer, ResumedCall, Resumption};
pub use audience::ToolkitAudiences;
pub use audit::{AuditReader, CallReader};
pub use collections::{AllCollections, CollectionOverview, UserCollections};
pub use consents::ConsentStatus;
pub use documents::{Documents, HolderDocuments};
pub use error::{AccessError, CallError};
pub use freshness::NotAdmitted;
use health::LastHealth;
pub use health::{Health, PeersHealth};
pub use links::LinkedSecret;
pub use listed::{ListedToolkit, ListedToolkits};
pub use offers::{Completed, PartlyTyped};
pub use operator::Operator;
pub use overview::{Figures, IntervalFigures, Overview, ToolkitFigures};
use preparation::Preparation;
pub use provisioning::ScimTokens;
pub use publishers::TrustedPublishers;
pub use records::{Range, Reader, ReadingMode, Records};
pub use reviews::Reviews;
pub use roles::Roles;
pub use secrets::{OwnSecret, StoredSecret};
pub use settings::Setting;
pub use stored::StoredData;
pub use stores::Stores;
pub use toolkits::VisibleToolkit;
pub use user::{Unreachable, UnreachableReason, User};
pub use users::{AllUsers, Export, MAX_USERS};
pub use versions::{Comparison, DeployedVersions};

/// Limits of a user's acts on their own account, each of which writes an audit entry: per minute on average,
/// and as a burst. No person reaches them.
const OWN_ACTS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(20).expect("not zero");
const MAX_OWN_ACTS_AT_ONCE: NonZeroU32 = NonZeroU32::new(600).expect("not zero");
/// Maximum number of exports that are read at a time: of all users, and of one.
const MAX_EXPORTS: usize = 16;
const MAX_EXPORTS_PER_USER: usize = 1;

/// Access control in front of the stores. Clones share its state.
#[derive(Clone)]
pub struct Access(Arc<Inner>);

struct Inner {
    stores: Stores,
    roles: ArcSwap<Roles>,
    last_health: LastHealth,
    freshness: Freshness,
    preparation: Preparation,
    own_acts: RateLimit,
    exports: Shares,
    /// Stops the tasks that follow other processes.
    stopped: DropGuard,
}

impl Access {
    /// Creates the access control of `stores`.
    pub fn new(stores: Stores, roles: Roles) -> Self {
        let roles = ArcSwap::from_pointee(roles);
        let freshness = Freshness::start(&stores.database, freshness::Copies::of(&stores));
        let last_health = LastHealth::default();
        let preparation = Preparation::default();
        let own_acts = RateLimit::with_burst(OWN_ACTS_PER_MINUTE, MAX_OWN_ACTS_AT_ONCE);
        let exports = Shares::new(MAX_EXPORTS, MAX_EXPORTS_PER_USER);
        let stopped = CancellationToken::new().drop_guard();
        let access = Self(Arc::new(Inner {
            stores,
            roles,
            last_health,
            freshness,
            preparation,
            own_acts,
            exports,
            stopped,
        }));
        access.follow_changes();
        access
    }

    /// Replaces the operators and the local groups, effective immediately.
    pub fn set_roles(&self, roles: Roles) {
        self.0.roles.store(Arc::new(roles));
        self.stores().toolkits.registry.announce();
    }

    /// Signals when the toolkits that users can see may have changed.
    pub fn published(&self) -> watch::Receiver<()> {
        self.stores().toolkits.registry.published()
    }

    fn stores(&self) -> &Stores {
        &self.0.stores
    }
}
