// One call's thread: it has the toolkit, and nothing of Node.js that a toolkit could reach. Requests leave
// through the server, which looks at them once more.
import { formatWithOptions } from "node:util";
import { SourceTextModule } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";

import { answerOf } from "../build/answer.js";
import type { ToolkitDefinition } from "../define.js";
import { runHandler, type Trace } from "../local/dispatch.js";
import { setLimits } from "../rules.js";
import type { SvcIngestDoc } from "../types.js";
import { confine } from "./confine.js";
import { document } from "./documents.js";
import type { CallData, FromThread, ThreadData, ToThread } from "./protocol.js";
import { failureText } from "./failure-text.js";

type Answered = Extract<ToThread, { kind: "response" }>;

const port = parentPort!;
const say = port.postMessage.bind(port) as (message: FromThread) => void;
const waiting = new Map<number, { resolve(response: Answered): void; reject(error: Error): void }>();
let toolkit: ToolkitDefinition | undefined;
let requests = 0;

port.on("message", (message: ToThread) => {
  if (message.kind === "call") return void run(message.call);
  const asked = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.kind === "no-response") return asked?.reject(new TypeError(message.message));
  asked?.resolve(message);
});

const print = (...args: unknown[]) => say({ kind: "printed", text: formatWithOptions({ depth: 4 }, ...args) });
// In the sandbox nobody waits for such a promise either.
process.on("unhandledRejection", (reason) => print("unhandled rejection:", reason));
setLimits((workerData as ThreadData).limits);
await confine(consoleOf(print));

const found = await answerOf(() => start(workerData as ThreadData));
toolkit = found.toolkit;
say({ kind: "answer", answer: found.answer });

/** Runs the bundle where `import()` leads nowhere, whatever text it stands in. */
async function start({ code, file }: ThreadData): Promise<{ default?: unknown }> {
  const refuse = (): never => {
    throw new TypeError("a toolkit is one bundle: import() of a name that is only known at run time does not work");
  };
  const module = new SourceTextModule(code, { identifier: file, importModuleDynamically: refuse });
  await module.link(refuse);
  await module.evaluate();
  return module.namespace as { default?: unknown };
}

async function run(call: CallData): Promise<void> {
  const trace: Trace = { log: live((entry) => say({ kind: "logged", entry })), progress: [], requests: [], ingested: [] };
  const { tool, documents } = call;
  const ingest = async (docs: SvcIngestDoc[]) => {
    for (const doc of docs) documents.push(document(doc, toolkit!.config.id, documents.length));
    return { ingested: docs.length };
  };
  const world = { secrets: call.secrets, documents, svc: { ingest }, fetchImpl: throughServer };
  const ending = await runHandler(toolkit!, tool, call, world, trace);
  const failure = "failure" in trace ? failureText(trace.failure) : undefined;
  say({ kind: "ended", ending, ingested: trace.ingested, failure });
}

async function throughServer(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const streams = init.body instanceof ReadableStream && { duplex: "half" };
  const request = new Request(input, { ...init, ...streams } as RequestInit);
  // The request's own signal only follows this one, which may be gone before it comes to that.
  const { url, method, signal: following } = request;
  const signal = init.signal ?? following;
  const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
  signal.throwIfAborted();
  const id = (requests += 1);
  const response = await new Promise<Answered>((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    signal.addEventListener("abort", () => {
      say({ kind: "abort", id });
      reject(signal.reason as Error);
    });
    say({ kind: "request", id, url, method, headers: [...request.headers], body });
  });
  const { status, statusText, headers } = response;
  // What stops the request stops its answer, with the same reason: on its way from the server it would be lost.
  const stopping = response.body?.pipeThrough(new TransformStream(), { signal }) ?? null;
  return Object.defineProperty(new Response(stopping, { status, statusText, headers }), "url", { value: url });
}

/** A list that tells of what is appended at once: a call that never ends has a log as well. */
function live(tell: (entry: unknown[]) => void): unknown[][] {
  const list: unknown[][] = [];
  const push = (...entries: unknown[][]) => {
    entries.forEach(tell);
    return Array.prototype.push.apply(list, entries);
  };
  return Object.defineProperty(list, "push", { value: push });
}

/** What the sandbox's console has. */
function consoleOf(print: (...args: unknown[]) => void): Record<string, (...args: unknown[]) => void> {
  const printing = ["debug", "dir", "dirxml", "error", "group", "groupCollapsed", "info", "log", "table", "trace", "warn"];
  const silent = ["clear", "count", "countReset", "groupEnd", "time", "timeEnd", "timeLog"];
  return {
    ...Object.fromEntries(printing.map((name) => [name, print])),
    ...Object.fromEntries(silent.map((name) => [name, () => {}])),
    assert: (holds, ...args) => {
      if (!holds) print("Assertion failed", ...args);
    },
  };
}
