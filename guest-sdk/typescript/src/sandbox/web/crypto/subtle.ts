// The interface SubtleCrypto (Web Cryptography API, section 14).
//
// Every method does its work before it returns, so the caller's bytes need not be copied first.
import { accessDenied, dataError, readBytes, readKey, readUnsigned, unsupported } from "./algorithm.js";
import type { Algorithm } from "./algorithm.js";
import { keyParts, readUsages, type CryptoKey, type KeyParts } from "./key.js";
import { algorithmNamed, isSupported, normalize } from "./registry.js";

type Bytes = ArrayBuffer | ArrayBufferView;
type Identifier = string | { name: string };
type KeyPair = { publicKey: CryptoKey; privateKey: CryptoKey };

const FORMATS: KeyFormat[] = ["raw", "spki", "pkcs8", "jwk"];
const NO_CONSTRUCTOR = Symbol("no constructor");

export const newSubtleCrypto = (): SubtleCrypto => new SubtleCrypto(NO_CONSTRUCTOR);

export class SubtleCrypto {
  constructor(permission?: unknown) {
    if (permission !== NO_CONSTRUCTOR) throw new TypeError("Illegal constructor");
  }

  async digest(algorithm: Identifier, data: Bytes): Promise<ArrayBuffer> {
    expectArguments(arguments.length, 2);
    const bytes = readBytes(data, "data");
    return normalize("digest", algorithm).algorithm.digest!(bytes);
  }

  async sign(algorithm: Identifier, key: CryptoKey, data: Bytes): Promise<ArrayBuffer> {
    expectArguments(arguments.length, 3);
    const parts = keyParts(readKey(key, "key"));
    const bytes = readBytes(data, "data");
    const { algorithm: signing, parameters } = normalize("sign", algorithm);
    expectKey(parts, signing, "sign");
    return signing.sign!(parameters, parts, bytes);
  }

  async verify(algorithm: Identifier, key: CryptoKey, signature: Bytes, data: Bytes): Promise<boolean> {
    expectArguments(arguments.length, 4);
    const parts = keyParts(readKey(key, "key"));
    const [signed, bytes] = [readBytes(signature, "signature"), readBytes(data, "data")];
    const { algorithm: signing, parameters } = normalize("verify", algorithm);
    expectKey(parts, signing, "verify");
    return signing.verify!(parameters, parts, signed, bytes);
  }

  async encrypt(algorithm: Identifier, key: CryptoKey, data: Bytes): Promise<ArrayBuffer> {
    expectArguments(arguments.length, 3);
    const parts = keyParts(readKey(key, "key"));
    const bytes = readBytes(data, "data");
    const { algorithm: cipher, parameters } = normalize("encrypt", algorithm);
    expectKey(parts, cipher, "encrypt");
    return cipher.encrypt!(parameters, parts, bytes);
  }

  async decrypt(algorithm: Identifier, key: CryptoKey, data: Bytes): Promise<ArrayBuffer> {
    expectArguments(arguments.length, 3);
    const parts = keyParts(readKey(key, "key"));
    const bytes = readBytes(data, "data");
    const { algorithm: cipher, parameters } = normalize("decrypt", algorithm);
    expectKey(parts, cipher, "decrypt");
    return cipher.decrypt!(parameters, parts, bytes);
  }

  async generateKey(algorithm: Identifier, extractable: boolean, keyUsages: KeyUsage[]): Promise<CryptoKey | KeyPair> {
    expectArguments(arguments.length, 3);
    const usages = readUsages(keyUsages);
    const { algorithm: generating, parameters } = normalize("generateKey", algorithm);
    return generating.generateKey!(parameters, Boolean(extractable), usages);
  }

  async importKey(
    format: KeyFormat, keyData: Bytes | JsonWebKey, algorithm: Identifier, extractable: boolean, keyUsages: KeyUsage[],
  ): Promise<CryptoKey> {
    expectArguments(arguments.length, 5);
    const data = readKeyData(readFormat(format), keyData);
    const usages = readUsages(keyUsages);
    const { algorithm: importing, parameters } = normalize("importKey", algorithm);
    return importing.importKey!(format, data, parameters, Boolean(extractable), usages);
  }

  async exportKey(format: KeyFormat, key: CryptoKey): Promise<ArrayBuffer | JsonWebKey> {
    expectArguments(arguments.length, 2);
    return exportParts(readFormat(format), keyParts(readKey(key, "key")));
  }

  async deriveBits(algorithm: Identifier, baseKey: CryptoKey, length: number | null = null): Promise<ArrayBuffer> {
    expectArguments(arguments.length, 2);
    const parts = keyParts(readKey(baseKey, "baseKey"));
    const bits = length === null ? null : readUnsigned(32)(length, "length");
    const { algorithm: deriving, parameters } = normalize("deriveBits", algorithm);
    expectKey(parts, deriving, "deriveBits");
    return deriving.deriveBits!(parameters, parts, bits);
  }

  async deriveKey(
    algorithm: Identifier, baseKey: CryptoKey, derivedKeyType: Identifier, extractable: boolean, keyUsages: KeyUsage[],
  ): Promise<CryptoKey> {
    expectArguments(arguments.length, 5);
    const parts = keyParts(readKey(baseKey, "baseKey"));
    const usages = readUsages(keyUsages);
    const { algorithm: deriving, parameters } = normalize("deriveBits", algorithm);
    const { algorithm: derived, parameters: derivedParameters } = normalize("importKey", derivedKeyType);
    const { parameters: lengthParameters } = normalize("getKeyLength", derivedKeyType);
    expectKey(parts, deriving, "deriveKey");
    const secret = deriving.deriveBits!(parameters, parts, derived.keyLength!(lengthParameters));
    return derived.importKey!("raw", new Uint8Array(secret), derivedParameters, Boolean(extractable), usages);
  }

  async wrapKey(format: KeyFormat, key: CryptoKey, wrappingKey: CryptoKey, wrapAlgorithm: Identifier): Promise<ArrayBuffer> {
    expectArguments(arguments.length, 4);
    readFormat(format);
    const [parts, wrapping] = [keyParts(readKey(key, "key")), keyParts(readKey(wrappingKey, "wrappingKey"))];
    const operation = isSupported("wrapKey", wrapAlgorithm) ? "wrapKey" : "encrypt";
    const { algorithm: cipher, parameters } = normalize(operation, wrapAlgorithm);
    expectKey(wrapping, cipher, "wrapKey");
    const exported = exportParts(format, parts);
    const bytes = format === "jwk" ? new TextEncoder().encode(JSON.stringify(exported)) : new Uint8Array(exported as ArrayBuffer);
    return cipher[operation]!(parameters, wrapping, bytes);
  }

  async unwrapKey(
    format: KeyFormat, wrappedKey: Bytes, unwrappingKey: CryptoKey, unwrapAlgorithm: Identifier, unwrappedKeyAlgorithm: Identifier,
    extractable: boolean, keyUsages: KeyUsage[],
  ): Promise<CryptoKey> {
    expectArguments(arguments.length, 7);
    readFormat(format);
    const wrapped = readBytes(wrappedKey, "wrappedKey");
    const unwrapping = keyParts(readKey(unwrappingKey, "unwrappingKey"));
    const usages = readUsages(keyUsages);
    const operation = isSupported("unwrapKey", unwrapAlgorithm) ? "unwrapKey" : "decrypt";
    const { algorithm: cipher, parameters } = normalize(operation, unwrapAlgorithm);
    const { algorithm: importing, parameters: importParameters } = normalize("importKey", unwrappedKeyAlgorithm);
    expectKey(unwrapping, cipher, "unwrapKey");
    const bytes = new Uint8Array(cipher[operation]!(parameters, unwrapping, wrapped));
    const data = format === "jwk" ? parseJwk(bytes) : bytes;
    return importing.importKey!(format, data, importParameters, Boolean(extractable), usages);
  }
}

function exportParts(format: KeyFormat, key: KeyParts): ArrayBuffer | JsonWebKey {
  const algorithm = algorithmNamed(key.algorithm.name);
  if (algorithm.exportKey === undefined) throw unsupported(`export of an ${algorithm.name} key`);
  if (!key.extractable) throw accessDenied("the key is not extractable");
  return algorithm.exportKey(format, key);
}

function expectArguments(given: number, needed: number): void {
  if (given < needed) throw new TypeError(`${needed} arguments are needed, ${given} are present`);
}

const TYPE_OF_USAGE: Partial<Record<KeyUsage, KeyType>> = { sign: "private", verify: "public" };

function expectKey(key: KeyParts, algorithm: Algorithm, usage: KeyUsage): void {
  if (key.algorithm.name !== algorithm.name) throw accessDenied(`the key is of ${key.algorithm.name} and not of ${algorithm.name}`);
  const type = TYPE_OF_USAGE[usage];
  if (key.type !== "secret" && type !== undefined && key.type !== type) throw accessDenied(`a ${key.type} key cannot ${usage}`);
  if (!key.usages.includes(usage)) throw accessDenied(`the key's usages are without ${usage}`);
}

function readFormat(value: unknown): KeyFormat {
  const format = FORMATS.find((format) => format === `${value}`);
  if (format === undefined) throw new TypeError(`"${value}" is not a key format`);
  return format;
}

function readKeyData(format: KeyFormat, data: unknown): Uint8Array | JsonWebKey {
  if (format !== "jwk") return readBytes(data, "keyData");
  if (typeof data !== "object" || data === null) throw new TypeError("keyData is not a JSON Web Key");
  return data as JsonWebKey;
}

function parseJwk(bytes: Uint8Array): JsonWebKey {
  try {
    const jwk: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof jwk === "object" && jwk !== null) return jwk as JsonWebKey;
  } catch {
    // Reported below, like any other text that is not a key.
  }
  throw dataError("what was wrapped is not a JSON Web Key");
}
