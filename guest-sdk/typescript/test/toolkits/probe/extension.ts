// Uses every part of the SDK, for tests in this process and in the sandbox.
import { defineToolkit, tool, z, ToolError, type ToolContext } from "kitbag/extend/toolkit";

// Uses the web platform at the top level, which runs while the component is built.
class Lines extends TextDecoderStream {}
const STOPPED = AbortSignal.any([AbortSignal.abort("before")]);

const UPSTREAM = "http://127.0.0.1:18997";
const Item = z.object({ id: z.string(), tags: z.array(z.string()).default([]) });

const shapes = z.object({
  text: z.string().min(2).max(4).optional(),
  pattern: z.string().regex(/^[a-z]+-\d+$/).optional(),
  anyCase: z.string().regex(/^[a-z]+$/i).optional(),
  email: z.email().optional(),
  url: z.url().optional(),
  count: z.number().int().min(1).max(5).optional(),
  ratio: z.number().positive().lt(1).multipleOf(0.25).optional(),
  choice: z.enum(["a", "b"]).optional(),
  many: z.enum(["a", "b", "c", "d", "e"]).optional(),
  literal: z.literal("x").optional(),
  either: z.union([z.string(), z.number()]).optional(),
  kind: z.discriminatedUnion("t", [z.object({ t: z.literal("a") }), z.object({ t: z.literal("b"), n: z.int() })]).optional(),
  list: z.array(z.object({ id: z.string() })).min(1).max(2).optional(),
  pair: z.tuple([z.string(), z.number()]).optional(),
  record: z.record(z.string(), z.number()).optional(),
  strict: z.strictObject({ a: z.string(), b: z.string().optional() }).optional(),
  empty: z.strictObject({}).optional(),
  nullable: z.string().nullable().optional(),
  coerced: z.coerce.number().min(3).optional(),
  even: z.number().refine((n) => n % 2 === 0, "must be even").optional(),
  withDefault: z.string().default("filled"),
  trimmed: z.string().trim().optional(),
  tree: z.lazy(() => z.object({ leaf: z.boolean().optional() })).optional(),
  "odd/~key": z.boolean().optional(),
});

export default defineToolkit({
  id: "probe-ts",
  name: "Probe",
  description: "Shows what the sandbox does.",
  icon: "🔬",
  version: "1.0.0",
  visibility: "shared",
  secrets: ["API_KEY", "OTHER_KEY"],
  egress: ["127.0.0.1:18997"],
  scopes: ["svc:search"],
  config: {
    language: { type: "string", label: "Language", default: "en" },
    limit: { type: "number", label: "Limit", default: 5 },
    adult: { type: "boolean", label: "Adult" },
    order: { type: "select", label: "Order", options: ["asc", "desc"], default: "asc" },
  },
  tools: [
    tool({ name: "nothing", description: "Returns at once.", input: z.object({}), handler: async () => "nothing" }),
    tool({
      name: "shapes",
      title: "Shapes",
      description: "Returns its arguments.",
      input: shapes,
      alwaysOn: true,
      handler: async (args) => JSON.stringify(args),
    }),
    tool({
      name: "required",
      description: "Asks for some of its arguments.",
      input: z.object({ b: z.string(), a: z.number(), c: z.strictObject({ x: z.string() }) }),
      handler: async () => "ok",
    }),
    tool({
      name: "ends",
      description: "Ends as it is told.",
      input: z.object({ how: z.string() }),
      output: z.object({ n: z.int().max(9), inner: z.object({ list: z.array(Item) }).optional() }),
      annotations: { openWorldHint: true },
      // Some of the results are wrong on purpose.
      handler: async ({ how }, ctx): Promise<any> => ends(how, ctx),
    }),
    tool({
      name: "shows",
      description: "Ends as it is told, and declares no output.",
      input: z.object({ how: z.string() }),
      handler: async ({ how }, ctx): Promise<any> => ends(how, ctx),
    }),
    tool({
      name: "loose",
      description: "Has a structured value and no output.",
      input: z.object({}),
      handler: async () => ({ text: "loose", structured: { hidden: true } }),
    }),
    tool({
      name: "fetch",
      description: "Sends a request.",
      input: z.object({
        path: z.string(),
        method: z.string().optional(),
        headers: z.record(z.string(), z.string()).optional(),
        body: z.string().optional(), redirect: z.enum(["follow", "manual", "error"]).optional(),
        origin: z.string().default(UPSTREAM),
      }),
      handler: async ({ path, origin, ...init }, ctx) => {
        try {
          const response = await ctx.fetch(`${origin}${path}`, init);
          return JSON.stringify([response.status, response.headers.get("x-upstream"), await response.text(), response.url, response.redirected]);
        } catch (error) {
          const { name, message } = error as Error;
          return JSON.stringify([name, message, error instanceof TypeError]);
        }
      },
    }),
    tool({
      name: "malformed",
      description: "Asks for what no request can be.",
      input: z.object({ url: z.string().default(`${UPSTREAM}/echo`), method: z.string().optional(), header: z.string().optional(), body: z.string().optional() }),
      handler: async ({ url, header, ...init }, ctx) => {
        try {
          const response = await ctx.fetch(url, { ...init, ...(header !== undefined && { headers: { "x-own": header } }) });
          return `sent: ${await response.text()}`;
        } catch (error) {
          return `${(error as Error).name}: ${(error as Error).message}`;
        }
      },
    }),
    tool({
      name: "streams_up",
      description: "Sends a body piece by piece.",
      input: z.object({}),
      handler: async (_, ctx) => {
        const body = new Blob(["one,", "two"]).stream();
        return (await ctx.fetch(`${UPSTREAM}/echo`, { method: "POST", body })).text();
      },
    }),
    tool({
      name: "fetch_json",
      description: "Calls a JSON API.",
      input: z.object({ path: z.string(), checked: z.boolean().default(false), mapped: z.boolean().default(false) }),
      handler: async ({ path, checked, mapped }, ctx) => {
        const errorMap = (res: Response, body: string) =>
          res.status === 404 ? new ToolError(`mapped: ${body}`, { data: { body } }) : undefined;
        const options = { ...(mapped && { errorMap }), init: { headers: { accept: "application/json" } } };
        const url = new URL(path, UPSTREAM);
        const value = checked ? await ctx.fetchJson(url, { ...options, schema: Item }) : await ctx.fetchJson(url, options);
        return JSON.stringify(value);
      },
    }),
    tool({
      name: "together",
      description: "Sends requests at the same time.",
      input: z.object({ count: z.int().max(8) }),
      handler: async ({ count }, ctx) => {
        const began = Date.now();
        await Promise.all(Array.from({ length: count }, () => ctx.fetch(`${UPSTREAM}/slow`)));
        return Date.now() - began < 200 * count ? "together" : "one after another";
      },
    }),
    tool({
      name: "gather",
      description: "Asks for many things at once, and reads them when all answers are there.",
      input: z.object({ count: z.int().max(100), path: z.string() }),
      handler: async ({ count, path }, ctx) => {
        const answers = await Promise.all(Array.from({ length: count }, () => ctx.fetch(UPSTREAM + path)));
        const texts = await Promise.all(answers.map((answer) => answer.text()));
        return String(texts.reduce((sum, text) => sum + text.length, 0));
      },
    }),
    tool({
      name: "stops",
      description: "Gives up waiting.",
      input: z.object({ after: z.int(), through: z.enum(["fetch", "fetchJson", "body", "reason", "either"]) }),
      handler: async ({ after, through }, ctx) => {
        if (through === "reason") return stopsWith(ctx, after, new RangeError("enough"));
        const timeout = AbortSignal.timeout(after);
        const init = { signal: through === "either" ? AbortSignal.any([timeout, new AbortController().signal]) : timeout };
        if (through === "body") return readsUntil(ctx, init);
        if (through === "fetchJson") return JSON.stringify(await ctx.fetchJson(`${UPSTREAM}/hang`, { init }));
        try {
          return await (await ctx.fetch(`${UPSTREAM}/hang`, init)).text();
        } catch (error) {
          return (error as Error).name;
        }
      },
    }),
    tool({
      name: "stream",
      description: "Reads a body piece by piece.",
      input: z.object({}),
      handler: async (_, ctx) => {
        const { body } = await ctx.fetch(`${UPSTREAM}/stream`);
        const decoder = new TextDecoder();
        const pieces: string[] = [];
        for await (const piece of body as unknown as AsyncIterable<Uint8Array>) pieces.push(decoder.decode(piece));
        return `${pieces.length > 1 ? "pieces" : "one piece"}: ${pieces.join("")}`;
      },
    }),
    tool({
      name: "secret",
      description: "Reads a credential.",
      input: z.object({ name: z.string(), require: z.boolean().default(false), show: z.boolean().default(false) }),
      handler: async ({ name, require, show }, ctx) => {
        const value = require ? await ctx.requireSecret(name) : await ctx.secret(name);
        return show ? `the value is ${value}` : `${typeof value} of ${value?.length ?? 0}`;
      },
    }),
    tool({
      name: "settings",
      description: "Returns the settings.",
      input: z.object({}),
      handler: async (_, ctx) => {
        let written = "written";
        try {
          (ctx.config as Record<string, unknown>).language = "xx";
        } catch (error) {
          written = (error as Error).name;
        }
        return JSON.stringify({ user: typeof ctx.userId, config: ctx.config, written });
      },
    }),
    tool({
      name: "knowledge",
      description: "Uses the knowledge base.",
      input: z.object({ do: z.enum(["ingest", "types"]) }),
      handler: async (args, ctx) => {
        if (args.do === "types") return `${typeof ctx.svc?.search} ${typeof ctx.svc?.ingest}`;
        return JSON.stringify(await ctx.svc!.ingest([{ title: "t", text: "x" }]));
      },
    }),
    tool({
      name: "logs",
      description: "Writes log entries.",
      input: z.object({}),
      handler: async (_, ctx) => {
        const key = await ctx.secret("API_KEY");
        ctx.log("one", 2, { three: [4n, new Map([["k", 1]]), new Set([1])] }, undefined, new Error("five"), key);
        ctx.progress({ progress: 1, total: 2, message: "half" });
        return "logged";
      },
    }),
    tool({
      name: "stacks",
      description: "Shows the stacks of errors.",
      input: z.object({}),
      handler: async (_, ctx) => {
        const caught = (await asksElsewhere(ctx).catch((error: unknown) => error)) as Error;
        ctx.log("logged", caught);
        console.error(caught);
        Promise.reject(new RangeError("nobody awaits me"));
        await Promise.any([asksElsewhere(ctx), Promise.reject(new Error("inner", { cause: caught.stack }))]);
        return "never";
      },
    }),
    tool({
      name: "web",
      description: "Tries the web platform.",
      input: z.object({}),
      handler: async (_, ctx) => JSON.stringify(await web(ctx)),
    }),
    // A plain object is a tool as well.
    {
      name: "plain",
      description: "A plain object.",
      input: z.object({ id: z.string() }),
      handler: async ({ id }: { id: string }, ctx: ToolContext) => `${id} ${typeof ctx.userId}`,
    },
  ],
});

async function asksElsewhere(ctx: ToolContext): Promise<Response> {
  return ctx.fetch("https://elsewhere.example/");
}

async function ends(how: string, ctx: ToolContext): Promise<unknown> {
  switch (how) {
    case "string":
      return "a string";
    case "text":
      return { text: "only text" };
    case "structured":
      return { text: "t", structured: { n: 1, inner: { list: [{ id: "a" }, { tags: ["z"], id: "b" }] } } };
    case "stripped":
      return { text: "t", structured: { n: 2, surplus: true } };
    case "mismatch":
      return { text: "t", structured: { n: 1.5, inner: { list: [{ id: 7 }] } } };
    case "too-large":
      return { text: "t", structured: { n: 10 } };
    case "null":
      return { text: "t", structured: null };
    case "no-text":
      return { structured: { n: 1 } };
    case "nothing":
      return undefined;
    case "bigint":
      return { text: "t", structured: { n: 1n } };
    case "image":
      return { text: "t", content: [{ type: "image", data: new Uint8Array([137, 80, 78, 71]), mimeType: "image/png" }] };
    case "throw":
      throw new Error("inner story");
    case "throw-string":
      throw "a bare string";
    case "type-error":
      return (undefined as unknown as { x: string }).x;
    case "tool-error":
      throw new ToolError("No.", { data: { hidden: 1 } });
    case "retryable":
      throw new ToolError("Later.", { retryable: true });
    case "cause":
      throw new Error("outer", { cause: new ToolError("Within.") });
    case "leak":
      throw new ToolError(`the key is ${await ctx.secret("API_KEY")}`);
    case "rejected":
      return Promise.all([Promise.reject(new ToolError("One failed.")), Promise.resolve(1)]);
    default:
      return `unknown ${how}`;
  }
}

/** Aborts a request with the given reason; returns whether `fetch` rejects with it. */
async function stopsWith(ctx: ToolContext, after: number, reason: Error): Promise<string> {
  const control = new AbortController();
  setTimeout(() => control.abort(reason), after);
  try {
    return String((await ctx.fetch(`${UPSTREAM}/hang`, { signal: control.signal })).status);
  } catch (error) {
    return String(error === reason);
  }
}

/** Reads a body that never ends. */
async function readsUntil(ctx: ToolContext, init: RequestInit): Promise<string> {
  const { body } = await ctx.fetch(`${UPSTREAM}/drip`, init);
  try {
    return await joined(body!.pipeThrough(new TextDecoderStream()));
  } catch (error) {
    return `${(error as Error).name} ${error instanceof DOMException}`;
  }
}

async function joined(stream: ReadableStream<string>): Promise<string> {
  let all = "";
  for await (const piece of stream as unknown as AsyncIterable<string>) all += piece;
  return all;
}

/** Returns an entry for each check: true if the platform behaves like the Web. */
async function web(ctx: ToolContext): Promise<Record<string, unknown>> {
  const results: Record<string, unknown> = {};
  const check = async (name: string, test: () => unknown) => {
    try {
      results[name] = await test();
    } catch (error) {
      results[name] = String(error);
    }
  };
  const text = "grüße €";
  await check("URL", () => new URL("/a?b=ü", "https://EXAMPLE.com").href === "https://example.com/a?b=%C3%BC");
  await check("URL.canParse", () => URL.canParse("https://a.example") && !URL.canParse("nope"));
  await check("URLSearchParams", () => new URLSearchParams({ a: "1 2" }).toString() === "a=1+2");
  await check("TextEncoder", () => new TextDecoder().decode(new TextEncoder().encode(text)) === text);
  await check("btoa", () => atob(btoa("abc")) === "abc");
  await check("structuredClone", () => structuredClone(new Map([[1, { a: [2] }]])).get(1)!.a[0] === 2);
  await check("crypto.randomUUID", () => /^[0-9a-f-]{36}$/.test(crypto.randomUUID()));
  await check("crypto.getRandomValues", () => crypto.getRandomValues(new Uint8Array(4)).length === 4);
  await check("crypto.subtle.digest", async () => (await crypto.subtle.digest("SHA-256", new Uint8Array([1]))).byteLength === 32);
  await check("crypto.subtle HMAC", async () => {
    const key = await crypto.subtle.importKey("raw", new Uint8Array([1]), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return (await crypto.subtle.sign("HMAC", key, new Uint8Array([2]))).byteLength === 32;
  });
  await check("setTimeout", () => new Promise((resolve) => setTimeout(() => resolve(true), 5)));
  await check("queueMicrotask", () => new Promise((resolve) => queueMicrotask(() => resolve(true))));
  await check("performance.now", () => performance.now() >= 0);
  await check("Date", () => new Date(0).toISOString() === "1970-01-01T00:00:00.000Z" && Date.now() > 1.7e12);
  await check("AbortController", () => {
    const controller = new AbortController();
    controller.abort();
    return controller.signal.aborted;
  });
  await check("Headers", () => new Headers({ "X-A": "1" }).get("x-a") === "1");
  await check("Headers of an iterator", async () => {
    const headers = new Map([["content-type", "text/csv"]]).entries() as unknown as Record<string, string>;
    const response = await ctx.fetch(`${UPSTREAM}/echo`, { method: "POST", headers, body: "a,b" });
    return ((await response.json()) as { contentType: string }).contentType === "text/csv";
  });
  await check("a signal of null", async () => {
    const request = new Request(`${UPSTREAM}/json`, { signal: AbortSignal.abort() });
    return (await ctx.fetch(request, { signal: null })).ok;
  });
  await check("Request", () => new Request("https://a.example", { method: "PUT" }).method === "PUT");
  await check("Response.json", async () => ((await Response.json({ a: 1 }).json()) as { a: number }).a === 1);
  await check("Response.clone", async () => {
    const response = await ctx.fetch(`${UPSTREAM}/json`);
    const copy = response.clone();
    return (await response.text()) === (await copy.text());
  });
  await check("Response.bytes", async () => {
    const response = (await ctx.fetch(`${UPSTREAM}/json`)) as Response & { bytes?(): Promise<Uint8Array> };
    return (await response.arrayBuffer()).byteLength > 0;
  });
  await check("Response.text", async () => {
    const read = (...bytes: number[]) => new Response(new Uint8Array(bytes)).text();
    return (await read(0xef, 0xbb, 0xbf, 0x61)) === "a" && (await read(0x61, 0xff)) === "a\ufffd";
  });
  await check("Response.json", async () => (await new Response("\ufeff{\"a\":1}").json()).a === 1);
  await check("Response.blob", async () => (await new Response("x", { headers: { "content-type": "text/csv" } }).blob()).type === "text/csv");
  await check("a clone's blobs", async () => {
    const response = new Response("x", { headers: { "content-type": "text/csv" } });
    const copy = response.clone();
    return (await response.blob()).type === "text/csv" && (await copy.blob()).type === "text/csv";
  });
  await check("a clone's forms", async () => {
    const response = new Response("a=b", { headers: { "content-type": "application/x-www-form-urlencoded" } });
    const copy = response.clone();
    return (await response.formData()).get("a") === "b" && (await copy.formData()).get("a") === "b";
  });
  await check("a clone of any status", async () => {
    const copy = (await ctx.fetch(`${UPSTREAM}/status/999`)).clone();
    return copy.status === 999 && !copy.ok && (await copy.text()) === "the body";
  });
  await check("the top level", () => STOPPED.reason === "before" && new Lines().encoding === "utf-8");
  await check("a clone's url", async () => (await ctx.fetch(`${UPSTREAM}/json`)).clone().url === `${UPSTREAM}/json`);
  await check("throwIfAborted", () => {
    const control = new AbortController();
    control.signal.throwIfAborted();
    control.abort("because");
    try {
      return control.signal.throwIfAborted();
    } catch (error) {
      return error === "because";
    }
  });
  await check("import.meta.url", () => ["string", "undefined"].includes(typeof import.meta.url));
  await check("AbortSignal.abort", () => AbortSignal.abort().reason.name === "AbortError" && AbortSignal.abort(7).reason === 7);
  await check("AbortSignal.any", async () => {
    const control = new AbortController();
    const either = AbortSignal.any([new AbortController().signal, control.signal]);
    let heard = false;
    either.addEventListener("abort", () => (heard = true));
    const before = either.aborted;
    control.abort("because");
    return !before && heard && either.reason === "because" && AbortSignal.any([control.signal]).reason === "because";
  });
  await check("TextDecoderStream", async () => {
    const bytes = new TextEncoder().encode(text);
    const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(it) {
        bytes.forEach((byte) => it.enqueue(new Uint8Array([byte])));
        it.close();
      },
    });
    return (await joined(source.pipeThrough(new TextDecoderStream()))) === text;
  });
  await check("TextEncoderStream", async () => {
    const source = new ReadableStream<string>({
      start(it) {
        for (const unit of `${text}😀`.split("")) it.enqueue(unit);
        it.close();
      },
    });
    const bytes = source.pipeThrough(new TextEncoderStream());
    return (await new Response(bytes as ReadableStream<Uint8Array<ArrayBuffer>>).text()) === `${text}😀`;
  });
  await check("FormData", () => {
    const form = new FormData();
    form.set("a", "b");
    return form.get("a") === "b";
  });
  await check("Blob", async () => (await new Blob(["ab", "c"]).text()) === "abc");
  await check("ReadableStream", async () => {
    const stream = new ReadableStream({ start: (it) => (it.enqueue("x"), it.close()) });
    return (await stream.getReader().read()).value === "x";
  });
  await check("CompressionStream", async () => {
    const zipped = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
    return (await new Response(zipped.pipeThrough(new DecompressionStream("gzip"))).text()) === text;
  });
  await check("Event", () => {
    const target = new EventTarget();
    let heard = false;
    target.addEventListener("x", () => (heard = true));
    target.dispatchEvent(new Event("x"));
    return heard;
  });
  await check("\\p{…}", () => {
    const words = "Été, über 42".match(/[\p{L}\p{N}]+/gu)!;
    return words.length === 3 && /^\p{Lu}/u.test("É") && !new RegExp("^\\P{L}", "u").test("é") && /a/.constructor === RegExp;
  });
  await check("\\P{…} of sets", () => new RegExp("^\\P{Lu}$", "v").test("a") && new RegExp("^[\\P{Lu}--1]$", "v").test("2"));
  await check("modern language", () => {
    const grouped = [1, 2, 3].toSorted((a, b) => b - a).at(0) === 3 && Object.hasOwn({ a: 1 }, "a");
    return grouped && [..."a1b2".matchAll(/(?<letter>[a-z])\d/g)].length === 2;
  });
  return results;
}
