//! Domain errors → HTTP: the only place that knows both.
//!
//! Errors are `application/problem+json` (RFC 9457). Internal causes are only logged.

mod oauth;
#[cfg(test)]
mod tests;

use axum::body::to_bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_access::values::collections::CollectionError;
use kitbag_access::values::database::DatabaseError;
use kitbag_access::values::knowledge::{KnowledgeError, TooManyUploads};
use kitbag_access::values::outbound_auth::{ConnectError, SignInError};
use kitbag_access::values::peers::NoAnswer;
use kitbag_access::values::toolkits::ToolkitError;
use kitbag_access::values::user_config::UserConfigError;
use kitbag_access::values::vault::VaultError;
use kitbag_access::{AccessError, CallError};
use kitbag_base::disk::DiskFull;
use kitbag_base::rate::TooManyRequests;
use kitbag_identity::{AuthError, EndUserError, KeyError, ProviderError, ProvisioningError};
use kitbag_manifest::{Problem, Problems};
use serde::Serialize;
use tracing::error;

use super::body::Unread;
use super::media_type;
use crate::json::Json;
pub(crate) use oauth::{AuthorizeFailure, EndpointFailure};

/// `Retry-After` when a part of the server, such as the file store, is unavailable.
const RETRY_AFTER_SECONDS: u64 = 30;

/// Media type of errors (RFC 9457, section 3).
const PROBLEM: &str = "application/problem+json";

/// An error response.
#[derive(Clone, Debug)]
pub(super) struct WebError {
    status: StatusCode,
    detail: String,
    problems: Vec<Problem>,
    challenge: Option<HeaderValue>,
    /// Seconds for `Retry-After`.
    retry_after: Option<u64>,
}

/// Problem details (RFC 9457, section 3); `problems` is our extension member.
#[derive(Serialize)]
struct ProblemDetails {
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

impl WebError {
    /// An error with only a status and a message.
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), problems: Vec::new(), challenge: None, retry_after: None }
    }

    /// A transient error: sets `Retry-After` to one second.
    pub(super) fn retryable(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(status, detail) }
    }

    /// 403 for a write for a user who was ended meanwhile; 500 for a failed database, whose cause is logged.
    pub(super) fn storage(cause: &DatabaseError) -> Self {
        if cause.is_user_ended() { Self::user_ended() } else { Self::failed(cause) }
    }

    /// 403 for a write for a user who was ended meanwhile.
    fn user_ended() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "The access of this user was ended: nothing is stored for them any more.",
        )
    }

    /// 500 for failed storage; logs the cause.
    fn failed(cause: &dyn std::fmt::Display) -> Self {
        error!(%cause, "storage failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "The server could not store or read this.")
    }

    /// Converts [`Unread`] to an error; `limit` is in bytes.
    pub(super) fn unread(why: Unread, limit: usize) -> Self {
        match why {
            Unread::TooLarge => {
                let detail = format!("The body is longer than {limit} bytes.");
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
            }
            Unread::TooManyValues(max) => {
                let detail = format!("The body has more than {max} JSON values.");
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
            }
            Unread::NoRoom => Self::retryable(
                StatusCode::TOO_MANY_REQUESTS,
                "Too many large requests and answers at a time. Wait until others are done.",
            ),
            Unread::BrokeOff => Self::new(StatusCode::BAD_REQUEST, "The request broke off."),
        }
    }

    /// 404 for a path that does not exist.
    pub(super) fn nothing_here() -> Self {
        Self::new(StatusCode::NOT_FOUND, "There is nothing here.")
    }

    /// 422 for a request that breaks one rule, at `path`.
    pub(super) fn invalid(path: &str, message: impl Into<String>) -> Self {
        let mut problems = Problems::default();
        problems.add(path, message);
        KnowledgeError::Invalid(problems).into()
    }

    /// Status, message and problems, for responses that are not plain HTTP errors.
    pub(super) fn into_parts(self) -> (StatusCode, String, Vec<Problem>) {
        (self.status, self.detail, self.problems)
    }

    /// 401 with the challenge of RFC 9728, section 5.1, or 503 while the provider's keys are unavailable. The
    /// reason is only logged: a client learns just that its token is invalid. The holder of a key that is paused is
    /// told so.
    pub(super) fn unauthenticated(cause: &AuthError, challenge: HeaderValue) -> Self {
        if let AuthError::Unavailable = cause {
            return Self::new(StatusCode::SERVICE_UNAVAILABLE, "Sign-in cannot be checked at the moment.");
        }
        let detail = match cause {
            AuthError::KeyPaused(_) => format!("This request is refused: {cause}."),
            _ => "This request needs a valid access token.".to_owned(),
        };
        Self { challenge: Some(challenge), ..Self::new(StatusCode::UNAUTHORIZED, detail) }
    }
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let for_pages = self.clone();
        let body = ProblemDetails {
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: self.detail,
            problems: self.problems,
        };
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(challenge) = self.challenge {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        // `ui` renders it as a page.
        response.extensions_mut().insert(for_pages);
        response
    }
}

/// Converts errors that axum generates itself (method not allowed, invalid body) to problem details.
pub(super) async fn as_problem(response: Response) -> Response {
    const MAX_BYTES: usize = 16 << 10;

    let status = response.status();
    let headers = response.headers();
    let is_plain = !headers.contains_key(header::CONTENT_TYPE) || media_type::is(headers, "text/plain");
    if !is_plain || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let text = to_bytes(body, MAX_BYTES).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&text);
    let detail = match said.trim() {
        "" => status.canonical_reason().unwrap_or("Error").to_owned(),
        said => said.to_owned(),
    };
    let error = WebError::new(status, detail);
    let problem = error.clone().into_response();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
    parts.extensions.insert(error);
    Response::from_parts(parts, problem.into_body())
}

impl From<KeyError> for WebError {
    fn from(error: KeyError) -> Self {
        let status = match &error {
            KeyError::Refused(_) | KeyError::TooLong(_) => StatusCode::UNPROCESSABLE_ENTITY,
            KeyError::UserEnded => StatusCode::FORBIDDEN,
            KeyError::NameTaken(_) | KeyError::TooMany => StatusCode::CONFLICT,
            KeyError::Storage(cause) => return Self::storage(cause),
        };
        Self::new(status, error.to_string())
    }
}

impl From<AccessError> for WebError {
    fn from(error: AccessError) -> Self {
        let status = match error {
            AccessError::NotOperator(_)
            | AccessError::ProgramsCannotAgree
            | AccessError::ProgramsCannotAllow
            | AccessError::ProgramsCannotTrust
            | AccessError::ProgramsCannotProvision
            | AccessError::ProgramsCannotEnd => StatusCode::FORBIDDEN,
            AccessError::TooManyExports | AccessError::TooManyExportsOfAll => {
                return Self::retryable(StatusCode::TOO_MANY_REQUESTS, error.to_string());
            }
            AccessError::UndeclaredSecret { .. }
            | AccessError::UnknownUser(_)
            | AccessError::UnknownKey { .. }
            | AccessError::UnknownScimToken(_)
            | AccessError::NoSuchTool { .. }
            | AccessError::NoAccountDeclared(_) => StatusCode::NOT_FOUND,
            AccessError::TooManyRequests(refusal) => return refusal.into(),
            AccessError::TooManyReaders => StatusCode::TOO_MANY_REQUESTS,
            AccessError::Toolkit(error) => return error.into(),
            AccessError::Secrets(error) | AccessError::Account(ConnectError::Storage(error)) => {
                return error.into();
            }
            AccessError::Account(ref cause) => status_of(cause),
            AccessError::Settings(error) => return error.into(),
            AccessError::DiskFull(full) => return full.into(),
            AccessError::Collection(error) => return error.into(),
            AccessError::Knowledge(error) => return error.into(),
            AccessError::SeveralReleases
            | AccessError::OtherSealingKey { .. }
            | AccessError::ReadableSecret { .. }
            | AccessError::ReachChanged(_)
            | AccessError::ConsentWaits(_)
            | AccessError::HiddenAsAWhole(_)
            | AccessError::CallersNotRecorded
            | AccessError::OwnEnd
            | AccessError::NotProvisioned
            | AccessError::ExportOfOther(_)
            | AccessError::NoRoomForDocuments { .. } => StatusCode::CONFLICT,
            AccessError::UserEnd(error) => return error.into(),
            AccessError::Provisioning(error) => return error.into(),
            AccessError::Records(cause)
            | AccessError::Processes(cause)
            | AccessError::Users(cause)
            | AccessError::Cache(cause) => {
                return Self::storage(&cause);
            }
        };
        Self::new(status, error.to_string())
    }
}

impl From<EndUserError> for WebError {
    fn from(error: EndUserError) -> Self {
        let status = match &error {
            EndUserError::InvalidId => StatusCode::UNPROCESSABLE_ENTITY,
            EndUserError::ActorEnded => StatusCode::FORBIDDEN,
            EndUserError::Interrupted(_) => StatusCode::SERVICE_UNAVAILABLE,
            EndUserError::Storage(cause) => return Self::storage(cause),
        };
        Self::new(status, error.to_string())
    }
}

impl From<ProvisioningError> for WebError {
    fn from(error: ProvisioningError) -> Self {
        let status = match &error {
            ProvisioningError::Unknown(_) => StatusCode::NOT_FOUND,
            ProvisioningError::Conflict(_) | ProvisioningError::Full(_) | ProvisioningError::NameTaken(_) => {
                StatusCode::CONFLICT
            }
            ProvisioningError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            ProvisioningError::Interrupted(_) => StatusCode::SERVICE_UNAVAILABLE,
            ProvisioningError::Storage(cause) => return Self::storage(cause),
        };
        Self::new(status, error.to_string())
    }
}

/// HTTP status for a failed connection of an account.
pub(super) fn status_of(cause: &ConnectError) -> StatusCode {
    match cause {
        ConnectError::NoState => StatusCode::BAD_REQUEST,
        ConnectError::OtherUser | ConnectError::OtherIssuer | ConnectError::Declined { .. } => {
            StatusCode::FORBIDDEN
        }
        ConnectError::Changed | ConnectError::Failed(SignInError::MissingCredentials { .. }) => {
            StatusCode::CONFLICT
        }
        ConnectError::Failed(cause) if cause.is_passing() => StatusCode::SERVICE_UNAVAILABLE,
        ConnectError::Failed(_) => StatusCode::BAD_GATEWAY,
        ConnectError::Storage(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<ProviderError> for WebError {
    fn from(error: ProviderError) -> Self {
        match error {
            ProviderError::NotPending => Self::new(StatusCode::BAD_REQUEST, error.to_string()),
            ProviderError::Refused(reason) => Self::new(StatusCode::FORBIDDEN, reason),
            ProviderError::TooManyAttempts { seconds } => Self {
                retry_after: Some(seconds),
                ..Self::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    format!("Too many sign-ins from this address. Sign in again in {seconds} s."),
                )
            },
            ProviderError::Unavailable => Self {
                retry_after: Some(5),
                ..Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "Sign-in does not work at the moment: the identity provider cannot be used. Try again in a moment.",
                )
            },
            ProviderError::Storage(cause) => Self::storage(&cause),
        }
    }
}

impl From<CallError> for WebError {
    fn from(error: CallError) -> Self {
        let status = match error {
            CallError::UnknownTool(_) => StatusCode::NOT_FOUND,
            CallError::Hidden(_) => StatusCode::FORBIDDEN,
            CallError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, format!("The tool was not called: {error}."))
    }
}

impl From<NoAnswer> for WebError {
    fn from(_: NoAnswer) -> Self {
        Self {
            retry_after: Some(1),
            ..Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "The database does not answer at the moment. Try again in a second.",
            )
        }
    }
}

impl From<TooManyRequests> for WebError {
    fn from(refusal: TooManyRequests) -> Self {
        Self {
            retry_after: Some(refusal.seconds),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, refusal.to_string())
        }
    }
}

impl From<VaultError> for WebError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Refused(reason) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, reason),
            VaultError::ToolkitChanged | VaultError::LinkSpent | VaultError::NothingRotated { .. } => {
                Self::new(StatusCode::CONFLICT, error.to_string())
            }
            VaultError::UserEnded => Self::user_ended(),
            VaultError::Storage(cause) => {
                error!(%cause, "the vault failed");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "The vault cannot be used at the moment.")
            }
        }
    }
}

impl From<ToolkitError> for WebError {
    fn from(error: ToolkitError) -> Self {
        let status = match &error {
            ToolkitError::Interrupted { .. } => StatusCode::BAD_REQUEST,
            ToolkitError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            ToolkitError::Refused(_)
            | ToolkitError::UnknownSignature
            | ToolkitError::PublisherName(_)
            | ToolkitError::PublisherNobody(_) => StatusCode::UNPROCESSABLE_ENTITY,
            ToolkitError::VersionTaken { .. }
            | ToolkitError::NoSuchVersion(_)
            | ToolkitError::AlreadyOwner(_)
            | ToolkitError::TooManyUploads
            | ToolkitError::TooManyHidden
            | ToolkitError::TooManyGrants
            | ToolkitError::LastGrant { .. }
            | ToolkitError::PublisherTaken(_)
            | ToolkitError::PublisherKeyTaken(_)
            | ToolkitError::TooManyPublishers
            | ToolkitError::NotBound(_)
            | ToolkitError::LiveChanged { .. }
            | ToolkitError::VersionChanged { .. }
            | ToolkitError::ManifestChanged(_) => StatusCode::CONFLICT,
            ToolkitError::Unknown(_)
            | ToolkitError::UnknownVersion { .. }
            | ToolkitError::UnknownPicture
            | ToolkitError::NotShared { .. }
            | ToolkitError::UnknownPublisher(_)
            | ToolkitError::UnknownUpload(_) => StatusCode::NOT_FOUND,
            ToolkitError::ComponentDropped | ToolkitError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            ToolkitError::Compiler(cause) => {
                error!(%cause, "a component was not compiled");
                let detail = "The server could not compile the component; its log says why.";
                return Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail);
            }
            ToolkitError::DiskFull(full) => return (*full).into(),
            ToolkitError::NotOwner { .. }
            | ToolkitError::RemovedOfOther { .. }
            | ToolkitError::PublisherRemoved { .. }
            | ToolkitError::OtherPublisher { .. }
            | ToolkitError::SignatureRequired(_) => StatusCode::FORBIDDEN,
            ToolkitError::UserEnded => return Self::user_ended(),
            ToolkitError::Storage(cause) => return Self::failed(cause),
        };
        match error {
            ToolkitError::Refused(problems) => {
                Self { problems: problems.0, ..Self::new(status, "The toolkit was refused.") }
            }
            other => Self {
                retry_after: (status == StatusCode::SERVICE_UNAVAILABLE).then_some(RETRY_AFTER_SECONDS),
                ..Self::new(status, other.to_string())
            },
        }
    }
}

impl From<DiskFull> for WebError {
    fn from(full: DiskFull) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, format!("Nothing was stored: {full}."))
    }
}

impl From<UserConfigError> for WebError {
    fn from(error: UserConfigError) -> Self {
        match error {
            UserConfigError::Refused(problems) => Self {
                problems: problems.0,
                ..Self::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "The settings were refused; nothing is changed.",
                )
            },
            UserConfigError::ToolkitChanged => Self::new(StatusCode::CONFLICT, error.to_string()),
            UserConfigError::Storage(cause) if cause.is_disk_full() => DiskFull.into(),
            UserConfigError::Storage(cause) => Self::storage(&cause),
        }
    }
}

impl From<CollectionError> for WebError {
    fn from(error: CollectionError) -> Self {
        let status = match error {
            CollectionError::Unknown(_) | CollectionError::NotShared { .. } => StatusCode::NOT_FOUND,
            CollectionError::NotCurator(_) | CollectionError::NotCreator => StatusCode::FORBIDDEN,
            CollectionError::Exists(_) | CollectionError::LastCurator { .. } => StatusCode::CONFLICT,
            CollectionError::Invalid(_) | CollectionError::TooMany | CollectionError::TooManyGrants => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            CollectionError::TooManyRequests(refusal) => return refusal.into(),
            CollectionError::Storage(cause) => return Self::storage(&cause),
            CollectionError::Interrupted(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, sentence(&error.to_string()))
    }
}

/// Message as a sentence of its own.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

impl From<KnowledgeError> for WebError {
    fn from(error: KnowledgeError) -> Self {
        match error {
            KnowledgeError::NotFound => Self::new(StatusCode::NOT_FOUND, "There is no such document."),
            KnowledgeError::Invalid(problems) => Self {
                problems: problems.0,
                ..Self::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "The request breaks the rules of the knowledge base; nothing is changed.",
                )
            },
            KnowledgeError::Collection(error) => error.into(),
            KnowledgeError::Unavailable(reason) => Self {
                retry_after: Some(RETRY_AFTER_SECONDS),
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, reason)
            },
            KnowledgeError::Quota(exceeded) => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, format!("Nothing was stored: {exceeded}."))
            }
            KnowledgeError::TooManyUploads(refusal) => Self {
                retry_after: match refusal {
                    TooManyUploads::AMinute { seconds } => Some(seconds),
                    TooManyUploads::AtOnce => Some(1),
                },
                ..Self::new(StatusCode::TOO_MANY_REQUESTS, format!("Nothing was stored: {refusal}."))
            },
            KnowledgeError::DiskFull(full) => full.into(),
            KnowledgeError::Storage(cause) => Self::storage(&cause),
        }
    }
}
