// Headers of a handler's request in a test.
import { isIgnoredHeader } from "../ignored-headers.js";

/** Headers with a warning already printed. */
const warned = new Set<string>();

/** Removes the headers that only the HTTP client may set, with one warning each. */
export function withoutIgnoredHeaders(input: string | Request, init?: RequestInit): RequestInit | undefined {
  const headers = headersOf(input, init ?? {});
  const ignored = [...headers.keys()].filter(isIgnoredHeader);
  if (ignored.length === 0) return init;
  for (const name of ignored) {
    headers.delete(name);
    if (warned.has(name)) continue;
    warned.add(name);
    console.warn(`warning: the request header ${name} is ignored, here and on a server: only the HTTP client sets it`);
  }
  return { ...init, headers };
}

/** Returns the headers of a request. */
export function headersOf(input: string | Request, init: RequestInit): Headers {
  return new Headers(init.headers ?? (typeof input === "string" ? undefined : input.headers));
}

/**
 * Adds a header, and preserves the form in which the handler gave the headers, because mocks may inspect them.
 */
export function withHeader(init: RequestInit, name: string, value: string, input?: string | Request): RequestInit {
  const { headers } = init;
  if (headers === undefined && typeof input === "object") {
    const copy = new Headers(input.headers);
    copy.set(name, value);
    return { ...init, headers: copy };
  }
  if (headers instanceof Headers) {
    const copy = new Headers(headers);
    copy.set(name, value);
    return { ...init, headers: copy };
  }
  if (Array.isArray(headers)) return { ...init, headers: [...headers, [name, value]] };
  return { ...init, headers: { ...headers, [name]: value } };
}
