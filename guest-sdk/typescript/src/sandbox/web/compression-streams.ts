// CompressionStream and DecompressionStream (Compression Standard).
import { createCompressor, createDecompressor } from "kitbag:compression";

import { bytesOf } from "./encoding.js";
import { ReadableStream, TransformStream, WritableStream } from "./streams.js";

type Bytes = Uint8Array<ArrayBuffer>;

export class CompressionStream {
  readonly #transform: TransformStream<BufferSource, Bytes>;

  constructor(format: CompressionFormat) {
    const compress = createCompressor(checked(format));
    const pass = (input: Uint8Array, last: boolean, controller: TransformStreamDefaultController<Bytes>): void => {
      const output = compress(input, last);
      if (output.length > 0) controller.enqueue(output);
    };
    this.#transform = new TransformStream<BufferSource, Bytes>({
      transform: (input, controller) => pass(bytesOf(input), false, controller),
      flush: (controller) => pass(new Uint8Array(0), true, controller),
    });
  }

  get readable(): ReadableStream<Bytes> {
    return this.#transform.readable;
  }

  get writable(): WritableStream<BufferSource> {
    return this.#transform.writable;
  }
}

/**
 * Invariant: data is decompressed only as it is read. A TransformStream would queue all output of an input
 * chunk, which may be a thousand times as large.
 */
export class DecompressionStream {
  readonly #readable: ReadableStream<Bytes>;
  readonly #writable: WritableStream<BufferSource>;

  constructor(format: CompressionFormat) {
    const decompress = createDecompressor(checked(format));
    let input: WritableStreamDefaultController;
    /** The write whose input is being decompressed. */
    let writing: { bytes: Uint8Array | undefined; resolve(): void; reject(error: unknown): void } | undefined;
    /** Wakes the reader that waits for input. */
    let wake: (() => void) | undefined;
    let last = false;

    const write = (bytes?: Uint8Array): Promise<void> =>
      new Promise((resolve, reject) => {
        writing = { bytes, resolve, reject };
        wake?.();
      });
    const pull = async (output: { enqueue(piece: Bytes): void; close(): void }): Promise<void> => {
      for (;;) {
        const bytes = writing?.bytes;
        if (writing !== undefined) writing.bytes = undefined;
        const piece = decompress(bytes, last);
        if (piece !== undefined) return output.enqueue(piece);
        writing?.resolve();
        writing = undefined;
        if (last) return output.close();
        await new Promise<void>((resolve) => (wake = resolve));
      }
    };
    const fail = (error: unknown): void => {
      input.error(error);
      writing?.reject(error);
      writing = undefined;
    };
    let output: { error(error: unknown): void };
    this.#readable = new ReadableStream<Bytes>(
      {
        start: (controller) => void (output = controller),
        pull: (controller) =>
          pull(controller).catch((error: unknown) => {
            fail(error);
            throw error;
          }),
        cancel: fail,
      },
      { highWaterMark: 0 },
    );
    this.#writable = new WritableStream<BufferSource>({
      start: (controller) => void (input = controller as never),
      write: (chunk) => {
        try {
          return write(bytesOf(chunk));
        } catch (error) {
          output.error(error);
          throw error;
        }
      },
      close: () => {
        last = true;
        return write();
      },
      abort: (reason) => output.error(reason),
    });
  }

  get readable(): ReadableStream<Bytes> {
    return this.#readable;
  }

  get writable(): WritableStream<BufferSource> {
    return this.#writable;
  }
}

function checked(format: unknown): string {
  const text = `${format as string}`;
  if (text !== "gzip" && text !== "deflate" && text !== "deflate-raw")
    throw new TypeError(`${JSON.stringify(text)} is not a format of compression`);
  return text;
}
