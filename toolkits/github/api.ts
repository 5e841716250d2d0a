// Requests to the REST API of GitHub, and its errors in words that help.
import { ToolError, type FetchJsonOptions, type ToolContext, type z } from "kitbag/extend/toolkit";

/** One request: where to, and what to say if it is refused. */
export interface ApiRequest<S extends z.ZodType> {
  path: string;
  /** Parameters of the URL; those without a value are left out. */
  parameters?: Record<string, string | number | undefined>;
  /** Body of a POST request; without one, the request is a GET. */
  body?: object;
  /** Media type of the answer; by default GitHub's JSON. */
  accept?: string;
  schema: S;
  /** What is requested, as in "There is no … ". */
  what: string;
}

const MAX_MESSAGE_CHARS = 300;

/** Sends a request with the user's token if there is one; otherwise the server signs in with the connected account. */
export async function request<S extends z.ZodType>(ctx: ToolContext, { path, parameters = {}, body, accept, schema, what }: ApiRequest<S>): Promise<z.output<S>> {
  const token = await ctx.secret("GITHUB_TOKEN");
  const url = new URL(`https://api.github.com${path}`);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  const init: FetchJsonOptions["init"] = {
    method: body === undefined ? "GET" : "POST",
    headers: {
      accept: accept ?? "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  return ctx.fetchJson(url, { schema, init, errorMap: (res, text) => errorOf(res, text, what) });
}

/** Returns the path of a repository: each part is escaped, so that no name can lead elsewhere. */
export function repositoryPath(repository: string, ...rest: (string | number)[]): string {
  const parts = [...repository.split("/"), ...rest].map((part) => encodeURIComponent(part));
  return `/repos/${parts.join("/")}`;
}

function errorOf(res: Response, text: string, what: string): ToolError | undefined {
  const limited = rateLimitOf(res, text);
  if (limited !== undefined) return limited;
  const message = messageOf(text);
  const data = { status: res.status, answer: text.slice(0, 2000) };
  switch (res.status) {
    case 401:
      return new ToolError(
        "GitHub does not accept the token. Set a valid one with: kitbag secret set github GITHUB_TOKEN --from-stdin",
        { data },
      );
    case 403: {
      const organization = res.headers.get("x-github-sso") === null ? "" : " The organization requires single sign-on: authorize the token for it on github.com.";
      return new ToolError(`GitHub refuses this: ${message}. The account or the token may lack a permission for it.${organization}`, { data });
    }
    case 404:
      return new ToolError(`There is no ${what}, or the account may not see it. Private repositories need a sign-in with access to them.`, { data });
    case 410:
      return new ToolError(`There is no ${what} any more, or issues are disabled in this repository.`, { data });
    case 422:
      return new ToolError(`GitHub does not accept the request: ${message}.`, { data });
    default:
      return undefined;
  }
}

/** Returns the error of a rate limit, which GitHub reports with the status 403 or 429. */
function rateLimitOf(res: Response, text: string): ToolError | undefined {
  if (res.status !== 403 && res.status !== 429) return undefined;
  const wait = Number(res.headers.get("retry-after"));
  const reset = Number(res.headers.get("x-ratelimit-reset"));
  const data = { status: res.status, wait, reset, answer: text.slice(0, 2000) };
  if (wait > 0) {
    return new ToolError(`GitHub asks to wait ${wait} seconds before the next request.`, { retryable: true, data });
  }
  if (res.headers.get("x-ratelimit-remaining") === "0" && reset > 0) {
    const until = new Date(reset * 1000).toISOString().slice(0, 16).replace("T", " ");
    return new ToolError(`GitHub's rate limit is used up until ${until} UTC. Requests with a sign-in have a higher limit.`, { retryable: true, data });
  }
  if (res.status === 429 || /rate limit/i.test(text)) {
    return new ToolError("GitHub's rate limit is used up. Wait a minute before the next request.", { retryable: true, data });
  }
  return undefined;
}

/** Returns what an error of GitHub says, on one line. */
function messageOf(text: string): string {
  let answer: { message?: unknown; errors?: unknown };
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch {
    return "it gives no reason";
  }
  const details = Array.isArray(answer?.errors) ? answer.errors.map(detailOf).filter((it) => it !== "") : [];
  const message = [answer?.message, details.join(", ")].filter((it) => typeof it === "string" && it !== "").join(": ");
  return message.replace(/\s+/g, " ").replace(/\.$/, "").slice(0, MAX_MESSAGE_CHARS) || "it gives no reason";
}

/** Describes one of the `errors` of a 422: a text, or the field and a code. */
function detailOf(error: unknown): string {
  if (typeof error === "string") return error;
  const { field, code, message } = (error ?? {}) as Record<string, unknown>;
  if (typeof message === "string") return message;
  return [field, code].filter((it) => typeof it === "string").join(" ");
}
