import { check, issueLines } from "./issues.js";
import { signalOf } from "./request-check.js";
import { urlOf } from "./request-url.js";
import { ToolError } from "./tool-error.js";
import type { FetchJsonOptions } from "./types.js";

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Calls a JSON API and reads its answer.
 *
 * | what happens | the error |
 * |---|---|
 * | status 4xx other than 429 | not retryable |
 * | status 429, 5xx, or no answer at all | retryable |
 * | the body is no JSON | retryable |
 * | the body is JSON that `schema` refuses | not retryable; names the path |
 */
export async function fetchJson(
  fetch: Fetch,
  url: string | URL | Request,
  options: FetchJsonOptions = {},
): Promise<unknown> {
  const host = urlOf(url).host;
  const signal = signalOf(url, options.init);
  const response = await attempt(host, signal, () => fetch(url, options.init));
  const body = await attempt(host, signal, () => response.text());

  if (response.status >= 400) {
    throw (await options.errorMap?.(response, body)) ?? fromStatus(host, response.status);
  }
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // Engines word what is wrong with JSON differently; none of it helps a model.
    throw new ToolError(`${host} answered with malformed JSON`, { retryable: true });
  }
  if (options.schema === undefined) return value;
  const checked = await check(options.schema, value);
  if (checked.success) return checked.data;
  throw new ToolError(`${host} answered with unexpected JSON at ${issueLines(checked.error).join("; ")}`);
}

async function attempt<T>(host: string, signal: AbortSignal | null | undefined, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const { message } = (error ?? {}) as { message?: string };
    if (message?.startsWith("invalid request: ")) throw error;
    const told = message?.startsWith("network error: ") ? message : "network error: the answer broke off";
    const why = signal?.aborted === true ? "the request was aborted" : told;
    throw new ToolError(`${host} gave no answer: ${why}`, { retryable: true });
  }
}

function fromStatus(host: string, status: number): ToolError {
  return new ToolError(`${host} answered with HTTP status ${status}`, { retryable: status === 429 || status >= 500 });
}
