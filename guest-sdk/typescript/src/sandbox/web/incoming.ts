// The body of a response, as it comes from the network.
import { createDecompressor } from "kitbag:compression";
import { abortRequest, readBody } from "kitbag:host";

import { onAbort, type AbortSignal } from "./abort.js";
import { joined } from "./blob.js";
import { ReadableStream } from "./streams.js";

type Bytes = Uint8Array<ArrayBuffer>;

/** Bytes of a body that is read as a whole. Beyond that, memory may run out before anyone can say so. */
const MAX_WHOLE_BYTES = 256 * 1024 * 1024;

const NOTHING = new Uint8Array(0);

const FORMATS: Record<string, string> = { gzip: "gzip", "x-gzip": "gzip", deflate: "deflate" };

export class Incoming {
  readonly #id: number;
  readonly #signal: AbortSignal | undefined;
  /** The name of the compression; undefined for none. */
  readonly #format: string | undefined;
  #decompress: ((input: Uint8Array | undefined, last: boolean) => Bytes | undefined) | undefined;
  /** Whether the last input may have more output. */
  #hasOutput = false;
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
    this.#read((piece) => {
      if (piece === undefined) {
        done(joined(pieces));
        return false;
      }
      length += piece.length;
      if (length > MAX_WHOLE_BYTES) throw new RangeError(`the body is larger than ${MAX_WHOLE_BYTES} bytes: read it as a stream`);
      pieces.push(piece);
      return true;
    }, failed);
  }

  /** Reads as fast as the stream is read. */
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
              // A byte stream takes no empty piece.
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

  /** Wants no more. */
  cancel(): void {
    this.#forget?.();
    if (this.#ended) return;
    this.#ended = true;
    abortRequest(this.#id);
  }

  /**
   * Gives one piece after the other to `take`, until that returns false; undefined at the end. A piece may be empty.
   * The host may call back at once: this is a loop, so that a long body needs no deep stack.
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
    this.#forget?.();
  }

  #last(): Bytes | undefined {
    this.#end();
    return this.#step(undefined, true);
  }

  #decoded(raw: Bytes): Bytes | undefined {
    if (this.#format === undefined || raw.length === 0) return raw;
    // Some servers send DEFLATE without the header of zlib, whose first half byte is 8.
    const format = this.#format === "deflate" && (raw[0]! & 0x0f) !== 8 ? "deflate-raw" : this.#format;
    this.#decompress ??= createDecompressor(format);
    return this.#step(raw, false);
  }

  /** Decompresses the next piece; an empty one where more input is needed, undefined at the end. */
  #step(input: Bytes | undefined, last: boolean): Bytes | undefined {
    if (this.#decompress === undefined) return undefined;
    try {
      const piece = this.#decompress(input, last);
      this.#hasOutput = piece !== undefined;
      return piece ?? (last ? undefined : NOTHING);
    } catch (cause) {
      if (cause instanceof RangeError) throw cause;
      throw new TypeError(`network error: the answer's ${this.#format} is malformed`, { cause });
    }
  }
}
