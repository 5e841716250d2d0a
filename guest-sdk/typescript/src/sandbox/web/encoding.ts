// TextEncoder and TextDecoder (Encoding Standard, section 7).
import { createDecoder, decode, encode, encodingName } from "kitbag:encoding";

export class TextEncoder {
  get encoding(): string {
    return "utf-8";
  }

  encode(input: string = ""): Uint8Array<ArrayBuffer> {
    return encode(`${input}`);
  }

  encodeInto(source: string, destination: Uint8Array): { read: number; written: number } {
    if (!(destination instanceof Uint8Array)) throw new TypeError("encodeInto: the destination is not a Uint8Array");
    const text = `${source}`;
    const room = destination.length;
    let bytes = encode(text.length > room ? text.slice(0, room) : text);
    if (bytes.length <= room && text.length <= room) {
      destination.set(bytes);
      return { read: text.length, written: bytes.length };
    }
    // A character whose bytes do not all fit is not written.
    let written = Math.min(room, bytes.length);
    while (written < bytes.length && written > 0 && (bytes[written]! & 0xc0) === 0x80) written -= 1;
    bytes = bytes.subarray(0, written);
    destination.set(bytes);
    return { read: Math.min(decode(bytes, false, true).length, text.length), written };
  }
}

const EMPTY = new Uint8Array(0);

export class TextDecoder {
  readonly #encoding: string;
  readonly #fatal: boolean;
  readonly #ignoreBOM: boolean;
  /**
   * State between chunks of a stream. For a whole UTF-8 text none is needed; other encodings always use one.
   */
  #step: ((bytes: Uint8Array, last: boolean) => string | undefined) | undefined;

  constructor(label: string = "utf-8", options?: TextDecoderOptions) {
    const encoding = label === "utf-8" ? label : encodingName(`${label}`);
    if (encoding === undefined) throw new RangeError(`TextDecoder: ${JSON.stringify(`${label}`)} is not a known encoding`);
    this.#encoding = encoding;
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBOM = Boolean(options?.ignoreBOM);
  }

  get encoding(): string {
    return this.#encoding;
  }

  get fatal(): boolean {
    return this.#fatal;
  }

  get ignoreBOM(): boolean {
    return this.#ignoreBOM;
  }

  decode(input?: BufferSource, options?: TextDecodeOptions): string {
    const bytes = input === undefined ? EMPTY : bytesOf(input);
    const last = !options?.stream;
    let text: string | undefined;
    if (last && this.#step === undefined && this.#encoding === "utf-8") {
      text = decode(bytes, this.#fatal, this.#ignoreBOM);
    } else {
      this.#step ??= createDecoder(this.#encoding, this.#fatal, this.#ignoreBOM);
      text = this.#step(bytes, last);
    }
    if (last || text === undefined) this.#step = undefined;
    if (text !== undefined) return text;
    const error = new TypeError(`The encoded data was not valid for encoding ${this.#encoding}`) as TypeError & { code: string };
    error.code = "ERR_ENCODING_INVALID_ENCODED_DATA";
    throw error;
  }
}

/** Returns the bytes of a buffer or view without copying. */
export function bytesOf(source: BufferSource): Uint8Array<ArrayBuffer> {
  if (source instanceof Uint8Array) return source as Uint8Array<ArrayBuffer>;
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength);
  if (source instanceof ArrayBuffer || isShared(source)) return new Uint8Array(source as ArrayBuffer);
  throw new TypeError("this is neither an ArrayBuffer nor a view of one");
}

function isShared(source: unknown): boolean {
  return typeof SharedArrayBuffer === "function" && source instanceof SharedArrayBuffer;
}
