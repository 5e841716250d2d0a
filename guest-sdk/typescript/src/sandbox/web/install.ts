// Makes the web platform what global names stand for. A component's first import: an author's module may use it
// at its top level.
import * as abort from "./abort.js";
import * as blob from "./blob.js";
import * as compression from "./compression-streams.js";
import { console } from "./console.js";
import * as webCrypto from "./crypto.js";
import * as encoding from "./encoding.js";
import * as events from "./events.js";
import { fetch } from "./fetch.js";
import { FormData } from "./form-data.js";
import { Headers } from "./headers.js";
import * as messages from "./messages.js";
import { Performance, performance } from "./performance.js";
import { reportError } from "./report-error.js";
import { Request } from "./request.js";
import { Response } from "./response.js";
import * as streams from "./streams.js";
import { structuredClone } from "./structured-clone.js";
import * as textStreams from "./text-streams.js";
import * as timers from "./timers.js";
import * as url from "./url.js";

const classes = {
  AbortController: abort.AbortController,
  AbortSignal: abort.AbortSignal,
  Blob: blob.Blob,
  ByteLengthQueuingStrategy: streams.ByteLengthQueuingStrategy,
  CompressionStream: compression.CompressionStream,
  CountQueuingStrategy: streams.CountQueuingStrategy,
  Crypto: webCrypto.Crypto,
  CryptoKey: webCrypto.CryptoKey,
  CustomEvent: events.CustomEvent,
  DecompressionStream: compression.DecompressionStream,
  ErrorEvent: events.ErrorEvent,
  Event: events.Event,
  EventTarget: events.EventTarget,
  File: blob.File,
  FormData,
  Headers,
  MessageChannel: messages.MessageChannel,
  MessageEvent: events.MessageEvent,
  MessagePort: messages.MessagePort,
  Performance,
  ReadableByteStreamController: streams.ReadableByteStreamController,
  ReadableStream: streams.ReadableStream,
  ReadableStreamBYOBReader: streams.ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest: streams.ReadableStreamBYOBRequest,
  ReadableStreamDefaultController: streams.ReadableStreamDefaultController,
  ReadableStreamDefaultReader: streams.ReadableStreamDefaultReader,
  Request,
  Response,
  SubtleCrypto: webCrypto.SubtleCrypto,
  TextDecoder: encoding.TextDecoder,
  TextDecoderStream: textStreams.TextDecoderStream,
  TextEncoder: encoding.TextEncoder,
  TextEncoderStream: textStreams.TextEncoderStream,
  TransformStream: streams.TransformStream,
  TransformStreamDefaultController: streams.TransformStreamDefaultController,
  URL: url.URL,
  URLSearchParams: url.URLSearchParams,
  WritableStream: streams.WritableStream,
  WritableStreamDefaultController: streams.WritableStreamDefaultController,
  WritableStreamDefaultWriter: streams.WritableStreamDefaultWriter,
};

class Navigator {
  get userAgent(): string {
    return "Kitbag";
  }
}

const values = {
  Navigator,
  clearInterval: timers.clearInterval,
  clearTimeout: timers.clearTimeout,
  console,
  crypto: webCrypto.crypto,
  fetch,
  navigator: new Navigator(),
  performance,
  reportError,
  self: globalThis,
  setInterval: timers.setInterval,
  setTimeout: timers.setTimeout,
  structuredClone,
};

for (const [name, value] of Object.entries(classes)) {
  asPlatformClass(name, value as unknown as Function);
  define(name, value);
}
asPlatformClass("Navigator", Navigator);
for (const [name, value] of Object.entries(values)) define(name, value);
Object.defineProperty(console, Symbol.toStringTag, { value: "console", configurable: true });

function define(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

/** The members of a class of the platform are enumerable, and its objects say what they are (Web IDL, section 3.7). */
function asPlatformClass(name: string, made: Function): void {
  // A bundler may have named it otherwise.
  Object.defineProperty(made, "name", { value: name, configurable: true });
  const prototype = made.prototype as object;
  for (const member of Object.getOwnPropertyNames(prototype)) {
    if (member !== "constructor") Object.defineProperty(prototype, member, { enumerable: true });
  }
  if (!Object.hasOwn(prototype, Symbol.toStringTag)) {
    Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
  }
}
