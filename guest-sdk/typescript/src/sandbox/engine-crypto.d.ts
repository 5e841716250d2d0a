/**
 * Primitives of the Web Cryptography API. Functions return `undefined` if a key or the data is not valid.
 * Private keys on curves are scalars or seeds, public keys uncompressed points; RSA keys are DER.
 */
declare module "kitbag:crypto" {
  type Bytes = ArrayBuffer | Uint8Array;
  type Hash = "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512";
  type Curve = "P-256" | "Ed25519" | "X25519";

  export function digest(hash: Hash, data: Bytes): ArrayBuffer;
  export function hmac(hash: Hash, key: Bytes, data: Bytes): ArrayBuffer;
  export function hmacVerify(hash: Hash, key: Bytes, signature: Bytes, data: Bytes): boolean;
  /** Derives `length` bytes. */
  export function hkdf(hash: Hash, key: Bytes, salt: Bytes, info: Bytes, length: number): ArrayBuffer | undefined;
  export function pbkdf2(hash: Hash, password: Bytes, salt: Bytes, iterations: number, length: number): ArrayBuffer | undefined;

  /** Encrypts with a nonce of 12 or 16 bytes; `tagBytes` is the length of the tag. */
  export function aesGcmEncrypt(key: Bytes, nonce: Bytes, associated: Bytes, tagBytes: number, data: Bytes): ArrayBuffer | undefined;
  export function aesGcmDecrypt(key: Bytes, nonce: Bytes, associated: Bytes, tagBytes: number, data: Bytes): ArrayBuffer | undefined;
  export function aesCbcEncrypt(key: Bytes, iv: Bytes, data: Bytes): ArrayBuffer | undefined;
  export function aesCbcDecrypt(key: Bytes, iv: Bytes, data: Bytes): ArrayBuffer | undefined;
  export function aesWrap(key: Bytes, data: Bytes): ArrayBuffer | undefined;
  export function aesUnwrap(key: Bytes, data: Bytes): ArrayBuffer | undefined;

  export function curvePublicOf(curve: Curve, privateKey: Bytes): ArrayBuffer | undefined;
  export function curvePublicFromPoint(curve: Curve, point: Bytes): ArrayBuffer | undefined;
  export function curvePrivateFromPkcs8(curve: Curve, der: Bytes): ArrayBuffer | undefined;
  export function curvePrivateToPkcs8(curve: Curve, privateKey: Bytes): ArrayBuffer | undefined;
  export function curvePublicFromSpki(curve: Curve, der: Bytes): ArrayBuffer | undefined;
  export function curvePublicToSpki(curve: Curve, publicKey: Bytes): ArrayBuffer | undefined;
  export function curveSharedSecret(curve: Curve, privateKey: Bytes, publicKey: Bytes): ArrayBuffer | undefined;
  /** Signs with ECDSA or EdDSA; EdDSA ignores `hash`. */
  export function curveSign(curve: Curve, hash: Hash, privateKey: Bytes, data: Bytes): ArrayBuffer | undefined;
  export function curveVerify(curve: Curve, hash: Hash, publicKey: Bytes, signature: Bytes, data: Bytes): boolean;

  export function rsaPrivateFromPkcs8(der: Bytes): ArrayBuffer | undefined;
  export function rsaPublicFromSpki(der: Bytes): ArrayBuffer | undefined;
  export function rsaPrivateFromComponents(n: Bytes, e: Bytes, d: Bytes, p: Bytes, q: Bytes): ArrayBuffer | undefined;
  export function rsaPublicFromComponents(n: Bytes, e: Bytes): ArrayBuffer | undefined;
  /** Returns `n`, `e`, `d`, `p`, `q`, `dp`, `dq`, `qi`. */
  export function rsaPrivateComponents(der: Bytes): ArrayBuffer[] | undefined;
  /** Returns `n`, `e`. */
  export function rsaPublicComponents(der: Bytes): ArrayBuffer[] | undefined;
  /** Signs with RSA-PSS and a `saltLength` in bytes, or with RSASSA-PKCS1-v1_5 if `undefined`. `random` has 32 bytes. */
  export function rsaSign(
    saltLength: number | undefined,
    hash: Hash,
    privateKey: Bytes,
    data: Bytes,
    random: Bytes,
  ): ArrayBuffer | undefined;
  export function rsaVerify(saltLength: number | undefined, hash: Hash, publicKey: Bytes, signature: Bytes, data: Bytes): boolean;
}

interface Uint8ArrayConstructor {
  fromBase64(text: string, options?: { alphabet?: "base64" | "base64url" }): Uint8Array<ArrayBuffer>;
}

interface Uint8Array {
  toBase64(options?: { alphabet?: "base64" | "base64url"; omitPadding?: boolean }): string;
}
