//! Why settings cannot be used.

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::Ipv6Net;
use thiserror::Error;
use url::Url;

use super::DEFAULT_FILE;
use crate::ownership::Distrust;

/// Settings that cannot be used.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// The file that was named cannot be read, or everybody can write to it.
    #[error("cannot use the settings: {0}")]
    File(Distrust),
    /// There is a file in the folder that the command runs in, and somebody else may have written it.
    #[error(
        "{DEFAULT_FILE} in this folder is not used: {0}\nif you trust it, name it: --config {DEFAULT_FILE}, or KITBAG_CONFIG={DEFAULT_FILE}"
    )]
    Distrusted(Distrust),
    /// A file that came with the folder names a program to run.
    #[error(
        "{DEFAULT_FILE} in this folder has a command as its master-key, and whoever runs it should know: name the file with --config {DEFAULT_FILE}, or KITBAG_CONFIG={DEFAULT_FILE}"
    )]
    UnnamedCommand,
    /// The file has an unknown key or a bad value.
    #[error("{path}, line {line}: {cause}")]
    Key {
        /// The file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
        /// What is wrong. The line itself is not quoted: it may hold a key.
        cause: String,
    },
    /// The setting does not say where the key is; what it says may be the key.
    #[error(
        "the setting master-key says where the key is, and is not the key: file, file:PATH, env:VARIABLE or command:LINE"
    )]
    MasterKey,
    /// A variable is misspelled.
    #[error("the environment variable {0} is no setting of Kitbag; `kitbag serve --help` lists them")]
    Variable(String),
    /// The service and its model go together.
    #[error(
        "embedding-url and embedding-model go together: the service's URL, and which of its models to use"
    )]
    HalfAService,
    /// Two models.
    #[error("model and embedding-url contradict each other: set one of them")]
    TwoModels,
    /// The service's URL cannot be one.
    #[error(
        "embedding-url is the http or https URL of a service, such as https://api.openai.com/v1/embeddings"
    )]
    EmbeddingUrl,
    /// There are no such prefixes.
    #[error("nat64-prefixes: {0} is no NAT64 prefix, which has 32, 40, 48, 56, 64 or 96 bits (RFC 6052)")]
    Nat64Prefix(Ipv6Net),
    /// Not one call would fit.
    #[error(
        "{0} is less than one call may take: {1} bytes (call-memory, and what the host keeps of its log)"
    )]
    MemoryForCalls(&'static str, usize),
    /// A setting names a variable that is not there.
    #[error("the environment variable {0}, which a setting names, is not set or no text")]
    Absent(String),
    /// Local sign-in would be open to others.
    #[error(
        "without --issuer, whoever knows this server's sign-in code can sign in as anybody: it listens on loopback only, not on {0}"
    )]
    LocalIssuerInPublic(SocketAddr),
    /// Nobody can reach, and no token can name, a server at `0.0.0.0`.
    #[error("listening on {0} needs --base-url: the URL under which people reach this server")]
    NoBaseUrl(SocketAddr),
    /// A tunnel or a proxy would open local sign-in to others.
    #[error(
        "without --issuer, whoever knows this server's sign-in code can sign in as anybody: its base URL is on loopback, not {0}"
    )]
    LocalBaseUrlInPublic(Url),
}
