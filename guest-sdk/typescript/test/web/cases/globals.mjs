// Which globals exist, and how they are defined.
import { MISSING_LANGUAGE_GLOBALS, MISSING_NODE_GLOBALS, WEB_GLOBALS } from "../../../dist/sandbox-globals.js";

const NAMES = [
  "AbortController",
  "AbortSignal",
  "Blob",
  "ByteLengthQueuingStrategy",
  "CompressionStream",
  "CountQueuingStrategy",
  "CustomEvent",
  "DOMException",
  "DecompressionStream",
  "Event",
  "EventTarget",
  "File",
  "FormData",
  "Headers",
  "MessageChannel",
  "MessageEvent",
  "MessagePort",
  "ReadableByteStreamController",
  "ReadableStream",
  "ReadableStreamBYOBReader",
  "ReadableStreamBYOBRequest",
  "ReadableStreamDefaultController",
  "ReadableStreamDefaultReader",
  "Request",
  "Response",
  "TextDecoder",
  "TextDecoderStream",
  "TextEncoder",
  "TextEncoderStream",
  "TransformStream",
  "TransformStreamDefaultController",
  "URL",
  "URLSearchParams",
  "WritableStream",
  "WritableStreamDefaultController",
  "WritableStreamDefaultWriter",
];
const FUNCTIONS = [
  "atob",
  "btoa",
  "clearInterval",
  "clearTimeout",
  "fetch",
  "queueMicrotask",
  "setInterval",
  "setTimeout",
  "structuredClone",
];

export default {
  classes: () =>
    NAMES.map((name) => {
      const { writable, configurable, enumerable, value } = Object.getOwnPropertyDescriptor(globalThis, name) ?? {};
      return [
        name,
        typeof (value ?? globalThis[name]),
        (value ?? globalThis[name])?.name,
        writable ?? true,
        configurable,
        enumerable,
      ];
    }),
  functions: () => FUNCTIONS.map((name) => [name, typeof globalThis[name]]),
  objects: {
    expected: ["object", "object", "string", true, true],
    run: () => [typeof console, typeof performance, typeof navigator.userAgent, self === globalThis, global === globalThis],
  },
  "what WinterTC asks for beyond Node.js 20": {
    expected: ["function", "function"],
    run: () => [typeof reportError, typeof ErrorEvent],
  },
  "what is there": {
    expected: [],
    run: () => WEB_GLOBALS.filter((name) => !(name in globalThis)),
  },
  "what is not there": {
    expected: [],
    run: () =>
      [...MISSING_LANGUAGE_GLOBALS, ...MISSING_NODE_GLOBALS, "window", "document", "Worker", "XMLHttpRequest"].filter(
        (name) => name in globalThis,
      ),
  },
  "members of classes are enumerable": () =>
    [Headers, Response, Request, URL, Event, AbortController].map((it) => {
      const own = Object.getOwnPropertyDescriptors(it.prototype);
      return Object.values(own).filter(({ enumerable }) => enumerable).length > 2;
    }),
  "classes want new": () =>
    [Headers, Response, Blob, FormData, URLSearchParams, Event, EventTarget, AbortController, TextEncoder, ReadableStream].map(
      (it) => {
        try {
          return typeof it();
        } catch (error) {
          return error.name;
        }
      },
    ),
  "classes can be extended": () => {
    class Own extends Response {
      own() {
        return this.status;
      }
    }
    return [new Own("x", { status: 201 }).own(), new Own() instanceof Response];
  },
  "the console has all methods": () =>
    [
      "assert",
      "clear",
      "count",
      "countReset",
      "debug",
      "dir",
      "dirxml",
      "error",
      "group",
      "groupCollapsed",
      "groupEnd",
      "info",
      "log",
      "table",
      "time",
      "timeEnd",
      "timeLog",
      "trace",
      "warn",
    ].filter((name) => typeof console[name] !== "function"),
};
