// Code that must compile, and code that must not. Running `tsc` is the test.
import { complete, defineToolkit, dispatch, getPrompt, prompt, readResource, resource, tool, toFetchHandler, z, ToolError } from "kitbag/extend/toolkit";
import type {
  SvcClient, SvcDocument, SvcIngestDoc, SvcSearchResult, ToolAnnotations, ToolContext, ToolDefinition, ToolkitConfig,
  ToolkitDefinition, ToolkitSettings, ToolResult,
} from "kitbag/extend/toolkit";

const Book = z.object({ id: z.string(), tags: z.array(z.string()).default([]) });

export const typed = tool({
  name: "typed",
  description: "d",
  input: z.object({ query: z.string(), year: z.number().optional(), page: z.number().default(1) }),
  output: z.object({ books: z.array(Book) }),
  handler: async (args, ctx) => {
    const query: string = args.query;
    const year: number | undefined = args.year;
    // With a default it is always present.
    const page: number = args.page;
    // @ts-expect-error there is no such argument
    args.other;
    // @ts-expect-error it is a string
    const wrong: number = args.query;
    // @ts-expect-error settings are read-only
    ctx.config.language = "de";
    // @ts-expect-error without a check it may be undefined
    ctx.svc.search("x");
    const book = await ctx.fetchJson("https://a.example", { schema: Book });
    const id: string = book.id;
    const tags: string[] = book.tags;
    const named = await ctx.fetchJson<z.infer<typeof Book>>("https://a.example", { schema: Book, errorMap: (res, body) => (res.ok ? undefined : new ToolError(body)) });
    named.tags.map((tag) => tag.length);
    // @ts-expect-error without a schema the type is unknown
    (await ctx.fetchJson("https://a.example")).id;
    const value: string | undefined = await ctx.secret("KEY");
    const required: string = await ctx.requireSecret("KEY");
    ctx.log(query, year, page, wrong, id, tags, value, required);
    // A member with a default may be left out.
    return { text: "t", structured: { books: [{ id: "1" }] } };
  },
});

const settings = {
  country: { type: "string", label: "Country", default: "DE" },
  limit: { type: "number", label: "Limit", default: 5 },
  order: { type: "select", label: "Order", options: ["asc", "desc"] },
} as const satisfies ToolkitSettings;

defineToolkit({
  id: "a", name: "A", description: "d", icon: "x", version: "1.0.0", config: settings,
  tools: [
    tool({
      name: "settings",
      description: "d",
      input: z.object({ n: z.number() }),
      handler: async ({ n }, { config }: ToolContext<typeof settings>) => {
        const country: string = config.country;
        const order: "asc" | "desc" | undefined = config.order;
        // @ts-expect-error without a default it may be absent
        const sure: "asc" | "desc" = config.order;
        // @ts-expect-error there is no such setting
        config.other;
        // @ts-expect-error settings are read-only
        config.limit = n;
        return `${country}${order}${sure}${n + config.limit}`;
      },
    }),
  ],
});

export const withoutOutput = tool({
  name: "a",
  description: "d",
  input: z.object({}),
  handler: async () => ({ text: "t", structured: { anything: 1 } }),
});

tool({
  name: "a",
  description: "d",
  input: z.object({}),
  // @ts-expect-error a failure is a ToolError
  handler: async () => ({ text: "you may not", isError: true }),
});

tool({
  name: "a",
  description: "d",
  input: z.object({}),
  // @ts-expect-error there is no such role
  handler: async () => ({ text: "t", content: [{ type: "image" as const, data: "", mimeType: "image/png", annotations: { audience: ["model"] } }] }),
});

export const bare = tool({ name: "a", description: "d", input: z.object({}), handler: async () => "text" });

tool({
  name: "a",
  description: "d",
  input: z.object({}),
  output: z.object({ n: z.number() }),
  // @ts-expect-error the structured value is of another type
  handler: async () => ({ text: "t", structured: { n: "one" } }),
});

tool({
  name: "a",
  description: "d",
  input: z.object({}),
  output: z.object({ n: z.number() }),
  // @ts-expect-error where there is an output, every result has a structured value
  handler: async () => ({ text: "t" }),
});

tool({
  name: "a",
  description: "d",
  input: z.object({ early: z.boolean() }),
  output: z.object({ n: z.number() }),
  // @ts-expect-error a string has no structured value
  handler: async ({ early }) => (early ? "nothing" : { text: "t", structured: { n: 1 } }),
});

tool({
  name: "a",
  description: "d",
  input: z.object({ many: z.boolean() }),
  output: z.object({ n: z.number() }),
  handler: ({ many }) => ({ text: "t", structured: { n: many ? 2 : 1 }, content: [] }),
});

// @ts-expect-error a result has a text
tool({ name: "a", description: "d", input: z.object({}), handler: async () => ({ structured: 1 }) });

// @ts-expect-error a tool has an input
tool({ name: "a", description: "d", handler: async () => "" });

// @ts-expect-error the input is a schema
tool({ name: "a", description: "d", input: { type: "object" }, handler: async () => "" });

const toolkit: ToolkitDefinition = defineToolkit(
  {
    id: "a",
    name: "A",
    description: "d",
    icon: "📚",
    version: "1.0.0",
    visibility: "shared",
    scopes: ["svc:search"],
    config: { order: { type: "select", label: "Order", options: ["a"], default: "a" } },
    tools: [
      typed,
      bare,
      { name: "plain", description: "d", input: z.object({ id: z.string() }), handler: async ({ id }: { id: string }, ctx: ToolContext) => id + ctx.userId },
      { name: "untyped", description: "d", input: z.object({}), handler: async (args, ctx) => String(args) + ctx.userId },
    ],
  },
  { fetchImpl: async (url) => new Response(String(url)) },
);
export default toolkit;

export const helper = <S extends z.ZodType>(ctx: ToolContext, schema: S): Promise<z.output<S>> => ctx.fetchJson("https://a.example", { schema });
export const other = <T>(ctx: ToolContext, schema: z.ZodType<T>): Promise<T> => ctx.fetchJson("https://a.example", { schema });

export const several: ToolDefinition[] = [typed, bare, withoutOutput];
export const config = {
  id: "a",
  name: "A",
  description: "d",
  icon: "📚",
  version: "1.0.0",
  scopes: ["svc:search", "svc:ingest", "svc:cache"],
  tools: several,
} satisfies ToolkitConfig;
defineToolkit(config);

defineToolkit(config, { fetchImpl: async (url: string) => new Response(url) });
defineToolkit(config, { fetchImpl: fetch });
// @ts-expect-error a mock answers with a response
defineToolkit(config, { fetchImpl: async () => "text" });

// @ts-expect-error a toolkit has an icon
defineToolkit({ id: "a", name: "A", description: "d", version: "1.0.0", tools: [bare] });

// @ts-expect-error there are two visibilities
defineToolkit({ id: "a", name: "A", description: "d", icon: "📚", version: "1.0.0", tools: [bare], visibility: "public" });

// @ts-expect-error there is no such field
defineToolkit({ id: "a", name: "A", description: "d", icon: "📚", version: "1.0.0", tools: [bare], egres: ["a.example"] });

// @ts-expect-error a setting has a label
defineToolkit({ id: "a", name: "A", description: "d", icon: "📚", version: "1.0.0", tools: [bare], config: { a: { type: "string" } } });

// @ts-expect-error there are three scopes
defineToolkit({ id: "a", name: "A", description: "d", icon: "📚", version: "1.0.0", tools: [bare], scopes: ["svc:serach"] });

// @ts-expect-error it is a message
new ToolError(404);
new ToolError("m", { retryable: true, data: { any: 1 } });

// @ts-expect-error a document has a title
export const doc: SvcIngestDoc = { text: "t" };

export async function uses(server: ToolkitDefinition): Promise<void> {
  const result = await dispatch(server, { tool: "typed", arguments: { query: "x" } });
  if (result.ok) {
    result.text.toUpperCase();
  } else {
    const code: "TOOL_ERROR" | "INVALID_PARAMS" = result.code;
    result.error.concat(code, String(result.retryable));
  }
  const answer: Response = await toFetchHandler(server)(new Request("http://a.example"));
  answer.ok;
}

export type All = [SvcClient, SvcDocument, SvcSearchResult, ToolAnnotations, ToolContext, ToolDefinition, ToolkitConfig, ToolResult];

export async function caches(ctx: ToolContext): Promise<string> {
  await ctx.cache.set("etag", "x", { seconds: 60 });
  await ctx.cache.delete("other");
  // @ts-expect-error a value is a string
  await ctx.cache.set("etag", { x: 1 });
  return (await ctx.cache.get("etag")) ?? "none";
}

declare const hits: SvcSearchResult[];
declare const document: SvcDocument;
export const title: string = hits[0]!.document.title + hits[0]!.snippet + document.text + document.id;

export const review = prompt({
  name: "review",
  description: "d",
  arguments: { book: { required: true, complete: async (typed) => [typed] }, tone: { values: ["kind"] } },
  handler: async ({ book, tone }) => {
    const title: string = book;
    // @ts-expect-error it is not required
    const sure: string = tone;
    return { messages: [{ role: "user", content: `${title} ${sure}` }] };
  },
});

export const book = resource({
  name: "book",
  description: "d",
  uri: "books/{isbn}/pages/{page}",
  variables: { isbn: { values: ["1"] } },
  handler: ({ isbn, page }) => {
    const both: string = isbn + page;
    return { text: both, mimeType: "text/plain" };
  },
});

resource({
  name: "other",
  description: "d",
  uri: "books/{isbn}",
  // @ts-expect-error there is no such variable
  variables: { page: { values: ["1"] } },
  // @ts-expect-error there is no such variable
  handler: ({ page }) => page,
});

export async function offered(server: ToolkitDefinition): Promise<unknown[]> {
  const got = await getPrompt(server, { prompt: "review", arguments: { book: "Emma" } });
  const read = await readResource(server, { uri: "books/1" });
  const { trace } = await complete(server, { resource: "book", argument: "isbn", value: "1" });
  // @ts-expect-error of a prompt or of a resource, not of both
  await complete(server, { resource: "book", prompt: "review", argument: "isbn" });
  return [got.ok && got.messages, read.ok ? read.contents.uri : read.error, trace];
}
