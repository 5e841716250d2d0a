//! Locks of write transactions.

use super::holder::Holder;

/// Data that a write transaction reads and changes. Transactions of the same scope do not run at the same
/// time. `SQLite` has a single writer and ignores the scope; PostgreSQL takes the locks that it names.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'s> {
    /// Documents, feeds, chunks and jobs of these holders.
    Holders(&'s [&'s Holder]),
    /// Documents, feeds, chunks and jobs of all holders.
    AllHolders,
    /// Collections, and who may read them.
    Collections,
    /// All data about toolkits, including the settings of users for them and the records of their calls:
    /// these are removed together with a toolkit.
    Toolkits,
    /// Secrets and settings of users.
    Vault,
    /// Secrets of users, and all cached data of toolkits: data obtained with a secret is deleted with that
    /// secret.
    Secrets,
    /// Data that one toolkit has cached for one user.
    Cached {
        /// User id.
        user: &'s str,
        /// Toolkit id.
        toolkit: &'s str,
    },
    /// Data that all toolkits have cached for all users.
    AllCached,
    /// Selection of the next jobs. The writes of a job use the scope of its holder.
    Jobs,
    /// Records of calls.
    Records,
    /// A call that counts towards limits. Shared: such calls may run at the same time, as all lock the
    /// changed rows in the same order.
    LimitedCalls,
    /// All calls that count towards limits.
    AllLimitedCalls,
    /// Browser sessions, and clients of the OAuth flows.
    Sessions,
    /// Entries of the audit log. Takes no lock: appending locks the row of the chain.
    Audit,
    /// Registration of processes, and the state that they coordinate through it.
    Processes,
    /// Answers passed between processes, and calls that continue with one. Takes no lock: the row locks of each
    /// statement are enough.
    Answers,
    /// Files outside the database. Takes no lock: the row locks of each statement are enough.
    Files,
}

const CACHED: &str = "cached";
const LIMITED_CALLS: &str = "limited-calls";

impl Scope<'_> {
    /// Returns the names of the shared locks and of the exclusive locks.
    pub(super) fn locks(self) -> (Vec<String>, Vec<String>) {
        let own = |names: &[&str]| (Vec::new(), names.iter().map(ToString::to_string).collect());
        match self {
            Self::Holders(holders) => (
                vec!["holders".to_owned()],
                holders.iter().map(|holder| format!("holder {holder}")).collect(),
            ),
            Self::AllHolders => own(&["holders"]),
            Self::Collections => own(&["collections"]),
            Self::Toolkits => own(&["toolkits", "vault", "records", LIMITED_CALLS, CACHED]),
            Self::Jobs => own(&["jobs"]),
            Self::Vault => own(&["vault"]),
            Self::Secrets => own(&["vault", CACHED]),
            // Unambiguous: toolkit ids contain no space.
            Self::Cached { user, toolkit } => {
                (vec![CACHED.to_owned()], vec![format!("{CACHED} {toolkit} {user}")])
            }
            Self::AllCached => own(&[CACHED]),
            Self::Records => own(&["records"]),
            Self::Sessions => own(&["sessions"]),
            Self::Processes => own(&["processes"]),
            Self::LimitedCalls => (vec![LIMITED_CALLS.to_owned()], Vec::new()),
            Self::AllLimitedCalls => own(&[LIMITED_CALLS]),
            Self::Audit | Self::Files | Self::Answers => own(&[]),
        }
    }
}
