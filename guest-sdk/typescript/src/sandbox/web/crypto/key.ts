// The interface CryptoKey (Web Cryptography API, section 13).

/** The content of a key. */
export interface KeyParts {
  type: KeyType;
  extractable: boolean;
  algorithm: KeyAttributes;
  usages: KeyUsage[];
  /** Octets of a secret key, a scalar or seed, a point, or DER, depending on the algorithm. */
  bytes: Uint8Array<ArrayBuffer>;
}

export type Hash = "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512";

/** `KeyAlgorithm` and the dictionaries that extend it. */
export interface KeyAttributes {
  name: string;
  hash?: { name: Hash };
  /** Length of a secret key, in bits. */
  length?: number;
  namedCurve?: string;
  /** Length of an RSA modulus, in bits. */
  modulusLength?: number;
  publicExponent?: Uint8Array<ArrayBuffer>;
}

let make: (parts: KeyParts) => CryptoKey;
let take: (key: CryptoKey) => KeyParts;
let isKey: (value: unknown) => value is CryptoKey;

export class CryptoKey {
  readonly #parts: KeyParts;
  #algorithm: KeyAttributes | undefined;
  #usages: KeyUsage[] | undefined;

  static {
    make = (parts) => new CryptoKey(parts, NO_CONSTRUCTOR);
    take = (key) => key.#parts;
    isKey = (value): value is CryptoKey => typeof value === "object" && value !== null && #parts in value;
  }

  constructor(parts?: KeyParts, permission?: unknown) {
    if (permission !== NO_CONSTRUCTOR) throw new TypeError("Illegal constructor");
    this.#parts = parts!;
  }

  get type(): KeyType {
    return this.#parts.type;
  }

  get extractable(): boolean {
    return this.#parts.extractable;
  }

  /** Returns a copy of the attributes, the same each time. Changes to it do not affect the key. */
  get algorithm(): KeyAttributes {
    if (this.#algorithm === undefined) {
      const { hash, publicExponent } = this.#parts.algorithm;
      this.#algorithm = { ...this.#parts.algorithm };
      if (hash !== undefined) this.#algorithm.hash = { ...hash };
      if (publicExponent !== undefined) this.#algorithm.publicExponent = publicExponent.slice();
    }
    return this.#algorithm;
  }

  get usages(): KeyUsage[] {
    return (this.#usages ??= [...this.#parts.usages]);
  }
}

const NO_CONSTRUCTOR = Symbol("no constructor");

export const newKey = (parts: KeyParts): CryptoKey => make(parts);
export const keyParts = (key: CryptoKey): KeyParts => take(key);
export const isCryptoKey = (value: unknown): value is CryptoKey => isKey(value);

const USAGES: KeyUsage[] = ["encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey"];

/** Reads usages as Web IDL does: without duplicates, in the order of the standard. */
export function readUsages(value: unknown): KeyUsage[] {
  if (typeof value !== "object" || value === null || !(Symbol.iterator in value)) throw new TypeError("the key usages are not a sequence");
  const given = new Set<KeyUsage>();
  for (const item of value as Iterable<unknown>) {
    const usage = `${item}` as KeyUsage;
    if (!USAGES.includes(usage)) throw new TypeError(`"${usage}" is not a key usage`);
    given.add(usage);
  }
  return USAGES.filter((usage) => given.has(usage));
}

/** Throws a SyntaxError for a usage that is not allowed for this kind of key. */
export function checkUsages(algorithm: string, usages: KeyUsage[], allowed: readonly KeyUsage[]): void {
  const wrong = usages.find((usage) => !allowed.includes(usage));
  if (wrong !== undefined) throw new DOMException(`${wrong} is not a usage of this kind of ${algorithm} key`, "SyntaxError");
}
