// Installs the web platform as globals. Must be a component's first import, because the author's module may
// use it at its top level.
import * as abort from "./abort.js";
import * as blob from "./blob.js";
import * as compression from "./compression-streams.js";
import { console } from "./console.js";
import * as webCrypto from "./crypto.js";
import * as encoding from "./encoding.js";
import * as events from "./events.js";
import { fetch } from "./fetch.js";
import { FormData } from "./form-data.js";
import { asPlatformClass, defineClass, defineGlobal } from "./globals.js";
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
  // Node.js's name of the global object, which packages use.
  global: globalThis,
  navigator: new Navigator(),
  performance,
  reportError,
  self: globalThis,
  setInterval: timers.setInterval,
  setTimeout: timers.setTimeout,
  structuredClone,
};

for (const [name, value] of Object.entries(classes)) defineClass(name, value as unknown as Function);
asPlatformClass("Navigator", Navigator);
for (const [name, value] of Object.entries(values)) defineGlobal(name, value);
Object.defineProperty(console, Symbol.toStringTag, { value: "console", configurable: true });
