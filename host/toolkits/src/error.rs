//! Errors of toolkits.

use kitbag_base::disk::DiskFull;
use kitbag_base::tasks::Interrupted;
use kitbag_database::DatabaseError;
use kitbag_files::objects::ObjectsError;
use kitbag_manifest::{Problem, Problems};
use kitbag_sandbox::compiler::CompileError;
use thiserror::Error;
use tracing::warn;

/// Reason why an operation on a toolkit failed.
#[derive(Debug, Error)]
pub enum ToolkitError {
    /// The upload was interrupted.
    #[error("the upload broke off after {received} bytes: {cause}")]
    Interrupted {
        /// Number of bytes received.
        received: u64,
        /// Cause of the interruption.
        cause: String,
    },
    /// The upload is larger than a component may be.
    #[error("the component is larger than {limit} bytes, the limit of this server")]
    TooLarge {
        /// Maximum size in bytes.
        limit: u64,
    },
    /// The component was refused for these reasons.
    #[error("the toolkit was refused:\n{0}")]
    Refused(Problems),
    /// The version is already deployed with other bytes.
    #[error("version {version} of {id} is already deployed with other contents; raise the version")]
    VersionTaken {
        /// Id of the toolkit.
        id: String,
        /// The declared version.
        version: String,
    },
    /// There is no such toolkit.
    #[error(
        "there is no toolkit {0:?} that you may use; its owner, or an operator, shares toolkits (`kitbag toolkit share`)"
    )]
    Unknown(String),
    /// The toolkit belongs to another operator, and is private or would become private.
    #[error(
        "{id} belongs to {owner}: only its owner changes a private toolkit, or makes a shared one private. Ask {owner} \
         to release it (`kitbag toolkit release {id}`), or take it over (`kitbag toolkit take-over {id}`), which is \
         recorded and removes the secrets and settings that were set for it"
    )]
    NotOwner {
        /// Id of the toolkit.
        id: String,
        /// User id of the owner.
        owner: String,
    },
    /// The removed toolkit of this id belonged to another operator, and the new one would be private.
    #[error(
        "{id} belonged to {owner} until it was removed: a private toolkit of this id is deployed by {owner}, or by \
         whoever takes it over (`kitbag toolkit deploy --take-over`), which is recorded"
    )]
    RemovedOfOther {
        /// Id of the toolkit.
        id: String,
        /// User id of the owner at the time of the removal.
        owner: String,
    },
    /// The toolkit belongs already to the operator who wants to take it over.
    #[error("{0} belongs to you already")]
    AlreadyOwner(String),
    /// The signature was not made for these bytes by a known publisher.
    #[error(
        "the signature was not made for these bytes by any publisher that this server knows: it is one of other bytes, or its \
         publisher is missing (`kitbag publisher list`; an operator adds one with `kitbag publisher add NAME KEY.pub`)"
    )]
    UnknownSignature,
    /// The publisher who signed the version was removed.
    #[error(
        "{id} was not changed: this version is signed by {publisher}, who was removed from the publishers of this server"
    )]
    PublisherRemoved {
        /// Id of the toolkit.
        id: String,
        /// Name of the publisher.
        publisher: String,
    },
    /// The toolkit is bound to a publisher who has not signed the version.
    #[error(
        "{id} was not changed: its versions are signed by {publisher}, and this one {}. If that is meant, an operator resets \
         it (`kitbag toolkit reset-publisher {id}`), which is recorded",
        match signed_by {
            Some(other) if other == publisher => "by another key of that name".to_owned(),
            Some(other) => format!("by {other}"),
            None => "by nobody".to_owned(),
        }
    )]
    OtherPublisher {
        /// Id of the toolkit.
        id: String,
        /// Name of the publisher that the toolkit is bound to.
        publisher: String,
        /// Name of the publisher who signed the version, if any.
        signed_by: Option<String>,
    },
    /// The server accepts only signed versions.
    #[error(
        "nothing was changed: this server takes versions that a publisher has signed (setting `require-signature`), and {} is \
         not. `kitbag toolkit sign` signs a component, `--signature` gives a signature",
        .0.as_deref().unwrap_or("this component")
    )]
    SignatureRequired(Option<String>),
    /// The publisher's name suggests that nobody, or the server itself, has signed.
    #[error(
        "{0:?} is no name for a publisher: it reads as if nobody, or the server itself, had signed. Choose another one"
    )]
    PublisherNobody(String),
    /// The text is not a valid publisher name.
    #[error(
        "{0:?} does not name a publisher: a name has at most 64 letters, digits, and - _ . @ between them"
    )]
    PublisherName(String),
    /// A publisher with this name, or one that looks like it, exists already.
    #[error(
        "there is a publisher {0} already, whose name looks like this one; remove it first (`kitbag publisher remove {0}`), or \
         choose another name"
    )]
    PublisherTaken(String),
    /// The key belongs to another publisher.
    #[error("this key is that of the publisher {0} already")]
    PublisherKeyTaken(String),
    /// The maximum number of publishers is reached.
    #[error("there are as many publishers as may be, 100; remove one")]
    TooManyPublishers,
    /// The publisher does not exist.
    #[error("there is no publisher {0:?}; `kitbag publisher list` lists them")]
    UnknownPublisher(String),
    /// The toolkit is not bound to a publisher.
    #[error("{0} is not bound to a publisher: no version of it was signed")]
    NotBound(String),
    /// The version to roll back to does not exist.
    #[error("{0}")]
    NoSuchVersion(String),
    /// The version does not exist.
    #[error("{id} has no version {version}")]
    UnknownVersion {
        /// Id of the toolkit.
        id: String,
        /// The requested version.
        version: String,
    },
    /// The picture does not exist.
    #[error("there is no such picture")]
    UnknownPicture,
    /// The upload does not exist: it was deployed, discarded, or has expired.
    #[error("no upload {0:?} is waiting")]
    UnknownUpload(String),
    /// The maximum number of waiting uploads is reached.
    #[error("as many uploads are waiting as may; deploy or discard one (`kitbag toolkit uploads list`)")]
    TooManyUploads,
    /// The maximum number of grants of a toolkit is reached.
    #[error("a toolkit has at most 200 grants; share it with groups, or unshare some")]
    TooManyGrants,
    /// The grant does not exist.
    #[error("{id} is not shared with {with}; `kitbag toolkit show {id}` lists with whom it is")]
    NotShared {
        /// Id of the toolkit.
        id: String,
        /// The subject of the grant and, if it was named, the tool.
        with: String,
    },
    /// The last grant of a toolkit that is not private cannot be revoked: without it the toolkit would be
    /// open to everyone.
    #[error(
        "that is the last grant of {id}, and without any it is for everyone. Share it first with whom it is for: \
         everyone (`--everyone`), or its owner alone (`--user {owner}`)"
    )]
    LastGrant {
        /// Id of the toolkit.
        id: String,
        /// User id of the owner.
        owner: String,
    },
    /// The maximum number of tools that a user hides is reached.
    #[error("you hide as many tools as you may; hide whole toolkits, or show some again")]
    TooManyHidden,
    /// The live version is not the one that was compared.
    #[error(
        "{} in the meantime; compare again",
        match live { Some(live) => format!("{live} of {id} went live"), None => format!("{id} was removed") }
    )]
    LiveChanged {
        /// Id of the toolkit.
        id: String,
        /// The live version; `None` if the toolkit was removed.
        live: Option<String>,
    },
    /// The version was deployed again since it was compared.
    #[error("{version} of {id} was deployed anew in the meantime; compare again")]
    VersionChanged {
        /// Id of the toolkit.
        id: String,
        /// The version number.
        version: String,
    },
    /// The declaration of the waiting upload with this digest is not the one that was reviewed.
    #[error("the upload was replaced in the meantime and describes itself differently; review it again")]
    ManifestChanged(String),
    /// The component was deleted before its version was recorded: it has to be stored again.
    #[error("the component was removed in the meantime; try again")]
    ComponentDropped,
    /// A temporary failure. The text says when to try again.
    #[error("{0}")]
    Unavailable(String),
    /// The compiler failed; the text is for the log.
    #[error("the compiler failed: {0}")]
    Compiler(String),
    /// The disk is full.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// An operator has ended the user; nothing is stored for them.
    #[error("the access of the user was ended; nothing was changed")]
    UserEnded,
    /// The database or the file storage failed; the text is for the log.
    #[error("storage failed: {0}")]
    Storage(String),
}

impl From<CompileError> for ToolkitError {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Refused(problems) => problems.into(),
            CompileError::Limit(limit) => {
                vec![Problem { path: "component".to_owned(), message: limit.to_string() }].into()
            }
            CompileError::Busy => Self::Unavailable(format!("{error}; try again in a minute")),
            CompileError::Stopping => Self::Unavailable(format!("{error}; try again once it is back")),
            CompileError::DiskFull(full) => Self::DiskFull(full),
            CompileError::Failed(reason) => Self::Compiler(reason),
        }
    }
}

impl From<DatabaseError> for ToolkitError {
    fn from(error: DatabaseError) -> Self {
        if error.is_disk_full() {
            Self::DiskFull(DiskFull)
        } else if error.is_user_ended() {
            Self::UserEnded
        } else {
            Self::Storage(error.to_string())
        }
    }
}

impl From<ObjectsError> for ToolkitError {
    fn from(error: ObjectsError) -> Self {
        match error {
            ObjectsError::Database(error) => error.into(),
            ObjectsError::DiskFull(full) => Self::DiskFull(full),
            ObjectsError::Source(error) => error.into(),
            ObjectsError::Missing
            | ObjectsError::OtherStore
            | ObjectsError::Refused(_)
            | ObjectsError::Unavailable(_) => {
                warn!(cause = %error, "a component could not be stored");
                Self::Unavailable("the server cannot store components now; try again in a minute".to_owned())
            }
        }
    }
}

impl From<Interrupted> for ToolkitError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Storage(interrupted.to_string())
    }
}

impl From<std::io::Error> for ToolkitError {
    fn from(error: std::io::Error) -> Self {
        if DiskFull::caused(&error) { Self::DiskFull(DiskFull) } else { Self::Storage(error.to_string()) }
    }
}

impl From<Vec<Problem>> for ToolkitError {
    /// Truncates the list: a hostile component could cause any number of problems.
    fn from(mut problems: Vec<Problem>) -> Self {
        const MAX_PROBLEMS: usize = 200;

        let more = problems.len().saturating_sub(MAX_PROBLEMS);
        if more > 0 {
            problems.truncate(MAX_PROBLEMS);
            problems.push(Problem { path: "…".to_owned(), message: format!("and {more} more") });
        }
        Self::Refused(Problems(problems))
    }
}
