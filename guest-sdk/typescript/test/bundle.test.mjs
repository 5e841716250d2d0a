// Things that npm packages do and that a bundle for the sandbox must cope with.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { bundle } from "../dist/build/bundle.js";
import { folder } from "./support.mjs";

/** Creates a folder with an `extension.ts` and packages of one file each. */
async function toolkitFolder(extension, packages = {}) {
  const files = { "extension.ts": extension };
  for (const [name, { main, ...rest }] of Object.entries(packages)) {
    files[`node_modules/${name}/package.json`] = JSON.stringify({ name, version: "1.0.0", main: "index.js", ...rest });
    files[`node_modules/${name}/index.js`] = main;
  }
  return folder(files);
}

async function bundled(extension, packages) {
  const root = await toolkitFolder(extension, packages);
  const entry = join(root, "extension.ts");
  return { root, ...(await bundle(entry, `export { default } from ${JSON.stringify(entry)};`, "sandbox")) };
}

/** Returns the default export of the bundle. */
async function valueOf(extension, packages) {
  const { root, code } = await bundled(extension, packages);
  const file = join(root, "bundle.mjs");
  await writeFile(file, code);
  return (await import(pathToFileURL(file))).default;
}

const refused = (extension, packages) => bundled(extension, packages).then(() => assert.fail("it is bundled"), ({ message }) => message);

test("a module that a package leaves out in browsers is none of the author's files", async () => {
  const inspect = { main: 'module.exports = require("./util.js");', browser: { "./util.js": false } };
  const root = await toolkitFolder('import inspect from "inspect"; export default Object.keys(inspect).length;', { inspect });
  await writeFile(join(root, "node_modules/inspect/util.js"), 'module.exports = require("util").inspect;');
  const entry = join(root, "extension.ts");
  const { sources } = await bundle(entry, `export { default } from ${JSON.stringify(entry)};`, "sandbox");
  assert.deepEqual(sources, ["extension.ts"]);
});

test("data: addresses hold JavaScript or JSON", async () => {
  const { sources } = await bundled('import n from "data:text/javascript,export default 5"; export default n;');
  assert.deepEqual(sources, ["extension.ts"]);
  assert.deepEqual(await valueOf('import o from "data:application/json,{%22a%22:1}"; export default o;'), { a: 1 });
  assert.match(await refused('import t from "data:text/plain,hello"; export default t;'), /extension\.ts:1:\d+: a data: URL of text\/plain cannot be imported/);
});

test("a require that a package is prepared to do without fails when it runs", async () => {
  const careful = { main: 'let fs; try { fs = require("node:fs"); } catch {} exports.has = fs !== undefined;' };
  assert.equal(await valueOf('import { has } from "careful"; export default has;', { careful }), false);
});

test("a require of a package that never comes to be used does no harm, and says whose it is where it does", async () => {
  const http = { main: 'const http = require("http"); const os = () => require("os"); exports.get = () => http.get("x"); exports.name = () => os().hostname(); exports.ok = 1;' };
  assert.equal(await valueOf('import { ok } from "client"; export default ok;', { client: http }), 1);
  const used = await valueOf('import { get, name } from "client"; export default { get, name };', { client: http });
  assert.throws(used.get, /node_modules\/client\/index\.js imports "http", which exists in Node\.js only/);
  assert.throws(used.name, /node_modules\/client\/index\.js imports "os"/);
});

test("small modules of Node.js have a stand-in, for packages", async () => {
  const listener = { main: 'const { EventEmitter } = require("events"); const { setImmediate } = require("timers"); exports.kinds = [new EventEmitter().emit("a"), typeof setImmediate];' };
  assert.deepEqual(await valueOf('import { kinds } from "listener"; export default kinds;', { listener }), [false, "function"]);
});

test("an import of what only Node.js has names the way that leads to it", async () => {
  const packages = {
    outer: { main: 'export * from "@scope/inner";' },
    "@scope/inner": { main: 'import { readFile } from "node:fs"; export { readFile };' },
  };
  const said = await refused('import { readFile } from "outer"; export default readFile;', packages);
  assert.match(said, /^node_modules\/@scope\/inner\/index\.js:1:\d+: node_modules\/@scope\/inner\/index\.js imports "node:fs", which exists in Node\.js only/);
  assert.match(said, /\n {2}extension\.ts imports "outer", which imports "@scope\/inner"$/);
  // Again with the SDK and zod in the bundle, which plugins of their own resolve.
  const whole = await refused('import { defineToolkit } from "kitbag/extend/toolkit"; import "outer"; export default defineToolkit;', packages);
  assert.match(whole, /\n {2}extension\.ts imports "outer", which imports "@scope\/inner"$/);
  assert.match(await refused('const fs = require("fs"); export default fs;'), /^extension\.ts:1:\d+: extension\.ts imports "fs", which exists in Node\.js only/);
});

test("a package that is not installed names the way that leads to it", async () => {
  const said = await refused('import a from "outer"; export default a;', { outer: { main: 'module.exports = require("not-there");' } });
  assert.match(said, /Could not resolve "not-there"\n {2}It is not installed: npm install not-there\n {2}extension\.ts imports "outer"$/);
});

test("of the imports of packages that fail the first is told, and the others are counted", async () => {
  const packages = {
    outer: { main: 'import "inner"; import "node:net"; import "node:tls";' },
    inner: { main: 'import "node:fs"; import "node:dns";' },
  };
  const said = await refused('import "outer"; export default 1;', packages);
  assert.equal(said.split("\n").length, 3, said);
  assert.match(said, /exists in Node\.js only: [^\n]*\n {2}extension\.ts imports "outer"[^\n]*\n3 more imports of packages fail, in ("inner", "outer"|"outer", "inner")$/);
});

test("what is there instead of a module of Node.js is told", async () => {
  for (const [name, instead] of [["crypto", /crypto\.subtle/], ["node:https", /use ctx\.fetch/], ["fs/promises", /import data as JSON/]]) {
    const said = await refused(`import it from "${name}"; export default it;`);
    assert.match(said, instead);
    assert.equal(said.includes("ctx.fetch"), name === "node:https", said);
  }
});

test("a file of a kind that cannot be imported comes with what to do", async () => {
  for (const [name, advice] of [["rows.csv", /rows\.csv cannot be imported: put its text into a module/], ["page.html", /put its text into a module/], ["code.wasm", /code\.wasm cannot be imported: WebAssembly is not there/]]) {
    const root = await toolkitFolder(`import it from "./${name}"; export default it;`);
    await writeFile(join(root, name), "a,b");
    const entry = join(root, "extension.ts");
    const said = await bundle(entry, `export { default } from ${JSON.stringify(entry)};`, "sandbox").then(() => assert.fail("it is bundled"), ({ message }) => message);
    assert.match(said, advice);
    assert.doesNotMatch(said, /loader/);
  }
});
