// TextEncoderStream and TextDecoderStream (Encoding Standard, sections 7.5 and 7.6).
import { encode } from "kitbag:encoding";

import { TextDecoder } from "./encoding.js";
import { TransformStream, type ReadableStream, type WritableStream } from "./streams.js";

export class TextDecoderStream {
  readonly #decoder: TextDecoder;
  readonly #transform: TransformStream<BufferSource, string>;

  constructor(label?: string, options?: TextDecoderOptions) {
    const decoder = (this.#decoder = new TextDecoder(label, options));
    this.#transform = new TransformStream<BufferSource, string>({
      transform: (bytes, controller) => {
        const text = decoder.decode(bytes, { stream: true });
        if (text !== "") controller.enqueue(text);
      },
      flush: (controller) => {
        const text = decoder.decode();
        if (text !== "") controller.enqueue(text);
      },
    });
  }

  get encoding(): string {
    return this.#decoder.encoding;
  }

  get fatal(): boolean {
    return this.#decoder.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM;
  }

  get readable(): ReadableStream<string> {
    return this.#transform.readable;
  }

  get writable(): WritableStream<BufferSource> {
    return this.#transform.writable;
  }
}

export class TextEncoderStream {
  readonly #transform: TransformStream<string, Uint8Array>;

  constructor() {
    // A surrogate pair may be split between two chunks.
    let half = "";
    this.#transform = new TransformStream<string, Uint8Array>({
      transform: (piece, controller) => {
        const text = half + `${piece}`;
        const last = text.charCodeAt(text.length - 1);
        half = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : "";
        if (text.length > half.length) controller.enqueue(encode(half === "" ? text : text.slice(0, -1)));
      },
      flush: (controller) => {
        if (half !== "") controller.enqueue(encode(half));
      },
    });
  }

  get encoding(): string {
    return "utf-8";
  }

  get readable(): ReadableStream<Uint8Array> {
    return this.#transform.readable;
  }

  get writable(): WritableStream<string> {
    return this.#transform.writable;
  }
}
