// Runs code that a model has written, in a component as those of toolkits: `tools` sends calls of tools to the host, which
// checks each. Whatever the code does to what is here, it reaches no more than that.
import { defineToolkit, tool, z, ToolError } from "kitbag/extend/toolkit";

/** What the host answers for. There is no such host, and no other that this component may reach. */
const TOOLS = "tools.kitbag.invalid";
/** Characters of what the code returns, and of what it prints. */
const MAX_RETURNED = 60_000;
const MAX_PRINTED = 8_000;
/** Characters of the message of an error. */
const MAX_MESSAGE = 4_000;

/** The host's answer to a call. */
type Answer = { value: unknown } | { error: { message: string; code: string; retryable: boolean } };

/** Constructs async functions from their parameters and body. */
const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => (...given: unknown[]) => Promise<unknown>;
/** Lines before the code in such a function. */
const LINES_BEFORE = 3;
/** Reads stacks as the sandbox's engine makes them: later, those of errors have the lines of this file alone. */
const engineStack = Object.getOwnPropertyDescriptor(Error.prototype, "stack")?.get;
/** A line of the code in a stack, as the sandbox's engine and that of the tests name it. */
const LINE = /(?:<input>|<anonymous>):(\d+)/g;

function noNetwork(): never {
  throw new TypeError("code has no network: it calls tools");
}

function toolError(failure: Error, message: string, code: string, retryable: boolean): Error {
  return Object.assign(failure, { name: "ToolError", message, code, retryable });
}

async function call(request: typeof fetch, toolkit: string, name: string, given: unknown, failure: Error): Promise<unknown> {
  const body = JSON.stringify(given ?? {});
  const response = await request(`http://${TOOLS}/${encodeURIComponent(toolkit)}/${encodeURIComponent(name)}`, { method: "POST", body });
  const answer = (await response.json()) as Answer;
  if ("error" in answer) {
    const { message, code, retryable } = answer.error;
    throw toolError(failure, message, code, retryable);
  }
  return answer.value;
}

/** An object that has every name, except those by which promises and conversions look for something else. */
function named<T>(of: (name: string) => T): Record<string, T> {
  const get = (_: object, name: string | symbol) => (typeof name === "symbol" || name === "then" || name === "toJSON" ? undefined : of(name));
  return new Proxy(Object.freeze({}), { get }) as Record<string, T>;
}

/** A value in words. It is the code's: whatever is read of it may throw. */
function shown(value: unknown): string {
  try {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "(a value that cannot be shown)";
  }
}

/** A console that keeps what is printed, within bounds. */
function printing() {
  let text = "";
  let left = false;
  const print = (...values: unknown[]) => {
    const line = `${values.map(shown).join(" ")}\n`;
    const room = MAX_PRINTED - text.length;
    if (line.length > room) left = true;
    text += line.slice(0, room);
  };
  const console = { log: print, info: print, warn: print, error: print, debug: print };
  return { console, text: () => (left ? `${text}…\n(more was printed than there is room for)\n` : text) };
}

/** The error in the words of the engine, with the lines of the code. */
function explained(error: unknown): string {
  const message = shown(error).slice(0, MAX_MESSAGE);
  try {
    if (!(error instanceof Error)) return `The code threw ${message}`;
    const stack = String(engineStack?.call(error) ?? error.stack);
    const lines = [...stack.matchAll(LINE)].map((match) => Number(match[1]) - LINES_BEFORE).filter((line) => line > 0);
    return lines.length > 0 ? `${message} (line ${lines.join(", called from line ")})` : message;
  } catch {
    return `The code threw ${message}`;
  }
}

async function run(code: string, calls: number): Promise<{ returned: string; printed: string }> {
  const request = globalThis.fetch;
  let left = calls;
  const tools = named((toolkit) =>
    named((name) => async (given?: unknown) => {
      // Made now, because the line that calls is in no stack later.
      const failure = new Error();
      // The host counts too; here, so that it is not sent what it refuses.
      if (left === 0) throw toolError(failure, `code makes at most ${calls} calls of tools`, "TOO_MANY_CALLS", false);
      left -= 1;
      return call(request, toolkit, name, given, failure);
    }),
  );
  const { console, text } = printing();
  try {
    // For the words of the error: the host answers no other request than those.
    globalThis.fetch = noNetwork;
    const value = await new AsyncFunction("tools", "console", `"use strict";\n${code}\n`)(tools, console);
    const returned = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    if (returned.length > MAX_RETURNED) {
      throw new RangeError(`the code returns ${returned.length} characters; at most ${MAX_RETURNED} are passed on: return what is needed of it`);
    }
    return { returned, printed: text() };
  } catch (error) {
    const printed = text();
    throw new ToolError(printed === "" ? explained(error) : `${explained(error)}\n\nPrinted before:\n${printed}`);
  } finally {
    globalThis.fetch = request;
  }
}

export default defineToolkit({
  id: "code",
  name: "Code",
  description: "Runs code that calls tools.",
  icon: "🧮",
  version: "1.0.0",
  author: "Kitbag",
  visibility: "shared",
  egress: [TOOLS],
  tools: [
    tool({
      name: "run_code",
      description: "Runs code.",
      input: z.object({ code: z.string(), calls: z.int() }),
      handler: async ({ code, calls }) => {
        const { returned, printed } = await run(code, calls);
        const parts = [returned, printed && `Printed:\n${printed}`].filter((text) => text !== "");
        return parts.join("\n\n") || "The code returned nothing.";
      },
    }),
  ],
});
