// The errors of `kitbag build`, and its results.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { componentize } from "../../dist/build/engine.js";
import { folder, kitbagBuild } from "../support.mjs";

const extension = (handler, rest = "", before = "") => `
import { defineToolkit, tool, z } from "kitbag/extend/toolkit";
${before}
export default defineToolkit({
  id: "small", name: "Small", description: "Small.", icon: "🐜", version: "1.0.0", ${rest}
  tools: [tool({ name: "go", description: "Goes.", input: z.object({ n: z.number().optional() }), handler: ${handler} })],
});`;

async function refused(files, flags = []) {
  const directory = await folder(typeof files === "string" ? { "extension.ts": files } : files);
  const result = await kitbagBuild(join(directory, "extension.ts"), join(directory, "out"), ...flags);
  assert.equal(result.status, 1, result.stderr + result.stdout);
  assert.equal(existsSync(join(directory, "out")), false, "nothing is written");
  return result.stderr + result.stdout;
}

test("a module without a default export", async () => {
  assert.match(await refused("export const a = 1;"), /error: extension\.ts has no default export: end it with `export default defineToolkit/);
});

test("a default export that is no toolkit", async () => {
  assert.match(await refused("export default { id: 'a' };"), /the default export of extension\.ts is no toolkit/);
});

test("a bad declaration, with all problems", async () => {
  const said = await refused(extension("async () => ''", 'secrets: ["key"], egress: ["https://a.example"],'));
  assert.match(said, /The declaration of "small" is not valid:\n {2}secrets\[0\]: .*\n {2}egress\[0\]: /);
});

test("a bad declaration, for programs", async () => {
  const said = await refused(extension("async () => ''", 'secrets: ["key"],'), ["--json"]);
  const failed = said.trim().split("\n").map((line) => JSON.parse(line)).find(({ event }) => event === "failed");
  assert.equal(failed.kind, "declaration");
  assert.deepEqual(failed.problems.map(({ path }) => path), ["secrets[0]"]);
});

test("a Node-only import, with the file that asks for it", async () => {
  const said = await refused({
    "extension.ts": extension("async () => read()", "", 'import { read } from "./files.js";'),
    "files.ts": 'import { readFileSync } from "node:fs";\nimport os from "os";\nexport const read = () => readFileSync("x", "utf8") + os.EOL;',
  });
  assert.match(said, /files\.ts:1:\d+: files\.ts imports "node:fs", which exists in Node\.js only/);
  assert.match(said, /files\.ts:2:\d+: files\.ts imports "os"/);
});

test("a type error, as the compiler says it", async () => {
  const said = await refused(extension("async ({ n }) => n.toFixed(missing)"));
  assert.match(said, /the types are wrong:\nextension\.ts\(\d+,\d+\): error TS\d+:/);
  assert.match(said, /missing/);
});

test("a module that fails while it starts, with the author's line", async () => {
  const said = await refused(extension("async () => ''", "", 'throw new Error("at the start");'));
  assert.match(said, /extension\.ts failed while it was read:\nError: at the start\n\s+at [^/]*extension\.ts:3:\d+/);
});

test("a stack names the author's files where the folder for temporary files is a link", async () => {
  const directory = await folder({ "real/a": "", "extension.ts": extension("async () => ''", "", 'throw new Error("at the start");') });
  const link = join(directory, "link");
  await symlink(join(directory, "real"), link);
  const before = process.env.TMPDIR ?? "/tmp";
  process.env.TMPDIR = link;
  const { stderr } = await kitbagBuild(directory, join(directory, "out")).finally(() => (process.env.TMPDIR = before));
  assert.match(stderr, /Error: at the start\n\s+at [^/]*extension\.ts:3:\d+/);
});

test("a module that does not resolve, and a syntax error", async () => {
  assert.match(await refused(extension("async () => ''", "", 'import "./nowhere.js";')), /extension\.ts:3:\d+: Could not resolve "\.\/nowhere\.js"/);
  assert.match(await refused("export default {"), /extension\.ts:1:\d+: /);
});

test("a module that needs Node.js only once it is in the sandbox", async () => {
  const said = await refused(extension("async () => home", "", "const home = (globalThis as any).process.version;"));
  assert.match(said, /cannot start in the sandbox:[^]*extension\.ts:3:\d+/);
});

test("a module that does at its top level what only a call may do, with the author's line", async () => {
  for (const [code, what] of [
    ["const began = performance.now();", "asks for the time"],
    ["const began = Date.now();", "asks for the time"],
    ["const began = new Date().getFullYear();", "asks for the time"],
    ["const began = Math.random();", "asks for randomness"],
    ["const began = crypto.randomUUID();", "asks for randomness"],
    ["const began = setTimeout(() => {}, 1);", "sets a timer"],
    ['const began = fetch("https://a.example/").catch(() => {});', "sends a request"],
  ]) {
    const said = await refused(extension("async () => String(began)", "", code));
    assert.match(said, new RegExp(`the module's top level ${what}\n[^]*extension\\.ts:3:\\d+`), code);
  }
});

test("a request of the top level does not leave the machine, and is refused with its line", async () => {
  let requests = 0;
  const server = createServer((_, response) => response.end(String((requests += 1))));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const said = await refused(extension("async () => text", "", `const text = await (await fetch("http://127.0.0.1:${server.address().port}/")).text();`));
    assert.match(said, /the module's top level sends a request, which only a call may do\n\s+at [^\n]*extension\.ts:3:/);
    assert.equal(requests, 0);
  } finally {
    server.close();
  }
});

test("a class initializer that does so, for people and for programs", async () => {
  for (const code of ["class Id { static seed = 0; static { Id.seed = Math.random(); } }", "class Id { static seed = Math.random(); }"]) {
    const source = extension("async () => String(Id.seed)", "", code);
    assert.match(await refused(source), /the module's top level asks for randomness\n\s+at [^]*extension\.ts:3:\d+/, code);
    const failed = (await refused(source, ["--json"])).trim().split("\n").map((line) => JSON.parse(line)).at(-1);
    assert.equal(failed.kind, "source");
  }
});

test("self and global are there while the declaration is read, as in the sandbox", async () => {
  const directory = await folder({ "extension.mjs": extension("async () => typeof top", "", "const top = [self, global].map((it) => it.Date);") });
  const { status, stderr } = await kitbagBuild(join(directory, "extension.mjs"), join(directory, "out"));
  assert.equal(status, 0, stderr);
});

test("a missing engine, with what to do", async () => {
  const request = { engine: "nowhere.wasm", bundle: "", text: "{}", granted: [] };
  await assert.rejects(componentize(request, () => {}), /nowhere\.wasm is missing in the package kitbag: install the package again/);
});

test("the engine's own modules are not for authors, nor for packages", async () => {
  for (const name of ["kitbag:toolkit", "kitbag:host"]) {
    const said = await refused(extension("async () => String(native)", "", `// @ts-expect-error\nimport * as native from "${name}";`));
    assert.match(said, new RegExp(`there is no "${name}": toolkits import "kitbag/extend/toolkit"`));
  }
});

test("a module that waits for the clock", async () => {
  const said = await refused(extension("async () => ''", "", "const began = Date.now();\nwhile (Date.now() - began < 50);"));
  assert.match(said, /the module's top level asks for the time/);
});

test("a module that leaves a job which asks for the time", async () => {
  const said = await refused(extension("async () => ''", "", "Promise.resolve().then(() => Date.now());"));
  assert.match(said, /the module's top level asks for the time/);
});

test("a module that takes more memory than a call has", async () => {
  const said = await refused(extension("async () => String(all.length)", "", "const all: string[] = [];\nif (typeof process === 'undefined') for (;;) all.push('x'.repeat(1 << 20) + all.length);\ndeclare const process: unknown;"));
  assert.match(said, /cannot start in the sandbox:\nthe module's top level takes more than 48 MiB of memory\nEach call begins with that memory, and has 128 MiB in all/);
});

/** The files of a package `outer` that imports `seeded`, which asks for randomness as soon as it is imported. */
const SEEDED = {
  "node_modules/outer/package.json": '{ "name": "outer", "type": "module", "main": "index.js", "types": "index.d.ts" }',
  "node_modules/outer/index.d.ts": "export const seed: number; export function random(): number;",
  "node_modules/outer/index.js": 'export { seed, random } from "seeded";',
  "node_modules/seeded/package.json": '{ "name": "seeded", "main": "index.cjs" }',
  "node_modules/seeded/index.cjs": "function random() {\n  return Math.random();\n}\nmodule.exports = { random, seed: random() };",
};

test("a package that does so when it is imported is run in each call, and the build says so", async () => {
  const directory = await folder({ ...SEEDED, "extension.ts": extension("async () => String(seed)", "", 'import { seed } from "outer";') });
  const { status, stderr } = await kitbagBuild(directory, join(directory, "out"));
  assert.equal(status, 0, stderr);
  assert.match(stderr, /warning: extension\.ts imports "outer", which imports "seeded", which asks for randomness as soon as it is imported, so each call runs/);
  assert.match(stderr, /`await import\("outer"\)` in a handler/);
});

test("beside such a package the author's own top level is refused as ever, also where it calls the package", async () => {
  for (const code of ["const began = Date.now();", "const began = random();", "const began = [0].map(() => random());"]) {
    const said = await refused({ ...SEEDED, "extension.ts": extension("async () => String([began, seed])", "", `import { random, seed } from "outer";\n${code}`) });
    assert.match(said, /the module's top level asks for (the time|randomness)\n[^]*extension\.ts:4:\d+\)\n[^]*Move that into a handler/, code);
  }
});

test("a package that then fails in the sandbox is refused", async () => {
  const files = { ...SEEDED, "node_modules/seeded/index.cjs": "exports.seed = Math.random();\nexports.random = process.version;" };
  const said = await refused({ ...files, "extension.ts": extension("async () => String(seed)", "", 'import { seed } from "outer";') });
  assert.match(said, /cannot start in the sandbox:\n[^]*seeded\/index\.cjs:2:\d+/);
});

test("a package that was made from other sources is named, although it has source maps", async () => {
  const map = JSON.stringify({ version: 3, sources: ["../src/original.ts"], names: [], mappings: "AAAA;AACA;AACA" });
  const code = `exports.seed = Math.random();\nexports.random = process.version;\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}`;
  const said = await refused({ ...SEEDED, "node_modules/seeded/index.cjs": code, "extension.ts": extension("async () => String(seed)", "", 'import { seed } from "outer";') });
  assert.match(said, /cannot start in the sandbox:\n[^]*seeded\/index\.cjs:2:\d+[^]*\nextension\.ts imports "outer", which imports "seeded"/);
});

test("a module that catches what it must not do", async () => {
  const said = await refused(extension("async () => String(seed)", "", "let seed = 0; try { seed = Math.random(); } catch {}"));
  assert.match(said, /the module's top level asks for randomness/);
});

test("a module whose top level never ends", async () => {
  assert.match(await refused(extension("async () => ''", "", "await new Promise(() => {});")), /extension\.ts failed while it was read:\nits top level awaits what never comes/);
});

test("a package that is not installed, with what installs it", async () => {
  for (const [imported, name] of [["left-pad", "left-pad"], ["@scope/left-pad/deep", "@scope/left-pad"]]) {
    const said = await refused(extension("async () => ''", "", `import ${JSON.stringify(imported)};`));
    assert.match(said, new RegExp(`Could not resolve "${imported}"\\n  It is not installed: npm install ${name}\\n`));
  }
});

test("a path that only a configuration resolves is no package to install", async () => {
  const said = await refused(extension("async () => ''", "", 'import "@/lib/left-pad";'));
  assert.match(said, /Could not resolve "@\/lib\/left-pad"/);
  assert.doesNotMatch(said, /npm install/);
});

test("the next tsconfig.json upwards configures types and paths", async () => {
  const directory = await folder({
    "tsconfig.json": JSON.stringify({
      compilerOptions: { target: "es2022", module: "esnext", moduleResolution: "bundler", strict: true, types: [], skipLibCheck: true, noUnusedLocals: true, paths: { "@lib/*": ["./src/lib/*"] } },
      files: [],
    }),
    "src/extension.ts": extension("async () => String(twice(2))", "", 'import { twice } from "@lib/util";'),
    "src/lib/util.ts": "export const twice = (n: number): number => n * 2;",
  });
  const build = () => kitbagBuild(join(directory, "src/extension.ts"), join(directory, "dist"));

  assert.equal((await build()).status, 0, (await build()).stderr);

  await writeFile(join(directory, "src/lib/util.ts"), "export const twice = (n: number): number => n * 2;\nconst unused = 1;");
  assert.match((await build()).stderr, /the types are wrong:\n.*util\.ts\(2,7\): error TS6133/);
});

test("the generated tsconfig.json has the types of the sandbox", async () => {
  const template = await readFile(new URL("../../../../host/toolchain/scaffold/typescript/tsconfig.json.tmpl", import.meta.url), "utf8");
  const files = { "tsconfig.json": template, "node_modules/.keep": "", "extension.ts": extension("async () => String([1].values().map((n) => n + 1).toArray())") };
  const directory = await folder(files);
  await symlink(fileURLToPath(new URL("../..", import.meta.url)), join(directory, "node_modules/kitbag"));
  const build = () => kitbagBuild(join(directory, "extension.ts"), join(directory, "dist"));

  const built = await build();
  assert.equal(built.status, 0, built.stderr);
  assert.deepEqual((await readdir(join(directory, "node_modules"))).sort(), [".keep", "kitbag"]);

  await writeFile(join(directory, "extension.ts"), extension('async () => String(new Worker("x"))'));
  assert.match((await build()).stderr, /the types are wrong:\nextension\.ts\(\d+,\d+\): error TS2304: Cannot find name 'Worker'/);
});

test("a schema library that is too old", async () => {
  const said = await refused({
    "extension.ts": extension("async () => ''"),
    "node_modules/zod/package.json": '{ "name": "zod", "version": "3.25.0" }',
  });
  assert.match(said, /zod 3\.25\.0 is installed, and toolkits are written with zod 4: npm install zod@4/);
});

test("a path that is not there is wrong usage", async () => {
  const directory = await folder({});
  const result = await kitbagBuild(join(directory, "extension.ts"), directory);
  assert.equal(result.status, 2);
  assert.match(result.stderr, /there is no /);
});

test("the schema library may be imported directly, and files and data beside the entry as well", async () => {
  const directory = await folder({
    "extension.ts": `
import { z } from "zod";
import { defineToolkit, ToolError, type ToolDefinition } from "kitbag/extend/toolkit";
import words from "./words.json";
import { count } from "./count.js";
const tools: ToolDefinition[] = [
  { name: "go", description: "Goes.", input: z.object({ s: z.string() }), handler: async ({ s }: { s: string }) => {
    if (s === "") throw new ToolError("Nothing.");
    return String(count(s) + words.length);
  } },
];
export default defineToolkit({ id: "files", name: "Files", description: "Several files.", icon: "📁", version: "1.0.0", tools });`,
    "count.ts": "export const count = (text: string): number => text.length;",
    "words.json": '["a"]',
  });
  const built = await kitbagBuild(directory, join(directory, "dist"));
  assert.equal(built.status, 0, built.stderr);
});

test("what a package replaces in browsers is replaced", async () => {
  const directory = await folder({
    "extension.ts": extension("async () => read()", "", 'import { read } from "reader";'),
    "node_modules/reader/package.json": '{ "name": "reader", "type": "module", "main": "index.js", "types": "index.d.ts", "browser": { "./node.js": "./page.js", "os": false } }',
    "node_modules/reader/index.d.ts": "export function read(): string;",
    "node_modules/reader/index.js": 'import os from "os"; export { read } from "./node.js"; export { os };',
    "node_modules/reader/node.js": 'import { readFileSync } from "node:fs"; export const read = () => String(readFileSync);',
    "node_modules/reader/page.js": 'export const read = () => "page";',
  });
  const built = await kitbagBuild(directory, join(directory, "dist"));
  assert.equal(built.status, 0, built.stderr);
});

test("what no call can reach is not in the component", async () => {
  const size = async (top, handler) => {
    const directory = await folder({ "extension.ts": `${extension(handler)}\n${top}` });
    const built = await kitbagBuild(directory, join(directory, "dist"));
    assert.equal(built.status, 0, built.stderr);
    return (await readFile(join(directory, "dist", "small.wasm"))).length;
  };
  const table = "var table = Array.from({ length: 20_000 }, (_, at) => ({ at, text: `row ${at}` }));";

  const used = await size(table, "async () => String(table.length)");
  const unused = await size(`${table}\nvar rows = table.length;`, "async () => String(rows)");
  const none = await size("var rows = 0;", "async () => String(rows)");

  assert.ok(used > none + 1_000_000, `${used} is the size with the table, ${none} without`);
  assert.ok(unused < none + 50_000, `${unused} is the size with a table that is not used, ${none} without`);
});

test("the same source is the same component", async () => {
  const directory = await folder({ "extension.ts": extension("async () => (globalThis as any).Buffer.from('a').toString()") });
  const out = join(directory, "dist");
  const first = await kitbagBuild(directory, out);
  assert.equal(first.status, 0, first.stderr);
  assert.deepEqual(first.stdout.trim().split("\n"), [join(out, "small.wasm"), join(out, "manifest.json")]);
  assert.match(first.stderr, /warning: extension\.ts:6: in the sandbox Buffer is not there/);

  const component = await readFile(join(out, "small.wasm"));
  // An interface that is not granted appears only in the name of the function that traps in its place.
  for (const name of ["wasi:http/outgoing-handler", "kitbag:toolkit/secrets"]) {
    const mentions = component.toString("latin1").match(new RegExp(`${name}@[\\d.]+#?`, "g"));
    assert.ok(mentions.every((mention) => mention.endsWith("#")), `${name} is imported: ${mentions}`);
  }

  const second = await kitbagBuild(directory, out, "--json");
  const done = JSON.parse(second.stdout.trim().split("\n").at(-1));
  assert.equal(done.event, "done");
  assert.equal(done.unchanged, true);
  assert.ok(component.equals(await readFile(join(out, "small.wasm"))), "the same source is the same component");

  await writeFile(join(out, "small.wasm"), "something else");
  assert.equal(JSON.parse((await kitbagBuild(directory, out, "--json")).stdout.trim().split("\n").at(-1)).unchanged, false);
});

test("what a call begins with is said, with a warning if it is much", async () => {
  const built = async (before) => {
    const directory = await folder({ "extension.ts": extension("async () => String(rows.length)", "", before) });
    const { status, stdout, stderr } = await kitbagBuild(join(directory, "extension.ts"), join(directory, "out"), "--json");
    assert.equal(status, 0, stderr + stdout);
    const events = stdout.trim().split("\n").map((line) => JSON.parse(line));
    return { memory: events.at(-1).memory, warnings: events.filter(({ event }) => event === "warning").map(({ text }) => text) };
  };

  const little = await built("const rows: number[] = [];");
  const much = await built("const rows = Array.from({ length: 200_000 }, (_, at) => ({ at, list: [at] }));");

  assert.ok(little.memory < 4 << 20, `${little.memory}`);
  assert.deepEqual(little.warnings, []);
  assert.ok(much.memory > 32 << 20, `${much.memory}`);
  assert.match(much.warnings.join(), /each call begins with [\d.]+ MiB of memory taken, of the 128 MiB that a server allows by default/);
});

test("a call does not begin with what the top level no longer uses", async () => {
  const scattered = "const all = Array.from({ length: 50_000 }, (_, at) => ({ at }));\nconst rows = all.filter(({ at }) => at % 100 === 0);";
  const memory = async (before) => {
    const directory = await folder({ "extension.ts": extension("async () => String(rows.length)", "", before) });
    const { stdout } = await kitbagBuild(join(directory, "extension.ts"), join(directory, "out"), "--json");
    return JSON.parse(stdout.trim().split("\n").at(-1)).memory;
  };

  const [nothing, some] = [await memory("const rows: object[] = [];"), await memory(scattered)];

  assert.ok(some - nothing < 512 * 1024, `${some - nothing} bytes for 500 objects`);
});
