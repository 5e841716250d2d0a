// Text as a stream: the engine's encoder and decoder, piece by piece.

export class TextDecoderStream {
  readonly #decoder: TextDecoder;
  readonly readable: ReadableStream<string>;
  readonly writable: WritableStream<BufferSource>;

  constructor(label?: string, options?: TextDecoderOptions) {
    const decoder = (this.#decoder = new TextDecoder(label, options));
    const pass = (text: string, to: TransformStreamDefaultController<string>) => (text === "" ? undefined : to.enqueue(text));
    ({ readable: this.readable, writable: this.writable } = new TransformStream<BufferSource, string>({
      transform: (bytes, to) => pass(decoder.decode(bytes, { stream: true }), to),
      flush: (to) => pass(decoder.decode(), to),
    }));
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
}

export class TextEncoderStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<string>;

  constructor() {
    const encoder = new TextEncoder();
    // The first half of a letter of two may end one piece, and the second begin the next.
    let half = "";
    ({ readable: this.readable, writable: this.writable } = new TransformStream<string, Uint8Array>({
      transform: (piece, to) => {
        const text = half + String(piece);
        half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? "";
        if (text.length > half.length) to.enqueue(encoder.encode(text.slice(0, text.length - half.length)));
      },
      flush: (to) => (half === "" ? undefined : to.enqueue(encoder.encode(half))),
    }));
  }

  get encoding(): string {
    return "utf-8";
  }
}
