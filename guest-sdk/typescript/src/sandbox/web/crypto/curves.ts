// ECDSA and ECDH (Web Cryptography API, sections 23 and 24), Ed25519 and X25519 ("Secure Curves").
import {
  curvePrivateFromPkcs8, curvePrivateToPkcs8, curvePublicFromPoint, curvePublicFromSpki, curvePublicOf, curvePublicToSpki,
  curveSharedSecret, curveSign, curveVerify,
} from "kitbag:crypto";
import { randomBytes } from "kitbag:host";

import { accessDenied, dataError, operationFailed, readHash, readKey, readText, required, syntaxError, unsupported } from "./algorithm.js";
import type { Algorithm, Parameters } from "./algorithm.js";
import { base64url, checkJwk, exported, jwkBytes } from "./jwk.js";
import { checkUsages, keyParts, newKey, type KeyAttributes, type KeyParts } from "./key.js";

type Curve = "P-256" | "Ed25519" | "X25519";

/** Length in bytes of a private key and of a coordinate, the same for all these curves. */
const FIELD_BYTES = 32;

const CURVE = { namedCurve: required(readText) };
const NO_MEMBERS = {};
const PUBLIC = { public: required(readKey) };
const HASH = { hash: required(readHash) };

export const ECDSA: Algorithm = {
  ...keyOperations("ECDSA", { publicUsages: ["verify"], privateUsages: ["sign"] }, { sign: HASH, verify: HASH }),
  sign: ({ hash }, key, data) => expectResult(curveSign(curveOf(key), hash!, key.bytes, data)),
  verify: ({ hash }, key, signature, data) => curveVerify(curveOf(key), hash!, key.bytes, signature, data),
};

export const ED25519: Algorithm = {
  ...keyOperations("Ed25519", { publicUsages: ["verify"], privateUsages: ["sign"] }, { sign: NO_MEMBERS, verify: NO_MEMBERS }),
  sign: (_parameters, key, data) => expectResult(curveSign("Ed25519", "SHA-512", key.bytes, data)),
  verify: (_parameters, key, signature, data) => curveVerify("Ed25519", "SHA-512", key.bytes, signature, data),
};

export const ECDH = keyAgreement("ECDH");
export const X25519 = keyAgreement("X25519");

function keyAgreement(name: "ECDH" | "X25519"): Algorithm {
  return {
    ...keyOperations(name, { publicUsages: [], privateUsages: ["deriveKey", "deriveBits"] }, { deriveBits: PUBLIC }),

    deriveBits(parameters, key, length) {
      const other = keyParts(parameters.public!);
      if (key.type !== "private") throw accessDenied("bits are derived with a private key");
      if (other.type !== "public") throw accessDenied("the other party's key is not a public one");
      if (other.algorithm.name !== name) throw accessDenied(`the other party's key is not of ${name}`);
      if (curveOf(other) !== curveOf(key)) throw accessDenied("the other party's key is on another curve");
      const secret = curveSharedSecret(curveOf(key), key.bytes, other.bytes);
      if (secret === undefined) throw operationFailed("the keys share no secret");
      return length === null ? secret : firstBits(secret, length);
    },
  };
}

function firstBits(secret: ArrayBuffer, length: number): ArrayBuffer {
  if (length > secret.byteLength * 8) throw operationFailed(`the shared secret has ${secret.byteLength * 8} bits and not ${length}`);
  const bits = secret.slice(0, Math.ceil(length / 8));
  if (length % 8 !== 0) {
    const bytes = new Uint8Array(bits);
    bytes[bytes.length - 1]! &= 0xff << (8 - (length % 8));
  }
  return bits;
}

/** Returns the key operations that all four algorithms share. */
function keyOperations(
  name: string,
  { publicUsages, privateUsages }: { publicUsages: KeyUsage[]; privateUsages: KeyUsage[] },
  members: Algorithm["members"],
): Algorithm {
  const hasCurves = name === "ECDSA" || name === "ECDH";
  const use = privateUsages.includes("sign") ? "sig" : "enc";
  const kty = hasCurves ? "EC" : "OKP";

  const curveIn = ({ namedCurve }: Parameters): Curve => {
    if (!hasCurves) return name as Curve;
    if (namedCurve !== "P-256") throw unsupported(`the curve ${namedCurve}`);
    return namedCurve;
  };
  const attributes = (curve: Curve): KeyAttributes => (hasCurves ? { name, namedCurve: curve } : { name });
  const publicKey = (curve: Curve, point: ArrayBuffer | undefined, extractable: boolean, usages: KeyUsage[]) => {
    if (point === undefined) throw dataError(`this is not a public key of ${name} on ${curve}`);
    return newKey({ type: "public", extractable, algorithm: attributes(curve), usages, bytes: new Uint8Array(point) });
  };
  const privateKey = (curve: Curve, scalar: ArrayBuffer | undefined, extractable: boolean, usages: KeyUsage[]) => {
    if (scalar === undefined) throw dataError(`this is not a private key of ${name} on ${curve}`);
    if (usages.length === 0) throw syntaxError("a private key without usages is of no use");
    return newKey({ type: "private", extractable, algorithm: attributes(curve), usages, bytes: new Uint8Array(scalar) });
  };

  const importJwk = (jwk: JsonWebKey, curve: Curve, extractable: boolean, usages: KeyUsage[]) => {
    checkUsages(name, usages, jwk.d === undefined ? publicUsages : privateUsages);
    checkJwk(jwk, { kty, use, extractable, usages });
    if (jwk.crv !== curve) throw dataError(`the JSON Web Key's "crv" is not "${curve}"`);
    if (name === "ECDSA") checkJwk(jwk, { kty, use, alg: "ES256", extractable, usages });
    if (name === "Ed25519" && jwk.alg !== undefined && jwk.alg !== "EdDSA" && jwk.alg !== "Ed25519") {
      throw dataError('the JSON Web Key\'s "alg" is not "Ed25519"');
    }
    const point = hasCurves ? jwkPoint(jwk) : jwkBytes(jwk, "x").buffer;
    const known = curvePublicFromPoint(curve, point);
    if (jwk.d === undefined) return publicKey(curve, known, extractable, usages);
    const scalar = jwkBytes(jwk, "d");
    const computed = scalar.length === FIELD_BYTES ? curvePublicOf(curve, scalar) : undefined;
    if (known === undefined || computed === undefined || !areEqual(known, computed)) {
      throw dataError(`this is not a private key of ${name} on ${curve}`);
    }
    return privateKey(curve, scalar.buffer, extractable, usages);
  };

  return {
    name,
    members: { ...members, generateKey: hasCurves ? CURVE : NO_MEMBERS, importKey: hasCurves ? CURVE : NO_MEMBERS, exportKey: {} },

    generateKey(parameters, extractable, usages) {
      const curve = curveIn(parameters);
      checkUsages(name, usages, [...publicUsages, ...privateUsages]);
      const ofPrivate = usages.filter((usage) => privateUsages.includes(usage));
      if (ofPrivate.length === 0) throw syntaxError("a private key without usages is of no use");
      for (;;) {
        const scalar = randomBytes(FIELD_BYTES);
        // Undefined if the number is not below the curve's order: one in 2^32 on P-256, never on the other
        // curves.
        const point = curvePublicOf(curve, scalar);
        if (point === undefined) continue;
        const ofPublic = usages.filter((usage) => publicUsages.includes(usage));
        return { publicKey: publicKey(curve, point, true, ofPublic), privateKey: privateKey(curve, scalar, extractable, ofPrivate) };
      }
    },

    importKey(format, data, parameters, extractable, usages) {
      const curve = curveIn(parameters);
      if (format === "jwk") return importJwk(data as JsonWebKey, curve, extractable, usages);
      checkUsages(name, usages, format === "pkcs8" ? privateUsages : publicUsages);
      const bytes = data as Uint8Array;
      if (format === "pkcs8") return privateKey(curve, curvePrivateFromPkcs8(curve, bytes), extractable, usages);
      if (format === "spki") return publicKey(curve, curvePublicFromSpki(curve, bytes), extractable, usages);
      return publicKey(curve, curvePublicFromPoint(curve, bytes), extractable, usages);
    },

    exportKey(format, key) {
      const curve = curveOf(key);
      if (format === "jwk") return { ...exportedJwk(key, curve, kty), ...(name === "Ed25519" && { alg: name }), ...exported(key) };
      if (format === "pkcs8" ? key.type !== "private" : key.type !== "public") throw accessDenied(`a ${key.type} key is not exported as ${format}`);
      if (format === "raw") return key.bytes.slice().buffer;
      return expectResult((format === "pkcs8" ? curvePrivateToPkcs8 : curvePublicToSpki)(curve, key.bytes));
    },
  };
}

/** Returns the uncompressed point of the coordinates in a JSON Web Key. */
function jwkPoint(jwk: JsonWebKey): Uint8Array {
  const [x, y] = [jwkBytes(jwk, "x"), jwkBytes(jwk, "y")];
  if (x.length !== FIELD_BYTES || y.length !== FIELD_BYTES) throw dataError(`a coordinate on P-256 has ${FIELD_BYTES} bytes`);
  const point = new Uint8Array(1 + 2 * FIELD_BYTES);
  point[0] = 4;
  point.set(x, 1);
  point.set(y, 1 + FIELD_BYTES);
  return point;
}

function exportedJwk(key: KeyParts, curve: Curve, kty: "EC" | "OKP"): JsonWebKey {
  const point = key.type === "private" ? new Uint8Array(expectResult(curvePublicOf(curve, key.bytes))) : key.bytes;
  const secret = key.type === "private" ? { d: base64url(key.bytes) } : {};
  if (kty === "OKP") return { kty, crv: curve, x: base64url(point), ...secret };
  const [x, y] = [point.subarray(1, 1 + FIELD_BYTES), point.subarray(1 + FIELD_BYTES)];
  return { kty, crv: curve, x: base64url(x), y: base64url(y), ...secret };
}

function curveOf({ algorithm }: KeyParts): Curve {
  return (algorithm.namedCurve ?? algorithm.name) as Curve;
}

/** Throws an OperationError if the native function rejected its input. */
function expectResult(result: ArrayBuffer | undefined): ArrayBuffer {
  if (result === undefined) throw operationFailed("the key does not allow this");
  return result;
}

/** Compares public keys, so it need not take constant time. */
function areEqual(a: ArrayBuffer, b: ArrayBuffer): boolean {
  const others = new Uint8Array(b);
  return a.byteLength === b.byteLength && new Uint8Array(a).every((byte, index) => byte === others[index]);
}
