// npm packages that toolkits use: the same cases in Node.js and in the sandbox. All are in one component, which takes less
// time than one for each.
import assert from "node:assert/strict";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { program, startServer } from "../parity/server.mjs";
import { kitbagBuild, temporary } from "../support.mjs";
import { runCases } from "../web/run.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const sets = (await readdir(join(HERE, "cases"))).map((file) => file.replace(".mjs", ""));
const skip = program === undefined && "no kitbag program: set TEST_KITBAG, or build it with cargo";
let server;

/** The source of a toolkit with a tool for each set of cases. */
const source = `
import { defineToolkit, z } from "kitbag/extend/toolkit";
import { runCases } from "../web/run.mjs";
${sets.map((set) => `import ${set} from "./cases/${set}.mjs";`).join("\n")}
const tools = Object.entries({ ${sets.join(", ")} }).map(([name, cases]) => ({
  name, description: "Runs its cases.", input: z.object({}), handler: async () => JSON.stringify(await runCases({ [name]: cases })),
}));
export default defineToolkit({ id: "packages", name: "Packages", description: "d", icon: "📦", version: "1.0.0", tools });`;

before(async () => {
  if (skip) return;
  // In this folder, where the packages are installed.
  const entry = join(HERE, "extension-packages.mjs");
  after(() => rm(entry, { force: true }));
  await writeFile(entry, source);
  const directory = await temporary();
  const [built, started] = await Promise.all([kitbagBuild(entry, directory), startServer()]);
  server = started;
  assert.equal(built.status, 0, built.stderr);
  await server.cli(["toolkit", "deploy", join(directory, "packages.wasm")]);
});

after(() => server?.stop());

for (const set of sets) {
  test(set, { skip }, async (t) => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: `packages__${set}`, arguments: {} } };
    const answer = await server.fetch(JSON.stringify(body), { "content-type": "application/json", accept: "application/json" });
    const { result } = await answer.json();
    assert.equal(result.isError, false, result.content[0].text);

    const inSandbox = JSON.parse(result.content[0].text);
    const { default: cases } = await import(`./cases/${set}.mjs`);
    for (const [name, outcome] of Object.entries(await runCases({ [set]: cases }))) {
      await t.test(name, () => {
        assert.ok(!Object.hasOwn(Object(outcome), "threw"), JSON.stringify(outcome));
        assert.deepEqual(inSandbox[name], outcome);
      });
    }
  });
}
