// RSASSA-PKCS1-v1_5 and RSA-PSS (Web Cryptography API, sections 20 and 21).
import {
  rsaPrivateComponents, rsaPrivateFromComponents, rsaPrivateFromPkcs8, rsaPublicComponents, rsaPublicFromComponents, rsaPublicFromSpki,
  rsaSign, rsaVerify,
} from "kitbag:crypto";
import { randomBytes } from "kitbag:host";

import { accessDenied, dataError, operationFailed, readBytes, readHash, readUnsigned, required, syntaxError, unsupported } from "./algorithm.js";
import type { Algorithm, Members, Parameters } from "./algorithm.js";
import { base64url, checkJwk, exported, jwkBytes } from "./jwk.js";
import { checkUsages, newKey, type Hash } from "./key.js";

const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi"] as const;

export const RSASSA_PKCS1 = signatures("RSASSA-PKCS1-v1_5", "RS", {});
export const RSA_PSS = signatures("RSA-PSS", "PS", { saltLength: required(readUnsigned(32)) });

/** Returns a signature algorithm. `prefix` is the start of its JOSE names. */
function signatures(name: string, prefix: string, members: Members): Algorithm {
  const joseName = (hash: Hash) => `${prefix}${hash.slice("SHA-".length)}`;

  const key = (type: "private" | "public", der: ArrayBuffer | undefined, { hash }: Parameters, extractable: boolean, usages: KeyUsage[]) => {
    if (der === undefined) throw dataError(`this is not a ${type} RSA key of 1,024 to 8,192 bits`);
    if (type === "private" && usages.length === 0) throw syntaxError("a private key without usages is of no use");
    const [n, e] = (type === "private" ? rsaPrivateComponents : rsaPublicComponents)(der)!;
    const modulusLength = n!.byteLength * 8 - (Math.clz32(new Uint8Array(n!)[0]!) - 24);
    const algorithm = { name, modulusLength, publicExponent: new Uint8Array(e!), hash: { name: hash! } };
    return newKey({ type, extractable, algorithm, usages, bytes: new Uint8Array(der) });
  };

  const importJwk = (jwk: JsonWebKey, parameters: Parameters, extractable: boolean, usages: KeyUsage[]) => {
    checkUsages(name, usages, jwk.d === undefined ? ["verify"] : ["sign"]);
    checkJwk(jwk, { kty: "RSA", use: "sig", alg: joseName(parameters.hash!), extractable, usages });
    const [n, e] = [jwkBytes(jwk, "n"), jwkBytes(jwk, "e")];
    if (jwk.d === undefined) return key("public", rsaPublicFromComponents(n, e), parameters, extractable, usages);
    if (jwk.oth !== undefined) throw unsupported("an RSA key of more than two primes");
    const [d, p, q] = PRIVATE_MEMBERS.map((member) => jwkBytes(jwk, member));
    return key("private", rsaPrivateFromComponents(n, e, d!, p!, q!), parameters, extractable, usages);
  };

  return {
    name,
    members: {
      sign: members,
      verify: members,
      generateKey: { modulusLength: required(readUnsigned(32)), publicExponent: required(readBytes), hash: required(readHash) },
      importKey: { hash: required(readHash) },
      exportKey: {},
    },

    sign({ saltLength }, { algorithm, bytes }, data) {
      const signature = rsaSign(saltLength, algorithm.hash!.name, bytes, data, randomBytes(32));
      if (signature === undefined) throw operationFailed("the key cannot make this signature: it is too short, or not a sound one");
      return signature;
    },

    verify: ({ saltLength }, { algorithm, bytes }, signature, data) => rsaVerify(saltLength, algorithm.hash!.name, bytes, signature, data),

    generateKey() {
      const why = "RSA keys are not generated here, which would take longer than a call may: import one, or use ECDSA or Ed25519";
      throw new DOMException(why, "NotSupportedError");
    },

    importKey(format, data, parameters, extractable, usages) {
      if (format === "jwk") return importJwk(data as JsonWebKey, parameters, extractable, usages);
      if (format === "raw") throw unsupported("import of an RSA key as raw");
      checkUsages(name, usages, format === "pkcs8" ? ["sign"] : ["verify"]);
      const bytes = data as Uint8Array;
      if (format === "pkcs8") return key("private", rsaPrivateFromPkcs8(bytes), parameters, extractable, usages);
      return key("public", rsaPublicFromSpki(bytes), parameters, extractable, usages);
    },

    exportKey(format, parts) {
      const { type, bytes, algorithm } = parts;
      if (format === "raw") throw unsupported("export of an RSA key as raw");
      if (format !== "jwk") {
        if (format === "pkcs8" ? type !== "private" : type !== "public") throw accessDenied(`a ${type} key is not exported as ${format}`);
        return bytes.slice().buffer;
      }
      const [n, e, ...secrets] = (type === "private" ? rsaPrivateComponents : rsaPublicComponents)(bytes)!;
      const jwk: JsonWebKey = { kty: "RSA", n: base64url(n!), e: base64url(e!) };
      secrets.forEach((secret, index) => (jwk[PRIVATE_MEMBERS[index]!] = base64url(secret)));
      return { ...jwk, alg: joseName(algorithm.hash!.name), ...exported(parts) };
    },
  };
}
