// Current call of the running handler, for globals that depend on it.
import { AsyncLocalStorage } from "node:async_hooks";

import type { ToolContext } from "../types.js";

/** A call in this process. */
export interface CurrentCall {
  fetch: ToolContext["fetch"];
  /** Globals that the sandbox lacks and that the handler defined itself. They are dropped at the end of the call. */
  globals: Map<PropertyKey, unknown>;
}

const calls = new AsyncLocalStorage<CurrentCall | undefined>();

/** Runs a handler as part of a call. */
export function insideCall<T>(fetch: ToolContext["fetch"], handler: () => T): T {
  return calls.run({ fetch, globals: new Map() }, handler);
}

/** Runs code of a test or of this package that a handler reaches, such as a mock. */
export function outsideOfCalls<T>(action: () => T): T {
  return calls.run(undefined, action);
}

/** Returns the call that the running code is part of. */
export function currentCall(): CurrentCall | undefined {
  return calls.getStore();
}

/** Global `fetch` of a handler, with the rules of `ctx.fetch`. Rejects at a module's top level, as in the sandbox. */
export async function handlerFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const call = currentCall();
  if (call === undefined) throw new Error("the module's top level sends a request, which only a call may do");
  return call.fetch(input, init as Parameters<ToolContext["fetch"]>[1]);
}
