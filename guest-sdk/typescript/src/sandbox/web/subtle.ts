// `crypto.subtle`, in the full variant of the engine.
import { Crypto } from "./crypto.js";
import { CryptoKey } from "./crypto/key.js";
import { newSubtleCrypto, SubtleCrypto } from "./crypto/subtle.js";
import { defineClass } from "./globals.js";

const subtle = newSubtleCrypto();

Object.defineProperty(Crypto.prototype, "subtle", { get: () => subtle, enumerable: true, configurable: true });
defineClass("CryptoKey", CryptoKey);
defineClass("SubtleCrypto", SubtleCrypto);
