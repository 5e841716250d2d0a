// Removes the globals of Node.js that a toolkit does not have in the sandbox.
import { runInNewContext } from "node:vm";

/** Globals of the language that are removed too. */
const REMOVED_LANGUAGE_GLOBALS = ["Atomics", "SharedArrayBuffer", "WebAssembly"];

/** Web globals that are kept. `fetch` is not one of them: toolkits use `ctx.fetch`. */
const WEB_GLOBALS = [
  ...["AbortController", "AbortSignal", "Blob", "ByteLengthQueuingStrategy", "CompressionStream", "CountQueuingStrategy"],
  ...["Crypto", "CryptoKey", "CustomEvent", "DOMException", "DecompressionStream", "Event", "EventTarget", "File", "FormData"],
  ...["Headers", "MessageChannel", "MessageEvent", "MessagePort", "Performance", "ReadableByteStreamController", "ReadableStream", "ReadableStreamBYOBReader"],
  ...["ReadableStreamBYOBRequest", "ReadableStreamDefaultController", "ReadableStreamDefaultReader", "Request", "Response"],
  ...["SubtleCrypto", "TextDecoder", "TextDecoderStream", "TextEncoder", "TextEncoderStream", "TransformStream"],
  ...["TransformStreamDefaultController", "URL", "URLSearchParams", "WritableStream", "WritableStreamDefaultController"],
  ...["WritableStreamDefaultWriter"],
  ...["atob", "btoa", "clearInterval", "clearTimeout", "crypto", "performance", "queueMicrotask"],
  ...["setInterval", "setTimeout", "structuredClone"],
];

/** Globals that the implementation of the above in Node.js needs. */
const INTERNAL_GLOBALS = ["Buffer"];

/** Removes every other global of this thread, and replaces `console`. */
export async function confine(console: Record<string, unknown>): Promise<void> {
  await loadLazyPlatform();
  const language = runInNewContext("Object.getOwnPropertyNames(globalThis)") as string[];
  const kept = new Set<PropertyKey>([...language.filter((name) => !REMOVED_LANGUAGE_GLOBALS.includes(name)), ...WEB_GLOBALS, ...INTERNAL_GLOBALS]);
  for (const name of WEB_GLOBALS) {
    // Some are created when first read, and creating them needs globals that are removed below.
    const value = (globalThis as Record<string, unknown>)[name];
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
  for (const name of Reflect.ownKeys(globalThis)) {
    if (kept.has(name) || typeof name === "symbol") continue;
    if (!Reflect.deleteProperty(globalThis, name)) throw new Error(`the global ${name} cannot be removed`);
  }
  const ours = { self: globalThis, console, navigator: { userAgent: "Kitbag" }, reportError: console["error"] };
  for (const [name, value] of Object.entries(ours)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
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
