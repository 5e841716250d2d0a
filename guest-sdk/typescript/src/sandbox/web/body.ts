// Bodies of requests and responses (Fetch Standard, section 5.3).
//
// Invariant: a body that is read whole is never converted to a stream. A stream is created only when `body`
// is accessed, or when a body from the network is cloned.
import { decode, encode } from "kitbag:encoding";

import { Blob, blobBytes, blobOf, concatenated, streamOf } from "./blob.js";
import { bytesOf } from "./encoding.js";
import { decodeForm, encodeMultipart, FormData } from "./form-data.js";
import { Incoming } from "./incoming.js";
import { isDisturbed, ReadableStream } from "./streams.js";
import { URLSearchParams } from "./url.js";

type Bytes = Uint8Array<ArrayBuffer>;

export type BodyInit = string | BufferSource | Blob | FormData | URLSearchParams | ReadableStream<Uint8Array>;

export class Body {
  #source: string | Bytes | Incoming | ReadableStream<Bytes> | null;
  /** Whether the body was consumed without a stream. */
  #used = false;

  constructor(source: string | Bytes | Incoming | ReadableStream<Bytes> | null) {
    this.#source = source;
  }

  get isNull(): boolean {
    return this.#source === null;
  }

  get used(): boolean {
    return this.#used || (this.#source instanceof ReadableStream && isDisturbed(this.#source));
  }

  get unusable(): boolean {
    return this.used || (this.#source instanceof ReadableStream && this.#source.locked);
  }

  get stream(): ReadableStream<Bytes> | null {
    const source = this.#source;
    if (source === null || source instanceof ReadableStream) return source;
    if (this.#used)
      return (this.#source = new ReadableStream({ start: (controller) => controller.close() }) as ReadableStream<Bytes>);
    if (source instanceof Incoming) return (this.#source = source.stream());
    return (this.#source = streamOf(typeof source === "string" ? encode(source) : source));
  }

  /** Returns a body with the same content; the two can be read independently. */
  clone(): Body {
    const source = this.#source;
    if (source === null || typeof source === "string") return new Body(source);
    if (source instanceof Uint8Array) return new Body(source.slice());
    const [mine, theirs] = this.stream!.tee();
    this.#source = mine;
    return new Body(theirs);
  }

  /** Returns a body with the content of this one, which then counts as used. */
  takeOver(): Body {
    const taken = new Body(this.#source);
    if (this.#source !== null) this.#used = true;
    if (this.#source instanceof ReadableStream) this.#source = null;
    return taken;
  }

  /** Reads the whole body; passes on a string or bytes, depending on the body's source. */
  consume(done: (content: string | Bytes) => void, failed: (error: unknown) => void): void {
    if (this.unusable) return failed(new TypeError("Body is unusable: Body has already been read"));
    const source = this.#source;
    if (source === null) return done("");
    if (source instanceof ReadableStream) return readStream(source, Infinity, done, failed);
    this.#used = true;
    if (source instanceof Incoming) source.readAll(done, failed);
    else done(source);
  }

  /** Reads the whole body as bytes, to be sent; fails if a stream has more than `limit` bytes. */
  consumeBytes(limit: number, done: (bytes: Bytes | undefined) => void, failed: (error: unknown) => void): void {
    if (this.#source === null) return done(undefined);
    if (this.#source instanceof ReadableStream && !this.unusable) return readStream(this.#source, limit, done, failed);
    this.consume((content) => done(typeof content === "string" ? encode(content) : content), failed);
  }
}

/** Converts a `BodyInit` to a body and its content type (Fetch Standard, "extract a body"). */
export function extractBody(init: unknown): { body: Body; type: string | undefined } {
  if (init === null || init === undefined) return { body: new Body(null), type: undefined };
  if (typeof init === "string") return { body: new Body(init), type: "text/plain;charset=UTF-8" };
  if (init instanceof Blob) return { body: new Body(blobBytes(init).slice()), type: init.type || undefined };
  if (init instanceof URLSearchParams) {
    return { body: new Body(init.toString()), type: "application/x-www-form-urlencoded;charset=UTF-8" };
  }
  if (init instanceof FormData) {
    const { bytes, type } = encodeMultipart(init);
    return { body: new Body(bytes), type };
  }
  if (init instanceof ArrayBuffer || ArrayBuffer.isView(init)) {
    return { body: new Body(bytesOf(init as BufferSource).slice()), type: undefined };
  }
  if (init instanceof ReadableStream) {
    if (init.locked || isDisturbed(init)) throw new TypeError("the body is a stream that is locked or was read from");
    return { body: new Body(init as ReadableStream<Bytes>), type: undefined };
  }
  return { body: new Body(`${init as string}`), type: "text/plain;charset=UTF-8" };
}

/** The body members of Request and Response (the mixin `Body`). */
export interface BodyMethods {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  formData(): Promise<FormData>;
  json(): Promise<any>;
  text(): Promise<string>;
}

/**
 * Defines the members of `BodyMethods`; `bodyOf` throws a TypeError for an object that is not an instance.
 */
export function defineBody<T extends object>(prototype: T, bodyOf: (of: T) => Body, contentType: (of: T) => string | null): void {
  const read = <R>(of: T, convert: (content: string | Bytes) => R): Promise<R> =>
    new Promise((resolve, reject) => {
      bodyOf(of).consume((content) => {
        try {
          resolve(convert(content));
        } catch (error) {
          reject(error);
        }
      }, reject);
    });
  const methods = {
    get body() {
      return bodyOf(this as unknown as T).stream;
    },
    get bodyUsed() {
      return bodyOf(this as unknown as T).used;
    },
    arrayBuffer() {
      return read(this as unknown as T, (content) => exactBuffer(toBytes(content)));
    },
    blob() {
      const of = this as unknown as T;
      return read(of, (content) => blobOf(toBytes(content), normalizedType(contentType(of) ?? "")));
    },
    bytes() {
      return read(this as unknown as T, toBytes);
    },
    formData() {
      const of = this as unknown as T;
      return read(of, (content) => decodeForm(toBytes(content), contentType(of) ?? ""));
    },
    json() {
      return read(this as unknown as T, (content) => JSON.parse(toText(content)) as unknown);
    },
    text() {
      return read(this as unknown as T, toText);
    },
  };
  Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(methods));
}

/** Returns a buffer with exactly these bytes, without copying if possible. */
export function exactBuffer(bytes: Bytes): ArrayBuffer {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
}

/** Returns a content type in the form of `Blob.type` (MIME Sniffing Standard, section 4.5). */
function normalizedType(contentType: string): string {
  const [essence, ...parameters] = contentType.split(";").map((part) => part.trim());
  return [essence, ...parameters.filter((it) => it.includes("="))].join(";");
}

function toBytes(content: string | Bytes): Bytes {
  return typeof content === "string" ? encode(content) : content;
}

function toText(content: string | Bytes): string {
  if (typeof content !== "string") return decode(content, false, false);
  const text = content.toWellFormed();
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

function readStream(
  stream: ReadableStream<Bytes>,
  limit: number,
  done: (bytes: Bytes) => void,
  failed: (error: unknown) => void,
): void {
  const reader = stream.getReader();
  const pieces: Bytes[] = [];
  let length = 0;
  const stop = (error: unknown): void => {
    reader.cancel(error).catch(() => {});
    failed(error);
  };
  const next = (): void => {
    reader.read().then(({ done: ended, value }) => {
      if (ended) return done(concatenated(pieces));
      if (!(value instanceof Uint8Array)) return stop(new TypeError("the stream of a body must be of Uint8Array"));
      length += value.length;
      if (length > limit) return stop(new TypeError(`invalid request: a body that is a stream has at most ${limit} bytes`));
      pieces.push(value);
      next();
    }, failed);
  };
  next();
}
