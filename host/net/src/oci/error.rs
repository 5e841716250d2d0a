//! Errors of requests to registries.

use http::StatusCode;
use thiserror::Error;

use crate::egress::EgressError;

/// Error of a pull, push or tag look-up. Partly received content is discarded.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// The request failed, or a redirect could not be followed.
    #[error("{0}")]
    Egress(#[from] EgressError),
    /// The registry sends too slowly, or has stalled.
    #[error("{registry} sends {what} too slowly: {received} bytes came in {seconds} s")]
    TooSlow {
        /// Host of the registry.
        registry: String,
        /// Kind of content.
        what: &'static str,
        /// Number of received bytes.
        received: u64,
        /// Elapsed time in seconds.
        seconds: u64,
    },
    /// The connection broke during a response.
    #[error("{registry} broke off while it sent {what}, after {received} bytes")]
    BrokenOff {
        /// Host of the registry.
        registry: String,
        /// Kind of content.
        what: &'static str,
        /// Number of received bytes.
        received: u64,
    },
    /// The list of tags has more pages than the limit.
    #[error("{registry} has not listed all tags in {pages} answers")]
    TooManyTags {
        /// Host of the registry.
        registry: String,
        /// Maximum number of pages.
        pages: usize,
    },
    /// A response exceeds its size limit.
    #[error("{what} is longer than {limit} bytes")]
    TooLong {
        /// Kind of content.
        what: &'static str,
        /// Limit in bytes.
        limit: u64,
    },
    /// The component is larger than the limit. Nothing of it was read.
    #[error("the component has {size} bytes, and at most {limit} are taken (setting `component-size`)")]
    TooLarge {
        /// Size in the manifest, in bytes.
        size: u64,
        /// Limit in bytes.
        limit: u64,
    },
    /// The component is shorter than its manifest states.
    #[error("the component ends after {received} bytes, of {size} that the manifest names")]
    Truncated {
        /// Number of received bytes.
        received: u64,
        /// Size in the manifest, in bytes.
        size: u64,
    },
    /// The content does not have the expected digest.
    #[error("{what} is not what was asked for: it has the digest {found}, and not {expected}")]
    WrongDigest {
        /// Kind of requested content.
        what: &'static str,
        /// Actual digest.
        found: String,
        /// Expected digest.
        expected: String,
    },
    /// The registry has no such artifact.
    #[error("{0} was not found there; is the tag right, and does the registry let you see it?")]
    NotFound(String),
    /// The reference names an index of manifests.
    #[error(
        "{reference} is an index of {count} platforms, and no component: name the manifest of the component by its digest \
         (@sha256:…)"
    )]
    Index {
        /// The reference.
        reference: String,
        /// Number of manifests in the index.
        count: usize,
    },
    /// The artifact is not a component.
    #[error("{reference} is no component: {found}, where one layer of the type application/wasm is expected")]
    NotComponent {
        /// The reference.
        reference: String,
        /// Description of the artifact.
        found: String,
    },
    /// A response is malformed or unsupported; the text is the reason.
    #[error("the answer of the registry cannot be used: {0}")]
    Unreadable(String),
    /// The registry requires authentication, and there are no Docker credentials for it.
    #[error("{registry} asks for a sign-in, and there are no Docker credentials for it")]
    NoCredentials {
        /// Host of the registry.
        registry: String,
    },
    /// The registry requires authentication, and is accessed anonymously.
    #[error("{registry} asks for a sign-in, and this server has none: it sees what is there for everybody")]
    NotPublic {
        /// Host of the registry.
        registry: String,
    },
    /// The registry rejects the credentials, or they lack permission.
    #[error("{registry} does not accept your Docker credentials, or does not let you do this")]
    Refused {
        /// Host of the registry.
        registry: String,
    },
    /// The credentials cannot be read.
    #[error("the Docker credentials cannot be read: {0}")]
    Credentials(String),
    /// Credentials would be sent unencrypted.
    #[error(
        "{registry} asks to sign in at {realm}, which is not protected: credentials could be read on the way"
    )]
    Unprotected {
        /// Host of the registry.
        registry: String,
        /// URL of the token service.
        realm: String,
    },
    /// Unexpected response status.
    #[error("the registry answered {status} when asked for {what}{}", after_colon(.detail))]
    Status {
        /// Kind of requested content.
        what: &'static str,
        /// Status of the response.
        status: StatusCode,
        /// Beginning of the response body; may be empty.
        detail: String,
    },
}

/// Error about a JSON document, without the values that `serde` quotes: another server may have sent them.
pub(super) fn malformed(what: &str, error: &serde_json::Error) -> RegistryError {
    let line = error.line();
    let column = error.column();
    RegistryError::Unreadable(format!(
        "{what} is none: not the expected JSON at line {line}, column {column}"
    ))
}

/// Returns the beginning of a media type or a digest, for a message.
pub(super) fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(100)]
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
