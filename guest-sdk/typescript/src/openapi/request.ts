// Requests to an API that an OpenAPI document describes: `kitbag/extend/openapi`, which generated toolkits import.
import { attempt } from "../fetch-json.js";
import { ToolError } from "../tool-error.js";
import type { ToolContent, ToolContext, ToolResult } from "../types.js";
import { preparedRequest, type ApiHeaders, type ApiRequest } from "./request-parts.js";

export { csv, deep, file, given, jsonText, piped, spaced, type ApiHeaders, type ApiRequest } from "./request-parts.js";

/** Common options of all requests of a toolkit. */
export interface ApiOptions {
  /** Base URL, such as `https://api.example.com/v1`. */
  baseUrl: string;
  /** Headers of each request, other than those that the server attaches for `auth`. */
  headers?: ((ctx: ToolContext) => Promise<ApiHeaders> | ApiHeaders) | undefined;
  /** Converts a response with an error status to a `ToolError`. `undefined` selects the default error. */
  errorMap?: ((response: Response, body: string) => ToolError | undefined) | undefined;
}

/** Sends a request such as `"GET /pets/{id}"` with its parts. Rejects with a `ToolError` for a status other than success. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the tool's `output` checks the value
export type SendRequest = (ctx: ToolContext, operation: string, parts?: ApiRequest) => Promise<ToolResult<any> & { structured: any }>;

/** Returns the function that sends the requests of a toolkit. */
export function api(options: ApiOptions): SendRequest {
  return async (ctx, operation, parts = {}) => {
    const { url, init } = preparedRequest(options.baseUrl, operation, parts, await options.headers?.(ctx));
    const response = await attempt(url, undefined, () => ctx.fetch(url, init));
    if (!response.ok) {
      const text = await attempt(url, undefined, () => response.text());
      throw options.errorMap?.(response, text) ?? errorOf(url, response, text);
    }
    return resultOf(url, response) as ReturnType<SendRequest>;
  };
}

async function resultOf(url: URL, response: Response): Promise<ToolResult> {
  const [type = ""] = (response.headers.get("content-type") ?? "").toLowerCase().split(";");
  const mediaType = type.trim();
  if (!isText(mediaType)) return bytesResult(url, mediaType, new Uint8Array(await attempt(url, undefined, () => response.arrayBuffer())));
  const text = await attempt(url, undefined, () => response.text());
  if (text.trim() === "") return { text: `Done (HTTP status ${response.status}).` };
  const value = parsed(text);
  return value === undefined ? { text } : { text, structured: value };
}

function isText(mediaType: string): boolean {
  return mediaType === "" || mediaType.startsWith("text/") || /[/+](json|xml|javascript|yaml|x-www-form-urlencoded|x-ndjson)$/.test(mediaType);
}

function bytesResult(url: URL, mediaType: string, bytes: Uint8Array): ToolResult {
  const text = `${bytes.length} bytes (${mediaType}).`;
  if (bytes.length === 0) return { text: "Done." };
  const kind = mediaType.split("/")[0];
  const block: ToolContent =
    kind === "image" || kind === "audio"
      ? { type: kind, data: bytes, mimeType: mediaType }
      : // The query is left out: it may hold a key.
        { type: "resource", resource: { uri: url.origin + url.pathname, mimeType: mediaType, blob: bytes } };
  return { text, content: [block] };
}

const MAX_REASON = 500;

function errorOf(url: URL, response: Response, body: string): ToolError {
  const { status } = response;
  const reason = reasonOf(body);
  const remedy = status === 401 ? " The credentials of the toolkit are missing, wrong or expired." : "";
  return new ToolError(`${url.host} answered with HTTP status ${status}${reason === "" ? "." : `: ${reason}`}${remedy}`, {
    retryable: status === 429 || status >= 500,
    data: { status, answer: body.slice(0, 2000) },
  });
}

/** Returns the reason in an error response, on one line: the messages in its JSON, or the JSON itself. */
function reasonOf(body: string): string {
  const value = parsed(body);
  if (value === undefined) return /^\s*</.test(body) ? "" : shortened(body);
  const messages = messagesOf(value, 0);
  return shortened(messages.length > 0 ? [...new Set(messages)].join("; ") : body);
}

function messagesOf(value: unknown, level: number): string[] {
  if (typeof value !== "object" || value === null || level > 3) return [];
  if (Array.isArray(value)) return value.slice(0, 10).flatMap((it) => (typeof it === "string" ? [it] : messagesOf(it, level + 1)));
  return Object.entries(value).flatMap(([name, it]: [string, unknown]) => {
    if (typeof it === "string") return /^(message|error|error_description|detail|title|reason)$/i.test(name) ? [it] : [];
    return /^(error|errors|details?|messages)$/i.test(name) ? messagesOf(it, level + 1) : [];
  });
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > MAX_REASON ? `${line.slice(0, MAX_REASON)}…` : line;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
