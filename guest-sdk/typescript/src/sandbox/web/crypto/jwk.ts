// Import and export of keys as JSON Web Keys (RFC 7517).
import { dataError } from "./algorithm.js";
import type { KeyParts } from "./key.js";

/** The expected members of an imported JSON Web Key. */
interface Expected {
  kty: "oct" | "EC" | "OKP" | "RSA";
  use: "sig" | "enc";
  /** The algorithm's name in JOSE (RFC 7518), if it has one. */
  alg?: string;
  extractable: boolean;
  usages: KeyUsage[];
}

/** Checks the members that all keys have, as required by section 11.3.1 and by each algorithm's import. */
export function checkJwk(jwk: JsonWebKey, { kty, use, alg, extractable, usages }: Expected): void {
  if (jwk.kty !== kty) throw dataError(`the JSON Web Key's "kty" is not "${kty}"`);
  if (usages.length > 0 && jwk.use !== undefined && jwk.use !== use) throw dataError(`the JSON Web Key's "use" is not "${use}"`);
  if (jwk.key_ops !== undefined) {
    const operations: unknown = jwk.key_ops;
    if (!Array.isArray(operations)) throw new TypeError('the JSON Web Key\'s "key_ops" is not a sequence');
    if (new Set(operations).size < operations.length) throw dataError('the JSON Web Key\'s "key_ops" has a value twice');
    if (usages.some((usage) => !operations.includes(usage))) throw dataError('the JSON Web Key\'s "key_ops" does not allow these usages');
  }
  if (jwk.ext === false && extractable) throw dataError("the JSON Web Key is not extractable");
  if (alg !== undefined && jwk.alg !== undefined && jwk.alg !== alg) throw dataError(`the JSON Web Key's "alg" is not "${alg}"`);
}

/** Returns the bytes of a member in base64url. */
export function jwkBytes(jwk: JsonWebKey, member: keyof JsonWebKey): Uint8Array<ArrayBuffer> {
  const text = jwk[member];
  if (typeof text !== "string") throw dataError(`the JSON Web Key has no "${member}"`);
  try {
    return Uint8Array.fromBase64(text, { alphabet: "base64url" });
  } catch {
    throw dataError(`the JSON Web Key's "${member}" is not base64url`);
  }
}

export function base64url(bytes: ArrayBuffer | Uint8Array): string {
  return new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Returns the members that all exported keys have. */
export function exported(key: KeyParts): JsonWebKey {
  return { key_ops: [...key.usages], ext: key.extractable };
}
