//! What a transaction may change.

/// What a transaction reads before it writes, and what it writes: no other transaction of the same scope runs
/// meanwhile. `SQLite` has a single writer, and needs no scope; PostgreSQL locks what it names.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'s> {
    /// Documents, feeds, chunks and jobs of these users.
    Users(&'s [&'s str]),
    /// Documents, feeds, chunks and jobs of all users.
    AllUsers,
    /// Everything about toolkits, including what users have set for them and the records of their calls: with a
    /// toolkit, these are removed.
    Toolkits,
    /// Secrets and settings of users.
    Vault,
    /// Secrets of users, and with them what toolkits have cached: it goes with the secrets that it was had with.
    Secrets,
    /// What a toolkit has cached for a user.
    Cached {
        /// The user.
        user: &'s str,
        /// The toolkit's id.
        toolkit: &'s str,
    },
    /// What all toolkits have cached for all users.
    AllCached,
    /// The choice of the next jobs. What a job writes has its user's scope.
    Jobs,
    /// Records of calls.
    Records,
    /// A call that counts towards limits: all lock the rows that they change in the same order.
    LimitedCalls,
    /// All calls that count towards limits.
    AllLimitedCalls,
    /// Sessions of browsers, and clients of the OAuth flows.
    Sessions,
    /// Entries of the audit log, whose chains lock themselves.
    Audit,
    /// What processes agree on when they start.
    Processes,
    /// Answers on their way between processes: each statement locks the row that it changes, which is enough.
    Answers,
    /// Files outside the database: each statement locks the rows that it changes, which is enough.
    Files,
}

const CACHED: &str = "cached";
const LIMITED_CALLS: &str = "limited-calls";

impl Scope<'_> {
    /// The names of the locks that the scope shares with others, and of those that it has for itself.
    pub(super) fn locks(self) -> (Vec<String>, Vec<String>) {
        let own = |names: &[&str]| (Vec::new(), names.iter().map(ToString::to_string).collect());
        match self {
            Self::Users(users) => {
                (vec!["users".to_owned()], users.iter().map(|user| format!("user {user}")).collect())
            }
            Self::AllUsers => own(&["users"]),
            Self::Toolkits => own(&["toolkits", "vault", "records", LIMITED_CALLS, CACHED]),
            Self::Jobs => own(&["jobs"]),
            Self::Vault => own(&["vault"]),
            Self::Secrets => own(&["vault", CACHED]),
            // No toolkit's id has a space.
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
