// A toolkit under the strictest compiler options: optional members may be undefined, and bytes a plain
// Uint8Array.
import { defineToolkit, tool, ToolError, z } from "kitbag/extend/toolkit";
import type {
  ApiKeyAuth, BasicAuth, FetchJsonOptions, ManifestConfigField, OAuth2AuthorizationCode, OAuth2ClientCredentials, Progress, SvcIngestDoc,
  SvcSearchOptions, ToolAnnotations, ToolContent,
  ToolContext, ToolDefinition, ToolkitAuth, ToolkitConfig, ToolResult,
} from "kitbag/extend/toolkit";

const Item = z.object({ id: z.string(), note: z.string().optional() });
type Item = z.infer<typeof Item>;

async function hash(text: string): Promise<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}
const maybe = (flag: boolean): string | undefined => (flag ? "x" : undefined);
const content = (bytes: Uint8Array): ToolContent => ({ type: "image", data: bytes, mimeType: "image/png" });

export const a = tool({
  name: "a",
  description: "d",
  input: z.object({ flag: z.boolean(), note: z.string().optional() }),
  output: z.object({ items: z.array(Item), total: z.number().optional() }),
  title: maybe(true),
  annotations: { readOnlyHint: undefined },
  handler: async ({ flag, note }, ctx) => {
    const bytes = await hash("x");
    const response = await ctx.fetch("https://a.example", { method: "POST", body: bytes, headers: { a: "b" }, signal: AbortSignal.timeout(100) });
    const got = new Uint8Array(await response.arrayBuffer());
    const raw = await response.bytes();
    await ctx.fetch(new URL("https://a.example"), { body: raw });
    const items = await ctx.fetchJson("https://a.example", {
      schema: z.array(Item),
      init: flag ? { method: "POST" } : undefined,
      errorMap: (response) => (response.status === 404 ? new ToolError("x") : undefined),
    });
    const by = Object.groupBy(items, (it) => it.id);
    const { promise, resolve } = Promise.withResolvers<number>();
    resolve(Object.keys(by).length);
    if (!"x".isWellFormed()) throw new ToolError("m", { retryable: flag ? true : undefined, data: undefined });
    const feed = flag ? { key: "k", name: "n", label: maybe(flag) } : undefined;
    const doc: SvcIngestDoc = { title: "t", text: note, url: maybe(flag), author: maybe(flag), feed };
    await ctx.svc?.ingest([doc]);
    const options: SvcSearchOptions = { limit: flag ? 3 : undefined, source: maybe(flag) };
    await ctx.svc?.search("q", options);
    ctx.progress({ progress: 1, total: flag ? 2 : undefined, message: maybe(flag) });
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({ start(c) { c.enqueue(got); c.close(); } });
    for await (const part of stream.pipeThrough(new TextDecoderStream())) ctx.log(part);
    const gz = new Response(new Blob([got]).stream().pipeThrough(new CompressionStream("gzip")));
    ctx.log(btoa("x"), new Intl.DateTimeFormat("de").format(0), [1, 2].toSorted(), await promise, gz.status, structuredClone(items));
    return { text: "t", structured: { items: items as Item[], total: flag ? 1 : undefined }, content: flag ? [content(got)] : undefined };
  },
});
const b: ToolDefinition = a;
const field: ManifestConfigField = { type: "string", label: "L", description: maybe(true), default: maybe(false), options: undefined };
const auth: OAuth2ClientCredentials = {
  type: "oauth2_client_credentials",
  tokenUrl: "https://a.example",
  clientIdSecret: "A",
  clientSecretSecret: "B",
  scope: maybe(true),
  apiHost: "a.example",
};
const account: OAuth2AuthorizationCode = {
  type: "oauth2_authorization_code",
  authorizationUrl: "https://a.example",
  tokenUrl: "https://a.example",
  clientIdSecret: "A",
  clientSecretSecret: maybe(true),
  scope: undefined,
  clientAuth: "post",
  authorizationParams: { prompt: "consent" },
  revocationUrl: maybe(true),
  apiHost: "b.example",
};
const key: ApiKeyAuth = { type: "api_key", secret: "C", in: undefined, name: maybe(true), prefix: "Bearer ", apiHost: "c.example" };
const basic: BasicAuth = { type: "basic", usernameSecret: "D", passwordSecret: "E", apiHost: "d.example" };
export const all: readonly ToolkitAuth[] = [auth, account, key, basic, { type: "api_key", secret: "F", in: "query", name: "key", apiHost: "e.example" }];
// @ts-expect-error A key in the query has a name.
export const nameless: ApiKeyAuth = { type: "api_key", secret: "F", in: "query", apiHost: "e.example" };
// @ts-expect-error A key in the query has no prefix.
export const prefixed: ApiKeyAuth = { type: "api_key", secret: "F", in: "query", name: "key", prefix: "x", apiHost: "e.example" };
// @ts-expect-error There is no such type.
export const digest: ToolkitAuth = { type: "digest", apiHost: "e.example" };
export const listed: ToolkitConfig["auth"] = maybe(true) === undefined ? undefined : all;
const config: ToolkitConfig = {
  id: "a",
  name: "A",
  description: "d",
  icon: "x",
  version: "1.0.0",
  tools: [a, b],
  secrets: undefined,
  author: maybe(true),
  auth: maybe(true) === undefined ? undefined : auth,
  config: { field },
  visibility: undefined,
};
export const r: ToolResult<number> = { text: "t", structured: undefined };
export const h: ToolAnnotations = { idempotentHint: undefined };
export const p: Progress = { progress: 1, total: undefined };
export const o: FetchJsonOptions = { schema: undefined, init: undefined };
export const helper = (ctx: ToolContext) => ctx.config["x"];
export default defineToolkit(config, { fetchImpl: undefined });
