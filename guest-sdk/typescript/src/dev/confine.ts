// Leaves of Node.js what a toolkit finds in the sandbox.
import { runInNewContext } from "node:vm";

/** The language's own globals that the sandbox has not. */
const NOT_OF_THE_LANGUAGE = ["Atomics", "Intl", "SharedArrayBuffer", "WebAssembly"];

/** What the sandbox has of the web. Its `fetch` is `ctx.fetch`. */
const WEB = [
  ...["AbortController", "AbortSignal", "Blob", "ByteLengthQueuingStrategy", "CompressionStream", "CountQueuingStrategy"],
  ...["Crypto", "CryptoKey", "CustomEvent", "DOMException", "DecompressionStream", "Event", "EventTarget", "File", "FormData"],
  ...["Headers", "Performance", "ReadableByteStreamController", "ReadableStream", "ReadableStreamBYOBReader"],
  ...["ReadableStreamBYOBRequest", "ReadableStreamDefaultController", "ReadableStreamDefaultReader", "Request", "Response"],
  ...["SubtleCrypto", "TextDecoder", "TextDecoderStream", "TextEncoder", "TextEncoderStream", "TransformStream", "URL"],
  ...["URLSearchParams", "WritableStream"],
  ...["atob", "btoa", "clearInterval", "clearTimeout", "crypto", "performance", "queueMicrotask"],
  ...["setInterval", "setTimeout", "structuredClone"],
];

/** What parts of the above are made with. */
const INSIDE = ["Buffer"];

/** Removes every other global of this thread, and puts `console` in the place of its own. */
export async function confine(console: object): Promise<void> {
  await platformReady();
  const language = runInNewContext("Object.getOwnPropertyNames(globalThis)") as string[];
  const kept = new Set<PropertyKey>([...language.filter((name) => !NOT_OF_THE_LANGUAGE.includes(name)), ...WEB, ...INSIDE]);
  for (const name of WEB) {
    // Some are made when they are first asked for, with what is about to go.
    const value = (globalThis as Record<string, unknown>)[name];
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
  for (const name of Reflect.ownKeys(globalThis)) {
    if (kept.has(name) || typeof name === "symbol") continue;
    if (!Reflect.deleteProperty(globalThis, name)) throw new Error(`the global ${name} cannot be removed`);
  }
  Object.defineProperty(globalThis, "self", { value: globalThis, writable: true, configurable: true });
  Object.defineProperty(globalThis, "console", { value: console, writable: true, configurable: true });
}

/**
 * Node.js makes `Request` and its kin when they are first asked for, and some versions then compile a
 * parser in the background, by the global `WebAssembly` that is about to go.
 */
async function platformReady(): Promise<void> {
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
