// `node --import kitbag/register` loads what a build accepts.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";

import { folder } from "./support.mjs";

const REGISTER = new URL("../dist/register.js", import.meta.url).href;

/** Runs `main.ts` of a folder, and returns what it prints. */
async function run(files) {
  const directory = await folder(files);
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ["--import", REGISTER, "main.ts"], { cwd: directory }, (error, stdout, stderr) =>
      error === null ? resolve(stdout.trim()) : reject(new Error(stderr)),
    );
  });
}

test("modules are found as TypeScript spells them", async () => {
  const printed = await run({
    "main.ts": `
import { a } from "./a";
import { b } from "./b.js";
import { c } from "./c.mjs";
import { folder } from "./folder";
import data, { inside } from "./data.json";
import typed from "./data.json" with { type: "json" };
import deep from "old-package/deep";
console.log(a, b, c, folder, data.inside, inside, typed.inside, deep);`,
    "a.ts": "export const a: string = 'a';",
    "b.ts": "export const b = 'b';",
    "c.mts": "export const c = 'c';",
    "folder/index.ts": 'export { b as folder } from "../b";',
    "data.json": '{ "inside": "json" }',
    "node_modules/old-package/package.json": '{ "name": "old-package" }',
    "node_modules/old-package/deep.js": "module.exports = 'deep';",
  });
  assert.equal(printed, "a b c b json json json deep");
});

test("what is missing is named as the author spelled it", async () => {
  await assert.rejects(run({ "main.ts": 'import "./nowhere";' }), /Cannot find module '[^']*\/nowhere'/);
});

test("the author's schemas and the SDK's are of one library", async () => {
  const main = `
import { z } from "zod";
import { z as ours } from "kitbag/extend/toolkit";
console.log(z === ours, z.mark);`;
  const library = {
    "node_modules/zod/package.json": '{ "name": "zod", "version": "4.0.0", "type": "module", "exports": "./index.js" }',
    "node_modules/zod/index.js": `export * from ${JSON.stringify(new URL("../node_modules/zod/index.js", import.meta.url).href)}; export const z = { mark: "the author's" };`,
  };
  assert.equal(await run({ "main.ts": main, ...library }), "true the author's");
  assert.equal(await run({ "main.ts": main }), "true undefined");
  // A package inside a larger repository, run from the root folder, which has another version of zod.
  const inner = Object.fromEntries(Object.entries(library).map(([name, text]) => [`packages/t/${name}`, text]));
  const outer = { "node_modules/zod/package.json": '{ "name": "zod", "version": "3.25.0", "main": "index.js" }', "node_modules/zod/index.js": "exports.z = {};" };
  assert.equal(await run({ "main.ts": 'import "./packages/t/main.js";', "packages/t/main.ts": main, ...inner, ...outer }), "true the author's");
});
