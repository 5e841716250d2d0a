// The native modules of the engine that are no part of crypto and Intl.

/** The world around the engine. */
declare module "kitbag:host" {
  /** Milliseconds since some point in the past. */
  export function monotonicNow(): number;
  /** Calls back once, after at least so many milliseconds. */
  export function setTimer(callback: () => void, milliseconds: number): number;
  export function clearTimer(id: number): void;
  export function randomBytes(length: number): ArrayBuffer;
  /**
   * Sends a request. `done` is called once: with an error's text, or with the response's head. The body follows by
   * `readBody`. Returns the request's id.
   */
  export function sendRequest(
    method: string,
    url: string,
    headers: [string, string][],
    body: ArrayBuffer | undefined,
    done: (error: string | undefined, status: number, headers: [string, string][]) => void,
  ): number;
  /** Ends a request or the reading of its body; no callback follows. */
  export function abortRequest(id: number): void;
  /** Reads a piece of the response's body; `piece` is undefined at its end. */
  export function readBody(id: number, done: (error: string | undefined, piece: ArrayBuffer | undefined) => void): void;
  /** One line or more for the toolkit's log. */
  export function print(text: string): void;
}

/** The URL Standard. A URL is passed as its serialized text. */
declare module "kitbag:url" {
  /** Serializes what `url` is relative to `base`; undefined where it is not a URL. */
  export function parse(url: string, base: string | undefined): string | undefined;
  export function get(href: string, component: number): string;
  /** Serializes the URL with one component changed; a value that does not fit changes nothing. */
  export function set(href: string, component: number, value: string): string;
  /** Splits `application/x-www-form-urlencoded` text into names and values, one after the other. */
  export function parseQuery(query: string): string[];
  export function serializeQuery(namesAndValues: string[]): string;
}

/** The Encoding Standard, and bytes. */
declare module "kitbag:encoding" {
  /** The bytes of a string in UTF-8. A lone surrogate becomes U+FFFD. */
  export function encode(text: string): Uint8Array<ArrayBuffer>;
  /** The text of UTF-8; undefined where the bytes are not UTF-8 and `fatal` is set. */
  export function decode(bytes: Uint8Array, fatal: false, keepByteOrderMark: boolean): string;
  export function decode(bytes: Uint8Array, fatal: boolean, keepByteOrderMark: boolean): string | undefined;
  /** The name of an encoding by one of its labels, in lower case. */
  export function encodingName(label: string): string | undefined;
  /** Makes a function that decodes piece by piece; it returns undefined for an error where `fatal` is set. */
  export function createDecoder(
    encoding: string,
    fatal: boolean,
    keepByteOrderMark: boolean,
  ): (bytes: Uint8Array, last: boolean) => string | undefined;
  /** Where `needle` is in `haystack`, at `from` or later; -1 where it is not. */
  export function find(haystack: Uint8Array, needle: Uint8Array, from: number): number;
}

declare module "kitbag:compression" {
  /** Makes a function that compresses piece by piece. */
  export function createCompressor(format: string): (input: Uint8Array, last: boolean) => Uint8Array<ArrayBuffer>;
  /**
   * Makes a function that decompresses. `input` adds to what is left of earlier input; a piece of output is at most
   * 64 KiB. Undefined means that more input is needed or, after the last input, that nothing is left. Throws a
   * TypeError where the data is not valid.
   */
  export function createDecompressor(
    format: string,
  ): (input: Uint8Array | undefined, last: boolean) => Uint8Array<ArrayBuffer> | undefined;
}

// The engine's language beyond ES2023.

interface String {
  toWellFormed(): string;
}

interface ArrayBuffer {
  transfer(): ArrayBuffer;
}
