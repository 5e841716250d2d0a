//! Limits of calls that hold on every server by default, and in both SDKs when an author tests.

use std::time::Duration;

/// Wall time of one call, waiting included.
pub const DEFAULT_CALL_TIME: Duration = Duration::from_secs(30);
/// Linear memory of one call, in MiB.
pub const DEFAULT_CALL_MEMORY_MIB: usize = 128;
/// Text, structured value and content of a result together, in MiB.
pub const DEFAULT_RESULT_MIB: usize = 4;
/// What each piece of content counts for besides its parts, in bytes: what surrounds it in a reply, so that a
/// million empty ones are not free.
pub const CONTENT_OVERHEAD_BYTES: usize = 128;
/// The body of an MCP request, in MiB.
pub const DEFAULT_MCP_REQUEST_MIB: usize = 8;

/// How many redirects a request of a handler follows: as many as `fetch` does.
pub const MAX_REDIRECTS: usize = 20;
/// How long a connection of a handler's request may take to be opened.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The name that a request leaves under when it has none: in the form of a browser's, because some servers
/// turn others away, and true.
pub const USER_AGENT: &str = concat!("Mozilla/5.0 (compatible; Kitbag/", env!("CARGO_PKG_VERSION"), ")");

/// Bytes of a secret's value, or of a line of it, from which on it is looked for in what leaves the sandbox.
pub const MIN_REDACTED_BYTES: usize = 6;

/// Results of a search of the knowledge base that does not say how many.
pub const DEFAULT_SEARCH_RESULTS: u32 = 10;
/// Results of one search at most.
pub const MAX_SEARCH_RESULTS: u32 = 50;
