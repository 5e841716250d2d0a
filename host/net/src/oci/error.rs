//! Why a component was not pulled or pushed.

use http::StatusCode;
use thiserror::Error;

use crate::egress::EgressError;

/// Why a component was not pulled or pushed. Nothing of it is kept.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// No answer, or none that could be followed.
    #[error("{0}")]
    Egress(#[from] EgressError),
    /// The registry sends too slowly, or stands still.
    #[error("{registry} sends {what} too slowly: {received} bytes came in {seconds} s")]
    TooSlow {
        /// Host of the registry.
        registry: String,
        /// What is sent.
        what: &'static str,
        /// Bytes that came.
        received: u64,
        /// Seconds that it took.
        seconds: u64,
    },
    /// The registry broke off in the middle of an answer.
    #[error("{registry} broke off while it sent {what}, after {received} bytes")]
    BrokenOff {
        /// Host of the registry.
        registry: String,
        /// What is sent.
        what: &'static str,
        /// Bytes that came.
        received: u64,
    },
    /// There are more tags than are read.
    #[error("{registry} has not listed all tags in {pages} answers")]
    TooManyTags {
        /// Host of the registry.
        registry: String,
        /// How many answers are read.
        pages: usize,
    },
    /// An answer is longer than it may be.
    #[error("{what} is longer than {limit} bytes")]
    TooLong {
        /// What is sent.
        what: &'static str,
        /// In bytes.
        limit: u64,
    },
    /// The component is larger than the limit. Nothing of it was read.
    #[error("the component has {size} bytes, and at most {limit} are taken (setting `component-size`)")]
    TooLarge {
        /// As the manifest says, in bytes.
        size: u64,
        /// In bytes.
        limit: u64,
    },
    /// Less came than the manifest says.
    #[error("the component ends after {received} bytes, of {size} that the manifest names")]
    Truncated {
        /// Bytes that came.
        received: u64,
        /// As the manifest says, in bytes.
        size: u64,
    },
    /// The content has another digest than the one it is asked for by.
    #[error("{what} is not what was asked for: it has the digest {found}, and not {expected}")]
    WrongDigest {
        /// What was asked for.
        what: &'static str,
        /// The digest that it has.
        found: String,
        /// The digest that it should have.
        expected: String,
    },
    /// The registry has no such artifact.
    #[error("{0} was not found there; is the tag right, and does the registry let you see it?")]
    NotFound(String),
    /// The reference leads to a list of manifests.
    #[error(
        "{reference} is an index of {count} platforms, and no component: name the manifest of the component by its digest \
         (@sha256:…)"
    )]
    Index {
        /// The reference.
        reference: String,
        /// How many manifests it lists.
        count: usize,
    },
    /// The artifact is not a component.
    #[error("{reference} is no component: {found}, where one layer of the type application/wasm is expected")]
    NotComponent {
        /// The reference.
        reference: String,
        /// What it is.
        found: String,
    },
    /// The answer cannot be understood.
    #[error("the answer of the registry cannot be used: {0}")]
    Unreadable(String),
    /// The registry asks for a sign-in, and there are no credentials for it.
    #[error("{registry} asks for a sign-in, and there are no Docker credentials for it")]
    NoCredentials {
        /// Host of the registry.
        registry: String,
    },
    /// The registry asks for a sign-in, and is asked without one.
    #[error("{registry} asks for a sign-in, and this server has none: it sees what is there for everybody")]
    NotPublic {
        /// Host of the registry.
        registry: String,
    },
    /// The registry does not accept the credentials.
    #[error("{registry} does not accept your Docker credentials, or does not let you do this")]
    Refused {
        /// Host of the registry.
        registry: String,
    },
    /// The credentials cannot be read.
    #[error("the Docker credentials cannot be read: {0}")]
    Credentials(String),
    /// Credentials would be sent in the clear.
    #[error(
        "{registry} asks to sign in at {realm}, which is not protected: credentials could be read on the way"
    )]
    Unprotected {
        /// Host of the registry.
        registry: String,
        /// URL of the token service.
        realm: String,
    },
    /// Any other answer.
    #[error("the registry answered {status} when asked for {what}{}", after_colon(.detail))]
    Status {
        /// What was asked for.
        what: &'static str,
        /// The status.
        status: StatusCode,
        /// The beginning of what it says, if it says something.
        detail: String,
    },
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
