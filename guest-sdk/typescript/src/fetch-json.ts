import { UNSUPPORTED_ENCODING } from "./content-encoding.js";
import { check, issueLines } from "./issues.js";
import { signalOf } from "./request-check.js";
import { urlOf } from "./request-url.js";
import { notListed } from "./texts.js";
import { ToolError } from "./tool-error.js";
import type { FetchJsonOptions } from "./types.js";

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Safe methods (RFC 9110, section 9.2.1): the request can be repeated. */
const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];
const NOT_MODIFIED = 304;

/**
 * Sends a request to a JSON API and returns the parsed body; `undefined` if the body of a success (204, 304,
 * or any other) is empty.
 *
 * | what happens | the error |
 * |---|---|
 * | status 429, 5xx, or no response | retryable |
 * | any other status but 2xx and 304, or `egress` does not list the host, or the compression is not supported | not retryable |
 * | the body is not JSON | retryable for GET, HEAD and OPTIONS; other requests may already have had their effect |
 * | the body is empty and `schema` requires a value, or is JSON that `schema` rejects | not retryable; names the path |
 */
export async function fetchJson(
  fetch: Fetch,
  url: string | URL | Request,
  options: FetchJsonOptions = {},
): Promise<unknown> {
  const target = urlOf(url);
  const { host } = target;
  const init = options.init as RequestInit | undefined;
  const signal = signalOf(url, init);
  const response = await attempt(target, signal, () => fetch(url, init));
  const body = await attempt(target, signal, () => response.text());

  if (!response.ok && response.status !== NOT_MODIFIED) {
    throw (await options.errorMap?.(response, body)) ?? fromStatus(host, response.status);
  }
  const isEmpty = body.trim() === "";
  let value: unknown;
  try {
    value = isEmpty ? undefined : JSON.parse(body);
  } catch {
    // JSON.parse's message is left out: it differs between engines and does not help a model.
    throw new ToolError(`${host} answered with ${malformedKind(response)}`, { retryable: SAFE_METHODS.includes(methodOf(url, init)) });
  }
  if (options.schema === undefined) return value;
  const checked = await check(options.schema, value);
  if (checked.success) return checked.data;
  if (isEmpty) throw new ToolError(`${host} answered with HTTP status ${response.status} and an empty body`);
  throw new ToolError(`${host} answered with unexpected JSON at ${issueLines(checked.error).join("; ")}`);
}

function methodOf(url: string | URL | Request, init: RequestInit | undefined): string {
  return (init?.method ?? (url instanceof Request ? url.method : "GET")).toUpperCase();
}

/** Describes a body that is not JSON, with its media type if that is not a JSON type. */
function malformedKind(response: Response): string {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  const name = type.trim().toLowerCase();
  const isNamed = /^[a-z0-9.+-]{1,40}\/[a-z0-9.+-]{1,80}$/.test(name) && !name.includes("json");
  return isNamed ? `malformed JSON (${name})` : "malformed JSON";
}

/** Runs a part of a request. Converts a network failure to a `ToolError`. */
export async function attempt<T>(url: URL, signal: AbortSignal | null | undefined, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const { message } = (error ?? {}) as { message?: string };
    if (message?.startsWith("invalid request: ")) throw error;
    const networkError = message?.startsWith("network error: ") ? message : "network error: the answer broke off";
    const reason = signal?.aborted === true ? "the request was aborted" : networkError;
    const isPermanent = message === UNSUPPORTED_ENCODING || message === `network error: ${notListed(url)}`;
    throw new ToolError(`${url.host} gave no answer: ${reason}`, { retryable: !isPermanent });
  }
}

function fromStatus(host: string, status: number): ToolError {
  return new ToolError(`${host} answered with HTTP status ${status}`, { retryable: status === 429 || status >= 500 });
}
