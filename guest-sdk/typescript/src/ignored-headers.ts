// Request headers that only the HTTP client may set: connection headers, and the length of the body. Packages written for
// Node.js set them nevertheless. Browsers ignore them (Fetch Standard, "forbidden request-header"), and so do the sandbox,
// tests and `kitbag dev`.

/** Names of the ignored headers in lower case, as in host/net/src/egress/hygiene.rs. */
const IGNORED_HEADERS: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-authenticate"],
  ...["proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
]);

/** Whether a request header is ignored. `name` is in lower case. */
export function isIgnoredHeader(name: string): boolean {
  return IGNORED_HEADERS.has(name);
}
