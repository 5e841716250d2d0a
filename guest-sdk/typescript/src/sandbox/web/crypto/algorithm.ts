// The interface of algorithms, and the members of their parameters (Web Cryptography API, section 18).
import { isCryptoKey, type CryptoKey, type Hash, type KeyParts } from "./key.js";

export type Operation =
  | "digest" | "sign" | "verify" | "encrypt" | "decrypt" | "generateKey" | "importKey" | "exportKey"
  | "deriveBits" | "wrapKey" | "unwrapKey" | "getKeyLength";

/** Normalized parameters. Only those in the algorithm's `members` are present. */
export interface Parameters {
  name: string;
  hash?: Hash;
  /** Length of a key, in bits. */
  length?: number;
  namedCurve?: string;
  iv?: Uint8Array;
  additionalData?: Uint8Array;
  /** Length of an authentication tag, in bits. */
  tagLength?: number;
  salt?: Uint8Array;
  info?: Uint8Array;
  iterations?: number;
  /** Length of a PSS salt, in bytes. */
  saltLength?: number;
  public?: CryptoKey;
}

/**
 * An algorithm. `SubtleCrypto` checks a key's algorithm and usages before each operation; the rest is checked
 * here.
 */
export interface Algorithm {
  readonly name: string;
  /** The parameter members of each operation. An operation without an entry is not supported. */
  readonly members: { readonly [operation in Operation]?: Members };
  digest?(data: Uint8Array): ArrayBuffer;
  sign?(parameters: Parameters, key: KeyParts, data: Uint8Array): ArrayBuffer;
  verify?(parameters: Parameters, key: KeyParts, signature: Uint8Array, data: Uint8Array): boolean;
  encrypt?(parameters: Parameters, key: KeyParts, data: Uint8Array): ArrayBuffer;
  decrypt?(parameters: Parameters, key: KeyParts, data: Uint8Array): ArrayBuffer;
  wrapKey?(parameters: Parameters, key: KeyParts, data: Uint8Array): ArrayBuffer;
  unwrapKey?(parameters: Parameters, key: KeyParts, data: Uint8Array): ArrayBuffer;
  generateKey?(parameters: Parameters, extractable: boolean, usages: KeyUsage[]): CryptoKey | { publicKey: CryptoKey; privateKey: CryptoKey };
  importKey?(format: KeyFormat, data: Uint8Array | JsonWebKey, parameters: Parameters, extractable: boolean, usages: KeyUsage[]): CryptoKey;
  exportKey?(format: KeyFormat, key: KeyParts): ArrayBuffer | JsonWebKey;
  /** Derives `length` bits; `null` if the caller gave no length. */
  deriveBits?(parameters: Parameters, key: KeyParts, length: number | null): ArrayBuffer;
  /** Returns the length in bits of a key derived with these parameters; `null` for any length. */
  keyLength?(parameters: Parameters): number | null;
}

export interface Members {
  readonly [member: string]: Member;
}

export interface Member {
  readonly read: (value: unknown, name: string) => unknown;
  readonly required: boolean;
}

export const required = (read: Member["read"]): Member => ({ read, required: true });
export const optional = (read: Member["read"]): Member => ({ read, required: false });

const HASHES = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"] as const;

/** Reads a `HashAlgorithmIdentifier`. */
export function readHash(value: unknown): Hash {
  const name = readName(value).toUpperCase();
  const hash = HASHES.find((hash) => hash === name);
  if (hash === undefined) throw unsupported(`the hash function ${name}`);
  return hash;
}

/** Reads the name in an `AlgorithmIdentifier`. */
export function readName(value: unknown): string {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return `${value}`;
  const { name } = value as { name?: unknown };
  if (name === undefined) throw new TypeError("the algorithm has no name");
  return `${name}`;
}

/** Reads a `BufferSource` as a view of the caller's bytes, which must be used at once or copied. */
export function readBytes(value: unknown, name: string): Uint8Array {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError(`${name} is not an ArrayBuffer, a typed array or a DataView`);
}

export const readText = (value: unknown): string => `${value}`;

export function readKey(value: unknown, name: string): CryptoKey {
  if (!isCryptoKey(value)) throw new TypeError(`${name} is not a CryptoKey`);
  return value;
}

/** Reads an unsigned integer of `bits` bits, with `[EnforceRange]`. */
export const readUnsigned =
  (bits: 8 | 16 | 32) =>
  (value: unknown, name: string): number => {
    const number = Math.trunc(Number(value));
    if (!(number >= 0 && number < 2 ** bits)) throw new TypeError(`${name} is not an integer from 0 to ${2 ** bits - 1}`);
    return number + 0;
  };

export const unsupported = (what: string): DOMException => new DOMException(`${what} is not supported`, "NotSupportedError");
export const operationFailed = (why: string): DOMException => new DOMException(why, "OperationError");
export const dataError = (why: string): DOMException => new DOMException(why, "DataError");
export const accessDenied = (why: string): DOMException => new DOMException(why, "InvalidAccessError");
export const syntaxError = (why: string): DOMException => new DOMException(why, "SyntaxError");
