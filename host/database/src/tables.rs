//! List of all tables, and how the rows of each are treated when a service is copied to another database.
//!
//! Invariant: each table is in one of the two lists, and each column with ids of users, or with holders, is named
//! (`tests/tables`).

/// A table whose rows are copied.
#[derive(Debug)]
pub struct Table {
    /// Table name.
    pub name: &'static str,
    /// Column of an increasing counter whose values are never reused, even after the copy.
    pub(super) ids: Option<&'static str>,
    /// Columns with ids of users.
    pub users: &'static [&'static str],
    /// Whether the column `holder` has keys of holders ([`Holder`](crate::Holder)), which contain ids of users.
    pub has_holders: bool,
    /// SQL condition that selects the rows to copy; empty for all.
    pub(super) condition: &'static str,
    /// Columns to overwrite in the copy, each with the SQL expression of its value.
    pub(super) replaced: &'static [(&'static str, &'static str)],
    /// Whether a new database already has rows, which the rows of the source replace.
    pub(super) is_never_empty: bool,
}

/// Tables that are copied, in order: none refers to a later one, except in constraints that are checked at
/// the end of a transaction.
pub const TABLES: &[Table] = &[
    Table { users: &["owner"], ..Table::named("toolkits") },
    Table { users: &["deployed_by"], ..Table::named("toolkit_versions") },
    Table { ids: Some("sequence"), users: &["activated_by"], ..Table::named("toolkit_activations") },
    Table { ids: Some("sequence"), users: &["owner_before", "by_user"], ..Table::named("toolkit_ownership") },
    Table { users: &["uploaded_by"], ..Table::named("toolkit_uploads") },
    Table::named("toolkit_icons"),
    Table::named("toolkit_provenance"),
    Table::named("toolkit_publishers"),
    Table { users: &["added_by"], ..Table::named("publishers") },
    Table::named("registry_questions"),
    Table { users: &["user_id"], ..Table::named(SECRETS) },
    Table { users: &["user_id"], ..Table::named("secret_revisions") },
    Table::named("spent_links"),
    Table { users: &["user_id"], ..Table::named("asked_calls") },
    Table { users: &["user_id"], ..Table::named("user_config") },
    Table { users: &["user_id"], ..Table::named("hidden_tools") },
    Table { users: &["user_id"], ..Table::named("code_tools") },
    Table { users: &["user_id", "shared_by"], ..Table::named("toolkit_audience") },
    Table { users: &["user_id"], ..Table::named("limited_calls") },
    Table::named("agreed_reaches"),
    Table { users: &["user_id", "owner"], ..Table::named("consents") },
    Table { ids: Some("id"), users: &["user_id"], ..Table::named("invocations") },
    // In the target, no process runs the call.
    Table {
        users: &["user_id"],
        replaced: &[("process", "CAST(NULL AS TEXT)")],
        ..Table::named("running_calls")
    },
    Table::named("call_counts"),
    Table { users: &["user_id"], ..Table::named("toolkit_users") },
    // Entries keep the ids that users had when they acted: a changed one would break the chain.
    Table { ids: Some("id"), ..Table::named("audit") },
    Table::named("audit_calls"),
    Table::named("audit_chains"),
    Table { is_never_empty: true, ..Table::named("audit_log") },
    Table { ids: Some("sequence"), is_never_empty: true, ..Table::named("issuers") },
    Table { users: &["user_id", "ended_by"], ..Table::named(USERS) },
    Table { users: &["user_id"], ..Table::named("scim_users") },
    Table::named("scim_groups"),
    Table::named("scim_members"),
    Table { users: &["created_by"], ..Table::named("scim_tokens") },
    Table { users: &["user_id"], ..Table::named(SESSIONS) },
    Table { users: &["user_id"], ..Table::named(KEYS) },
    Table::named(SESSION_GRANTS),
    Table::named("web_clients"),
    Table { users: &["created_by", "deleted_by"], ..Table::named("collections") },
    Table { users: &["user_id", "shared_by"], ..Table::named("collection_grants") },
    Table { ids: Some("id"), has_holders: true, ..Table::named("feeds") },
    Table {
        ids: Some("sequence"),
        has_holders: true,
        users: &["added_by", "changed_by", "deleted_by"],
        ..Table::named("documents")
    },
    Table { users: &["changed_by"], ..Table::named("document_versions") },
    // In the target, no process has claimed a job.
    Table {
        has_holders: true,
        replaced: &[("taken_by", "CAST(NULL AS TEXT)")],
        ..Table::named("knowledge_jobs")
    },
    Table { ids: Some("id"), has_holders: true, ..Table::named("chunks") },
    Table::named("chunk_texts"),
    Table { has_holders: true, ..Table::named("knowledge_revisions") },
    Table { is_never_empty: true, ..Table::named("registry") },
    // Copies only referenced files, without reservations: no process of the target is about to refer to a
    // file.
    Table {
        condition: "NOT dropped AND (
            (name LIKE 'components/%' AND (
                EXISTS (SELECT 1 FROM toolkit_versions WHERE digest = substr(files.name, 12))
                OR EXISTS (SELECT 1 FROM toolkit_uploads WHERE digest = substr(files.name, 12))))
            OR (name LIKE 'artifacts/%'
                AND EXISTS (SELECT 1 FROM documents WHERE artifact = substr(files.name, 11))))",
        replaced: &[("kept_until", "CAST(0 AS BIGINT)")],
        ..Table::named("files")
    },
];

/// Reserved, empty user id of values for all users, such as secrets for everyone.
pub const EVERYONE: &str = "";

/// Reserved user id in place of one that was erased: no token may name it.
pub const ERASED_USER: &str = "(erased)";

/// Table of users' secrets. Each row is encrypted for its user.
pub const SECRETS: &str = "secrets";
/// Table of users who have signed in, or whose access was ended.
pub const USERS: &str = "users";
/// Table of API keys of programs.
pub const KEYS: &str = "program_keys";
/// Table of browser sessions.
pub const SESSIONS: &str = "browser_sessions";
/// Table of the identity provider's grants for browser sessions: token expiry, groups, encrypted refresh
/// token.
pub const SESSION_GRANTS: &str = "browser_session_grants";

/// Tables that are not copied, each with the reason.
#[cfg(test)]
pub(super) const NOT_COPIED: &[(&str, &str)] = &[
    ("processes", "those of the other database"),
    ("passed_answers", "no call waits there"),
    ("cached_values", "toolkits do without them, and they open with the keys of this service alone"),
    ("account_refreshes", "no process renews anything there"),
    ("session_renewals", "no process renews anything there"),
    (
        "service",
        "the other store of files, the other program, its last start, and settings to which its jobs are adapted then",
    ),
    ("knowledge_usage", "counted by triggers while documents and feeds are inserted"),
    ("oauth_clients", "local sign-in belongs to one data directory, which has its keys"),
    ("oauth_grants", "local sign-in belongs to one data directory, which has its keys"),
];

impl Table {
    const fn named(name: &'static str) -> Self {
        Self {
            name,
            ids: None,
            users: &[],
            has_holders: false,
            condition: "",
            replaced: &[],
            is_never_empty: false,
        }
    }
}
