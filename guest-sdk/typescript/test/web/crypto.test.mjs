// The Web Cryptography API in Node.js and in the engine's variant that has it. TEST_CRYPTO_ENGINE names the example `run`
// of the engine's crate, built with the feature `crypto`.
import assert from "node:assert/strict";
import { test } from "node:test";

import { bundledCases, caseSets } from "./bundle.mjs";
import { inEngine } from "./engine.mjs";
import { expectedOutcomes } from "./run.mjs";

const ENGINE = process.env.TEST_CRYPTO_ENGINE;

const skip = ENGINE === undefined && "TEST_CRYPTO_ENGINE is not set";

test("crypto.subtle does in the engine what it does in Node.js", { skip }, async (t) => {
  const expected = await expectedOutcomes(await caseSets("crypto"));

  const { value: actual } = await inEngine(await bundledCases("crypto"), ENGINE);

  assert.deepEqual(Object.keys(actual), Object.keys(expected));
  for (const [name, value] of Object.entries(expected)) {
    await t.test(name, () => assert.deepEqual(actual[name], value));
  }
});
