// AES-GCM, AES-CBC and AES-KW (Web Cryptography API, sections 26 to 28) with keys of 128 and 256 bits. Keys
// of 192 bits are not supported, as in Chrome: they would make the engine larger.
import { aesCbcDecrypt, aesCbcEncrypt, aesGcmDecrypt, aesGcmEncrypt, aesUnwrap, aesWrap } from "kitbag:crypto";
import { randomBytes } from "kitbag:host";

import { dataError, operationFailed, optional, readBytes, readUnsigned, required, syntaxError, unsupported } from "./algorithm.js";
import type { Algorithm, Members, Parameters } from "./algorithm.js";
import { base64url, checkJwk, exported, jwkBytes } from "./jwk.js";
import { checkUsages, newKey } from "./key.js";

const EMPTY = new Uint8Array(0);
const ALL_USAGES: KeyUsage[] = ["encrypt", "decrypt", "wrapKey", "unwrapKey"];
const TAG_BITS = [32, 64, 96, 104, 112, 120, 128];

const GCM_MEMBERS: Members = {
  iv: required(readBytes),
  additionalData: optional(readBytes),
  tagLength: optional(readUnsigned(8)),
};
const CBC_MEMBERS: Members = { iv: required(readBytes) };

export const AES_GCM: Algorithm = {
  ...keyOperations("AES-GCM", "GCM", ALL_USAGES, { encrypt: GCM_MEMBERS, decrypt: GCM_MEMBERS }),

  encrypt(parameters, { bytes }, data) {
    const { iv, additionalData = EMPTY, tagBytes } = gcmParameters(parameters);
    const encrypted = aesGcmEncrypt(bytes, iv, additionalData, tagBytes, data);
    if (encrypted === undefined) throw operationFailed("the data cannot be encrypted");
    return encrypted;
  },

  decrypt(parameters, { bytes }, data) {
    const { iv, additionalData = EMPTY, tagBytes } = gcmParameters(parameters);
    const decrypted = aesGcmDecrypt(bytes, iv, additionalData, tagBytes, data);
    if (decrypted === undefined) throw operationFailed("the data is not what was encrypted with this key, iv and additional data");
    return decrypted;
  },
};

export const AES_CBC: Algorithm = {
  ...keyOperations("AES-CBC", "CBC", ALL_USAGES, { encrypt: CBC_MEMBERS, decrypt: CBC_MEMBERS }),

  encrypt(parameters, { bytes }, data) {
    const encrypted = aesCbcEncrypt(bytes, cbcVector(parameters), data);
    if (encrypted === undefined) throw operationFailed("the data cannot be encrypted");
    return encrypted;
  },

  decrypt(parameters, { bytes }, data) {
    const decrypted = aesCbcDecrypt(bytes, cbcVector(parameters), data);
    if (decrypted === undefined) throw operationFailed("the data was not encrypted with this key");
    return decrypted;
  },
};

export const AES_KW: Algorithm = {
  ...keyOperations("AES-KW", "KW", ["wrapKey", "unwrapKey"], { wrapKey: {}, unwrapKey: {} }),

  wrapKey(_parameters, { bytes }, data) {
    const wrapped = aesWrap(bytes, data);
    if (wrapped === undefined) throw operationFailed("AES-KW wraps keys of a multiple of 8 bytes, at least 16");
    return wrapped;
  },

  unwrapKey(_parameters, { bytes }, data) {
    const unwrapped = aesUnwrap(bytes, data);
    if (unwrapped === undefined) throw operationFailed("the key was not wrapped with this one");
    return unwrapped;
  },
};

/**
 * Checks the parameters of AES-GCM. The engine supports nonces of 12 bytes, which the standard recommends,
 * and of 16 bytes, which are in use.
 */
function gcmParameters({ iv, additionalData, tagLength = 128 }: Parameters) {
  if (!TAG_BITS.includes(tagLength)) throw operationFailed(`a tag of ${tagLength} bits is not one of ${TAG_BITS.join(", ")}`);
  if (iv!.length !== 12 && iv!.length !== 16) throw operationFailed(`an iv of ${iv!.length} bytes is not supported: 12 and 16 are`);
  return { iv: iv!, additionalData, tagBytes: tagLength / 8 };
}

function cbcVector({ iv }: Parameters): Uint8Array {
  if (iv!.length !== 16) throw operationFailed(`the iv has ${iv!.length} bytes and not 16`);
  return iv!;
}

/**
 * Returns the key operations that all three algorithms share. `mode` is the suffix of the algorithm's JOSE
 * name.
 */
function keyOperations(name: string, mode: string, allowed: KeyUsage[], members: Algorithm["members"]): Algorithm {
  const secretKey = (bytes: Uint8Array<ArrayBuffer>, extractable: boolean, usages: KeyUsage[]) =>
    newKey({ type: "secret", extractable, algorithm: { name, length: bytes.length * 8 }, usages, bytes });
  const length = { length: required(readUnsigned(16)) };

  return {
    name,
    members: { ...members, generateKey: length, importKey: {}, exportKey: {}, getKeyLength: length },

    generateKey(parameters, extractable, usages) {
      checkUsages(name, usages, allowed);
      if (usages.length === 0) throw syntaxError("a key without usages is of no use");
      return secretKey(new Uint8Array(randomBytes(keyLength(parameters) / 8)), extractable, usages);
    },

    importKey(format, data, _parameters, extractable, usages) {
      checkUsages(name, usages, allowed);
      if (usages.length === 0) throw syntaxError("a secret key without usages is of no use");
      if (format !== "raw" && format !== "jwk") throw unsupported(`import of an ${name} key as ${format}`);
      const jwk = format === "jwk" ? (data as JsonWebKey) : undefined;
      if (jwk !== undefined) checkJwk(jwk, { kty: "oct", use: "enc", extractable, usages });
      const bytes = jwk === undefined ? new Uint8Array(data as Uint8Array) : jwkBytes(jwk, "k");
      if (!isKeyLength(bytes.length * 8)) throw dataError(`an AES key of ${bytes.length * 8} bits is not one of 128 and 256`);
      if (jwk !== undefined) checkJwk(jwk, { kty: "oct", use: "enc", alg: `A${bytes.length * 8}${mode}`, extractable, usages });
      return secretKey(bytes, extractable, usages);
    },

    exportKey(format, key) {
      if (format === "raw") return key.bytes.slice().buffer;
      if (format !== "jwk") throw unsupported(`export of an ${name} key as ${format}`);
      return { kty: "oct", k: base64url(key.bytes), alg: `A${key.bytes.length * 8}${mode}`, ...exported(key) };
    },

    keyLength,
  };
}

function keyLength({ length }: Parameters): number {
  if (!isKeyLength(length!)) throw operationFailed(`an AES key of ${length} bits is not one of 128 and 256`);
  return length!;
}

function isKeyLength(bits: number): boolean {
  return bits === 128 || bits === 256;
}
