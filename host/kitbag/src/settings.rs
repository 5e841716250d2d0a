//! The settings of a server: the only reader of flags, environment variables and the settings file.
//!
//! A flag takes precedence over its variable, the variable over the file, the file over the default. An
//! unknown key is an error: a misspelled setting must not be silently ignored. An unknown variable is a warning, since
//! others put variables into the environment (`environment`).

mod anchor;
mod bounds;
mod dlp;
mod egress_policy;
mod environment;
mod error;
mod groups;
mod network;
mod objects;
mod roles;
mod tables;
mod traces;
mod value;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches as _};
use ipnet::Ipv6Net;
use kitbag_base::loopback::is_loopback;
use kitbag_base::mcp_clients::is_client_id;
use kitbag_base::ownership::{self, DEFAULT_DATA, Protection};
use kitbag_manifest::limits;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

pub use anchor::AuditAnchor;
pub use bounds::Bounds;
pub use dlp::DlpUnavailable;
pub use egress_policy::EgressPolicy;
pub use error::SettingsError;
pub use groups::LocalGroups;
pub use network::{AddressRange, Listen, SocketMode};
pub use objects::ObjectsLocation;
pub use roles::{ConsentSetting, Creators, Operator, ScimUserId, UserIdClaimSetting};
pub use traces::Ratio;
pub use value::{
    BaseUrl, DatabaseLocation, Issuer, List, MasterKey, Maybe, Model, Secret, Size, Span, SpanLimit,
};

use tables::{CallTable, ObjectsTable};

/// Declares all settings: documentation, name, type, default and environment variable. `#[serde(skip)]`: the setting
/// is in a table of the file (`tables`).
macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $(#[serde($serde:ident)])? $name:ident: $type:ty = $default:expr, $variable:literal;)+) => {
        /// The settings of a server.
        #[derive(Clone, Debug)]
        pub struct Settings {
            $($(#[doc = $doc])+ pub $name: $type,)+
            /// Limits that are not settings.
            pub bounds: Bounds,
        }

        /// Settings as flags, as variables and as keys of the file.
        #[derive(Args, Clone, Debug, Default, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct Sources {
            // The help hides values of variables: they may be keys.
            $(
                $(#[doc = $doc])+
                $(#[serde($serde)])?
                #[arg(long, env = $variable, hide_env_values = true)]
                $name: Option<$type>,
            )+
            #[serde(rename = "call")]
            #[arg(skip)]
            call_table: Option<CallTable>,
            #[serde(rename = "objects")]
            #[arg(skip)]
            objects_table: Option<ObjectsTable>,
        }

        impl Default for Settings {
            /// Returns the defaults of all settings. Reads neither the environment nor a file.
            fn default() -> Self {
                Self::from_sources(Sources::default(), Sources::default())
            }
        }

        impl Settings {
            fn from_sources(given: Sources, file: Sources) -> Self {
                Self {
                    $($name: given.$name.or(file.$name).unwrap_or_else(|| $default),)+
                    bounds: Bounds::default(),
                }
            }

            /// Names of the settings that differ, as keys of the file. Different values of a secret are not
            /// detected.
            pub fn differences(&self, other: &Self) -> Vec<String> {
                let differs = [$((stringify!($name), format!("{:?}", self.$name) != format!("{:?}", other.$name))),+];
                let names = differs.iter().filter(|(_, differs)| *differs);
                names.map(|(name, _)| tables::key_of(&name.replace('_', "-"))).collect()
            }
        }

        const VARIABLES: &[&str] = &[$($variable),+];
    };
}

settings! {
    /// Addresses to listen on: `127.0.0.1:8787`, `[::1]:8787`, or `unix:PATH` for a socket in the file system.
    /// Sockets that a service manager passes (`LISTEN_FDS`) are used instead.
    listen: List<Listen> = network::default_listen(), "KITBAG_LISTEN";
    /// Permissions of Unix sockets, such as `660` for a reverse proxy in the same group.
    listen_socket_mode: SocketMode = SocketMode::PRIVATE, "KITBAG_LISTEN_SOCKET_MODE";
    /// Address where Prometheus may read metrics (`/metrics`), such as `127.0.0.1:9464`; by default none. There is no
    /// sign-in: whoever can connect sees which toolkits there are and how often they are called, but nothing of users.
    metrics_listen: Maybe<SocketAddr> = Maybe::UNSET, "KITBAG_METRICS_LISTEN";
    /// File with this server's certificate, and after it those of the authorities between it and the root, in PEM: TCP
    /// addresses then speak HTTPS, and Unix sockets plain HTTP. It is read again when it changes.
    tls_certificate: Maybe<PathBuf> = Maybe::UNSET, "KITBAG_TLS_CERTIFICATE";
    /// File with the certificate's private key, in PEM, without a passphrase. Other users of the machine must not be
    /// able to read it; a file of root may be readable for a group.
    tls_key: Maybe<PathBuf> = Maybe::UNSET, "KITBAG_TLS_KEY";
    /// Collector that receives a trace of each sampled call by OTLP over HTTP, such as
    /// `http://127.0.0.1:4318/v1/traces`; by default none. Traces have no content of calls and name no user.
    traces: value::ServiceUrl = value::ServiceUrl::default(), "KITBAG_TRACES";
    /// Share of calls that are traced, from 0 to 1.
    traces_sample: Ratio = Ratio::TENTH, "KITBAG_TRACES_SAMPLE";
    /// Headers for the collector, such as `authorization=Bearer%20…,x-tenant=a`. Prefer the variable or the file for a
    /// key: other users of the machine can read a flag.
    traces_headers: Maybe<Secret> = Maybe::UNSET, "KITBAG_TRACES_HEADERS";
    /// Makes a call part of the trace that its request names (`traceparent`), and samples it if that is sampled. Only
    /// behind a proxy that sets or removes the header: others could have each of their calls traced.
    accept_traceparent: bool = false, "KITBAG_ACCEPT_TRACEPARENT";
    /// Folder for the database, components, keys.
    data: PathBuf = PathBuf::from(DEFAULT_DATA), "KITBAG_DATA";
    /// Where documents, secrets, records and everything else about users and toolkits is kept: `sqlite`, a file in the
    /// data directory, or a PostgreSQL database, which several servers may share, such as
    /// `postgres://kitbag@db.internal/kitbag`. Prefer the variable or the file for a URL with a password: other users of
    /// the machine can read a flag.
    database: DatabaseLocation = DatabaseLocation::DataDirectory, "KITBAG_DATABASE";
    /// Connections to a PostgreSQL database, besides six that the server keeps for itself.
    database_connections: u32 = 16, "KITBAG_DATABASE_CONNECTIONS";
    /// Where components and captured files are kept: `folder`, in the data directory, which is the default with
    /// `sqlite`; `folder:PATH`; or, with a PostgreSQL database, `s3://BUCKET/PREFIX`, a bucket of Amazon S3 or of another
    /// service that speaks its protocol.
    #[serde(skip)]
    objects: ObjectsLocation = ObjectsLocation::Default, "KITBAG_OBJECTS";
    /// URL of the service that has the bucket, such as `https://s3.internal:9000`; by default Amazon's.
    #[serde(skip)]
    objects_endpoint: value::Endpoint = value::Endpoint::default(), "KITBAG_OBJECTS_ENDPOINT";
    /// Region of the bucket.
    #[serde(skip)]
    objects_region: String = "us-east-1".to_owned(), "KITBAG_OBJECTS_REGION";
    /// Id of the access key for the bucket, which may read, write, delete and list there.
    #[serde(skip)]
    objects_key_id: Maybe<String> = Maybe::UNSET, "KITBAG_OBJECTS_KEY_ID";
    /// Secret of that access key. Prefer the variable or the file: other users of the machine can read a flag.
    #[serde(skip)]
    objects_secret: Maybe<Secret> = Maybe::UNSET, "KITBAG_OBJECTS_SECRET";
    /// Public URL of this server, which may have a path (`https://example.com/kitbag`); by default `http://`, or `https://` with a certificate, and the
    /// address it listens on.
    base_url: BaseUrl = BaseUrl::default(), "KITBAG_BASE_URL";
    /// Issuer URL of the OpenID provider that people sign in with, or `local` for Kitbag's own.
    issuer: Issuer = Issuer::Local, "KITBAG_ISSUER";
    /// Issuer (or `local`) whose user ids name the same people as those of the current one. Needed once,
    /// when the issuer of a data directory changes.
    issuer_replaces: Maybe<Issuer> = Maybe::UNSET, "KITBAG_ISSUER_REPLACES";
    /// Who may deploy and manage toolkits: user ids, and groups as `group:NAME`.
    operators: List<Operator> = List::default(), "KITBAG_OPERATORS";
    /// Who agrees when a new version of a toolkit reaches further: `users`, each for what they have given it, or `operators`,
    /// by making it live. By default `users` with an identity provider, and `operators` with local sign-in.
    consent: Maybe<ConsentSetting> = Maybe::UNSET, "KITBAG_CONSENT";
    /// Takes only versions of toolkits that a publisher has signed (`kitbag publisher add`), also when going back to one.
    require_signature: bool = false, "KITBAG_REQUIRE_SIGNATURE";
    /// Registries that are asked once an hour for newer versions of toolkits that came from there, such as `ghcr.io`; by default
    /// none. What is newer waits for an operator's review. They are asked without a sign-in.
    follow_registries: List<String> = List::default(), "KITBAG_FOLLOW_REGISTRIES";
    /// Origins whose pages may use the session cookie and speak MCP, such as `https://app.example.com`.
    allowed_origins: List<String> = List::default(), "KITBAG_ALLOWED_ORIGINS";
    /// Signature algorithms of the provider's tokens; by default RS256, PS256, ES256, ES384, EdDSA.
    token_algorithms: List<String> = List::default(), "KITBAG_TOKEN_ALGORITHMS";
    /// Accepts session tokens that name no audience (some providers send none); a wrong one is
    /// always refused.
    accept_missing_audience: bool = false, "KITBAG_ACCEPT_MISSING_AUDIENCE";
    /// Audiences of tokens (`aud`) that are accepted besides the base URL, such as the provider's identifier of this API. Of
    /// tokens without an audience, identifiers of the clients whose tokens are accepted.
    audience: List<String> = List::default(), "KITBAG_AUDIENCE";
    /// Accepts tokens whose header does not say what they are (`typ`), as those of Okta and Cognito, if their claims show
    /// that they are access tokens.
    accept_untyped_tokens: bool = false, "KITBAG_ACCEPT_UNTYPED_TOKENS";
    /// Scopes that clients are told to ask the provider for; by default `profile`, `email` and `offline_access`, as far as the
    /// provider's metadata lists them.
    scopes: List<String> = List::default(), "KITBAG_SCOPES";
    /// Identifier of the public client that MCP clients and `kitbag login` sign in as, at a provider that lets none register;
    /// `kitbag connect` and the page "Connect" fill it in. By default clients register by themselves.
    mcp_client_id: Maybe<String> = Maybe::UNSET, "KITBAG_MCP_CLIENT_ID";
    /// Claim of the provider's tokens that holds the groups of a user: its name, such as `groups`, or a path, such as
    /// `realm_access.roles`. By default users have no groups.
    groups_claim: Maybe<String> = Maybe::UNSET, "KITBAG_GROUPS_CLAIM";
    /// Claim of the provider's tokens that holds the id of a user: `sub`, or `oid` with Entra, whose `sub` no other system
    /// knows. Set it before anybody has signed in: with another claim, everybody is another user.
    user_id_claim: Maybe<UserIdClaimSetting> = Maybe::UNSET, "KITBAG_USER_ID_CLAIM";
    /// Lets the identity provider maintain users and groups here (SCIM, at `/scim/v2`, with a token of `kitbag user
    /// scim-token new`), and says which of its attributes is the id that tokens carry: `externalId`, `userName` or `email`.
    /// Whom it deactivates is refused, and its groups count for keys of programs, though never to make an operator. By default
    /// it is off, and nobody is deactivated.
    scim_user_id: Maybe<ScimUserId> = Maybe::UNSET, "KITBAG_SCIM_USER_ID";
    /// How long the groups of a user's last sign-in count for keys of programs, such as `12h`, where `scim-user-id` is not set.
    /// Who leaves a group keeps what it gives to such a key until then, or until the next sign-in. By default keys have no
    /// groups.
    groups_remembered: Span = Span::seconds(0), "KITBAG_GROUPS_REMEMBERED";
    /// Groups of users in local mode: in the file a table, such as `{ ana = ["sales"] }`, in a flag `ana=sales,ben=sales`.
    local_groups: LocalGroups = LocalGroups::default(), "KITBAG_LOCAL_GROUPS";
    /// Lets users make keys for programs that cannot sign in by a browser; `false` refuses those that there are, too.
    keys: bool = true, "KITBAG_KEYS";
    /// Longest lifetime of a key of a program, also of one that was made before, or `unlimited`; by default 90 days.
    key_lifetime: SpanLimit = SpanLimit::days(90), "KITBAG_KEY_LIFETIME";
    /// How long keys of programs work without a sign-in of their user, or `unlimited`. A key is refused then until its user signs
    /// in again. By default 30 days with an identity provider, and unlimited with local sign-in.
    keys_without_sign_in: Maybe<SpanLimit> = Maybe::UNSET, "KITBAG_KEYS_WITHOUT_SIGN_IN";
    /// How long a refresh token of local sign-in that was replaced still gets the newest one, for sessions of a client that
    /// share a sign-in. Later it is refused, and ends the sign-in if the newest one has been used as well.
    refresh_grace: Span = Span::seconds(600), "KITBAG_REFRESH_GRACE";
    /// How long a browser stays signed in on this server's pages; a quarter of it without a request ends the
    /// session. By default 12 hours, and 30 days with local sign-in.
    web_session_lifetime: Maybe<Span> = Maybe::UNSET, "KITBAG_WEB_SESSION_LIFETIME";
    /// Identifier of the client that this server is at the provider, for sign-in on its pages; `register` lets it
    /// register itself (RFC 7591). Its redirect URI is the base URL followed by `/ui/signin/callback`. By default the
    /// pages use the provider's session cookie, as the API does.
    web_client_id: Maybe<String> = Maybe::UNSET, "KITBAG_WEB_CLIENT_ID";
    /// Secret of that client, if it has one. Prefer the variable or the file: other users of the machine can read a
    /// flag.
    web_client_secret: Maybe<Secret> = Maybe::UNSET, "KITBAG_WEB_CLIENT_SECRET";
    /// Hosts that toolkits may reach at most, whatever they declare, written as they are declared: in the file a list, or a
    /// table such as `{ everyone = ["api.example.com"], "group:sales" = ["crm.example.com"] }`, in a flag
    /// `api.example.com,group:sales=crm.example.com`. What is for a group adds to what is for everyone. By default toolkits
    /// reach what they declare.
    egress_policy: EgressPolicy = EgressPolicy::default(), "KITBAG_EGRESS_POLICY";
    /// Private address ranges that toolkits may reach, such as `10.1.0.0/16`; by default none. Files are
    /// not captured from there.
    allow_private_ranges: List<AddressRange> = List::default(), "KITBAG_ALLOW_PRIVATE_RANGES";
    /// Private address ranges that files may be captured from, such as that of an intranet's wiki; by
    /// default none. Every user, and every toolkit with the scope svc:ingest, can then read whatever
    /// is served there without a password.
    capture_private_ranges: List<AddressRange> = List::default(), "KITBAG_CAPTURE_PRIVATE_RANGES";
    /// Name servers for the host names that toolkits and captures use, such as `10.0.0.2` or
    /// `10.0.0.2:5353`; by default those of the system.
    name_servers: List<network::NameServer> = List::default(), "KITBAG_NAME_SERVERS";
    /// URL of the proxy (CONNECT) through which connections to public addresses go, such as `http://proxy.internal:3128`;
    /// private addresses are connected to directly. Prefer the variable or the file for a URL with a password.
    https_proxy: Maybe<Secret> = Maybe::UNSET, "KITBAG_HTTPS_PROXY";
    /// NAT64 prefixes of this network, such as `2001:db8:64::/96`, if its name servers do not announce them.
    nat64_prefixes: List<Ipv6Net> = List::default(), "KITBAG_NAT64_PREFIXES";
    /// Where to find the key that encrypts the users' secrets: `file` (`master-key` in the data directory,
    /// created at the first start, unless the database is a server's), `file:PATH`, `env:VARIABLE`, or
    /// `command:LINE`, which prints it.
    master_key: MasterKey = MasterKey::File(None), "KITBAG_MASTER_KEY";
    /// How long a server that was asked to stop goes on, with 503 from `/readyz`, until load balancers send nobody there
    /// any more; by default 5s with a PostgreSQL database, 1s with sockets of a service manager, and not at all
    /// otherwise.
    drain: Maybe<Span> = Maybe::UNSET, "KITBAG_DRAIN";
    /// How long a client may keep the server waiting: for the head of a request, for the next one on an open
    /// connection, for more of a body.
    request_timeout: Span = Span::seconds(30), "KITBAG_REQUEST_TIMEOUT";
    /// Open connections. Beyond this, the oldest connections of clients that have not signed in are
    /// closed.
    connections: usize = 4096, "KITBAG_CONNECTIONS";
    /// Open connections from one address, or one IPv6 /64 network.
    connections_per_address: usize = 512, "KITBAG_CONNECTIONS_PER_ADDRESS";
    /// Addresses of reverse proxies, or their ranges, which connect for many clients; by default the loopback addresses.
    trusted_proxies: List<AddressRange> = network::loopback(), "KITBAG_TRUSTED_PROXIES";
    /// Largest component that may be uploaded.
    component_size: Size = Size::mebibytes(64), "KITBAG_COMPONENT_SIZE";
    /// Processor time, over all cores, for inspecting and compiling one component; in whole seconds.
    compile_time: Span = Span::seconds(120), "KITBAG_COMPILE_TIME";
    /// Memory for inspecting and compiling one component.
    compile_memory: Size = Size::mebibytes(2048), "KITBAG_COMPILE_MEMORY";
    /// Largest request of an MCP client, and largest arguments of a call over HTTP.
    mcp_request_size: Size = Size::mebibytes(limits::DEFAULT_MCP_REQUEST_MIB), "KITBAG_MCP_REQUEST_SIZE";
    /// Offers MCP clients the tools `search` and `fetch` over their user's documents, and the documents as resources. Each
    /// user can hide them: `kitbag toolkit hide knowledge`.
    knowledge_tools: bool = true, "KITBAG_KNOWLEDGE_TOOLS";
    /// MCP requests and other calls per minute of one user, on average; a burst of as many is allowed.
    mcp_requests_per_minute: NonZeroU32 = MCP_REQUESTS_PER_MINUTE, "KITBAG_MCP_REQUESTS_PER_MINUTE";
    /// Wall time of one call.
    #[serde(skip)]
    call_time: Span = Span::seconds(limits::DEFAULT_CALL_TIME.as_secs()), "KITBAG_CALL_TIME";
    /// Memory of one call.
    #[serde(skip)]
    call_memory: Size = Size::mebibytes(limits::DEFAULT_CALL_MEMORY_MIB), "KITBAG_CALL_MEMORY";
    /// Memory of all calls together; by default half the memory of the machine or the control group. The calls of one
    /// user may take a quarter of it, and never less than one call may take.
    memory_for_calls: Maybe<Size> = Maybe::UNSET, "KITBAG_MEMORY_FOR_CALLS";
    /// How long the records of calls are kept.
    log_retention: Span = Span::days(14), "KITBAG_LOG_RETENTION";
    /// Size of all records of calls, beyond which the oldest of the toolkits with the most are removed before their time.
    log_size: Size = Size::mebibytes(1024), "KITBAG_LOG_SIZE";
    /// Number of records that are kept for each toolkit; by default as many as `log-retention` and `log-size` leave.
    log_records_per_toolkit: u32 = u32::MAX, "KITBAG_LOG_RECORDS_PER_TOOLKIT";
    /// How long entries of the audit log are kept.
    audit_retention: Span = Span::days(400), "KITBAG_AUDIT_RETENTION";
    /// Writes each call into the audit log too, for other systems (`kitbag audit --calls`): who called which tool, with which
    /// account, and the outcome, never arguments or results. Users see on their page "Account" whether it is on.
    record_callers: bool = false, "KITBAG_RECORD_CALLERS";
    /// How long entries of calls are kept there.
    audit_calls_retention: Span = Span::days(90), "KITBAG_AUDIT_CALLS_RETENTION";
    /// Where the signed ends of the audit log are kept, beyond the reach of who can write to the database: each hour a line is
    /// appended to a file (an absolute path), or sent to a URL (`https://…`) by POST; by default none.
    audit_anchor: Maybe<AuditAnchor> = Maybe::UNSET, "KITBAG_AUDIT_ANCHOR";
    /// Calls that run at the same time: of one user at most 64, or a quarter of them, and of one toolkit at most 128, or
    /// half of them, whichever is more.
    concurrent_calls: u32 = 256, "KITBAG_CONCURRENT_CALLS";
    /// Documents of one user.
    documents_per_user: u64 = 100_000, "KITBAG_DOCUMENTS_PER_USER";
    /// Total size of the documents of one user: their texts, the texts of their files, and the files.
    documents_size_per_user: Size = Size::mebibytes(2048), "KITBAG_DOCUMENTS_SIZE_PER_USER";
    /// Documents of one collection.
    documents_per_collection: u64 = 100_000, "KITBAG_DOCUMENTS_PER_COLLECTION";
    /// Total size of the documents of one collection, as `documents-size-per-user` counts it.
    documents_size_per_collection: Size = Size::mebibytes(8192), "KITBAG_DOCUMENTS_SIZE_PER_COLLECTION";
    /// Who may make collections: `everyone`, or `operators`. By default `operators` with an identity provider, and `everyone`
    /// with local sign-in.
    collections: Maybe<Creators> = Maybe::UNSET, "KITBAG_COLLECTIONS";
    /// How long deleted documents and collections can be had back.
    bin: Span = Span::days(30), "KITBAG_BIN";
    /// Uploads (batches and files) per minute of one user, on average; a burst of as many is allowed.
    uploads_per_minute: NonZeroU32 = UPLOADS_PER_MINUTE, "KITBAG_UPLOADS_PER_MINUTE";
    /// Free space on the disk of the data directory below which nothing more is stored; by default 1 GiB,
    /// or a twentieth of the disk if that is less.
    free_disk_space: Maybe<Size> = Maybe::UNSET, "KITBAG_FREE_DISK_SPACE";
    /// Largest file that is captured.
    capture_size: Size = Size::mebibytes(64), "KITBAG_CAPTURE_SIZE";
    /// Folder with the extractors `html.wasm`, `mail.wasm`, `office.wasm` and `pdf.wasm`, and with `code.wasm`, which runs code of
    /// models; by default `extractors` beside this program, or `../lib/kitbag/extractors`, where packages have them.
    extractors: PathBuf = extractors_of(&std::env::current_exe().unwrap_or_default()), "KITBAG_EXTRACTORS";
    /// Memory of extracting the text of one captured file.
    extraction_memory: Size = Size::mebibytes(512), "KITBAG_EXTRACTION_MEMORY";
    /// Service that inspects each call of a tool, a prompt or a resource before it runs, and its result before it leaves, and
    /// may refuse them (data loss prevention), such as `http://127.0.0.1:8090/check`; by default none. It receives arguments
    /// and results without secrets.
    dlp_url: value::ServiceUrl = value::ServiceUrl::default(), "KITBAG_DLP_URL";
    /// Key for the service, sent as a bearer token. Prefer the variable or the file: other users of the machine can read a
    /// flag.
    dlp_key: Maybe<Secret> = Maybe::UNSET, "KITBAG_DLP_KEY";
    /// How long a check of the service may take, of arguments and of a result each.
    dlp_timeout: Span = Span::seconds(2), "KITBAG_DLP_TIMEOUT";
    /// What happens to calls while the service does not answer, or not as it should: `refuse`, which is the default, or
    /// `pass`.
    dlp_unavailable: Maybe<DlpUnavailable> = Maybe::UNSET, "KITBAG_DLP_UNAVAILABLE";
    /// Service that transcribes captured speech, with the API of `OpenAI`, such as
    /// `http://127.0.0.1:8080/v1/audio/transcriptions`; by default none.
    transcription_url: value::ServiceUrl = value::ServiceUrl::default(), "KITBAG_TRANSCRIPTION_URL";
    /// The service's name for its model.
    transcription_model: String = "whisper-1".to_owned(), "KITBAG_TRANSCRIPTION_MODEL";
    /// Key for the service. Other users of the machine can read a flag; they cannot read the variable.
    transcription_key: Maybe<Secret> = Maybe::UNSET, "KITBAG_TRANSCRIPTION_KEY";
    /// Model that search uses: a name of `kitbag model list`, fetched with `kitbag model fetch NAME`; the folder of any
    /// BERT model saved by sentence-transformers (`./NAME` if it has such a name); or `none`. By default all-MiniLM-L6-v2,
    /// if it was fetched. After a change, all documents are embedded again in the background.
    model: Model = Model::Default, "KITBAG_MODEL";
    /// URL of a service to use instead of a local model, such as `https://api.openai.com/v1/embeddings`:
    /// it receives the text of every document and of every search.
    embedding_url: Maybe<Url> = Maybe::UNSET, "KITBAG_EMBEDDING_URL";
    /// The service's name for its model, such as `text-embedding-3-small`.
    embedding_model: Maybe<String> = Maybe::UNSET, "KITBAG_EMBEDDING_MODEL";
    /// Key for the service. Prefer the variable or the file: other users of the machine can read a flag.
    embedding_key: Maybe<Secret> = Maybe::UNSET, "KITBAG_EMBEDDING_KEY";
    /// Memory for the search indexes of active users, without what is searched in files.
    search_memory: Size = Size::mebibytes(512), "KITBAG_SEARCH_MEMORY";
}

/// Value of `web-client-id` that lets the server register itself.
pub const REGISTER: &str = "register";

/// Ten requests per second: far more than a model needs, far less than a runaway loop sends.
const MCP_REQUESTS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("not zero");

/// Ten uploads per second: enough to upload a folder of files without a pause.
const UPLOADS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("not zero");

/// Other known variables: for client commands, the log, and the path of the settings file.
const OTHER_VARIABLES: [&str; 4] = ["KITBAG_CONFIG", "KITBAG_LOG", "KITBAG_SERVER", "KITBAG_TOKEN"];

/// The settings file that is read by default, if it exists.
const DEFAULT_FILE: &str = "kitbag.toml";

impl Sources {
    /// Reads the settings from the environment: those of a server that is started here without flags.
    pub fn of_environment() -> Result<Self, clap::Error> {
        let command = Self::augment_args(clap::Command::new("settings").no_binary_name(true));
        Self::from_arg_matches(&command.try_get_matches_from([""; 0])?)
    }

    /// Replaces the data directory, if `data` is given.
    #[must_use]
    pub fn with_data(self, data: Option<PathBuf>) -> Self {
        Self { data: data.or(self.data), ..self }
    }

    /// Replaces the source of the master key, if one is given.
    #[must_use]
    pub fn with_master_key(self, master_key: Option<MasterKey>) -> Self {
        Self { master_key: master_key.or(self.master_key), ..self }
    }
}

impl Settings {
    /// Combines flags and variables with the file: `file`, or the one in `KITBAG_CONFIG`, or else
    /// `kitbag.toml` if it exists and belongs to the user.
    pub fn load(given: Sources, file: Option<&Path>) -> Result<Self, SettingsError> {
        let variable = std::env::var_os("KITBAG_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from);
        let settings = Self::from_sources(given, read(file.or(variable.as_deref()))?);
        if settings.master_key == MasterKey::Invalid {
            return Err(SettingsError::MasterKey);
        }
        match settings.database {
            DatabaseLocation::Invalid => return Err(SettingsError::Database),
            DatabaseLocation::Server(_) if settings.issuer == Issuer::Local => {
                return Err(SettingsError::DatabaseServerInLocalMode);
            }
            DatabaseLocation::Server(_) if settings.objects == ObjectsLocation::Default => {
                return Err(SettingsError::ObjectsUnnamed);
            }
            _ => {}
        }
        settings.expect_bucket()?;
        environment::warn_of_strays(VARIABLES, |name| {
            OTHER_VARIABLES.contains(&name) || settings.master_key == MasterKey::Variable(name.to_owned())
        });
        if settings.listen.is_empty() {
            return Err(SettingsError::NoAddress);
        }
        settings.expect_allowed(settings.listen.iter().filter_map(Listen::tcp))?;
        match (settings.embedding_url.get(), settings.embedding_model.get()) {
            (Some(_), None) | (None, Some(_)) => return Err(SettingsError::IncompleteService),
            (Some(_), Some(_)) if settings.model != Model::Default => return Err(SettingsError::TwoModels),
            (Some(url), Some(_)) if !["http", "https"].contains(&url.scheme()) => {
                return Err(SettingsError::EmbeddingUrl);
            }
            _ => {}
        }
        settings.trace_headers()?;
        settings.expect_dlp()?;
        match (settings.web_client_id.get().map(String::as_str), settings.web_client_secret.get()) {
            (Some(_), _) if settings.issuer == Issuer::Local => {
                return Err(SettingsError::WebClientInLocalMode);
            }
            (None | Some(REGISTER), Some(_)) => return Err(SettingsError::WebClientSecret),
            _ => {}
        }
        if settings.mcp_client_id.get().is_some_and(|id| !is_client_id(id)) {
            return Err(SettingsError::McpClientId);
        }
        match settings.issuer {
            Issuer::Local if settings.mcp_client_id.get().is_some() => {
                return Err(SettingsError::McpClientInLocalMode);
            }
            Issuer::Local
                if settings.scim_user_id.get().is_some() || settings.user_id_claim.get().is_some() =>
            {
                return Err(SettingsError::ProvisioningInLocalMode);
            }
            Issuer::Local if settings.groups_claim.get().is_some() => {
                return Err(SettingsError::GroupsClaimInLocalMode);
            }
            Issuer::External(_) if !settings.local_groups.is_empty() => {
                return Err(SettingsError::LocalGroupsWithProvider);
            }
            Issuer::External(_)
                if settings.groups_claim.get().is_none()
                    && settings.operators.iter().any(|it| matches!(it, Operator::Group(_))) =>
            {
                return Err(SettingsError::GroupWithoutClaim);
            }
            Issuer::Local | Issuer::External(_) => {}
        }
        if settings.tls_certificate.get().is_some() != settings.tls_key.get().is_some() {
            return Err(SettingsError::IncompleteTls);
        }
        match settings.base_url.clone().into_inner() {
            Some(url) if settings.issuer == Issuer::Local && !is_loopback(&url) => {
                return Err(SettingsError::LocalBaseUrlInPublic(url));
            }
            Some(url) if settings.tls().is_some() && url.scheme() != "https" => {
                return Err(SettingsError::PlainBaseUrl(url));
            }
            _ => {}
        }
        // Fails if no base URL can be derived; the port may not be known yet.
        let addresses: Vec<_> = settings.listen.iter().filter_map(Listen::tcp).collect();
        settings.base_url(&addresses)?;
        Ok(settings)
    }

    /// Checks that the settings of a bucket are complete, or absent.
    fn expect_bucket(&self) -> Result<(), SettingsError> {
        let id = self.objects_key_id.get().is_some();
        let secret = self.objects_secret.get().is_some();
        let is_bucket = matches!(self.objects, ObjectsLocation::Bucket { .. });
        if is_bucket && !matches!(self.database, DatabaseLocation::Server(_)) {
            Err(SettingsError::BucketWithoutServer)
        } else if is_bucket && !(id && secret) {
            Err(SettingsError::BucketWithoutKey)
        } else if !is_bucket && (id || secret || self.objects_endpoint.clone().into_inner().is_some()) {
            Err(SettingsError::KeyWithoutBucket)
        } else {
            Ok(())
        }
    }

    /// Paths of the certificate and its key; `None` if TCP addresses speak plain HTTP.
    pub fn tls(&self) -> Option<(&Path, &Path)> {
        Some((self.tls_certificate.get()?.as_path(), self.tls_key.get()?.as_path()))
    }

    /// Checks that local sign-in is not reachable from other machines at these addresses, and that a
    /// certificate is not set without a TCP address.
    pub fn expect_allowed(&self, addresses: impl Iterator<Item = SocketAddr>) -> Result<(), SettingsError> {
        let mut addresses = addresses.peekable();
        if self.tls().is_some() && addresses.peek().is_none() {
            return Err(SettingsError::TlsWithoutAddress);
        }
        match addresses.find(|address| self.issuer == Issuer::Local && !address.ip().is_loopback()) {
            Some(address) => Err(SettingsError::LocalIssuerInPublic(address)),
            None => Ok(()),
        }
    }

    /// Public URL of this server, by default that of the first address it listens on.
    pub fn base_url(&self, bound: &[SocketAddr]) -> Result<Url, SettingsError> {
        if let Some(url) = self.base_url.clone().into_inner() {
            return Ok(url);
        }
        match bound.first() {
            Some(address) if !address.ip().is_unspecified() => {
                let scheme = if self.tls().is_some() { "https" } else { "http" };
                let url = Url::parse(&format!("{scheme}://{address}"));
                Ok(url.expect("a socket address is a valid authority"))
            }
            Some(address) => Err(SettingsError::NoBaseUrl(address.to_string())),
            None => Err(SettingsError::NoBaseUrl("a Unix socket".to_owned())),
        }
    }
}

/// Folder of extractors for a program: `extractors` beside it, or the packaged folder if only that exists.
fn extractors_of(program: &Path) -> PathBuf {
    let folder = program.parent().unwrap_or(Path::new(""));
    let beside = folder.join("extractors");
    let packaged = folder.with_file_name("lib").join("kitbag/extractors");
    if packaged.is_dir() && !beside.is_dir() { packaged } else { beside }
}

/// Reads an environment variable named by a setting.
pub fn variable(name: &str) -> Result<SecretString, SettingsError> {
    std::env::var(name).map(SecretString::from).map_err(|_| SettingsError::Absent(name.to_owned()))
}

fn read(file: Option<&Path>) -> Result<Sources, SettingsError> {
    let path = file.unwrap_or(Path::new(DEFAULT_FILE));
    let text = match file {
        Some(named) => ownership::read_named(named).map_err(SettingsError::File)?,
        None => ownership::read(path, Protection::Unwritable)
            .map_err(SettingsError::Distrusted)?
            .unwrap_or_default(),
    };
    let sources = Sources::from_toml(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        let cause = tables::hint(error.message()).unwrap_or_else(|| error.message().to_owned());
        SettingsError::Key { path: path.to_owned(), line, cause }
    })?;
    // The user owns a folder that they unpacked or cloned, but another person wrote its files.
    if file.is_none() && matches!(sources.master_key, Some(MasterKey::Command(_))) {
        return Err(SettingsError::UnnamedCommand);
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
