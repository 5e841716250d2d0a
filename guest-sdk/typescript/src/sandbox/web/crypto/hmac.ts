// HMAC (Web Cryptography API, section 29).
import { hmac, hmacVerify } from "kitbag:crypto";
import { randomBytes } from "kitbag:host";

import { dataError, operationFailed, optional, readHash, readUnsigned, required, syntaxError, unsupported } from "./algorithm.js";
import type { Algorithm, Parameters } from "./algorithm.js";
import { base64url, checkJwk, exported, jwkBytes } from "./jwk.js";
import { checkUsages, newKey, type Hash } from "./key.js";

/**
 * Maximum length of a generated key. HMAC hashes keys longer than a block, so longer keys have no benefit.
 */
const MAX_GENERATED_BITS = 65_536;

const BLOCK_BITS: Record<Hash, number> = { "SHA-1": 512, "SHA-256": 512, "SHA-384": 1024, "SHA-512": 1024 };
const JOSE_NAMES: Record<Hash, string> = { "SHA-1": "HS1", "SHA-256": "HS256", "SHA-384": "HS384", "SHA-512": "HS512" };

const KEY_MEMBERS = { hash: required(readHash), length: optional(readUnsigned(32)) };

export const HMAC: Algorithm = {
  name: "HMAC",
  members: { sign: {}, verify: {}, generateKey: KEY_MEMBERS, importKey: KEY_MEMBERS, exportKey: {}, getKeyLength: KEY_MEMBERS },

  sign: (_parameters, { algorithm, bytes }, data) => hmac(algorithm.hash!.name, bytes, data),

  verify: (_parameters, { algorithm, bytes }, signature, data) => hmacVerify(algorithm.hash!.name, bytes, signature, data),

  generateKey(parameters, extractable, usages) {
    checkUsages("HMAC", usages, ["sign", "verify"]);
    if (usages.length === 0) throw syntaxError("a key without usages is of no use");
    const length = keyLength(parameters);
    if (length > MAX_GENERATED_BITS) throw operationFailed(`an HMAC key of more than ${MAX_GENERATED_BITS} bits is not generated`);
    return secretKey(parameters.hash!, new Uint8Array(randomBytes(length / 8)), extractable, usages);
  },

  importKey(format, data, parameters, extractable, usages) {
    checkUsages("HMAC", usages, ["sign", "verify"]);
    if (usages.length === 0) throw syntaxError("a secret key without usages is of no use");
    let bytes: Uint8Array<ArrayBuffer>;
    if (format === "raw") {
      bytes = new Uint8Array(data as Uint8Array);
    } else if (format === "jwk") {
      const jwk = data as JsonWebKey;
      checkJwk(jwk, { kty: "oct", use: "sig", alg: JOSE_NAMES[parameters.hash!], extractable, usages });
      bytes = jwkBytes(jwk, "k");
    } else {
      throw unsupported(`import of an HMAC key as ${format}`);
    }
    if (bytes.length === 0) throw dataError("an HMAC key of no bytes");
    if (parameters.length !== undefined && parameters.length !== bytes.length * 8) {
      throw dataError(`the HMAC key has ${bytes.length * 8} bits and not ${parameters.length}`);
    }
    return secretKey(parameters.hash!, bytes, extractable, usages);
  },

  exportKey(format, key) {
    if (format === "raw") return key.bytes.slice().buffer;
    if (format !== "jwk") throw unsupported(`export of an HMAC key as ${format}`);
    return { kty: "oct", k: base64url(key.bytes), alg: JOSE_NAMES[key.algorithm.hash!.name], ...exported(key) };
  },

  keyLength,
};

function keyLength({ hash, length = BLOCK_BITS[hash!] }: Parameters): number {
  if (length === 0) throw operationFailed("an HMAC key of no bits");
  if (length % 8 !== 0) throw unsupported("an HMAC key with a part of a byte");
  return length;
}

function secretKey(hash: Hash, bytes: Uint8Array<ArrayBuffer>, extractable: boolean, usages: KeyUsage[]) {
  return newKey({ type: "secret", extractable, algorithm: { name: "HMAC", length: bytes.length * 8, hash: { name: hash } }, usages, bytes });
}
