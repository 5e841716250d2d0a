// Returns what the cache answers, and the knowledge base, except ids and scores, which differ between knowledge bases.
import { defineToolkit, tool, z, type ToolContext } from "kitbag/extend/toolkit";

const Loose = z.unknown().optional();

export default defineToolkit({
  id: "keeper",
  name: "Keeper",
  description: "Uses the caller's knowledge base.",
  icon: "🗄️",
  version: "1.0.0",
  scopes: ["svc:search", "svc:ingest", "svc:cache"],
  tools: [
    tool({
      name: "cache",
      description: "Uses the cache in each of these ways; returns the answers.",
      input: z.object({ uses: z.array(z.array(Loose)) }),
      handler: async ({ uses }, ctx) => JSON.stringify(await inTurn(uses.map(([method, ...args]) => () => used(ctx, String(method), args)))),
    }),
    tool({
      name: "ingest",
      description: "Stores what it is given, right or wrong.",
      input: z.object({ docs: Loose }),
      handler: async ({ docs }, ctx) => JSON.stringify(await ctx.svc!.ingest(docs as never)),
    }),
    tool({
      name: "search",
      description: "Searches.",
      input: z.object({ query: Loose, options: Loose }),
      handler: async ({ query, options }, ctx) => {
        const hits = await ctx.svc!.search(query as never, options as never);
        const shown = hits.map(({ document, snippet, score, ...rest }) => ({
          document: { ...document, id: typeof document.id },
          snippet,
          score: typeof score,
          ...rest,
        }));
        return JSON.stringify(shown, sorted);
      },
    }),
    tool({
      name: "first",
      description: "Returns the whole of the best match.",
      input: z.object({ query: z.string() }),
      handler: async ({ query }, ctx) => JSON.stringify(await first(ctx, query), sorted),
    }),
    tool({
      name: "document",
      description: "Returns a document.",
      input: z.object({ id: Loose }),
      handler: async ({ id }, ctx) => JSON.stringify(await ctx.svc!.getDocument(id as never)),
    }),
  ],
});

/** Returns the cache's answer, or its refusal. `"half"` stands for a text that no request could have. */
async function used(ctx: ToolContext, method: string, args: unknown[]): Promise<unknown> {
  try {
    const texts = args.map((it) => (it === "half" ? "\ud800" : it));
    return (await (ctx.cache as any)[method](...texts)) ?? null;
  } catch (error) {
    return String(error);
  }
}

async function inTurn(actions: (() => Promise<unknown>)[]): Promise<unknown[]> {
  const results = [];
  for (const action of actions) results.push(await action());
  return results;
}

async function first(ctx: ToolContext, query: string): Promise<object> {
  const [hit] = await ctx.svc!.search(query, { limit: 1 });
  const document = await ctx.svc!.getDocument(hit!.document.id);
  return { ...document, id: document.id === hit!.document.id };
}

/** Sorts the members of objects, because their order has no meaning. */
function sorted(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
