// The body of a response, as it comes from the network.
import { createDecompressor } from "kitbag:compression";
import { abortRequest, readBody } from "kitbag:host";

import { onAbort, type AbortSignal } from "./abort.js";
import { joined } from "./blob.js";
import { ReadableStream } from "./streams.js";

type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes of a body that is read as a whole. Beyond that, memory may run out before anyone can say so. */
const MAX_WHOLE_BYTES = 256 * 1024 * 1024;

const FORMATS: Record<string, string> = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate" };

export class Incoming {
  readonly #id: number;
  readonly #signal: AbortSignal | undefined;
  /** The name of the compression; undefined for none. */
  readonly #format: string | undefined;
  #decompress: ((input: Uint8Array | undefined, last: boolean) => Bytes | undefined) | undefined;
  #ended = false;
  #failed: ((error: unknown) => void) | undefined;
  #forget: (() => void) | undefined;

  constructor(id: number, contentEncoding: string | null, signal: AbortSignal | undefined) {
    this.#id = id;
    this.#format = FORMATS[contentEncoding?.trim().toLowerCase() ?? ""];
    this.#signal = signal;
    if (signal !== undefined) this.#forget = onAbort(signal, () => this.#abort(signal.reason));
  }

  /** Reads all there is. */
  readAll(done: (bytes: Bytes) => void, failed: (error: unknown) => void): void {
    const pieces: Bytes[] = [];
    let length = 0;
    const next = (piece: Bytes | undefined): void => {
      try {
        for (let more = piece; more !== undefined; more = this.#waiting()) {
          length += more.length;
          if (length > MAX_WHOLE_BYTES) throw new RangeError(`the body is larger than ${MAX_WHOLE_BYTES} bytes: read it as a stream`);
          pieces.push(more);
        }
        if (piece === undefined) done(joined(pieces));
        else this.#read(next, failed);
      } catch (error) {
        this.cancel();
        failed(error);
      }
    };
    this.#read(next, failed);
  }

  /** Reads as fast as the stream is read. */
  stream(): ReadableStream<Bytes> {
    const underlying: UnderlyingByteSource = {
      type: "bytes",
      pull: (controller) =>
        new Promise<void>((resolve, reject) => {
          this.#read((piece) => {
            if (piece !== undefined) {
              controller.enqueue(piece);
            } else {
              controller.close();
              controller.byobRequest?.respond(0);
            }
            resolve();
          }, reject);
        }),
      cancel: () => this.cancel(),
    };
    return new ReadableStream(underlying as never, { highWaterMark: 0 }) as ReadableStream<Bytes>;
  }

  /** Wants no more. */
  cancel(): void {
    this.#forget?.();
    if (this.#ended) return;
    this.#ended = true;
    abortRequest(this.#id);
  }

  /** Gives the next piece, which is not empty, or undefined at the end. */
  #read(done: (piece: Bytes | undefined) => void, failed: (error: unknown) => void): void {
    if (this.#signal?.aborted === true) return failed(this.#signal.reason);
    let piece: Bytes | undefined;
    try {
      piece = this.#waiting();
    } catch (error) {
      this.cancel();
      return failed(error);
    }
    if (piece !== undefined || this.#ended) return done(piece);
    this.#failed = failed;
    readBody(this.#id, (error, raw) => {
      this.#failed = undefined;
      if (error !== undefined) {
        this.#end();
        return failed(new TypeError(error));
      }
      try {
        piece = raw === undefined ? this.#last() : this.#decoded(new Uint8Array(raw));
      } catch (error) {
        this.cancel();
        return failed(error);
      }
      if (piece === undefined && raw !== undefined) this.#read(done, failed);
      else done(piece);
    });
  }

  #abort(reason: unknown): void {
    const failed = this.#failed;
    this.cancel();
    failed?.(reason);
  }

  #end(): void {
    this.#ended = true;
    this.#forget?.();
  }

  /** What is decompressed of input that was given before. */
  #waiting(): Bytes | undefined {
    return this.#decompress === undefined ? undefined : this.#step(undefined, false);
  }

  #last(): Bytes | undefined {
    this.#end();
    return this.#decompress === undefined ? undefined : this.#step(undefined, true);
  }

  #decoded(raw: Bytes): Bytes | undefined {
    if (raw.length === 0) return undefined;
    if (this.#format === undefined) return raw;
    // Some servers send DEFLATE without the header of zlib, whose first half byte is 8.
    const format = this.#format === "deflate" && (raw[0]! & 0x0f) !== 8 ? "deflate-raw" : this.#format;
    this.#decompress ??= createDecompressor(format);
    return this.#step(raw, false);
  }

  #step(input: Bytes | undefined, last: boolean): Bytes | undefined {
    try {
      return this.#decompress!(input, last);
    } catch (cause) {
      throw new TypeError(`network error: the answer's ${this.#format} is malformed`, { cause });
    }
  }
}
