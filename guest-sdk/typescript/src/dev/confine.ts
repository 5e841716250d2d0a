// Removes the globals of Node.js that a toolkit does not have in the sandbox.
import { runInNewContext } from "node:vm";

import { handlerFetch } from "../local/current-call.js";
import { CRYPTO_GLOBALS, MISSING_LANGUAGE_GLOBALS, WEB_GLOBALS } from "../sandbox-globals.js";

/** Globals that the web platform of Node.js needs. */
const INTERNAL_GLOBALS = ["Buffer"];

/** Removes globals of this thread that the sandbox lacks, and replaces those that are different in the sandbox. */
export async function confine(console: Record<string, unknown>): Promise<void> {
  await loadLazyPlatform();
  const language = runInNewContext("Object.getOwnPropertyNames(globalThis)") as string[];
  const web = [...WEB_GLOBALS, ...CRYPTO_GLOBALS];
  const kept = new Set<PropertyKey>([...language.filter((name) => !MISSING_LANGUAGE_GLOBALS.includes(name)), ...web, ...INTERNAL_GLOBALS]);
  for (const name of web.filter((it) => it in globalThis)) {
    // Some are created when first read, and creating them needs globals that are removed below.
    const value = (globalThis as Record<string, unknown>)[name];
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
  for (const name of Reflect.ownKeys(globalThis)) {
    if (kept.has(name) || typeof name === "symbol") continue;
    if (!Reflect.deleteProperty(globalThis, name)) throw new Error(`the global ${name} cannot be removed`);
  }
  const ours = { self: globalThis, console, navigator: { userAgent: "Kitbag" }, reportError: console["error"], fetch: handlerFetch };
  for (const [name, value] of Object.entries(ours)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  AbortSignal.timeout = abortAfter;
}

/** Like `AbortSignal.timeout`, but with a timer that keeps the thread alive. */
function abortAfter(milliseconds: number): AbortSignal {
  const control = new AbortController();
  setTimeout(() => control.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")), milliseconds);
  return control.signal;
}

/**
 * Loads `fetch` and its classes. Node.js loads them on first use, and some versions then compile a parser in
 * the background, with the global `WebAssembly` that `confine` removes.
 */
async function loadLazyPlatform(): Promise<void> {
  const { compile, instantiate } = WebAssembly;
  let compiles = false;
  const instantiated = new Promise<void>((resolve) => {
    WebAssembly.compile = (...args) => {
      compiles = true;
      return compile(...args);
    };
    WebAssembly.instantiate = ((...args: Parameters<typeof instantiate>) => {
      resolve();
      return instantiate(...args);
    }) as typeof instantiate;
  });
  new Request("http://localhost/");
  if (compiles) await instantiated;
  Object.assign(WebAssembly, { compile, instantiate });
}
