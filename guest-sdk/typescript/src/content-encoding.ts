// Compression of responses, with the same behaviour in the sandbox, in tests and in `kitbag dev`.

/** Compression of a body. */
export type ContentEncoding = "gzip" | "deflate" | "unsupported";

const SUPPORTED = new Map<string, ContentEncoding>([["gzip", "gzip"], ["x-gzip", "gzip"], ["deflate", "deflate"]]);

/** Returns the compression that a `Content-Encoding` header names; `undefined` for none. */
export function encodingOf(header: string | null): ContentEncoding | undefined {
  const name = header?.trim().toLowerCase() ?? "";
  return name === "" || name === "identity" ? undefined : (SUPPORTED.get(name) ?? "unsupported");
}

/** Returns the default `Accept-Encoding` of a request. A range of a compressed body could not be decompressed. */
export function acceptedEncodings(isRange: boolean): string {
  return isRange ? "identity" : "gzip, deflate";
}

/** Message of the error that reading a body fails with if its compression is not supported. */
export const UNSUPPORTED_ENCODING = "network error: the answer is compressed in a way that was not asked for; gzip and deflate are supported";
