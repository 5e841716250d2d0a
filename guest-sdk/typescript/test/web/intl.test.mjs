// Intl in Node.js and in the engine's variant that has it. TEST_INTL_ENGINE names the example `run` of the engine's
// crate, built with the feature `intl`.
import assert from "node:assert/strict";
import { test } from "node:test";

import { bundledCases, caseSets } from "./bundle.mjs";
import { inEngine } from "./engine.mjs";
import { expectedOutcomes } from "./run.mjs";

const ENGINE = process.env.TEST_INTL_ENGINE;

test("Intl says in the engine what it says in Node.js", { skip: ENGINE === undefined && "TEST_INTL_ENGINE is not set" }, async (t) => {
  const expected = await expectedOutcomes(await caseSets("intl"));

  const { value: actual } = await inEngine(await bundledCases("intl"), ENGINE);

  assert.deepEqual(Object.keys(actual), Object.keys(expected));
  for (const [name, value] of Object.entries(expected)) {
    await t.test(name, () => assert.deepEqual(actual[name], value));
  }
});
