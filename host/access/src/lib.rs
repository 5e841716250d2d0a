//! Authorization: the only way from a route to toolkits, calls, secrets, settings, records and documents.
//!
//! A route acts on behalf of the signed-in user, and gets only what that user may access:
//!
//! | function | allowed |
//! |---|---|
//! | [`User::toolkit`], [`User::call`] | own toolkits, and those, or the tools, whose audience the user is in; the server's own tools, on own documents |
//! | [`User::prompt`], [`User::resource`], [`User::complete`] | of toolkits of which the user may call every tool |
//! | [`User::query_vector`], [`Access::text_vectors`] | everybody: they reach nothing that is stored |
//! | [`User::listing`], [`User::toolkit_record`], [`User::picture`] | the same; operators see all |
//! | [`User::hide`], [`User::show_again`] | for the user's own clients, what the user may call |
//! | [`User::secret`], [`VisibleToolkit::settings`] | own ones, for a toolkit that the user can see and that declares them |
//! | [`VisibleToolkit::account`], [`VisibleToolkit::connect`] | own ones, for a toolkit that the user can see and that declares one |
//! | [`VisibleToolkit::consent`], [`VisibleToolkit::agree`] | own ones, for a toolkit that the user can see; keys of programs cannot agree |
//! | [`VisibleToolkit::cached`], [`User::clear_cache`] | own ones; the latter also for a toolkit that the user can no longer see |
//! | [`User::end_account`] | own ones, also for a toolkit that the user can no longer see |
//! | [`Operator::set_secret_for_everyone`] | operators, for a toolkit that they can see and that declares it |
//! | [`User::link_to`], [`Access::set_linked_secret`] | own ones, once, also without a token: whoever has the link |
//! | [`User::secrets`], [`User::unset_secret`] | own ones, also for a toolkit that the user can no longer see |
//! | [`User::records`], [`Records::usage`] | own calls in full; operators, and the owner of a private toolkit, see others' calls without content |
//! | [`User::documents`] | own ones |
//! | [`Operator::audience`] | operators |
//! | [`Operator::share`], [`Operator::unshare`] | operators, for own toolkits and those that are shared |
//! | [`Operator::reset_publisher`] | operators, for own toolkits and those that are shared |
//! | [`Operator::add_publisher`], [`Operator::remove_publisher`] | operators |
//! | [`Operator::audit`], [`Operator::overview`] | operators |
//! | [`User::operator`] | operators: deploy, review and manage toolkits, see which fail, rotate the master key |
//!
//! Which operator may change which toolkit depends on its owner at that moment, so the transaction that
//! changes it checks that (`toolkits/store/ownership`).
//!
//! Invariant: the stores are private fields here, and every function that uses one takes its user from a
//! verified [`Caller`]. A route without such a check does not compile (docs/decisions/0017). This does:
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
mod consents;
mod documents;
mod error;
mod finding;
mod freshness;
mod health;
mod hidden;
mod hints;
mod links;
mod offers;
mod operator;
mod overview;
mod preparation;
mod publishers;
mod readings;
mod records;
mod roles;
mod rules;
mod secrets;
mod settings;
#[cfg(test)]
mod tests;
mod toolkits;
mod uploads;
pub mod values;

use std::num::NonZeroU32;
use std::sync::Arc;

use arc_swap::ArcSwap;
use kitbag_base::disk::Disk;
use kitbag_base::rate::RateLimit;
use kitbag_database::Database;
use kitbag_database::audit::{Actor, Audit};
use kitbag_database::peers::{Freshness, Hints, Process};
use kitbag_identity::{Caller, Groups, TokenProfile};
use kitbag_knowledge::Knowledge;
use kitbag_net::traces::Arrival;
use kitbag_toolkits::audience::Part;
use kitbag_toolkits::code_runner::CodeRunner;
use kitbag_toolkits::dispatch::Dispatch;
use kitbag_toolkits::invocations::Invocations;
use kitbag_toolkits::knowledge_tools::KnowledgeTools;
use kitbag_toolkits::user_config::UserConfig;
use kitbag_toolkits::{Live, Toolkits};
use kitbag_vault::Vault;
use kitbag_vault::outbound_auth::Accounts;
use kitbag_vault::user_cache::UserCache;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use accounts::AccountStatus;
pub use asking::Asked;
pub use audit::AuditReader;
pub use consents::ConsentStatus;
pub use documents::OwnDocuments;
pub use error::{AccessError, CallError};
use health::LastHealth;
pub use health::{Health, PeersHealth};
pub use links::LinkedSecret;
pub use offers::Completed;
pub use operator::Operator;
pub use overview::{Figures, IntervalFigures, Overview, ToolkitFigures};
use preparation::Preparation;
pub use records::{Range, Reader, ReadingMode, Records};
pub use roles::Roles;
pub use secrets::{OwnSecret, StoredSecret};
pub use settings::Setting;
pub use toolkits::{ListedToolkit, VisibleToolkit};
pub use uploads::Comparison;

/// Acts of a user on their own account that stay in the audit log, on average and at once: far more than a person does.
const OWN_ACTS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(20).expect("not zero");
const MAX_OWN_ACTS_AT_ONCE: NonZeroU32 = NonZeroU32::new(600).expect("not zero");

/// Guards access to the stores. Clones share it.
#[derive(Clone)]
pub struct Access(Arc<Inner>);

struct Inner {
    stores: Stores,
    roles: ArcSwap<Roles>,
    last_health: LastHealth,
    freshness: Freshness,
    preparation: Preparation,
    own_acts: RateLimit,
    /// Ends what follows other processes.
    stopped: DropGuard,
}

/// Everything that is accessible only through [`Access`].
pub struct Stores {
    /// The database of all stores.
    pub database: Database,
    /// Deploys and the registry.
    pub toolkits: Arc<Toolkits>,
    /// Tool calls.
    pub dispatch: Dispatch,
    /// Runs code of models.
    pub code_runner: Arc<CodeRunner>,
    /// Secrets of users.
    pub vault: Arc<Vault>,
    /// Connected accounts of users.
    pub accounts: Accounts,
    /// What toolkits keep for users between calls.
    pub cache: Arc<UserCache>,
    /// Settings of users.
    pub user_config: Arc<UserConfig>,
    /// Records of calls.
    pub invocations: Arc<Invocations>,
    /// Who did what.
    pub audit: Arc<Audit>,
    /// Documents of users.
    pub knowledge: Knowledge,
    /// The server's own tools, if clients may use them.
    pub knowledge_tools: Option<Arc<KnowledgeTools>>,
    /// This process among others.
    pub process: Process,
    /// The disk of the data directory.
    pub disk: Disk,
    /// What tells other processes of changes.
    pub hints: Hints,
}

impl Access {
    /// Guards `stores`.
    pub fn new(stores: Stores, roles: Roles) -> Self {
        let roles = ArcSwap::from_pointee(roles);
        let freshness = Freshness::start(&stores.database, freshness::Copies::of(&stores));
        let (last_health, preparation) = (LastHealth::default(), Preparation::default());
        let own_acts = RateLimit::with_burst(OWN_ACTS_PER_MINUTE, MAX_OWN_ACTS_AT_ONCE);
        let stopped = CancellationToken::new().drop_guard();
        let access =
            Self(Arc::new(Inner { stores, roles, last_health, freshness, preparation, own_acts, stopped }));
        access.follow_changes();
        access
    }

    /// Replaces who is an operator, and who is in which local group, from now on.
    pub fn set_roles(&self, roles: Roles) {
        self.0.roles.store(Arc::new(roles));
        self.stores().toolkits.announce();
    }

    /// The caller as a user, with their permissions.
    pub fn of(&self, caller: &Arc<Caller>) -> User {
        User { access: self.clone(), caller: caller.clone(), arrival: None }
    }

    /// Signals when the toolkits that users can see may have changed.
    pub fn published(&self) -> watch::Receiver<()> {
        self.stores().toolkits.published()
    }

    fn stores(&self) -> &Stores {
        &self.0.stores
    }
}

/// A signed-in user, created only from a verified token.
#[derive(Clone)]
pub struct User {
    access: Access,
    caller: Arc<Caller>,
    /// When the user's request came, if calls are traced.
    arrival: Option<Arrival>,
}

impl User {
    /// The identity provider's id for the user.
    pub fn id(&self) -> &str {
        &self.caller.user_id
    }

    /// The OAuth client that acts for the user, if one does.
    pub fn client(&self) -> Option<&str> {
        self.caller.client_id.as_deref()
    }

    /// The user, with the client or the key, as the audit log names them.
    pub fn actor(&self) -> Actor {
        Actor::with(self.id(), self.client(), self.caller.key_id.as_deref())
    }

    /// Whether a program acts for the user, with a key.
    pub fn is_program(&self) -> bool {
        self.caller.profile == TokenProfile::Key
    }

    /// Whether the caller may call tools of some toolkits, and nothing else.
    pub fn is_limited(&self) -> bool {
        self.caller.toolkits.is_some()
    }

    /// Whether the caller may use a toolkit that its user may: a key may be limited to some.
    fn is_for(&self, toolkit: &str) -> bool {
        self.caller.toolkits.as_ref().is_none_or(|toolkits| toolkits.contains(toolkit))
    }

    /// The groups that the user is in, by their token or the settings as they are now.
    fn groups(&self) -> Groups {
        self.access.0.roles.load().groups(&self.caller)
    }

    /// Which tools of a toolkit the user sees and may call, by this caller.
    fn part_of(&self, toolkit: &Live) -> Part {
        if self.is_for(&toolkit.definition.id) {
            rules::part_of(self.id(), &self.groups(), toolkit)
        } else {
            Part::Nothing
        }
    }

    /// Whether the user sees the toolkit.
    fn sees(&self, toolkit: &Live) -> bool {
        self.part_of(toolkit) != Part::Nothing
    }

    /// Whether the user may deploy and manage toolkits.
    pub fn is_operator(&self) -> bool {
        self.access.0.roles.load().is_operator(&self.caller)
    }

    /// The user as an operator, if they are one.
    pub fn operator(&self) -> Result<Operator, AccessError> {
        if self.is_operator() {
            Ok(Operator::new(self.clone()))
        } else {
            Err(AccessError::NotOperator(self.id().to_owned()))
        }
    }

    /// As [`operator`](Self::operator). A refusal is recorded in the audit log: `what` is an act, or a route such as
    /// `POST /toolkits`.
    pub async fn expect_operator(&self, what: &str, toolkit: Option<&str>) -> Result<Operator, AccessError> {
        let operator = self.operator();
        if operator.is_err() {
            self.stores().audit.refused(&self.actor(), what, toolkit).await;
        }
        operator
    }

    /// Counts an act of the user on their own account, such as setting a secret, or refuses it: each has an entry in the audit
    /// log, which is kept for long.
    pub fn admit_own_act(&self) -> Result<(), AccessError> {
        Ok(self.access.0.own_acts.admit(self.id())?)
    }

    /// As the user of a request that came then.
    #[must_use]
    pub fn arrived(self, arrival: Option<Arrival>) -> Self {
        Self { arrival, ..self }
    }

    /// The user's own documents.
    pub fn documents(&self) -> OwnDocuments {
        OwnDocuments::new(self.clone())
    }

    fn stores(&self) -> &Stores {
        self.access.stores()
    }
}
