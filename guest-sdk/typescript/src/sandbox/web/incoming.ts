// The body of a response from the network.
import { createDecompressor } from "kitbag:compression";
import { abortRequest, readBody } from "kitbag:host";

import { encodingOf, UNSUPPORTED_ENCODING, type ContentEncoding } from "../../content-encoding.js";
import { onAbort, type AbortSignal } from "./abort.js";
import { concatenated } from "./blob.js";
import { ReadableStream } from "./streams.js";

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Maximum size in bytes of a body that is read whole. With larger ones, memory could run out without a clear
 * error.
 */
const MAX_WHOLE_BYTES = 256 * 1024 * 1024;

const EMPTY = new Uint8Array(0);

export class Incoming {
  readonly #id: number;
  readonly #signal: AbortSignal | undefined;
  /** Compression of the body; undefined for none. */
  readonly #encoding: ContentEncoding | undefined;
  #decompress: ((input: Uint8Array | undefined, last: boolean) => Bytes | undefined) | undefined;
  /** Whether the decompressor may have more output without new input. */
  #hasOutput = false;
  #ended = false;
  #failed: ((error: unknown) => void) | undefined;
  #removeAbortHandler: (() => void) | undefined;

  constructor(id: number, contentEncoding: string | null, signal: AbortSignal | undefined) {
    this.#id = id;
    this.#encoding = encodingOf(contentEncoding);
    this.#signal = signal;
    if (signal !== undefined) this.#removeAbortHandler = onAbort(signal, () => this.#abort(signal.reason));
  }

  /** Reads the whole body. */
  readAll(done: (bytes: Bytes) => void, failed: (error: unknown) => void): void {
    const pieces: Bytes[] = [];
    let length = 0;
    this.#read((piece) => {
      if (piece === undefined) {
        done(concatenated(pieces));
        return false;
      }
      length += piece.length;
      if (length > MAX_WHOLE_BYTES) throw new RangeError(`the body is larger than ${MAX_WHOLE_BYTES} bytes: read it as a stream`);
      pieces.push(piece);
      return true;
    }, failed);
  }

  /** Returns the body as a stream, which reads from the network only as it is read itself. */
  stream(): ReadableStream<Bytes> {
    const underlying: UnderlyingByteSource = {
      type: "bytes",
      pull: (controller) =>
        new Promise<void>((resolve, reject) => {
          this.#read((piece) => {
            if (piece === undefined) {
              controller.close();
              controller.byobRequest?.respond(0);
            } else {
              // A byte stream does not accept an empty chunk.
              if (piece.length === 0) return true;
              controller.enqueue(piece);
            }
            resolve();
            return false;
          }, reject);
        }),
      cancel: () => this.cancel(),
    };
    return new ReadableStream(underlying as never, { highWaterMark: 0 }) as ReadableStream<Bytes>;
  }

  /** Stops reading and aborts the request. */
  cancel(): void {
    this.#removeAbortHandler?.();
    if (this.#ended) return;
    this.#ended = true;
    abortRequest(this.#id);
  }

  /**
   * Passes one chunk after the other to `take` until that returns false; undefined at the end. A chunk may be
   * empty. This is a loop, because the host may call back synchronously and a long body must not need a deep
   * stack.
   */
  #read(take: (piece: Bytes | undefined) => boolean, failed: (error: unknown) => void): void {
    let wantsMore = true;
    while (wantsMore) {
      wantsMore = false;
      let isWaiting = false;
      this.#next((piece) => {
        if (!take(piece)) return;
        if (isWaiting) this.#read(take, failed);
        else wantsMore = true;
      }, failed);
      isWaiting = true;
    }
  }

  #next(done: (piece: Bytes | undefined) => void, failed: (error: unknown) => void): void {
    if (this.#signal?.aborted === true) return failed(this.#signal.reason);
    const guarded = (piece: () => Bytes | undefined): void => {
      try {
        done(piece());
      } catch (error) {
        this.cancel();
        failed(error);
      }
    };
    if (this.#hasOutput || this.#ended) return guarded(() => this.#step(undefined, this.#ended));
    this.#failed = failed;
    readBody(this.#id, (error, raw) => {
      this.#failed = undefined;
      if (error === undefined) return guarded(() => (raw === undefined ? this.#last() : this.#decoded(new Uint8Array(raw))));
      this.#end();
      failed(new TypeError(error));
    });
  }

  #abort(reason: unknown): void {
    const failed = this.#failed;
    this.cancel();
    failed?.(reason);
  }

  #end(): void {
    this.#ended = true;
    this.#removeAbortHandler?.();
  }

  #last(): Bytes | undefined {
    this.#end();
    return this.#step(undefined, true);
  }

  #decoded(raw: Bytes): Bytes | undefined {
    if (this.#encoding === undefined || raw.length === 0) return raw;
    if (this.#encoding === "unsupported") throw new TypeError(UNSUPPORTED_ENCODING);
    // Some servers send raw DEFLATE without the zlib header, in which the low four bits of the first byte are
    // 8.
    const format = this.#encoding === "deflate" && (raw[0]! & 0x0f) !== 8 ? "deflate-raw" : this.#encoding;
    this.#decompress ??= createDecompressor(format);
    return this.#step(raw, false);
  }

  /** Returns the next decompressed chunk: an empty one if more input is needed, undefined at the end. */
  #step(input: Bytes | undefined, last: boolean): Bytes | undefined {
    if (this.#decompress === undefined) return undefined;
    try {
      const piece = this.#decompress(input, last);
      this.#hasOutput = piece !== undefined;
      return piece ?? (last ? undefined : EMPTY);
    } catch (cause) {
      if (cause instanceof RangeError) throw cause;
      throw new TypeError(`network error: the answer's ${this.#encoding} is malformed`, { cause });
    }
  }
}
