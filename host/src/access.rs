//! Who may do what: the only way from a route to toolkits, calls, secrets, settings, records and documents.
//!
//! A route asks on behalf of the user who signed in, and gets what that user may have:
//!
//! | asked | allowed |
//! |---|---|
//! | [`User::toolkit`], [`User::call`] | shared toolkits and own private ones |
//! | [`User::listing`], [`User::toolkit_record`] | the same; operators see all |
//! | [`User::secret`], [`VisibleToolkit::settings`] | own ones, for a toolkit that the user can see and that declares them |
//! | [`User::secrets`], [`User::unset_secret`] | own ones, also for a toolkit that the user cannot see any more |
//! | [`User::records`] | of own calls all; operators, and the owner of a private toolkit, see those of others without content |
//! | [`User::documents`] | own ones |
//! | [`User::operator`] | operators: deploy and manage toolkits, rotate the master key |
//!
//! Which operator may change which toolkit depends on its owner at that moment, so the transaction that changes it
//! decides (`toolkits/store/ownership`).
//!
//! Invariant: the stores are private fields here, and every function that reaches one takes its user from a
//! verified [`Caller`]. A route that does not ask does not compile (docs/decisions/0017). This does:
//!
//! ```
//! use kitbag::access::{Access, AccessError};
//! use kitbag::identity::Caller;
//!
//! async fn rotate(access: &Access, caller: &Caller) -> Result<(), AccessError> {
//!     access.of(caller).operator()?.rotate_master_key().await?;
//!     Ok(())
//! }
//! ```
//!
//! A user who was not found to be an operator has no such function:
//!
//! ```compile_fail,E0599
//! use kitbag::access::{Access, AccessError};
//! use kitbag::identity::Caller;
//!
//! async fn rotate(access: &Access, caller: &Caller) -> Result<(), AccessError> {
//!     access.of(caller).rotate_master_key().await?;
//!     Ok(())
//! }
//! ```
//!
//! Nor can a route pass by, or make up a permission:
//!
//! ```compile_fail,E0616
//! use kitbag::access::{Access, AccessError};
//!
//! async fn rotate(access: &Access) -> Result<(), AccessError> {
//!     access.0.vault.rotate().await?;
//!     Ok(())
//! }
//! ```
//!
//! ```compile_fail,E0423
//! use kitbag::access::{Operator, User};
//!
//! fn promote(user: User) -> Operator {
//!     Operator(user)
//! }
//! ```

mod documents;
mod error;
mod health;
mod operator;
mod records;
mod rules;
mod secrets;
mod settings;
#[cfg(test)]
mod tests;
mod toolkits;

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::watch;

use crate::database::Database;
use crate::disk::Disk;
use crate::dispatch::Dispatch;
use crate::identity::Caller;
use crate::invocations::Invocations;
use crate::knowledge::Knowledge;
use crate::toolkits::Toolkits;
use crate::user_config::UserConfig;
use crate::vault::Vault;
pub use documents::OwnDocuments;
pub use error::{AccessError, CallError};
pub use health::Health;
use health::LastHealth;
pub use operator::Operator;
pub use records::{Range, Reader, ReadingMode, Records};
pub use secrets::{OwnSecret, StoredSecret};
pub use settings::Setting;
pub use toolkits::VisibleToolkit;

/// What users may reach; a clone shares it.
#[derive(Clone)]
pub struct Access(Arc<Inner>);

struct Inner {
    stores: Stores,
    operators: HashSet<String>,
    last_health: LastHealth,
}

/// Everything that is reached through [`Access`] alone.
pub struct Stores {
    /// What all of them but files are kept in.
    pub database: Database,
    /// Deploys and the registry.
    pub toolkits: Arc<Toolkits>,
    /// Tool calls.
    pub dispatch: Dispatch,
    /// Secrets of users.
    pub vault: Arc<Vault>,
    /// Settings of users.
    pub user_config: Arc<UserConfig>,
    /// Records of calls.
    pub invocations: Arc<Invocations>,
    /// Documents of users.
    pub knowledge: Knowledge,
    /// Where everything is stored.
    pub disk: Disk,
}

impl Access {
    /// Guards `stores`; these users are operators.
    pub fn new(stores: Stores, operators: HashSet<String>) -> Self {
        Self(Arc::new(Inner { stores, operators, last_health: LastHealth::default() }))
    }

    /// What the caller may do.
    pub fn of(&self, caller: &Caller) -> User {
        User { access: self.clone(), caller: Arc::new(caller.clone()) }
    }

    /// Signals whenever what users can see may have changed.
    pub fn published(&self) -> watch::Receiver<()> {
        self.stores().toolkits.published()
    }

    fn stores(&self) -> &Stores {
        &self.0.stores
    }
}

/// A user who has signed in; made from a verified token alone.
#[derive(Clone)]
pub struct User {
    access: Access,
    caller: Arc<Caller>,
}

impl User {
    /// The identity provider's id for the user.
    pub fn id(&self) -> &str {
        &self.caller.user_id
    }

    /// Whether the user may deploy and manage toolkits.
    pub fn is_operator(&self) -> bool {
        self.access.0.operators.contains(self.id())
    }

    /// What an operator may do, if the user is one.
    pub fn operator(&self) -> Result<Operator, AccessError> {
        if self.is_operator() {
            Ok(Operator::new(self.clone()))
        } else {
            Err(AccessError::NotOperator(self.id().to_owned()))
        }
    }

    /// The user's own documents.
    pub fn documents(&self) -> OwnDocuments {
        OwnDocuments::new(self.clone())
    }

    fn stores(&self) -> &Stores {
        self.access.stores()
    }
}
