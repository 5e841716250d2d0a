// `kitbag/extend/openapi` while the build reads a declaration: no handler runs, so no request is sent.
import type { SendRequest } from "./request.js";

export { csv, deep, file, given, jsonText, piped, spaced } from "./request-parts.js";

export function api(): SendRequest {
  return () => Promise.reject(new Error("a request can only be sent by a call"));
}
