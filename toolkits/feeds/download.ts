// Requests to the hosts that the toolkit lists.
import { ToolError, type ToolContext } from "kitbag/extend/toolkit";

/** A feed as it was downloaded. */
export interface Download {
  text: string;
  /** Whether the feed goes on beyond the bytes that are read. */
  isCut: boolean;
  etag?: string;
  modified?: string;
}

/** Bytes of a feed that are read: the newest entries come first. */
const MAX_BYTES = 4 << 20;
/** Bytes in which XML names its encoding. */
const DECLARATION_BYTES = 200;
const MAX_VALIDATOR_CHARS = 200;
/** A URL has only ASCII characters. */
const MAX_CACHE_KEY_CHARS = 256;
const MAX_CACHED_BYTES = 64 << 10;

/** Downloads a feed; returns `undefined` if it has not changed since the answer that `validators` are of. */
export async function download(ctx: ToolContext, url: URL, validators: { etag?: string | undefined; modified?: string | undefined } = {}): Promise<Download | undefined> {
  const headers = {
    accept: "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, */*;q=0.5",
    ...(validators.etag !== undefined && { "if-none-match": validators.etag }),
    ...(validators.modified !== undefined && { "if-modified-since": validators.modified }),
  };
  let response: Response;
  let body: { bytes: Uint8Array; isCut: boolean };
  try {
    response = await ctx.fetch(url, { headers });
    if (response.status === 304) return undefined;
    if (!response.ok) throw errorOf(response, url);
    body = await readBounded(response);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    throw new ToolError(`${url.host} gave no answer: ${error instanceof Error ? error.message : "network error"}`, { retryable: true });
  }
  const [etag, modified] = ["etag", "last-modified"].map((name) => response.headers.get(name)?.slice(0, MAX_VALIDATOR_CHARS));
  return {
    text: decode(body.bytes, response.headers.get("content-type") ?? ""),
    isCut: body.isCut,
    ...(etag !== undefined && { etag }),
    ...(modified !== undefined && { modified }),
  };
}

/** Downloads a feed, or takes it from the cache if it has not changed since. Large feeds are not cached. */
export async function downloadCached(ctx: ToolContext, url: URL): Promise<Download> {
  const isKey = url.href.length <= MAX_CACHE_KEY_CHARS;
  const cached = isKey ? await ctx.cache.get(url.href) : undefined;
  const known = cached === undefined ? undefined : (JSON.parse(cached) as Download);
  const downloaded = (await download(ctx, url, known)) ?? known;
  if (downloaded === undefined) throw new ToolError(`${url.host} answered with HTTP status 304`);
  const hasValidator = downloaded.etag !== undefined || downloaded.modified !== undefined;
  if (isKey && hasValidator && downloaded !== known) {
    const value = JSON.stringify(downloaded);
    if (new TextEncoder().encode(value).length <= MAX_CACHED_BYTES) await ctx.cache.set(url.href, value);
    else if (known !== undefined) await ctx.cache.delete(url.href);
  }
  return downloaded;
}

function errorOf(response: Response, url: URL): ToolError {
  const { status } = response;
  const wait = waitOf(response.headers.get("retry-after"));
  if (wait !== undefined && (status === 429 || status === 403 || status === 503)) {
    return new ToolError(`${url.host} asks to wait ${wait} seconds before the next request.`, { retryable: true });
  }
  switch (status) {
    case 401:
    case 403:
      return new ToolError(`${url.host} does not give the feed to programs without a sign-in (HTTP status ${status}).`);
    case 404:
    case 410:
      return new ToolError(`There is no feed at ${url.href} (HTTP status ${status}). Look for its current address on the site.`);
    default:
      return new ToolError(`${url.host} answered with HTTP status ${status}`, { retryable: status === 429 || status >= 500 });
  }
}

/** Returns the seconds of a `Retry-After`, which has a number or a time. */
function waitOf(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000);
  return seconds > 0 ? seconds : undefined;
}

async function readBounded({ body }: Response): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body?.getReader();
  while (reader !== undefined && length <= MAX_BYTES) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.length;
  }
  const isCut = length > MAX_BYTES;
  if (isCut) await reader?.cancel();
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return { bytes: bytes.subarray(0, MAX_BYTES), isCut };
}

/** Decodes a feed in the encoding that its answer or its XML declaration names; by default UTF-8. */
function decode(bytes: Uint8Array, type: string): string {
  const [, named] = /charset="?([\w-]+)/i.exec(type) ?? [];
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, DECLARATION_BYTES));
  const [, declared] = /^\s*<\?xml[^>]*encoding=["']([\w-]+)/.exec(start) ?? [];
  try {
    return new TextDecoder(named ?? declared ?? "utf-8").decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
