//! Default limits of calls on every server; both SDKs apply them in tests too.

use std::time::Duration;

/// Maximum wall-clock time of one call, including waiting.
pub const DEFAULT_CALL_TIME: Duration = Duration::from_secs(30);
/// Maximum linear memory of one call, in MiB.
pub const DEFAULT_CALL_MEMORY_MIB: usize = 128;
/// Maximum total size of a result's text, structured value and content, in MiB.
pub const DEFAULT_RESULT_MIB: usize = 4;
/// Fixed size of each content block in a result besides its data, in bytes: its JSON in a reply. Without it,
/// a million empty blocks would count as nothing.
pub const CONTENT_OVERHEAD_BYTES: usize = 128;
/// Maximum body size of an MCP request, in MiB.
pub const DEFAULT_MCP_REQUEST_MIB: usize = 8;

/// Maximum redirects that a handler's request follows; the same as in `fetch` of browsers.
pub const MAX_REDIRECTS: usize = 20;
/// Maximum time to open a connection for a handler's request.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Default `User-Agent` of a handler's request. It has the form of a browser's, because some servers reject
/// others, and still names Kitbag.
pub const USER_AGENT: &str = concat!("Mozilla/5.0 (compatible; Kitbag/", env!("CARGO_PKG_VERSION"), ")");

/// Minimum length of a secret's value, or of one of its lines, to be redacted in output of the sandbox, in
/// bytes.
pub const MIN_REDACTED_BYTES: usize = 6;

/// Maximum results of a knowledge base search that sets no limit.
pub const DEFAULT_SEARCH_RESULTS: u32 = 10;
/// Maximum results of one search.
pub const MAX_SEARCH_RESULTS: u32 = 50;
