// Native modules of the engine, except those of crypto and Intl.

/** Clock, timers, random numbers, HTTP requests and the log. */
declare module "kitbag:host" {
  /** Returns milliseconds since an arbitrary point in the past. */
  export function monotonicNow(): number;
  /** Calls `callback` once, after at least `milliseconds`. Returns the timer's id. */
  export function setTimer(callback: () => void, milliseconds: number): number;
  export function clearTimer(id: number): void;
  export function randomBytes(length: number): ArrayBuffer;
  /**
   * Sends a request. `done` is called once, with an error's text or with the response's status and headers;
   * the body is read with `readBody`. Returns the request's id.
   */
  export function sendRequest(
    method: string,
    url: string,
    headers: [string, string][],
    body: ArrayBuffer | undefined,
    done: (error: string | undefined, status: number, headers: [string, string][]) => void,
  ): number;
  /** Aborts a request or the reading of its response body; no callback follows. */
  export function abortRequest(id: number): void;
  /** Reads a chunk of the response's body; `piece` is undefined at the end. */
  export function readBody(id: number, done: (error: string | undefined, piece: ArrayBuffer | undefined) => void): void;
  /** Writes one or more lines to the toolkit's log. */
  export function print(text: string): void;
}

/** The URL Standard. A URL is passed as its serialized text. */
declare module "kitbag:url" {
  /** Parses `url` relative to `base` and serializes it; undefined if it is not a valid URL. */
  export function parse(url: string, base: string | undefined): string | undefined;
  export function get(href: string, component: number): string;
  /** Serializes the URL with one component changed; an invalid value changes nothing. */
  export function set(href: string, component: number, value: string): string;
  /** Splits `application/x-www-form-urlencoded` text into alternating names and values. */
  export function parseQuery(query: string): string[];
  export function serializeQuery(namesAndValues: string[]): string;
}

/** Rules and error texts of the crate kitbag-manifest; ../handler-rules.ts describes them. A URL is its serialized text. */
declare module "kitbag:rules" {
  import type { Meant, Violation } from "../handler-rules.js";

  export function allows(egress: readonly string[], url: string): boolean;
  export function entryFor(url: string): string;
  export function text(name: string, parts: string[]): string;
  export function meant(branches: Violation[][]): Meant;
  export function maxReported(): number;
}

/** The Encoding Standard, and search in bytes. */
declare module "kitbag:encoding" {
  /** Encodes a string in UTF-8. A lone surrogate becomes U+FFFD. */
  export function encode(text: string): Uint8Array<ArrayBuffer>;
  /** Decodes UTF-8; undefined if the bytes are not valid and `fatal` is set. */
  export function decode(bytes: Uint8Array, fatal: false, keepByteOrderMark: boolean): string;
  export function decode(bytes: Uint8Array, fatal: boolean, keepByteOrderMark: boolean): string | undefined;
  /** Returns the name of an encoding, in lower case, for one of its labels. */
  export function encodingName(label: string): string | undefined;
  /**
   * Creates a function that decodes chunk by chunk; it returns undefined for invalid data if `fatal` is set.
   */
  export function createDecoder(
    encoding: string,
    fatal: boolean,
    keepByteOrderMark: boolean,
  ): (bytes: Uint8Array, last: boolean) => string | undefined;
  /** Returns the first index of `needle` in `haystack` from `from` on; -1 if there is none. */
  export function find(haystack: Uint8Array, needle: Uint8Array, from: number): number;
}

declare module "kitbag:compression" {
  /** Creates a function that compresses chunk by chunk. */
  export function createCompressor(format: string): (input: Uint8Array, last: boolean) => Uint8Array<ArrayBuffer>;
  /**
   * Creates a function that decompresses. `input` is appended to the rest of earlier input; each output chunk
   * is at most 64 KiB. Undefined means that more input is needed or, after the last input, that there is no
   * more output. Throws a TypeError if the data is not valid.
   */
  export function createDecompressor(
    format: string,
  ): (input: Uint8Array | undefined, last: boolean) => Uint8Array<ArrayBuffer> | undefined;
}

// Language features of the engine that TypeScript's ES2023 library lacks.

interface String {
  toWellFormed(): string;
}

interface ArrayBuffer {
  transfer(): ArrayBuffer;
}
