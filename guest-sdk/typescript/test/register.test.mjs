// `node --import kitbag/register` loads what a build accepts.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

import { folder } from "./support.mjs";

const REGISTER = new URL("../dist/register.js", import.meta.url).href;

/** Runs `main.ts` of a folder, or of one in it, and returns what it prints. */
async function run(files, inside = ".") {
  const directory = join(await folder(files), inside);
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

/** Files of packages that builds and Node.js take from different places. */
const DIFFERENT = {
  // Like rrule: CommonJS for Node.js that hides its names, and a module for bundlers.
  "node_modules/rules/package.json": '{ "name": "rules", "main": "main.js", "module": "esm/index.js" }',
  "node_modules/rules/main.js": "Object.assign(module.exports, { ['ru' + 'le']: 'of Node.js' });",
  "node_modules/rules/esm/index.js": 'export { rule } from "./rule"; export default "module";',
  "node_modules/rules/esm/rule.js": 'import named from "named-default"; export const rule = "of bundlers, " + named;',
  "node_modules/named-default/package.json": '{ "name": "named-default", "main": "index.js" }',
  "node_modules/named-default/index.js": "exports.__esModule = true; exports.default = 'with its default';",
  // Like turndown: a browser's files in place of others.
  "node_modules/page/package.json": '{ "name": "page", "main": "index.cjs", "module": "index.mjs", "browser": { "./index.mjs": "./page.mjs" } }',
  "node_modules/page/index.cjs": "module.exports = 'Node.js';",
  "node_modules/page/index.mjs": "export default 'no page';",
  "node_modules/page/page.mjs": "export default 'a page';",
  "node_modules/conditions/package.json": '{ "name": "conditions", "exports": { "worker": "./worker.mjs", "default": "./other.mjs" } }',
  "node_modules/conditions/worker.mjs": "export default 'worker';",
  "node_modules/conditions/other.mjs": "export default 'other';",
};

test("a toolkit gets the files of packages that a build takes, and its test those of Node.js", async () => {
  const imported = 'import page from "page"; import condition from "conditions";';
  const printed = await run({
    ...DIFFERENT,
    "main.ts": `${imported} import all from "./extension.ts"; console.log(page, condition, ...all);`,
    "extension.ts": `${imported} import { rule } from "rules"; export default [page, condition, rule];`,
  });
  assert.equal(printed, "Node.js other a page worker of bundlers, with its default");
});

test("a folder of tests is one inside of the project, wherever that is", async () => {
  const main = 'import other from "./other.ts"; import helper from "./tests/helper.ts"; console.log(other, helper);';
  const condition = 'import condition from "conditions"; export default condition;';
  const printed = await run({ ...DIFFERENT, "test/main.ts": main, "test/other.ts": condition, "test/tests/helper.ts": condition }, "test");
  assert.equal(printed, "worker other");
});

test("paths of the next tsconfig.json upwards are followed, in a toolkit and in its test", async () => {
  const printed = await run({
    "tsconfig.json": '{ "compilerOptions": { "paths": { "@lib/*": ["./src/lib/*"] } } }',
    "main.ts": 'import { twice } from "@lib/util.ts"; import four from "./src/extension.ts"; console.log(twice(1), four);',
    "src/extension.ts": 'import { twice } from "@lib/util"; export default twice(2);',
    "src/lib/util.ts": "export const twice = (n: number) => n * 2;",
  });
  assert.equal(printed, "2 4");
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
