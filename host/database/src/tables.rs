//! All tables, and what becomes of the rows of each when a whole service is copied to another database.
//!
//! Invariant: each table is in one of the two lists, and each column with ids of users is named (`tests/tables`).

/// A table whose rows are copied.
#[derive(Debug)]
pub struct Table {
    /// The name of the table.
    pub name: &'static str,
    /// The column whose values count up, so that none is given twice, also after the copy.
    pub(super) ids: Option<&'static str>,
    /// Columns with ids of users.
    pub users: &'static [&'static str],
    /// Which rows; empty for all.
    pub(super) condition: &'static str,
    /// Columns that get another value than the row has, each with its expression.
    pub(super) replaced: &'static [(&'static str, &'static str)],
    /// Whether a database that nobody has used may have rows, which those of the source replace.
    pub(super) is_never_empty: bool,
}

/// The tables that are copied. None refers to one after it, except in constraints that are checked at the end of a
/// transaction.
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
    Table { users: &["user_id"], ..Table::named("user_config") },
    Table { users: &["user_id"], ..Table::named("hidden_tools") },
    Table { users: &["user_id"], ..Table::named("code_tools") },
    Table { users: &["user_id", "shared_by"], ..Table::named("toolkit_audience") },
    Table { users: &["user_id"], ..Table::named("limited_calls") },
    Table::named("agreed_reaches"),
    Table { users: &["user_id", "owner"], ..Table::named("consents") },
    Table { ids: Some("id"), users: &["user_id"], ..Table::named("invocations") },
    Table::named("call_counts"),
    Table { users: &["user_id"], ..Table::named("toolkit_users") },
    // Entries keep the ids that users had when they acted: a changed one would break the chain.
    Table { ids: Some("id"), ..Table::named("audit") },
    Table::named("audit_chains"),
    Table { ids: Some("sequence"), is_never_empty: true, ..Table::named("issuers") },
    Table { users: &["user_id"], ..Table::named(SESSIONS) },
    Table { users: &["user_id"], ..Table::named(KEYS) },
    Table::named(SESSION_GRANTS),
    Table::named("web_clients"),
    Table { ids: Some("id"), users: &["user_id"], ..Table::named("feeds") },
    Table { ids: Some("sequence"), users: &["user_id"], ..Table::named("documents") },
    // No process has taken a job there.
    Table {
        users: &["user_id"],
        replaced: &[("taken_by", "CAST(NULL AS TEXT)")],
        ..Table::named("knowledge_jobs")
    },
    Table { ids: Some("id"), users: &["user_id"], ..Table::named("chunks") },
    Table::named("chunk_texts"),
    Table { users: &["user_id"], ..Table::named("knowledge_revisions") },
    Table { is_never_empty: true, ..Table::named("registry") },
    // Only files to which rows refer are copied: nobody there is about to refer to another one.
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

/// The user id of secrets for everyone. No user has it.
pub const EVERYONE: &str = "";

/// Secrets of users, whose rows are sealed for their user.
pub const SECRETS: &str = "secrets";
/// Keys of programs.
pub const KEYS: &str = "program_keys";
/// Sessions of browsers, and what a provider has granted for them.
pub const SESSIONS: &str = "browser_sessions";
/// Refresh tokens of the sessions of browsers.
pub const SESSION_GRANTS: &str = "browser_session_grants";

/// The tables that are not copied, with the reason.
#[cfg(test)]
pub(super) const NOT_COPIED: &[(&str, &str)] = &[
    ("processes", "those of the other database"),
    ("passed_answers", "no call waits there"),
    ("cached_values", "toolkits do without them, and they open with the keys of this service alone"),
    ("account_refreshes", "no process renews anything there"),
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
        Self { name, ids: None, users: &[], condition: "", replaced: &[], is_never_empty: false }
    }
}
