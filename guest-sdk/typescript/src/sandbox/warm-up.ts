// What the first call would do for the first time, done while the component is made: the code is
// compiled, caches are filled, and all of it is in memory when a call begins.
//
// Invariant: no handler of the author runs here, and no import is touched. The tools that run are
// stand-ins with the same schemas.
import type { ToolkitDefinition } from "../define.js";
import { makeContext } from "../context.js";
import { fetchJson } from "../fetch-json.js";
import type { Manifest } from "../manifest.js";
import { ToolError } from "../tool-error.js";
import type { Platform } from "../platform.js";
import type { AnyTool } from "../types.js";
import { sample } from "./sample.js";
import { sandboxPlatform } from "./platform.js";
import type { WitInvocation } from "./component.js";

type Call = (toolkit: ToolkitDefinition, invocation: WitInvocation, platform: Platform) => unknown;

/** How often: code that ran once is compiled, code that ran a few times has its caches filled. */
const WARM_UP_ROUNDS = 3;

/** Goes through everything that calls of these tools have in common. */
export async function warmUp(manifest: Manifest, toolkit: ToolkitDefinition, call: Call): Promise<void> {
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    for (const [index, tool] of toolkit.config.tools.entries()) {
      const described = manifest.tools[index]!;
      const good = sample(described.inputSchema);
      const structured = described.outputSchema === undefined ? undefined : sample(described.outputSchema);
      const rehearsed = standIn(toolkit, tool, structured);
      for (const args of [good, {}, { "\u0000": 1 }]) {
        const invocation = {
          tool: tool.name,
          arguments: JSON.stringify(args),
          userId: "warm-up",
          config: JSON.stringify(Object.fromEntries(Object.entries(manifest.config).map(([key, it]) => [key, it.default]))),
        };
        await quietly(() => rehearse((invocation) => call(rehearsed, invocation, SILENT), invocation));
        await quietly(() => tool.input.safeParse(args));
        await quietly(() => tool.output?.safeParse(args === good ? structured : args));
      }
    }
    await quietly(() => useContext(toolkit));
  }
}

/** What the builder leaves for this module: it makes a call as the host does. */
const REHEARSAL = "kitbag:rehearsal";
const asTheHost = (globalThis as { [name: string]: unknown })[REHEARSAL] as Rehearsal | undefined;
delete (globalThis as { [name: string]: unknown })[REHEARSAL];

type Rehearsal = (callee: (invocation: WitInvocation) => unknown, invocation: WitInvocation) => Promise<void>;

/** Makes a call as the host does, where that is possible. */
const rehearse: Rehearsal = asTheHost ?? (async (callee, invocation) => void (await callee(invocation)));

/** A tool of the same schemas whose handler uses what handlers use. */
function standIn(toolkit: ToolkitDefinition, tool: AnyTool, structured: unknown): ToolkitDefinition {
  let calls = 0;
  const handler: AnyTool["handler"] = async (_args, ctx) => {
    ctx.log("warm-up", { round: 1 }, [1.5, true, null]);
    calls += 1;
    if (calls % 3 === 1) throw new ToolError("warm-up", { retryable: true, data: {} });
    if (calls % 3 === 2) throw new Error("warm-up", { cause: new TypeError("within") });
    return structured === undefined ? { text: "warm-up" } : { text: "warm-up", structured };
  };
  return { ...toolkit, config: { ...toolkit.config, tools: [{ ...tool, handler }] } };
}

/** Requests and answers, without a network: an address that no toolkit may reach. */
async function useContext(toolkit: ToolkitDefinition): Promise<void> {
  const ctx = makeContext(toolkit.config, { userId: "warm-up", config: {} }, SILENT);
  await quietly(() => ctx.fetch("https://warm-up.invalid/"));
  const url = new URL("https://warm-up.invalid/path?a=1");
  url.searchParams.set("b", encodeURIComponent("ü"));
  new Headers({ accept: "application/json" }).get("accept");
  new TextDecoder().decode(new TextEncoder().encode(url.toString()));
  const answer = async () => new Response('{"items":[{"a":1}]}', { headers: { "content-type": "application/json" } });
  await quietly(() => fetchJson(answer, url));
  const missing = async () => new Response("{}", { status: 404 });
  await quietly(() => fetchJson(missing, url, { errorMap: () => undefined }));
}

/** Reaches nothing. */
const SILENT = sandboxPlatform({
  log: () => {},
  progress: () => {},
  secret: () => undefined,
  search: () => [],
  getDocument: () => ({ summary: { id: "", title: "", source: "" }, text: "" }),
  ingest: () => 0,
  fetch: async () => new Response("{}"),
});

/** A schema of the author may throw at a made-up value; that is no reason to make no component. */
async function quietly(action: () => unknown): Promise<void> {
  try {
    await action();
  } catch {
    // Nothing was lost but time.
  }
}
