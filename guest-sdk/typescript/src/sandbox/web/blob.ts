// Blob and File (File API, sections 3 and 4).
import { decode, encode } from "kitbag:encoding";

import { bytesOf } from "./encoding.js";
import { ReadableStream } from "./streams.js";

export type BlobPart = string | BufferSource | Blob;

/** Returns a blob's bytes, which must not be changed. */
export let blobBytes: (blob: Blob) => Uint8Array<ArrayBuffer>;
/** Creates a blob of bytes that must not change afterwards. */
export let blobOf: (bytes: Uint8Array<ArrayBuffer>, type: string) => Blob;

const STREAM_PIECE_BYTES = 64 * 1024;

export class Blob {
  #bytes: Uint8Array<ArrayBuffer>;
  #type: string;

  static {
    blobBytes = (blob) => blob.#bytes;
    blobOf = (bytes, type) => {
      const blob = new Blob();
      blob.#bytes = bytes;
      blob.#type = checkedType(type);
      return blob;
    };
  }

  constructor(parts?: Iterable<BlobPart>, options?: BlobPropertyBag) {
    if (parts !== undefined && (typeof parts !== "object" || parts === null || !(Symbol.iterator in parts))) {
      throw new TypeError("Blob: the parts are not a sequence");
    }
    const normalize = options?.endings === "native";
    this.#bytes = concatenated(Array.from(parts ?? [], (part) => partBytes(part, normalize)));
    this.#type = checkedType(options?.type ?? "");
  }

  get size(): number {
    return this.#bytes.length;
  }

  get type(): string {
    return this.#type;
  }

  slice(start?: number, end?: number, type?: string): Blob {
    return blobOf(this.#bytes.subarray(start ?? 0, end ?? this.size), `${type ?? ""}`);
  }

  async text(): Promise<string> {
    return decode(this.#bytes, false, false);
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return this.#bytes.slice().buffer;
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#bytes.slice();
  }

  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return streamOf(this.#bytes);
  }

  [Symbol.for("nodejs.util.inspect.custom")](): object {
    const { size, type } = this;
    return Object.assign(Object.create({ constructor: Blob }) as object, { size, type });
  }
}

export class File extends Blob {
  readonly #name: string;
  readonly #lastModified: number;

  constructor(parts: Iterable<BlobPart>, name: string, options?: FilePropertyBag) {
    if (arguments.length < 2) throw new TypeError("File: 2 arguments required");
    super(parts, options);
    this.#name = `${name}`.toWellFormed();
    this.#lastModified = options?.lastModified === undefined ? Date.now() : Math.trunc(Number(options.lastModified)) || 0;
  }

  get name(): string {
    return this.#name;
  }

  get lastModified(): number {
    return this.#lastModified;
  }

  get webkitRelativePath(): string {
    return "";
  }

  [Symbol.for("nodejs.util.inspect.custom")](): object {
    const { name, size, type, lastModified } = this;
    return Object.assign(Object.create({ constructor: File }) as object, { size, type, name, lastModified });
  }
}

/** Returns a byte stream of copies, because readers may change what they receive. */
export function streamOf(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0;
  return new ReadableStream(
    {
      type: "bytes",
      pull(controller) {
        if (at < bytes.length) controller.enqueue(bytes.slice(at, at + STREAM_PIECE_BYTES));
        at += STREAM_PIECE_BYTES;
        if (at < bytes.length) return;
        controller.close();
        controller.byobRequest?.respond(0);
      },
    },
    { highWaterMark: 0 },
  ) as ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Concatenates arrays; a single array is returned without copying. */
export function concatenated(pieces: Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  if (pieces.length === 1) return pieces[0]!;
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

function partBytes(part: BlobPart, normalize: boolean): Uint8Array<ArrayBuffer> {
  if (part instanceof Blob) return blobBytes(part);
  if (part instanceof ArrayBuffer || ArrayBuffer.isView(part)) return bytesOf(part).slice();
  const text = `${part}`;
  return encode(normalize ? text.replace(/\r\n?/g, "\n") : text);
}

function checkedType(type: unknown): string {
  const text = `${type as string}`;
  return /[^\x20-\x7e]/.test(text) ? "" : text.toLowerCase();
}
