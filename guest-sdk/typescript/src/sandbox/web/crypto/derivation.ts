// HKDF and PBKDF2 (Web Cryptography API, sections 31 and 32).
import { hkdf, pbkdf2 } from "kitbag:crypto";

import { operationFailed, readBytes, readHash, readUnsigned, required, syntaxError, unsupported } from "./algorithm.js";
import type { Algorithm, Members, Parameters } from "./algorithm.js";
import { checkUsages, newKey, type KeyParts } from "./key.js";

/** Maximum output of PBKDF2 in bytes. Iterations are limited only by the call's deadline. */
const MAX_DERIVED_BYTES = 1_048_576;

export const HKDF = derivation(
  "HKDF",
  { hash: required(readHash), salt: required(readBytes), info: required(readBytes) },
  ({ hash, salt, info }, { bytes }, length) => {
    const derived = hkdf(hash!, bytes, salt!, info!, length);
    if (derived === undefined) throw operationFailed("HKDF gives at most 255 times what its hash function gives");
    return derived;
  },
);

export const PBKDF2 = derivation(
  "PBKDF2",
  { hash: required(readHash), salt: required(readBytes), iterations: required(readUnsigned(32)) },
  ({ hash, salt, iterations }, { bytes }, length) => {
    if (iterations === 0) throw operationFailed("PBKDF2 needs at least one iteration");
    if (length > MAX_DERIVED_BYTES) throw operationFailed(`more than ${MAX_DERIVED_BYTES} bytes are not derived`);
    const derived = pbkdf2(hash!, bytes, salt!, iterations!, length);
    if (derived === undefined) throw operationFailed("there is not enough memory");
    return derived;
  },
);

function derivation(
  name: string,
  members: Members,
  derive: (parameters: Parameters, key: KeyParts, length: number) => ArrayBuffer,
): Algorithm {
  return {
    name,
    members: { deriveBits: members, importKey: {}, getKeyLength: {} },

    importKey(format, data, _parameters, extractable, usages) {
      if (format !== "raw") throw unsupported(`import of an ${name} key as ${format}`);
      checkUsages(name, usages, ["deriveKey", "deriveBits"]);
      if (extractable) throw syntaxError(`${name} keys are not extractable`);
      if (usages.length === 0) throw syntaxError("a secret key without usages is of no use");
      return newKey({ type: "secret", extractable, algorithm: { name }, usages, bytes: new Uint8Array(data as Uint8Array) });
    },

    deriveBits(parameters, key, length) {
      if (length === null || length % 8 !== 0) throw operationFailed("the length of what is derived is not a multiple of 8 bits");
      return derive(parameters, key, length / 8);
    },

    keyLength: () => null,
  };
}
