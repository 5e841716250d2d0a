// The list of algorithms, and the normalization of their parameters (Web Cryptography API, section 18.4).
import { readName, unsupported } from "./algorithm.js";
import type { Algorithm, Operation, Parameters } from "./algorithm.js";
import { AES_CBC, AES_GCM, AES_KW } from "./aes.js";
import { ECDH, ECDSA, ED25519, X25519 } from "./curves.js";
import { HKDF, PBKDF2 } from "./derivation.js";
import { sha } from "./digests.js";
import { HMAC } from "./hmac.js";
import { RSA_PSS, RSASSA_PKCS1 } from "./rsa.js";

const ALGORITHMS = [
  sha("SHA-1"), sha("SHA-256"), sha("SHA-384"), sha("SHA-512"), HMAC, AES_GCM, AES_CBC, AES_KW, ECDSA, ECDH, ED25519, X25519, RSASSA_PKCS1,
  RSA_PSS, HKDF, PBKDF2,
];

const byName = new Map(ALGORITHMS.map((algorithm) => [algorithm.name.toUpperCase(), algorithm]));

/** Returns the algorithm of a key. */
export function algorithmNamed(name: string): Algorithm {
  return byName.get(name.toUpperCase())!;
}

/** Whether the identified algorithm supports an operation. */
export function isSupported(operation: Operation, identifier: unknown): boolean {
  return byName.get(readName(identifier).toUpperCase())?.members[operation] !== undefined;
}

/** Finds the algorithm, whose name is case-insensitive, and reads the operation's parameters. */
export function normalize(operation: Operation, identifier: unknown): { algorithm: Algorithm; parameters: Parameters } {
  const name = readName(identifier);
  const algorithm = byName.get(name.toUpperCase());
  const members = algorithm?.members[operation];
  if (algorithm === undefined || members === undefined) throw unsupported(`${operation} with the algorithm ${name}`);
  const parameters: Record<string, unknown> = { name: algorithm.name };
  for (const member in members) {
    const { read, required } = members[member]!;
    const value = typeof identifier === "string" ? undefined : (identifier as Record<string, unknown>)[member];
    if (value !== undefined) parameters[member] = read(value, `${algorithm.name}: ${member}`);
    else if (required) throw new TypeError(`${algorithm.name}: ${member} is missing`);
  }
  return { algorithm, parameters: parameters as unknown as Parameters };
}
