// The same cases in Node.js and in the engine. TEST_ENGINE names the example `run` of the engine's crate.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { bundledCases, caseSets } from "./bundle.mjs";
import { expectedOutcomes } from "./run.mjs";

const ENGINE = process.env.TEST_ENGINE;

test("the web platform does in the engine what it does in Node.js", { skip: ENGINE === undefined && "TEST_ENGINE is not set" }, async (t) => {
  const [expected, actual] = [await expectedOutcomes(await caseSets()), await inEngine(await bundledCases())];

  assert.deepEqual(Object.keys(actual), Object.keys(expected));
  for (const [name, value] of Object.entries(expected)) {
    await t.test(name, () => assert.deepEqual(actual[name], value));
  }
});

async function inEngine(code) {
  const folder = await mkdtemp(join(tmpdir(), "kitbag-web-"));
  try {
    const file = join(folder, "cases.js");
    await writeFile(file, code);
    const { stdout } = await promisify(execFile)(ENGINE, [file], { maxBuffer: 64 * 1024 * 1024 });
    return JSON.parse(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}
