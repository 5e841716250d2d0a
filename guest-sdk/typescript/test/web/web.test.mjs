// The same cases in Node.js and in the engine.
import assert from "node:assert/strict";
import { test } from "node:test";

import { bundledCases, caseSets } from "./bundle.mjs";
import { ENGINE, inEngine } from "./engine.mjs";
import { expectedOutcomes } from "./run.mjs";

test(
  "the web platform does in the engine what it does in Node.js",
  { skip: ENGINE === undefined && "TEST_ENGINE is not set" },
  async (t) => {
    const expected = await expectedOutcomes(await caseSets());

    const { value: actual } = await inEngine(await bundledCases());

    assert.deepEqual(Object.keys(actual), Object.keys(expected));
    for (const [name, value] of Object.entries(expected)) {
      await t.test(name, () => assert.deepEqual(actual[name], value));
    }
  },
);
