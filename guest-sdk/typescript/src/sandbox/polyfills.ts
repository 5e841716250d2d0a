// Installs the parts of the web platform that authors expect and the engine has not, or has otherwise. A
// component's first import: the author's module may use them at its top level.
import { blob, bytes, clone, json, text, values } from "./bodies.js";
import { abort, any, throwIfAborted } from "./signals.js";
import { TextDecoderStream, TextEncoderStream } from "./text-streams.js";

define(URL, "canParse", (url: string, base?: string) => parse(url, base) !== null);
define(URL, "parse", parse);
define(Response.prototype, "bytes", bytes);
define(Response.prototype, "clone", clone);
for (const body of [Request.prototype, Response.prototype]) {
  replace(body, "text", text);
  replace(body, "json", json);
  replace(body, "blob", blob);
}
replace(AbortSignal, "abort", abort);
replace(AbortSignal, "any", any);
replace(AbortSignal.prototype, "throwIfAborted", throwIfAborted);
define(globalThis, "TextDecoderStream", TextDecoderStream);
define(globalThis, "TextEncoderStream", TextEncoderStream);
define(ReadableStream.prototype, "values", values);
define(ReadableStream.prototype, Symbol.asyncIterator, values);

function define(target: object, name: PropertyKey, value: unknown): void {
  if (!(name in target)) replace(target, name, value);
}

function replace(target: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function parse(url: string, base?: string): URL | null {
  try {
    return new URL(url, base);
  } catch {
    return null;
  }
}
