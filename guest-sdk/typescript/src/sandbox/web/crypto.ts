// The interface Crypto (Web Cryptography API, section 10). Its member `subtle` is added by subtle.ts.
import { randomBytes } from "kitbag:host";

const MAX_RANDOM_BYTES = 65_536;
const NO_CONSTRUCTOR = Symbol("no constructor");

export class Crypto {
  constructor(permission?: unknown) {
    if (permission !== NO_CONSTRUCTOR) throw new TypeError("Illegal constructor");
  }

  getRandomValues<T extends ArrayBufferView>(array: T): T {
    if (arguments.length === 0) throw new TypeError("getRandomValues: an array is missing");
    if (!ArrayBuffer.isView(array)) throw new TypeError("getRandomValues: this is not a typed array");
    if (!isIntegerArray(array)) throw new DOMException("getRandomValues: this is not an array of integers", "TypeMismatchError");
    const { buffer, byteOffset, byteLength } = array;
    if (byteLength > MAX_RANDOM_BYTES) {
      throw new DOMException(`getRandomValues: ${byteLength} bytes are more than ${MAX_RANDOM_BYTES}`, "QuotaExceededError");
    }
    if (byteLength > 0) new Uint8Array(buffer, byteOffset, byteLength).set(new Uint8Array(randomBytes(byteLength)));
    return array;
  }

  /** A UUID of version 4 (RFC 9562, section 5.4). */
  randomUUID(): `${string}-${string}-${string}-${string}-${string}` {
    const bytes = new Uint8Array(randomBytes(16));
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    let hex = "";
    for (const byte of bytes) hex += (byte + 0x100).toString(16).slice(1);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
}

/** The global `crypto`. */
export const crypto = new Crypto(NO_CONSTRUCTOR);

function isIntegerArray(view: ArrayBufferView): boolean {
  const kind = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)!.get!.call(view);
  return kind !== undefined && !kind.startsWith("Float");
}
