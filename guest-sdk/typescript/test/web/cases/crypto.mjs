// The Web Cryptography API. Randomized signatures are verified instead of compared.
import { ed25519, p256, p384, rsa, x25519 } from "../crypto-keys.mjs";

const { subtle } = crypto;

const utf8 = (text) => new TextEncoder().encode(text);
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const filled = (length, start = 0) => Uint8Array.from({ length }, (_, index) => (start + index) & 0xff);

/** Returns a key as a plain object that can be compared. */
const shown = ({ type, extractable, algorithm, usages }) => ({
  type,
  extractable,
  usages: [...usages].sort(),
  algorithm: {
    name: algorithm.name,
    hash: algorithm.hash?.name,
    length: algorithm.length,
    namedCurve: algorithm.namedCurve,
    modulusLength: algorithm.modulusLength,
    publicExponent: algorithm.publicExponent && hex(algorithm.publicExponent),
  },
});

/** Returns a JSON Web Key with sorted members. */
const sorted = (jwk) =>
  Object.fromEntries(
    Object.keys(jwk)
      .sort()
      .map((member) => [member, Array.isArray(jwk[member]) ? [...jwk[member]].sort() : jwk[member]]),
  );

const threw = async (attempt) => {
  try {
    await attempt();
  } catch (error) {
    // Node.js 20 uses a different name for keys that are not extractable.
    return [error.name.replace("InvalidAccessException", "InvalidAccessError"), error instanceof DOMException, error instanceof TypeError];
  }
  return "nothing";
};

const secret = (name, usages, bytes, more = {}) => subtle.importKey("raw", bytes, { name, ...more }, true, usages);
const hmacKey = (hash, bytes, usages = ["sign", "verify"]) => secret("HMAC", usages, bytes, { hash });
const aesKey = (name, bits) => secret(name, ["encrypt", "decrypt"], filled(bits / 8, 7));

const EC = { name: "ECDSA", namedCurve: "P-256" };
const RS256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };

const pair = async ({ pkcs8, spki }, algorithm, { ofPrivate = ["sign"], ofPublic = ["verify"] } = {}) => ({
  privateKey: await subtle.importKey("pkcs8", fromBase64(pkcs8), algorithm, true, ofPrivate),
  publicKey: await subtle.importKey("spki", fromBase64(spki), algorithm, true, ofPublic),
});

/** Signs with one key and verifies with the other: the right signature and data, and four wrong variants. */
const signedAndVerified = async ({ privateKey, publicKey }, algorithm) => {
  const data = utf8("header.payload");
  const signature = await subtle.sign(algorithm, privateKey, data);
  const changed = new Uint8Array(signature.slice(0));
  changed[changed.length - 1] ^= 1;
  return {
    bytes: signature.byteLength,
    right: await subtle.verify(algorithm, publicKey, signature, data),
    otherData: await subtle.verify(algorithm, publicKey, signature, utf8("header.payloaD")),
    changed: await subtle.verify(algorithm, publicKey, changed, data),
    shorter: await subtle.verify(algorithm, publicKey, changed.subarray(1), data),
    empty: await subtle.verify(algorithm, publicKey, new Uint8Array(), data),
  };
};

/** Exports a pair of keys in every format, and imports them again. */
const exportedAndImported = async (keys, algorithm, { ofPrivate = ["sign"], ofPublic = ["verify"], raw = true } = {}) => {
  const pkcs8 = await subtle.exportKey("pkcs8", keys.privateKey);
  const spki = await subtle.exportKey("spki", keys.publicKey);
  const privateJwk = await subtle.exportKey("jwk", keys.privateKey);
  const publicJwk = await subtle.exportKey("jwk", keys.publicKey);
  const again = [
    await subtle.importKey("pkcs8", pkcs8, algorithm, true, ofPrivate),
    await subtle.importKey("jwk", privateJwk, algorithm, true, ofPrivate),
    await subtle.importKey("spki", spki, algorithm, false, ofPublic),
    await subtle.importKey("jwk", publicJwk, algorithm, false, ofPublic),
  ];
  return {
    pkcs8: hex(pkcs8),
    spki: hex(spki),
    raw: raw ? hex(await subtle.exportKey("raw", keys.publicKey)) : undefined,
    privateJwk: sorted(privateJwk),
    publicJwk: sorted(publicJwk),
    again: again.map(shown),
  };
};

const HASHES = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];

const digests = {
  "digest of nothing, of text and of a million letters": async () => {
    const digests = {};
    for (const hash of HASHES) {
      digests[hash] = [];
      for (const data of [new Uint8Array(), utf8("abc"), new Uint8Array(1_000_000).fill(0x61)]) {
        digests[hash].push(hex(await subtle.digest(hash, data)));
      }
    }
    return digests;
  },
  "digest takes buffers, views and parts of buffers": async () => {
    const buffer = filled(64).buffer;
    const sources = [
      buffer,
      new Uint8Array(buffer, 8, 16),
      new Uint16Array(buffer, 8, 8),
      new DataView(buffer, 8, 16),
      new Float64Array(buffer, 8, 2),
    ];
    return Promise.all(sources.map(async (source) => hex(await subtle.digest({ name: "sha-256" }, source))));
  },
  "digest gives an ArrayBuffer": async () => (await subtle.digest("SHA-256", utf8("abc"))) instanceof ArrayBuffer,
  "digest errors": async () => [
    await threw(() => subtle.digest("MD5", utf8("abc"))),
    await threw(() => subtle.digest("HMAC", utf8("abc"))),
    await threw(() => subtle.digest("SHA-256", "abc")),
    await threw(() => subtle.digest("SHA-256", [1, 2])),
    await threw(() => subtle.digest("SHA-256")),
    await threw(() => subtle.digest({}, utf8("abc"))),
    await threw(() => subtle.digest(undefined, utf8("abc"))),
  ],
  "errors are rejections and no exceptions": () => {
    const promise = subtle.digest("MD5", utf8("abc"));
    promise.catch(() => {});
    return promise instanceof Promise;
  },
};

const hmac = {
  // RFC 4231, test cases 1, 2 and 6.
  "HMAC of RFC 4231": async () => {
    const vectors = [
      [new Uint8Array(20).fill(0x0b), "Hi There"],
      [utf8("Jefe"), "what do ya want for nothing?"],
      [new Uint8Array(131).fill(0xaa), "Test Using Larger Than Block-Size Key - Hash Key First"],
    ];
    const signatures = [];
    for (const [key, data] of vectors) {
      for (const hash of HASHES) signatures.push(hex(await subtle.sign("HMAC", await hmacKey(hash, key), utf8(data))));
    }
    return signatures;
  },
  "HMAC verifies": async () => {
    const key = await hmacKey("SHA-256", utf8("secret"));
    return signedAndVerified({ privateKey: key, publicKey: key }, "HMAC");
  },
  "HMAC of a webhook": async () => {
    const key = await hmacKey("SHA-256", utf8("It's a Secret to Everybody"), ["sign"]);
    return `sha256=${hex(await subtle.sign("HMAC", key, utf8("Hello, World!")))}`;
  },
  "HMAC keys of RFC 7515, appendix A.1": async () => {
    const k = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    const jwk = { kty: "oct", k, alg: "HS256", use: "sig", key_ops: ["verify", "sign"], ext: true };
    const key = await subtle.importKey("jwk", jwk, { name: "HMAC", hash: "SHA-256" }, true, ["verify", "sign"]);
    const text =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9" +
      ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    return [shown(key), sorted(await subtle.exportKey("jwk", key)), hex(await subtle.sign("HMAC", key, utf8(text)))];
  },
  "HMAC keys are generated": async () => {
    const keys = [];
    for (const hash of HASHES) {
      for (const length of [undefined, 256]) {
        const key = await subtle.generateKey({ name: "hmac", hash: { name: hash }, ...(length && { length }) }, true, ["verify", "sign"]);
        keys.push([shown(key), (await subtle.exportKey("raw", key)).byteLength, Object.keys(await subtle.exportKey("jwk", key)).sort()]);
      }
    }
    return keys;
  },
  "HMAC errors": async () => {
    const HMAC = { name: "HMAC", hash: "SHA-256" };
    const key = await hmacKey("SHA-256", utf8("secret"), ["sign"]);
    const jwk = { kty: "oct", k: "c2VjcmV0" };
    const imported = (jwk, extractable = true, usages = ["sign"]) => threw(() => subtle.importKey("jwk", jwk, HMAC, extractable, usages));
    return [
      await threw(() => subtle.importKey("raw", utf8("secret"), HMAC, true, [])),
      await threw(() => subtle.importKey("raw", utf8("secret"), HMAC, true, ["encrypt"])),
      await threw(() => subtle.importKey("raw", utf8("secret"), HMAC, true, ["write"])),
      await threw(() => subtle.importKey("raw", utf8("secret"), "HMAC", true, ["sign"])),
      await threw(() => subtle.importKey("raw", utf8("secret"), { name: "HMAC", hash: "MD5" }, true, ["sign"])),
      await threw(() => subtle.importKey("raw", "secret", HMAC, true, ["sign"])),
      await threw(() => subtle.importKey("pem", utf8("secret"), HMAC, true, ["sign"])),
      await threw(() => subtle.importKey("raw", utf8("secret"), HMAC, true)),
      await threw(() => subtle.importKey("raw", new Uint8Array(), HMAC, true, ["sign"])),
      await imported({ ...jwk, kty: "RSA" }),
      await imported({ kty: "oct" }),
      await imported({ ...jwk, alg: "HS512" }),
      await imported({ ...jwk, use: "enc" }),
      await imported({ ...jwk, key_ops: ["verify"] }),
      await imported({ ...jwk, key_ops: ["sign", "sign"] }),
      await imported({ ...jwk, ext: false }),
      await imported({ ...jwk, ext: false }, false),
      await threw(() => subtle.generateKey(HMAC, true, [])),
      await threw(() => subtle.generateKey(HMAC, true, ["deriveKey"])),
      await threw(() => subtle.generateKey({ ...HMAC, length: 0 }, true, ["sign"])),
      await threw(() => subtle.verify("HMAC", key, new Uint8Array(32), utf8("data"))),
      await threw(() => subtle.sign("AES-GCM", key, utf8("data"))),
      await threw(() => subtle.sign("RSA-PSS", key, utf8("data"))),
      await threw(() => subtle.sign("HMAC", {}, utf8("data"))),
      await threw(() => subtle.sign("HMAC", key, "data")),
      await threw(() => subtle.sign("HMAC", key)),
    ];
  },
};

// Test cases 3, 4 and 16 of the GCM specification (McGrew and Viega), with nonces of 12 bytes.
const GCM_VECTORS = [
  ["feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888", "", "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"],
  [
    "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
    "cafebabefacedbaddecaf888",
    "feedfacedeadbeeffeedfacedeadbeefabaddad2",
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
  ],
  ["00000000000000000000000000000000", "000000000000000000000000", "", ""],
];

const aes = {
  "AES-GCM of the specification": async () => {
    const sealed = [];
    for (const [key, iv, additionalData, data] of GCM_VECTORS) {
      const imported = await secret("AES-GCM", ["encrypt"], fromHex(key));
      const parameters = { name: "AES-GCM", iv: fromHex(iv), additionalData: fromHex(additionalData) };
      sealed.push(hex(await subtle.encrypt(parameters, imported, fromHex(data))));
    }
    return sealed;
  },
  "AES-GCM of every key, nonce and tag there and back": async () => {
    const sealed = [];
    for (const bits of [128, 256]) {
      const key = await aesKey("AES-GCM", bits);
      for (const nonce of [12, 16]) {
        for (const tagLength of [32, 64, 96, 104, 112, 120, 128, undefined]) {
          const parameters = { name: "AES-GCM", iv: filled(nonce, 99), ...(tagLength && { tagLength }) };
          const encrypted = await subtle.encrypt(parameters, key, filled(70));
          sealed.push(hex(encrypted), hex(await subtle.decrypt(parameters, key, encrypted)));
        }
      }
    }
    return sealed;
  },
  "AES-GCM of a megabyte": async () => {
    const key = await aesKey("AES-GCM", 256);
    const parameters = { name: "AES-GCM", iv: filled(12) };
    const encrypted = await subtle.encrypt(parameters, key, new Uint8Array(1_000_000).fill(5));
    const decrypted = await subtle.decrypt(parameters, key, encrypted);
    return [hex(await subtle.digest("SHA-256", encrypted)), hex(await subtle.digest("SHA-256", decrypted))];
  },
  "AES-GCM refuses what was changed": async () => {
    const key = await aesKey("AES-GCM", 256);
    const refused = [];
    for (const tagLength of [32, 96, 128]) {
      const parameters = { name: "AES-GCM", iv: filled(12), additionalData: utf8("header"), tagLength };
      const encrypted = new Uint8Array(await subtle.encrypt(parameters, key, utf8("text")));
      const changes = [(bytes) => (bytes[0] ^= 1), (bytes) => (bytes[bytes.length - 1] ^= 0x80)];
      for (const change of changes) {
        const changed = encrypted.slice();
        change(changed);
        refused.push(await threw(() => subtle.decrypt(parameters, key, changed)));
      }
      refused.push(await threw(() => subtle.decrypt({ ...parameters, iv: filled(12, 1) }, key, encrypted)));
      refused.push(await threw(() => subtle.decrypt({ ...parameters, additionalData: utf8("Header") }, key, encrypted)));
      refused.push(await threw(() => subtle.decrypt(parameters, key, encrypted.subarray(0, 3))));
    }
    return refused;
  },
  "AES-GCM errors": async () => {
    const key = await aesKey("AES-GCM", 256);
    const iv = filled(12);
    const encrypted = (parameters) => threw(() => subtle.encrypt({ name: "AES-GCM", ...parameters }, key, utf8("text")));
    return [
      await encrypted({}),
      await encrypted({ iv: "nonce" }),
      await encrypted({ iv, tagLength: 100 }),
      await encrypted({ iv, tagLength: 0 }),
      await encrypted({ iv, tagLength: 1000 }),
      await encrypted({ iv, additionalData: "header" }),
      await threw(() => subtle.encrypt("AES-GCM", key, utf8("text"))),
      await threw(() => subtle.encrypt({ name: "AES-CBC", iv: filled(16) }, key, utf8("text"))),
      await threw(async () => subtle.encrypt({ name: "AES-GCM", iv }, await secret("AES-GCM", ["decrypt"], filled(16)), utf8("text"))),
      await threw(() => secret("AES-GCM", ["encrypt"], filled(15))),
      await threw(() => secret("AES-GCM", ["encrypt"], new Uint8Array())),
      await threw(() => secret("AES-GCM", ["sign"], filled(16))),
      await threw(() => secret("AES-GCM", [], filled(16))),
      await threw(() => subtle.generateKey({ name: "AES-GCM", length: 100 }, true, ["encrypt"])),
      await threw(() => subtle.generateKey({ name: "AES-GCM" }, true, ["encrypt"])),
      await threw(() => subtle.generateKey("AES-GCM", true, ["encrypt"])),
      await threw(() => subtle.generateKey({ name: "AES-GCM", length: 256 }, true, [])),
      await threw(() => subtle.generateKey({ name: "AES-GCM", length: 256 }, true, ["sign"])),
      await threw(() => subtle.generateKey({ name: "AES-GCM", length: 256 }, true)),
    ];
  },
  // NIST SP 800-38A, F.2.1 and F.2.5, with a block of padding.
  "AES-CBC of SP 800-38A": async () => {
    const keys = [
      "2b7e151628aed2a6abf7158809cf4f3c",
      "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
    ];
    const iv = fromHex("000102030405060708090a0b0c0d0e0f");
    const data = fromHex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
    const encrypted = [];
    for (const key of keys) encrypted.push(hex(await subtle.encrypt({ name: "AES-CBC", iv }, await secret("AES-CBC", ["encrypt"], fromHex(key)), data)));
    return encrypted;
  },
  "AES-CBC there and back": async () => {
    const texts = [];
    for (const bits of [128, 256]) {
      const key = await aesKey("AES-CBC", bits);
      const parameters = { name: "AES-CBC", iv: filled(16, 3) };
      for (const length of [0, 1, 15, 16, 17, 100]) {
        const encrypted = await subtle.encrypt(parameters, key, filled(length));
        texts.push(hex(encrypted), hex(await subtle.decrypt(parameters, key, encrypted)));
      }
    }
    return texts;
  },
  "AES-CBC errors": async () => {
    const key = await aesKey("AES-CBC", 128);
    const parameters = { name: "AES-CBC", iv: filled(16) };
    return [
      await threw(() => subtle.encrypt({ name: "AES-CBC", iv: filled(12) }, key, utf8("text"))),
      await threw(() => subtle.decrypt({ name: "AES-CBC", iv: filled(12) }, key, filled(16))),
      await threw(() => subtle.decrypt(parameters, key, filled(16))),
      await threw(() => subtle.decrypt(parameters, key, filled(15))),
      await threw(() => subtle.decrypt(parameters, key, new Uint8Array())),
    ];
  },
  "AES keys in JSON": async () => {
    const keys = [];
    for (const name of ["AES-GCM", "AES-CBC", "AES-KW"]) {
      for (const length of [128, 256]) {
        const usages = name === "AES-KW" ? ["wrapKey", "unwrapKey"] : ["encrypt", "decrypt"];
        const key = await subtle.generateKey({ name, length }, true, usages);
        const jwk = await subtle.exportKey("jwk", key);
        const again = await subtle.importKey("jwk", jwk, name, false, usages);
        keys.push(shown(key), { ...sorted(jwk), k: jwk.k.length }, shown(again));
        keys.push(await threw(() => subtle.importKey("jwk", { ...jwk, alg: "A512GCM" }, name, true, usages)));
        keys.push(await threw(() => subtle.importKey("jwk", { ...jwk, use: "sig" }, name, true, usages)));
        keys.push(await threw(() => subtle.importKey("jwk", { ...jwk, k: "AAAA" }, name, true, usages)));
        keys.push(await threw(() => subtle.exportKey("raw", again)));
      }
    }
    return keys;
  },
  // RFC 3394, sections 4.1 and 4.6.
  "AES-KW of RFC 3394": async () => {
    const wrapped = [];
    for (const [bytes, inner] of [[16, 16], [32, 32]]) {
      const wrapping = await secret("AES-KW", ["wrapKey", "unwrapKey"], filled(bytes));
      const key = await hmacKey("SHA-256", Uint8Array.from(fromHex("00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f")).slice(0, inner));
      const result = await subtle.wrapKey("raw", key, wrapping, "AES-KW");
      const again = await subtle.unwrapKey("raw", result, wrapping, "AES-KW", { name: "HMAC", hash: "SHA-256" }, true, ["sign"]);
      const changed = new Uint8Array(result.slice(0));
      changed[3] ^= 1;
      wrapped.push(hex(result), hex(await subtle.exportKey("raw", again)));
      wrapped.push(await threw(() => subtle.unwrapKey("raw", changed, wrapping, "AES-KW", { name: "HMAC", hash: "SHA-256" }, true, ["sign"])));
    }
    return wrapped;
  },
  "keys wrapped by AES-GCM, as bytes and in JSON": async () => {
    const wrapping = await secret("AES-GCM", ["wrapKey", "unwrapKey"], filled(32));
    const parameters = { name: "AES-GCM", iv: filled(12) };
    const key = await subtle.importKey("pkcs8", fromBase64(p256.pkcs8), EC, true, ["sign"]);
    const wrapped = await subtle.wrapKey("pkcs8", key, wrapping, parameters);
    const wrappedJwk = await subtle.wrapKey("jwk", key, wrapping, parameters);
    const again = await subtle.unwrapKey("pkcs8", wrapped, wrapping, parameters, EC, true, ["sign"]);
    const againJwk = await subtle.unwrapKey("jwk", wrappedJwk, wrapping, parameters, EC, false, ["sign"]);
    return [
      hex(wrapped),
      shown(again),
      shown(againJwk),
      await threw(() => subtle.wrapKey("raw", againJwk, wrapping, parameters)),
      await threw(() => subtle.wrapKey("raw", wrapping, key, parameters)),
      await threw(() => subtle.unwrapKey("jwk", wrapped, wrapping, { ...parameters, iv: filled(12, 1) }, EC, false, ["sign"])),
    ];
  },
};

// RFC 5869, test cases 1 to 3.
const HKDF_VECTORS = [
  [new Uint8Array(22).fill(0x0b), filled(13), filled(10, 0xf0), 42],
  [filled(80), filled(80, 0x60), filled(80, 0xb0), 82],
  [new Uint8Array(22).fill(0x0b), new Uint8Array(), new Uint8Array(), 42],
];

const derivation = {
  "HKDF of RFC 5869": async () => {
    const derived = [];
    for (const [key, salt, info, length] of HKDF_VECTORS) {
      const imported = await subtle.importKey("raw", key, "HKDF", false, ["deriveBits"]);
      for (const hash of HASHES) derived.push(hex(await subtle.deriveBits({ name: "HKDF", hash, salt, info }, imported, length * 8)));
    }
    return derived;
  },
  // RFC 6070, and RFC 7914 section 11.
  "PBKDF2 of RFC 6070": async () => {
    const derived = [];
    for (const [password, salt, iterations, bits] of [
      ["password", "salt", 1, 160],
      ["password", "salt", 4096, 160],
      ["passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096, 200],
      ["passwd", "salt", 1, 512],
    ]) {
      const imported = await subtle.importKey("raw", utf8(password), "PBKDF2", false, ["deriveBits"]);
      for (const hash of HASHES) {
        derived.push(hex(await subtle.deriveBits({ name: "PBKDF2", hash, salt: utf8(salt), iterations }, imported, bits)));
      }
    }
    return derived;
  },
  "keys are derived": async () => {
    const hkdf = await subtle.importKey("raw", utf8("master"), "HKDF", false, ["deriveKey"]);
    const pbkdf2 = await subtle.importKey("raw", utf8("password"), { name: "PBKDF2" }, false, ["deriveKey", "deriveBits"]);
    const byHkdf = { name: "HKDF", hash: "SHA-256", salt: utf8("salt"), info: utf8("info") };
    const byPbkdf2 = { name: "PBKDF2", hash: "SHA-512", salt: utf8("salt"), iterations: 1000 };
    const keys = [];
    for (const [algorithm, key] of [[byHkdf, hkdf], [byPbkdf2, pbkdf2]]) {
      for (const [type, usages] of [
        [{ name: "AES-GCM", length: 256 }, ["encrypt", "decrypt"]],
        [{ name: "AES-CBC", length: 128 }, ["encrypt"]],
        [{ name: "AES-KW", length: 256 }, ["wrapKey"]],
        [{ name: "HMAC", hash: "SHA-256" }, ["sign"]],
        [{ name: "HMAC", hash: "SHA-512", length: 256 }, ["verify"]],
      ]) {
        const derived = await subtle.deriveKey(algorithm, key, type, true, usages);
        keys.push(shown(derived), hex(await subtle.exportKey("raw", derived)));
      }
    }
    return keys;
  },
  "derivation errors": async () => {
    const imported = (name, extractable, usages) => subtle.importKey("raw", utf8("password"), name, extractable, usages);
    const hkdf = await imported("HKDF", false, ["deriveBits"]);
    const pbkdf2 = await imported("PBKDF2", false, ["deriveBits"]);
    const byHkdf = { name: "HKDF", hash: "SHA-256", salt: utf8("salt"), info: utf8("info") };
    const byPbkdf2 = { name: "PBKDF2", hash: "SHA-256", salt: utf8("salt"), iterations: 10 };
    return [
      await threw(() => imported("PBKDF2", true, ["deriveBits"])),
      await threw(() => imported("HKDF", true, ["deriveBits"])),
      await threw(() => imported("HKDF", false, ["sign"])),
      await threw(() => imported("HKDF", false, [])),
      await threw(() => subtle.importKey("jwk", { kty: "oct", k: "AAAA" }, "HKDF", false, ["deriveBits"])),
      await threw(() => subtle.deriveBits(byHkdf, hkdf, 12)),
      await threw(() => subtle.deriveBits(byHkdf, hkdf, 256 * 255 * 8)),
      await threw(() => subtle.deriveBits(byHkdf, hkdf, null)),
      await threw(() => subtle.deriveBits({ ...byHkdf, info: undefined }, hkdf, 128)),
      await threw(() => subtle.deriveBits({ ...byHkdf, salt: undefined }, hkdf, 128)),
      await threw(() => subtle.deriveBits(byPbkdf2, hkdf, 128)),
      await threw(() => subtle.deriveBits({ ...byPbkdf2, iterations: 0 }, pbkdf2, 128)),
      await threw(() => subtle.deriveBits({ ...byPbkdf2, iterations: -1 }, pbkdf2, 128)),
      await threw(() => subtle.deriveBits({ ...byPbkdf2, iterations: 2 ** 32 }, pbkdf2, 128)),
      await threw(() => subtle.deriveBits(byPbkdf2, pbkdf2, 12)),
      await threw(() => subtle.deriveBits(byPbkdf2, pbkdf2, null)),
      await threw(() => subtle.deriveKey(byPbkdf2, pbkdf2, { name: "AES-GCM", length: 256 }, true, ["encrypt"])),
    ];
  },
};

const curves = {
  "ECDSA signs and verifies with every hash": async () => {
    const results = [];
    for (const hash of HASHES) results.push(await signedAndVerified(await pair(p256, EC), { name: "ECDSA", hash }));
    return results;
  },
  // RFC 6979, appendix A.2.5. Node.js uses random nonces.
  "ECDSA signs alike each time": {
    run: async () => {
      const start = "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420";
      const scalar = "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721";
      const key = await subtle.importKey("pkcs8", fromHex(start + scalar), EC, false, ["sign"]);
      return hex(await subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, utf8("sample")));
    },
    expected:
      "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716" +
      "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
  },
  // RFC 7515, appendix A.3.
  "ECDSA verifies ES256 with a JSON Web Key": async () => {
    const jwk = {
      kty: "EC",
      crv: "P-256",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    };
    const text =
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q==";
    const key = await subtle.importKey("jwk", jwk, EC, true, ["verify"]);
    const bytes = fromBase64(signature.replaceAll("-", "+").replaceAll("_", "/"));
    return [shown(key), await subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, bytes, utf8(text))];
  },
  "EC keys in every format": async () => {
    const keys = await pair(p256, EC);
    const raw = await subtle.exportKey("raw", keys.publicKey);
    return [await exportedAndImported(keys, EC), shown(await subtle.importKey("raw", raw, EC, true, ["verify"]))];
  },
  "EC keys are generated": async () => {
    const keys = await subtle.generateKey(EC, false, ["sign", "verify"]);
    return [shown(keys.privateKey), shown(keys.publicKey), await signedAndVerified(keys, { name: "ECDSA", hash: "SHA-256" })];
  },
  "EC errors": async () => {
    const keys = await pair(p256, EC);
    const jwk = await subtle.exportKey("jwk", keys.privateKey);
    const { d, key_ops, ...publicJwk } = jwk;
    const raw = new Uint8Array(await subtle.exportKey("raw", keys.publicKey));
    const off = raw.slice();
    off[64] ^= 1;
    const imported = (format, data, usages, algorithm = EC) => threw(() => subtle.importKey(format, data, algorithm, true, usages));
    return [
      await imported("raw", off, ["verify"]),
      await imported("raw", raw.subarray(1), ["verify"]),
      await imported("raw", new Uint8Array(), ["verify"]),
      await imported("raw", raw, ["sign"]),
      await imported("raw", raw, ["verify"], { name: "ECDSA", namedCurve: "P-192" }),
      await imported("raw", raw, ["verify"], { name: "ECDSA" }),
      await imported("pkcs8", fromBase64(p256.spki), ["sign"]),
      await imported("pkcs8", fromBase64(p384.pkcs8), ["sign"]),
      await imported("pkcs8", fromBase64(rsa.pkcs8), ["sign"]),
      await imported("pkcs8", fromBase64(p256.pkcs8).subarray(0, 60), ["sign"]),
      await imported("pkcs8", fromBase64(p256.pkcs8), []),
      await imported("pkcs8", fromBase64(p256.pkcs8), ["verify"]),
      await imported("spki", fromBase64(p256.pkcs8), ["verify"]),
      await imported("spki", fromBase64(p384.spki), ["verify"]),
      await imported("spki", fromBase64(ed25519.spki), ["verify"]),
      await imported("jwk", { ...jwk, crv: "P-384" }, ["sign"]),
      await imported("jwk", { ...jwk, kty: "RSA" }, ["sign"]),
      await imported("jwk", { ...jwk, alg: "ES384" }, ["sign"]),
      await imported("jwk", { ...jwk, x: "AAAA" }, ["sign"]),
      await imported("jwk", { ...publicJwk, y: publicJwk.x }, ["verify"]),
      await imported("jwk", { ...publicJwk, y: undefined }, ["verify"]),
      await imported("jwk", { ...publicJwk, use: "enc" }, ["verify"]),
      await imported("jwk", publicJwk, ["sign"]),
      await imported("jwk", jwk, ["verify"]),
      await threw(() => subtle.sign({ name: "ECDSA" }, keys.privateKey, utf8("data"))),
      await threw(() => subtle.sign({ name: "ECDSA", hash: "SHA-256" }, keys.publicKey, utf8("data"))),
      await threw(() => subtle.verify({ name: "ECDSA", hash: "SHA-256" }, keys.privateKey, new Uint8Array(64), utf8("data"))),
      await threw(() => subtle.exportKey("spki", keys.privateKey)),
      await threw(() => subtle.exportKey("raw", keys.privateKey)),
      await threw(() => subtle.exportKey("pkcs8", keys.publicKey)),
      await threw(() => subtle.generateKey(EC, true, ["verify"])),
      await threw(() => subtle.generateKey(EC, true, ["encrypt"])),
      await threw(() => subtle.generateKey({ name: "ECDSA", namedCurve: "K-1" }, true, ["sign"])),
    ];
  },
  "ECDH and X25519 agree on a secret": async () => {
    const results = [];
    const usages = { ofPrivate: ["deriveBits", "deriveKey"], ofPublic: [] };
    for (const [algorithm, key] of [
      [{ name: "ECDH", namedCurve: "P-256" }, p256],
      [{ name: "X25519" }, x25519],
    ]) {
      const keys = await pair(key, algorithm, usages);
      const bits = await subtle.deriveBits({ name: algorithm.name, public: keys.publicKey }, keys.privateKey, null);
      const derived = await subtle.deriveKey(
        { name: algorithm.name, public: keys.publicKey },
        keys.privateKey,
        { name: "AES-GCM", length: 256 },
        true,
        ["encrypt"],
      );
      const other = await subtle.generateKey(algorithm, true, ["deriveBits"]);
      const [ours, theirs] = await Promise.all([
        subtle.deriveBits({ name: algorithm.name, public: other.publicKey }, keys.privateKey, 256),
        subtle.deriveBits({ name: algorithm.name, public: keys.publicKey }, other.privateKey, 256),
      ]);
      results.push(hex(bits), hex(await subtle.exportKey("raw", derived)), hex(ours) === hex(theirs), shown(other.publicKey), shown(other.privateKey));
      results.push(await exportedAndImported(keys, algorithm, usages));
      results.push(await threw(() => subtle.deriveBits({ name: algorithm.name, public: keys.publicKey }, keys.privateKey, 4096)));
      results.push(await threw(() => subtle.deriveBits({ name: algorithm.name, public: keys.privateKey }, keys.privateKey, 128)));
      results.push(await threw(() => subtle.deriveBits({ name: algorithm.name }, keys.privateKey, 128)));
      results.push(await threw(() => subtle.deriveBits({ name: algorithm.name, public: {} }, keys.privateKey, 128)));
    }
    return results;
  },
  // RFC 7748, section 6.1.
  "X25519 of RFC 7748": async () => {
    const prefix = "302e020100300506032b656e04220420";
    const alice = "77076d0a7318a57d3c16c17251b26645df4b1774cdf8a8a6b6f6d3b3fbb4ac9a";
    const alicesKey = await subtle.importKey("pkcs8", fromHex(prefix + alice), "X25519", true, ["deriveBits"]);
    const bobs = fromHex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    const bobsKey = await subtle.importKey("raw", bobs, "X25519", true, []);
    return hex(await subtle.deriveBits({ name: "X25519", public: bobsKey }, alicesKey, 256));
  },
  // RFC 8032, section 7.1, tests 1 to 3.
  "Ed25519 of RFC 8032": async () => {
    const prefix = "302e020100300506032b657004220420";
    const signatures = [];
    for (const [seed, publicKey, data] of [
      ["9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", ""],
      ["4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72"],
      ["c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7", "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82"],
    ]) {
      const signing = await subtle.importKey("pkcs8", fromHex(prefix + seed), "Ed25519", true, ["sign"]);
      const verifying = await subtle.importKey("raw", fromHex(publicKey), { name: "Ed25519" }, true, ["verify"]);
      const signature = await subtle.sign("Ed25519", signing, fromHex(data));
      signatures.push(hex(signature), await subtle.verify({ name: "Ed25519" }, verifying, signature, fromHex(data)));
    }
    return signatures;
  },
  "Ed25519 keys in every format": async () => {
    const keys = await pair(ed25519, "Ed25519");
    return [shown(keys.privateKey), await exportedAndImported(keys, "Ed25519"), await signedAndVerified(keys, "Ed25519")];
  },
  "Ed25519 keys are generated": async () => {
    const keys = await subtle.generateKey("Ed25519", false, ["sign", "verify"]);
    return [shown(keys.privateKey), shown(keys.publicKey), await signedAndVerified(keys, "Ed25519")];
  },
  "Ed25519 errors": async () => {
    const keys = await pair(ed25519, "Ed25519");
    const jwk = await subtle.exportKey("jwk", keys.privateKey);
    const imported = (format, data, usages) => threw(() => subtle.importKey(format, data, "Ed25519", true, usages));
    return [
      await imported("raw", filled(31), ["verify"]),
      await imported("pkcs8", fromBase64(x25519.pkcs8), ["sign"]),
      await imported("pkcs8", fromBase64(p256.pkcs8), ["sign"]),
      await imported("spki", fromBase64(x25519.spki), ["verify"]),
      await imported("jwk", { ...jwk, crv: "X25519" }, ["sign"]),
      await imported("jwk", { ...jwk, x: undefined }, ["sign"]),
      await imported("jwk", { ...jwk, kty: "EC" }, ["sign"]),
      await imported("raw", filled(32), ["sign"]),
      await threw(() => subtle.sign("Ed25519", keys.publicKey, utf8("data"))),
      await threw(() => subtle.generateKey("Ed25519", true, [])),
      await threw(() => subtle.sign({ name: "Ed25520" }, keys.privateKey, utf8("data"))),
    ];
  },
};

const rsaCases = {
  "RSA signs the token of a service account": async () => {
    const key = await subtle.importKey("pkcs8", fromBase64(rsa.pkcs8), RS256, false, ["sign"]);
    return [shown(key), hex(await subtle.sign("RSASSA-PKCS1-v1_5", key, utf8("header.payload")))];
  },
  "RSASSA-PKCS1-v1_5 with every hash": async () => {
    const results = [];
    for (const hash of HASHES) {
      const keys = await pair(rsa, { name: "RSASSA-PKCS1-v1_5", hash });
      results.push(hex(await subtle.sign("RSASSA-PKCS1-v1_5", keys.privateKey, utf8("data"))));
      results.push(await signedAndVerified(keys, "RSASSA-PKCS1-v1_5"));
    }
    return results;
  },
  "RSA-PSS with every hash and several salts": async () => {
    const results = [];
    for (const hash of HASHES) {
      const keys = await pair(rsa, { name: "RSA-PSS", hash });
      for (const saltLength of [0, 20, 32, 64]) results.push(await signedAndVerified(keys, { name: "RSA-PSS", saltLength }));
    }
    return results;
  },
  // RFC 7515, appendix A.2.
  "RSA verifies RS256 with a JSON Web Key": async () => {
    const jwk = {
      kty: "RSA",
      n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
      e: "AQAB",
    };
    const text =
      "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const signature =
      "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw==";
    const key = await subtle.importKey("jwk", jwk, RS256, true, ["verify"]);
    const bytes = fromBase64(signature.replaceAll("-", "+").replaceAll("_", "/"));
    return [shown(key), await subtle.verify("RSASSA-PKCS1-v1_5", key, bytes, utf8(text))];
  },
  "RSA keys in every format": async () => {
    const results = [];
    for (const name of ["RSASSA-PKCS1-v1_5", "RSA-PSS"]) {
      for (const hash of HASHES) {
        const algorithm = { name, hash };
        results.push(await exportedAndImported(await pair(rsa, algorithm), algorithm, { raw: false }));
      }
    }
    return results;
  },
  "RSA errors": async () => {
    const keys = await pair(rsa, RS256);
    const pss = await pair(rsa, { name: "RSA-PSS", hash: "SHA-512" });
    const jwk = await subtle.exportKey("jwk", keys.privateKey);
    const publicJwk = await subtle.exportKey("jwk", keys.publicKey);
    const imported = (format, data, usages, algorithm = RS256) => threw(() => subtle.importKey(format, data, algorithm, true, usages));
    return [
      await imported("pkcs8", fromBase64(rsa.spki), ["sign"]),
      await imported("pkcs8", fromBase64(p256.pkcs8), ["sign"]),
      await imported("pkcs8", fromBase64(rsa.pkcs8).subarray(0, 600), ["sign"]),
      await imported("pkcs8", new Uint8Array(), ["sign"]),
      await imported("pkcs8", fromBase64(rsa.pkcs8), []),
      await imported("pkcs8", fromBase64(rsa.pkcs8), ["verify"]),
      await imported("pkcs8", fromBase64(rsa.pkcs8), ["encrypt"]),
      await imported("pkcs8", fromBase64(rsa.pkcs8), ["sign"], "RSASSA-PKCS1-v1_5"),
      await imported("pkcs8", fromBase64(rsa.pkcs8), ["sign"], { name: "RSASSA-PKCS1-v1_5", hash: "MD5" }),
      await imported("spki", fromBase64(rsa.pkcs8), ["verify"]),
      await imported("spki", fromBase64(p256.spki), ["verify"]),
      await imported("raw", filled(256), ["verify"]),
      await imported("jwk", { ...publicJwk, alg: "RS512" }, ["verify"]),
      await imported("jwk", { ...publicJwk, kty: "EC" }, ["verify"]),
      await imported("jwk", { ...publicJwk, n: undefined }, ["verify"]),
      await imported("jwk", { ...publicJwk, use: "enc" }, ["verify"]),
      await imported("jwk", { ...publicJwk, key_ops: ["sign"] }, ["verify"]),
      await imported("jwk", publicJwk, ["sign"]),
      await imported("jwk", { ...jwk, p: undefined }, ["sign"]),
      await imported("jwk", jwk, ["verify"]),
      await threw(() => subtle.sign("RSASSA-PKCS1-v1_5", keys.publicKey, utf8("data"))),
      await threw(() => subtle.verify("RSASSA-PKCS1-v1_5", keys.privateKey, filled(256), utf8("data"))),
      await threw(() => subtle.sign({ name: "RSA-PSS" }, pss.privateKey, utf8("data"))),
      await threw(() => subtle.sign({ name: "RSA-PSS", saltLength: 300 }, pss.privateKey, utf8("data"))),
      await threw(() => subtle.sign({ name: "RSA-PSS", saltLength: 32 }, keys.privateKey, utf8("data"))),
      await threw(() => subtle.exportKey("spki", keys.privateKey)),
      await threw(() => subtle.exportKey("pkcs8", keys.publicKey)),
    ];
  },
};

const objects = {
  "classes and their names": async () => {
    const key = await hmacKey("SHA-256", utf8("secret"));
    return [
      crypto instanceof Crypto,
      subtle instanceof SubtleCrypto,
      key instanceof CryptoKey,
      crypto.subtle === crypto.subtle,
      ...[crypto, subtle, key].map((object) => Object.prototype.toString.call(object)),
      ...(await Promise.all([Crypto, SubtleCrypto, CryptoKey].map((constructor) => threw(() => new constructor())))),
    ];
  },
  "a key's attributes are the same objects each time, and not in its JSON": async () => {
    const key = await hmacKey("SHA-256", utf8("secret"), ["sign"]);
    return [key.usages === key.usages, key.algorithm === key.algorithm, JSON.stringify(key)];
  },
  "changes to a key's attributes do not change the key": {
    run: async () => {
      const key = await hmacKey("SHA-256", utf8("secret"), ["sign"]);
      key.usages.push("verify");
      key.algorithm.hash.name = "SHA-1";
      return [(await subtle.sign("HMAC", key, utf8("data"))).byteLength, await threw(() => subtle.verify("HMAC", key, filled(32), utf8("data")))];
    },
    expected: [32, ["InvalidAccessError", true, false]],
  },
  "usages come once": {
    run: async () => (await hmacKey("SHA-256", utf8("secret"), ["verify", "sign", "verify"])).usages,
    expected: ["sign", "verify"],
  },
  "errors as in the standard, where Node.js 20 has others": {
    run: async () => {
      const keys = await pair(rsa, RS256);
      const jwk = await subtle.exportKey("jwk", keys.publicKey);
      const pbkdf2 = await subtle.importKey("raw", utf8("password"), "PBKDF2", false, ["deriveBits"]);
      return [
        await threw(() => subtle.importKey("spki", utf8("secret"), { name: "HMAC", hash: "SHA-256" }, true, ["sign"])),
        await threw(() => subtle.importKey("jwk", { ...jwk, alg: "PS256" }, RS256, true, ["verify"])),
        await threw(() => subtle.exportKey("raw", pbkdf2)),
        await threw(() => subtle.exportKey("raw", keys.publicKey)),
      ].map(([name]) => name);
    },
    expected: ["NotSupportedError", "DataError", "NotSupportedError", "NotSupportedError"],
  },
  "what the sandbox does not do": {
    run: async () => {
      const key = await aesKey("AES-GCM", 128);
      const pbkdf2 = await subtle.importKey("raw", utf8("password"), "PBKDF2", false, ["deriveBits"]);
      const rsaKey = { ...RS256, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
      const byPbkdf2 = { name: "PBKDF2", hash: "SHA-256", salt: utf8("salt"), iterations: 1 };
      return [
        await threw(() => subtle.generateKey(rsaKey, true, ["sign", "verify"])),
        await threw(() => subtle.importKey("spki", fromBase64(rsa.spki), { name: "RSA-OAEP", hash: "SHA-256" }, true, ["encrypt"])),
        await threw(() => subtle.generateKey({ name: "ECDSA", namedCurve: "P-521" }, true, ["sign"])),
        await threw(() => subtle.importKey("spki", fromBase64(p384.spki), { name: "ECDSA", namedCurve: "P-384" }, true, ["verify"])),
        await threw(() => subtle.generateKey({ name: "AES-GCM", length: 192 }, true, ["encrypt"])),
        await threw(() => subtle.generateKey({ name: "HMAC", hash: "SHA-256", length: 2 ** 32 - 8 }, true, ["sign"])),
        await threw(() => subtle.deriveBits(byPbkdf2, pbkdf2, 2 ** 32 - 8)),
        await threw(() => subtle.encrypt({ name: "AES-GCM", iv: filled(8) }, key, utf8("text"))),
        await threw(() => subtle.encrypt({ name: "AES-CTR", counter: filled(16), length: 64 }, key, utf8("text"))),
      ].map(([name]) => name);
    },
    expected: [
      "NotSupportedError",
      "NotSupportedError",
      "NotSupportedError",
      "NotSupportedError",
      "OperationError",
      "OperationError",
      "OperationError",
      "OperationError",
      "NotSupportedError",
    ],
  },
  "bytes that are imported are copied": async () => {
    const bytes = utf8("secret");
    const key = await hmacKey("SHA-256", bytes);
    bytes.fill(0);
    new Uint8Array(await subtle.exportKey("raw", key)).fill(0);
    return hex(await subtle.exportKey("raw", key));
  },
};

export default { ...digests, ...hmac, ...aes, ...derivation, ...curves, ...rsaCases, ...objects };
