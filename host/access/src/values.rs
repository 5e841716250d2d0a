//! Re-exports of values, errors and constants of lower crates, for routes. Stores are not among them, so that
//! routes reach them through this crate only (docs/decisions/0017). `peers::Hints` is re-exported to tell
//! other processes of cancelled calls; it has no user data.

/// Audit entries, and their acts.
pub mod audit {
    pub use kitbag_database::audit::{
        Act, Actor, AuditFilter, AuditQuery, AuditRecord, CallFilter, CallQuery, CallRecord, Verification,
    };
}

/// Tool that runs code written by models.
pub mod code_runner {
    pub use kitbag_toolkits::code_runner::{RUN_CODE, tool};
}

/// Collections, and who may read them.
pub mod collections {
    pub use kitbag_knowledge::collections::{Collection, CollectionError, Description, Membership, Role};
}

/// Database errors.
pub mod database {
    pub use kitbag_database::DatabaseError;
}

/// Subjects of grants.
pub mod identity {
    pub use kitbag_identity::Subject;
}

/// Calls and replies.
pub mod dispatch {
    pub use kitbag_toolkits::dispatch::{
        Answers, Callee, ErrorCode, Failure, ProgressReport, Reply, Response, Success,
    };
}

/// Records of calls.
pub mod invocations {
    pub use kitbag_toolkits::invocations::{
        Amount, Content, Facts, Failing, Filter, Hour, Latency, Logged, OutcomeFilter, Period, RANGES, Scope,
        Through, Usage,
    };
}

/// Documents.
pub mod knowledge {
    pub use kitbag_knowledge::{
        Artifact, Change, Chosen, Conflict, Counts, Coverage, DEFAULT_RESULTS, Deletion, DocumentsState,
        Feed, Found, Hit, Holder, Ingested, KnowledgeError, Listing, MAX_RESULTS, Mode, Moved, NO_GOOD_MATCH,
        NewDocument, NewFeed, Page, Query, Quota, State, StateName, Summary, TitleOrigin, TooManyUploads,
        Usage, Version, brief, language_of,
    };
}

/// The server's own tools.
pub mod knowledge_tools {
    pub use kitbag_toolkits::knowledge_tools::{FETCH, ID};
}

/// Logs of calls.
pub mod observations {
    pub use kitbag_sandbox::observations::{LogEntry, Source};
}

/// Connections to provider accounts.
pub mod outbound_auth {
    pub use kitbag_vault::outbound_auth::{ConnectError, Response, SignInError};
}

/// Hints between processes that share a database.
pub mod peers {
    pub use kitbag_database::peers::{Heard, Hint, Hints, Listening, NoAnswer, Subject};
}

/// Toolkits, their versions and their owners.
pub mod toolkits {
    pub use kitbag_toolkits::{
        Claim, DeployTerms, Deployed, Difference, FormerOwner, Hidden, Incoming, LimitUsage, Live,
        LiveVersion, NewerState, Origin, Provenance, Publisher, Reach, ReachItem, Review, Reviewed, Rollback,
        RolledBack, Schemas, SignedBy, TakenOver, ToolkitError, ToolkitRecord, Tracked, UploadRecord,
        Version, VersionRecord, VouchReason, audience, difference, listed_name, names_of, record_names,
        toolkit_of,
    };
}

/// Sizes of the data that toolkits cache.
pub mod user_cache {
    pub use kitbag_vault::user_cache::CacheUsage;
}

/// What operators see of users, and the end of one.
pub mod users {
    pub use crate::users::values::*;
}

/// Who may use, read and reach what.
pub mod view {
    pub use crate::view::values::*;
}

/// Errors of users' settings.
pub mod user_config {
    pub use kitbag_toolkits::user_config::UserConfigError;
}

/// Metadata of secrets, without their values.
pub mod vault {
    pub use kitbag_vault::{EveryoneOptions, MAX_VALUE_BYTES, Rotated, SecretSlot, SecretStatus, VaultError};
}
