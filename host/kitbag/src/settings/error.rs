//! Errors of settings.

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::Ipv6Net;
use kitbag_base::ownership::Distrust;
use thiserror::Error;
use url::Url;

use super::DEFAULT_FILE;

/// Settings that cannot be used.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// The named file cannot be read, or other users can write to it.
    #[error("cannot use the settings: {0}")]
    File(Distrust),
    /// The file in the current folder may have been written by another user.
    #[error(
        "{DEFAULT_FILE} in this folder is not used: {0}\nif you trust it, name it: --config {DEFAULT_FILE}, or KITBAG_CONFIG={DEFAULT_FILE}"
    )]
    Distrusted(Distrust),
    /// A file that was not named explicitly contains a command to run.
    #[error(
        "{DEFAULT_FILE} in this folder has a command as its master-key, which is run only if you name the file: --config {DEFAULT_FILE}, or KITBAG_CONFIG={DEFAULT_FILE}"
    )]
    UnnamedCommand,
    /// The file has an unknown key or a bad value.
    #[error("{path}, line {line}: {cause}")]
    Key {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// Error message of the parser. The line is not quoted: it may contain a key.
        cause: String,
    },
    /// `master-key` does not name a source of the key. Its value, which may be the key itself, is not quoted.
    #[error(
        "the setting master-key says where the key is, and is not the key: file, file:PATH, env:VARIABLE or command:LINE"
    )]
    MasterKey,
    /// `follow-registries` contains a value that is not a registry name.
    #[error(
        "follow-registries names registries as references do, such as ghcr.io or registry.internal:5000, and {0:?} is none"
    )]
    FollowRegistries(String),
    /// `audit-anchor` is a URL that no request can be sent to.
    #[error("the setting audit-anchor is no URL that requests can be sent to")]
    AuditAnchor,
    /// No address to listen on.
    #[error("listen names no address")]
    NoAddress,
    /// Only one of the certificate and its key is set.
    #[error(
        "tls-certificate and tls-key go together: the files with the certificate and with its private key"
    )]
    IncompleteTls,
    /// A certificate is set, but all addresses are Unix sockets, which speak plain HTTP.
    #[error("tls-certificate is for TCP addresses, and there is none to listen on")]
    TlsWithoutAddress,
    /// The base URL has the scheme `http` although the server speaks HTTPS.
    #[error("with tls-certificate, the base URL begins with https, and is not {0}")]
    PlainBaseUrl(Url),
    /// `https-proxy` is not the URL of a proxy. Its value, which may contain a password, is not quoted.
    #[error(
        "the setting https-proxy is the URL of a proxy: http://proxy.internal:3128, or http://user:password@…"
    )]
    Proxy,
    /// `database` is neither `sqlite` nor a PostgreSQL URL. Its value, which may contain a password, is not
    /// quoted.
    #[error("the setting database is sqlite, or the URL of a PostgreSQL database: postgres://user@host/name")]
    Database,
    /// Local sign-in is combined with PostgreSQL, but has its tables in the data directory's database.
    #[error(
        "local sign-in keeps its clients in the data directory: with a PostgreSQL database, set issuer too"
    )]
    DatabaseServerInLocalMode,
    /// `objects` is not set with a PostgreSQL database, which several servers may share.
    #[error(
        "with a PostgreSQL database, the setting objects says where components and captured files are: folder (the \
         data directory), folder:PATH or s3://BUCKET/PREFIX"
    )]
    ObjectsUnnamed,
    /// A bucket is combined with a database in the data directory, whose files belong beside it.
    #[error(
        "a bucket goes with a PostgreSQL database: with sqlite, objects is a folder, which kitbag backup copies together \
         with the database"
    )]
    BucketWithoutServer,
    /// A bucket is set without the access key for signing requests.
    #[error(
        "with a bucket, set objects-key-id and objects-secret too: the access key with which requests are signed"
    )]
    BucketWithoutKey,
    /// Settings of a bucket are set without a bucket.
    #[error(
        "objects-endpoint, objects-key-id and objects-secret go with a bucket: set objects to s3://BUCKET/PREFIX"
    )]
    KeyWithoutBucket,
    /// Only one of the embedding service's URL and model is set.
    #[error(
        "embedding-url and embedding-model go together: the service's URL, and which of its models to use"
    )]
    IncompleteService,
    /// Both a local model and an embedding service are set.
    #[error("model and embedding-url contradict each other: set one of them")]
    TwoModels,
    /// The embedding service's URL is not an http or https URL.
    #[error(
        "embedding-url is the http or https URL of a service, such as https://api.openai.com/v1/embeddings"
    )]
    EmbeddingUrl,
    /// Settings of the inspecting service are set without its URL.
    #[error("dlp-key and dlp-unavailable go with a service that inspects calls: set dlp-url")]
    DlpWithoutUrl,
    /// The time limit of a check is zero or too long.
    #[error("dlp-timeout is more than nothing and at most a minute: each call waits for it twice")]
    DlpTimeout,
    /// The inspecting service's URL is no URL that requests can be sent to.
    #[error("dlp-url is the URL of a service, such as http://127.0.0.1:8090/check")]
    DlpUrl,
    /// The inspecting service's key is not valid in a header. It is not quoted.
    #[error("dlp-key has characters that no header may have")]
    DlpKey,
    /// The collector's URL is too long.
    #[error("traces is the URL of a collector, such as http://127.0.0.1:4318/v1/traces")]
    Traces,
    /// The headers are malformed. They may contain a key, so they are not quoted.
    #[error("traces-headers are such as name=value,name=value, with values percent-encoded")]
    TracesHeaders,
    /// A web client is set in local mode, which needs none.
    #[error("web-client-id is for sign-in with an external provider: set issuer too")]
    WebClientInLocalMode,
    /// The identifier of MCP clients is empty, too long, or not printable.
    #[error(
        "mcp-client-id is the identifier of a client: printable characters, at most 255, no hyphen first"
    )]
    McpClientId,
    /// A client of MCP clients is set in local mode, where they register.
    #[error("mcp-client-id is for an external provider: local sign-in lets clients register by themselves")]
    McpClientInLocalMode,
    /// Provisioning, or another claim with the user's id, is set in local mode, which has no provider.
    #[error(
        "local sign-in has no identity provider: scim-user-id and user-id-claim are for a server with one"
    )]
    ProvisioningInLocalMode,
    /// A groups claim is set in local mode, which has no provider's tokens.
    #[error("local sign-in has no claims: groups-claim is for a provider, and local-groups for local mode")]
    GroupsClaimInLocalMode,
    /// A group is an operator, but no claim with groups is set.
    #[error("operators names a group, and groups-claim does not say where the provider's tokens have groups")]
    GroupWithoutClaim,
    /// Local groups are set with a provider, which determines the groups.
    #[error("groups come from the provider's tokens (groups-claim): local-groups is for local mode")]
    LocalGroupsWithProvider,
    /// A client secret is set without a client, or for a client that registers itself.
    #[error("web-client-secret belongs to the client that web-client-id names")]
    WebClientSecret,
    /// A NAT64 prefix has an invalid length.
    #[error("nat64-prefixes: {0} is not a NAT64 prefix, which has 32, 40, 48, 56, 64 or 96 bits (RFC 6052)")]
    Nat64Prefix(Ipv6Net),
    /// The memory for calls is less than the maximum of one call.
    #[error(
        "memory-for-calls is less than one call may take: {0} bytes (call-memory, and what the host keeps of its log)"
    )]
    MemoryForCalls(usize),
    /// A setting names a variable that is not set or not valid Unicode.
    #[error("the environment variable {0}, which a setting names, is not set or not valid text")]
    Absent(String),
    /// Local sign-in would be reachable from other machines.
    #[error(
        "without --issuer, whoever knows this server's sign-in code can sign in as anybody: it listens on loopback only, not on {0}"
    )]
    LocalIssuerInPublic(SocketAddr),
    /// The server's URL cannot be derived from `0.0.0.0` or a Unix socket: neither identifies the server in a
    /// client's URL or a token.
    #[error("listening on {0} needs --base-url: the URL under which people reach this server")]
    NoBaseUrl(String),
    /// Local sign-in would be reachable through a tunnel or a proxy.
    #[error(
        "without --issuer, whoever knows this server's sign-in code can sign in as anybody: its base URL is on loopback, not {0}"
    )]
    LocalBaseUrlInPublic(Url),
}
