// Thread of one call. It runs the toolkit without the globals of Node.js. The server sends the requests, and checks
// them again.
import { setImmediate as nextTurn } from "node:timers/promises";
import { formatWithOptions } from "node:util";
import { SourceTextModule } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";

import { evaluateModule } from "../build/answer.js";
import type { ToolkitDefinition } from "../define.js";
import { runTarget, type Trace } from "../local/dispatch.js";
import { newTrace } from "../local/trace.js";
import type { Change } from "../local/user-state.js";
import { readableInSandbox } from "../local/encodings.js";
import { setLimits } from "../rules.js";
import { confine } from "./confine.js";
import type { CallData, FromThread, ThreadData, ToThread } from "./protocol.js";
import { failureText } from "./failure-text.js";

type ResponseMessage = Extract<ToThread, { kind: "response" }>;

const port = parentPort!;
const post = port.postMessage.bind(port) as (message: FromThread) => void;
const pendingRequests = new Map<number, { resolve(response: ResponseMessage): void; reject(error: Error): void }>();
let toolkit: ToolkitDefinition | undefined;
let requests = 0;

port.on("message", (message: ToThread) => {
  if (message.kind === "call") return void run(message.call);
  const pending = pendingRequests.get(message.id);
  pendingRequests.delete(message.id);
  if (pendingRequests.size === 0) port.unref();
  if (message.kind === "no-response") return pending?.reject(new TypeError(message.message));
  pending?.resolve(message);
});

const print = (...args: unknown[]) => post({ kind: "printed", text: formatWithOptions({ depth: 4 }, ...args) });
// As in the sandbox, an unhandled rejection is printed and does not end the call.
process.on("unhandledRejection", (reason) => print("unhandled rejection:", reason));
setLimits((workerData as ThreadData).limits);
await confine(consoleOf(print));

const found = await evaluateModule(() => start(workerData as ThreadData));
toolkit = found.toolkit;
post({ kind: "answer", answer: found.answer });

/** Runs the bundle in a context where every `import()` fails, also in code that is evaluated at run time. */
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
  const trace: Trace = {
    ...newTrace(),
    log: forwardingList((entry) => post({ kind: "logged", entry })),
    attached: forwardingList((value) => post({ kind: "attached", value })),
  };
  const { target, secrets, account, user } = call;
  // Each change is sent at once, so that those of an endless call are stored too.
  const changed = (change: Change) => post({ kind: "changed", change });
  const world = { secrets, account, user, changed, fetchImpl: fetchThroughServer };
  // Without a timer or a request the thread ends, and the server says why.
  port.unref();
  const ending = await runTarget(toolkit!, target, call, world, trace);
  const failure = "failure" in trace ? failureText(trace.failure) : undefined;
  // The server ends this thread when it reads the end. Node.js reports rejections after the turn of the
  // loop in which they happened, and they must be printed before.
  await nextTurn();
  post({ kind: "ended", ending, failure });
}

async function fetchThroughServer(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const streams = init.body instanceof ReadableStream && { duplex: "half" };
  const request = new Request(input, { ...init, ...streams } as RequestInit);
  // The request's own signal only follows that of `init`, and may be garbage-collected before it aborts.
  const { url, method, signal: following } = request;
  const signal = init.signal ?? following;
  const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer());
  signal.throwIfAborted();
  const id = (requests += 1);
  const response = await new Promise<ResponseMessage>((resolve, reject) => {
    port.ref();
    pendingRequests.set(id, { resolve, reject });
    signal.addEventListener("abort", () => {
      post({ kind: "abort", id });
      reject(signal.reason as Error);
    });
    post({ kind: "request", id, url, method, headers: [...request.headers], body });
  });
  const { status, statusText, headers } = response;
  // An abort must end the body here with the signal's reason, which would be lost in the messages to the
  // server.
  const abortable = response.body?.pipeThrough(new TransformStream(), { signal }) ?? null;
  const readable = readableInSandbox(new Response(abortable, { status, statusText, headers }));
  return Object.defineProperty(readable, "url", { value: url });
}

/**
 * Returns a list that forwards each entry when it is appended, so that the log of an endless call is shown
 * too.
 */
function forwardingList<Entry>(forward: (entry: Entry) => void): Entry[] {
  const list: Entry[] = [];
  const push = (...entries: Entry[]) => {
    entries.forEach(forward);
    return Array.prototype.push.apply(list, entries);
  };
  return Object.defineProperty(list, "push", { value: push });
}

/** Returns a console with the methods of the sandbox's console. */
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
