// The globals of the sandbox. `dispatch` and `kitbag dev` run handlers in Node.js, where they apply these lists; tests
// compare them with the sandbox and with Node.js.

/** Globals of the web platform that every toolkit has in the sandbox, and `global`, which packages expect. */
export const WEB_GLOBALS: readonly string[] = [
  ...["AbortController", "AbortSignal", "Blob", "ByteLengthQueuingStrategy", "CompressionStream", "CountQueuingStrategy"],
  ...["Crypto", "CustomEvent", "DOMException", "DecompressionStream", "ErrorEvent", "Event", "EventTarget", "File", "FormData"],
  ...["Headers", "MessageChannel", "MessageEvent", "MessagePort", "Navigator", "Performance", "ReadableByteStreamController"],
  ...["ReadableStream", "ReadableStreamBYOBReader", "ReadableStreamBYOBRequest", "ReadableStreamDefaultController"],
  ...["ReadableStreamDefaultReader", "Request", "Response", "TextDecoder", "TextDecoderStream", "TextEncoder"],
  ...["TextEncoderStream", "TransformStream", "TransformStreamDefaultController", "URL", "URLSearchParams", "WritableStream"],
  ...["WritableStreamDefaultController", "WritableStreamDefaultWriter"],
  ...["atob", "btoa", "clearInterval", "clearTimeout", "console", "crypto", "fetch", "global", "navigator", "performance"],
  ...["queueMicrotask", "reportError", "self", "setInterval", "setTimeout", "structuredClone"],
];

/** Globals of the Web Cryptography API. Only toolkits that mention them have them. */
export const CRYPTO_GLOBALS: readonly string[] = ["CryptoKey", "SubtleCrypto"];

/** Globals of the language that the sandbox lacks. */
export const MISSING_LANGUAGE_GLOBALS: readonly string[] = ["Atomics", "WebAssembly"];

/** Globals of Node.js, in any supported version, that the sandbox lacks. */
export const MISSING_NODE_GLOBALS: readonly string[] = [
  ...["BroadcastChannel", "Buffer", "CloseEvent", "EventSource", "PerformanceEntry", "PerformanceMark", "PerformanceMeasure"],
  ...["PerformanceObserver", "PerformanceObserverEntryList", "PerformanceResourceTiming", "QuotaExceededError", "Storage"],
  ...["URLPattern", "WebSocket", "__dirname", "__filename", "clearImmediate", "exports", "localStorage", "module"],
  ...["process", "require", "sessionStorage", "setImmediate"],
];

/** Alternatives to missing globals. */
const REPLACEMENTS: Record<string, string> = {
  Buffer: "use Uint8Array, TextEncoder, btoa and atob",
  process: "declare a setting in config, or a credential in secrets",
  setImmediate: "use setTimeout or queueMicrotask",
};

/**
 * Returns the message of an exception about a missing global, with advice on alternatives; `undefined` for any other
 * exception.
 */
export function missingGlobalMessage(thrown: unknown): string | undefined {
  const { name, message } = (thrown ?? {}) as { name?: unknown; message?: unknown };
  if (name !== "ReferenceError" || typeof message !== "string") return undefined;
  const [, missing] = /^([\w$]+) is not defined$/.exec(message) ?? [];
  if (missing === undefined || ![...MISSING_LANGUAGE_GLOBALS, ...MISSING_NODE_GLOBALS].includes(missing)) return undefined;
  const replacement = Object.hasOwn(REPLACEMENTS, missing) ? `: ${REPLACEMENTS[missing]}` : "";
  return `${missing} is not defined in the sandbox${replacement}`;
}
