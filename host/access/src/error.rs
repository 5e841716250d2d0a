//! Errors of access.

use std::path::Path;

use kitbag_base::disk::DiskFull;
use kitbag_base::ownership::shell_quoted;
use kitbag_base::rate::TooManyRequests;
use kitbag_database::DatabaseError;
use kitbag_identity::{EndUserError, ProvisioningError};
use kitbag_knowledge::KnowledgeError;
use kitbag_knowledge::collections::CollectionError;
use kitbag_toolkits::ToolkitError;
use kitbag_toolkits::dispatch::Unavailable;
use kitbag_toolkits::user_config::UserConfigError;
use kitbag_vault::VaultError;
use kitbag_vault::outbound_auth::ConnectError;
use thiserror::Error;

/// Reason why access was refused or failed.
#[derive(Debug, Error)]
pub enum AccessError {
    /// The user is not an operator.
    #[error("Only operators may do this; {0} is not one (setting `operators`).")]
    NotOperator(String),
    /// The toolkit declares no secret of this name.
    #[error("{toolkit} declares no secret {name:?}; it declares {}.", list(.declared))]
    UndeclaredSecret {
        /// The toolkit.
        toolkit: String,
        /// The requested name.
        name: String,
        /// Declared names.
        declared: Vec<String>,
    },
    /// The toolkit can read the secret, and so disclose it to any of its users.
    #[error(
        "{toolkit} can read {name}, and so hand its value to any of its users. To set it for everyone nevertheless, say that it \
         is `readable` (the command: `--yes`)."
    )]
    ReadableSecret {
        /// The toolkit.
        toolkit: String,
        /// The secret's name.
        name: String,
    },
    /// The toolkit declares no account.
    #[error("{0} declares no account: its `auth` has no entry of the type oauth2_authorization_code.")]
    NoAccountDeclared(String),
    /// The account was not connected.
    #[error("The account was not connected: {0}.")]
    Account(#[from] ConnectError),
    /// The toolkit's reach differs from what the user was shown.
    #[error(
        "Nothing was agreed to: what {0} reaches has changed in the meantime. Look at the difference again."
    )]
    ReachChanged(String),
    /// A program cannot agree for its user.
    #[error(
        "A program cannot agree for its user, who can: on the page of the toolkit, or by `kitbag toolkit agree`."
    )]
    ProgramsCannotAgree,
    /// A program's key cannot allow tools in code: the program may run that code.
    #[error(
        "A key of a program cannot let code call tools that may change something: its user does, on the toolkit's page, or by `kitbag toolkit allow-in-code`."
    )]
    ProgramsCannotAllow,
    /// A program cannot change which publishers are trusted.
    #[error(
        "A key of a program neither adds publishers nor resets the one of a toolkit: an operator who has signed in does."
    )]
    ProgramsCannotTrust,
    /// A program's key cannot end a user.
    #[error(
        "A key of a program ends nobody, and neither revokes keys nor exports anything of others: an operator who has signed in \
         does."
    )]
    ProgramsCannotEnd,
    /// A program's key cannot make or revoke tokens of identity providers.
    #[error(
        "A key of a program neither makes nor revokes tokens of identity providers: an operator who has signed in does."
    )]
    ProgramsCannotProvision,
    /// The server is not set up for provisioning.
    #[error(
        "This server takes no users from an identity provider: the setting `scim-user-id` says which attribute has the ids that \
         tokens carry (docs/organisation.md)."
    )]
    NotProvisioned,
    /// There is no token of an identity provider with this id.
    #[error("There is no token {0}; `kitbag user scim-token show` lists all.")]
    UnknownScimToken(String),
    /// The token of an identity provider was not made.
    #[error("{0}")]
    Provisioning(#[from] ProvisioningError),
    /// Operators cannot end themselves.
    #[error("You cannot end yourself: ask another operator to.")]
    OwnEnd,
    /// An operator exports only what users have whose access was ended.
    #[error(
        "{0} can export what they have themselves. You can once their access is ended: `kitbag user end {quoted} --access-only`.",
        quoted = shell_quoted(Path::new(.0))
    )]
    ExportOfOther(String),
    /// The user reads another export.
    #[error("An export is being read already. Wait until it has ended.")]
    TooManyExports,
    /// As many exports of others are read as may be at a time.
    #[error("Other users read as many exports as this server writes at a time. Try again in some minutes.")]
    TooManyExportsOfAll,
    /// No user with this id was seen, or has anything.
    #[error("There is no user {0} who was seen or has anything here; `kitbag user list` lists all.")]
    UnknownUser(String),
    /// The user has no key with this id.
    #[error("{user} has no key {key}; `kitbag user show {quoted}` lists all.", quoted = shell_quoted(Path::new(user)))]
    UnknownKey {
        /// The user.
        user: String,
        /// The id.
        key: String,
    },
    /// The user's access was not ended.
    #[error(transparent)]
    UserEnd(#[from] EndUserError),
    /// A collection has no room for the documents of a user.
    #[error(
        "{collection} has no room for all documents of {user} ({why}), and those that are left stay as they are. What else {user} \
         had is ended. Do it again, with another collection or without."
    )]
    NoRoomForDocuments {
        /// The user.
        user: String,
        /// The collection.
        collection: String,
        /// Reason, as a clause.
        why: String,
    },
    /// The toolkit has no tool of this name.
    #[error("{toolkit} has no tool {tool:?}; it has {}.", .tools.join(", "))]
    NoSuchTool {
        /// The toolkit.
        toolkit: String,
        /// The requested name.
        tool: String,
        /// The names of its tools.
        tools: Vec<String>,
    },
    /// The whole toolkit is hidden, so a single tool of it cannot be shown again.
    #[error("All of {0} is hidden: show it again, and then hide the other tools.")]
    HiddenAsAWhole(String),
    /// The user has changed their own account too often, for instance by setting secrets.
    #[error(transparent)]
    TooManyRequests(#[from] TooManyRequests),
    /// The live version reaches more than the user has agreed to; it gets no data until they agree.
    #[error(
        "{0} reaches further than you have agreed to. Look at what is new, and agree: on its page, or by `kitbag toolkit agree {0}`."
    )]
    ConsentWaits(String),
    /// The limit of concurrent log readers is reached, for the user or in total.
    #[error("Too many logs are being read.")]
    TooManyReaders,
    /// Calls have no entries in the audit log.
    #[error(
        "Calls are not written into the audit log here (setting `record-callers`). `kitbag toolkit logs` shows those of a toolkit."
    )]
    CallersNotRecorded,
    /// The toolkit does not exist for the user, or cannot be changed.
    #[error(transparent)]
    Toolkit(#[from] ToolkitError),
    /// The secret was not set.
    #[error(transparent)]
    Secrets(#[from] VaultError),
    /// The settings were not changed.
    #[error(transparent)]
    Settings(#[from] UserConfigError),
    /// The collection does not exist for the user, or cannot be changed.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// The knowledge base failed.
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
    /// The disk is full.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// Processes of different releases are running.
    #[error(
        "The service is being upgraded: toolkits can be deployed once all its processes are of one release."
    )]
    SeveralReleases,
    /// Another process encrypts secrets with another master key.
    #[error(
        "Another process of this service seals secrets with the master key {theirs}, and this one with {ours}: give all \
         processes the same key as their first one, and rotate again."
    )]
    OtherSealingKey {
        /// Name of this process's key.
        ours: String,
        /// Name of the other process's key.
        theirs: String,
    },
    /// The state of other processes cannot be read; the text is for the log.
    #[error("storage failed: {0}")]
    Processes(#[source] DatabaseError),
    /// Records cannot be read; the text is for the log.
    #[error("storage failed: {0}")]
    Records(#[source] DatabaseError),
    /// What users have cannot be read; the text is for the log.
    #[error("storage failed: {0}")]
    Users(#[source] DatabaseError),
    /// Cached data of a toolkit cannot be read or removed; the text is for the log.
    #[error("storage failed: {0}")]
    Cache(#[source] DatabaseError),
}

/// Reason why a call has no reply.
#[derive(Debug, Error)]
pub enum CallError {
    /// The tool does not exist for the user.
    #[error("unknown tool: {0}; the owner of a toolkit, or an operator, shares it (`kitbag toolkit share`)")]
    UnknownTool(String),
    /// The user has hidden the tool.
    #[error(
        "{0} is hidden from models by its user, who can show it again: on the page of its toolkit, or by `kitbag toolkit \
         show-again`"
    )]
    Hidden(String),
    /// A server error; the cause is in the log.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

fn list(declared: &[String]) -> String {
    if declared.is_empty() { "no secrets".to_owned() } else { declared.join(", ") }
}
