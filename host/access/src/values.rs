//! What routes name of the crates below: values, errors and constants. What stores them is not among them, so that a route
//! reaches it through this crate alone (docs/decisions/0017). `peers::Hints` tells other processes of calls that were
//! cancelled, and has nothing of a user.

/// Entries of the audit log, and the acts that they are about.
pub mod audit {
    pub use kitbag_database::audit::{Act, Actor, AuditFilter, AuditQuery, AuditRecord};
}

/// The tool that runs code of models.
pub mod code_runner {
    pub use kitbag_toolkits::code_runner::{RUN_CODE, tool};
}

/// Failures of the database.
pub mod database {
    pub use kitbag_database::DatabaseError;
}

/// Calls, and the replies to them.
pub mod dispatch {
    pub use kitbag_toolkits::dispatch::{
        Answers, Callee, ErrorCode, Failure, ProgressReport, Reply, Response, Success,
    };
}

/// Records of calls.
pub mod invocations {
    pub use kitbag_toolkits::invocations::{
        Amount, Content, Facts, Failing, Filter, Hour, Latency, Logged, OutcomeFilter, Period, RANGES, Scope,
        Usage,
    };
}

/// Documents.
pub mod knowledge {
    pub use kitbag_knowledge::{
        Artifact, Change, Counts, DEFAULT_RESULTS, DocumentsState, Feed, Found, Hit, Ingested,
        KnowledgeError, Listing, MAX_RESULTS, Mode, NewDocument, NewFeed, Page, Query, Quota, State,
        StateName, Summary, TitleOrigin, TooManyUploads, Usage, brief, language_of,
    };
}

/// The tools of the server itself.
pub mod knowledge_tools {
    pub use kitbag_toolkits::knowledge_tools::{FETCH, ID};
}

/// What a call has logged.
pub mod observations {
    pub use kitbag_sandbox::observations::{Entry, Source};
}

/// Connections to accounts.
pub mod outbound_auth {
    pub use kitbag_vault::outbound_auth::{ConnectError, Response, SignInError};
}

/// What processes over one database tell each other.
pub mod peers {
    pub use kitbag_database::peers::{Heard, Hint, Hints, Listening, NoAnswer, Subject};
}

/// Toolkits, their versions and their owners.
pub mod toolkits {
    pub use kitbag_toolkits::{
        Claim, Deployed, Difference, FormerOwner, Hidden, LimitUsage, Live, LiveVersion, NewerState, Origin,
        Provenance, Publisher, Reach, ReachItem, Review, Reviewed, Rollback, RolledBack, Schemas, SignedBy,
        TakenOver, ToolkitError, ToolkitRecord, Tracked, UploadRecord, Version, VersionRecord, VouchReason,
        audience, difference, listed_name, names_of, record_names, toolkit_of,
    };
}

/// What toolkits cache.
pub mod user_cache {
    pub use kitbag_vault::user_cache::CacheUsage;
}

/// Values of settings.
pub mod user_config {
    pub use kitbag_toolkits::user_config::UserConfigError;
}

/// Secrets, without their values.
pub mod vault {
    pub use kitbag_vault::{EveryoneOptions, MAX_VALUE_BYTES, Rotated, SecretSlot, SecretStatus, VaultError};
}
