// One tool for each kind of reply. `tests/guests/replies` is the same toolkit in Rust, and `tests/replies.json`
// has the replies of both, on a server and without one.
import { defineToolkit, tool, z, ToolError } from "kitbag/extend/toolkit";

const none = z.object({});
const document = z.object({
  title: z.string(),
  text: z.string().optional(),
  url: z.string().optional(),
  author: z.string().optional(),
  fileUrl: z.string().optional(),
  audioUrl: z.string().optional(),
  mimeType: z.string().optional(),
  captureOnly: z.boolean().optional(),
  feed: z.object({ key: z.string(), name: z.string(), label: z.string().optional() }).optional(),
});
const word = (index: number) => z.string().regex(new RegExp(`^[a-z]+${index}$`));

export default defineToolkit({
  id: "replies",
  name: "Replies",
  description: "One tool for each kind of reply.",
  icon: "💬",
  version: "1.0.0",
  visibility: "shared",
  secrets: ["API_KEY"],
  egress: ["api.example"],
  scopes: ["svc:search", "svc:ingest"],
  config: {
    language: { type: "string", label: "Language", default: "en" },
    limit: { type: "number", label: "Limit", default: 5 },
  },
  tools: [
    tool({
      name: "echo",
      description: "Repeats a text.",
      input: z.object({
        text: z.string().min(1).max(20),
        count: z.int().min(1).max(5).optional(),
        tags: z.array(z.string()).max(100_000).optional(),
      }),
      handler: async ({ text, tags = [] }) => `${text} ${tags.join(",")}`.trimEnd(),
    }),
    tool({
      name: "rate",
      description: "Returns stars.",
      input: z.object({ stars: z.int() }),
      // The host's message, which the toolkit in Rust gets too: zod's own message differs.
      output: z.object({ stars: z.int().max(5, "value is greater than the maximum of 5"), tags: z.array(z.string()) }),
      handler: async ({ stars }) => ({ text: "rated", structured: { stars, tags: [] } }),
    }),
    tool({
      name: "fail",
      description: "Fails in a way that is asked for.",
      input: z.object({ how: z.enum(["tool-error", "retryable", "wrapped", "thrown"]) }),
      handler: async ({ how }) => {
        const options = { retryable: how === "retryable", data: { now: 8 } };
        const closed = new ToolError('The library is closed: "until nine".', options);
        if (how === "wrapped") throw new Error("for the log alone", { cause: closed });
        if (how === "thrown") throw new Error("reading the count");
        throw closed;
      },
    }),
    tool({
      name: "settings",
      description: "Returns the user's settings.",
      input: none,
      handler: async (_, ctx) => `${ctx.config.language} ${ctx.config.limit}`,
    }),
    tool({
      name: "secret",
      description: "Needs a credential.",
      input: none,
      handler: async (_, ctx) => String((await ctx.requireSecret("API_KEY")).length),
    }),
    tool({
      name: "undeclared",
      description: "Asks for what is not declared.",
      input: none,
      handler: async (_, ctx) => (await ctx.secret("OTHER_KEY")) ?? "",
    }),
    tool({
      name: "large",
      description: "Returns so many bytes.",
      input: z.object({ bytes: z.int().min(0) }),
      handler: async ({ bytes }) => "x".repeat(bytes),
    }),
    tool({
      name: "content",
      description: "Returns a picture and documents.",
      input: none,
      handler: async () => ({
        text: "a chart",
        content: [
          { type: "image", data: new Uint8Array([1, 2, 3, 255]), mimeType: "image/png" },
          { type: "resource", resource: { uri: "data:week", mimeType: "text/csv", text: "1,2" } },
          {
            type: "resource_link",
            uri: "https://a.example/week",
            name: "week",
            annotations: { audience: ["user"], priority: 0.25, lastModified: "2026-11-26T09:30:00Z" },
          },
        ],
      }),
    }),
    tool({
      name: "fetch",
      description: "Sends a request to a host that is not listed.",
      input: none,
      handler: async (_, ctx) => (await ctx.fetch("https://evil.example/")).text(),
    }),
    tool({
      name: "unlisted",
      description: "Returns the error of a request.",
      input: z.object({ url: z.string() }),
      handler: async ({ url }, ctx) => {
        try {
          return String((await ctx.fetch(url)).status);
        } catch (error) {
          return (error as Error).message;
        }
      },
    }),
    tool({
      name: "search",
      description: "Counts what a search finds.",
      input: z.object({ query: z.string(), limit: z.int().min(0).max(4_294_967_295).optional() }),
      handler: async ({ query, limit }, ctx) => String((await ctx.svc!.search(query, { limit })).length),
    }),
    tool({
      name: "document",
      description: "Returns the text of a document.",
      input: z.object({ id: z.string() }),
      handler: async ({ id }, ctx) => (await ctx.svc!.getDocument(id)).text,
    }),
    tool({
      name: "ingest",
      description: "Stores documents.",
      input: z.object({ documents: z.array(document) }),
      handler: async ({ documents }, ctx) => String((await ctx.svc!.ingest(documents)).ingested),
    }),
    tool({
      name: "matches",
      description: "Takes what one of its patterns matches.",
      input: z.object({ words: z.array(z.union(Array.from({ length: 40 }, (_, index) => word(index)))) }),
      handler: async ({ words }) => String(words.length),
    }),
  ],
});
