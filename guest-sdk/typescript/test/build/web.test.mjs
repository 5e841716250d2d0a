// The web platform: runs the same cases in Node.js and in the sandbox of a server, and compares their values.
// Cases that need the full variant of the engine are in separate toolkits, so that all others run in the
// plain one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { folder, kitbagBuild } from "../support.mjs";
import { program, startServer } from "../parity/server.mjs";
import { caseSets } from "../web/cases.mjs";
import { expectedOutcomes } from "../web/run.mjs";

const WEB = fileURLToPath(new URL("../web/", import.meta.url));
const skip = program === undefined && "no kitbag program: set TEST_KITBAG, or build it with cargo";
const toolkits = { web: await caseSets(), "web-crypto": await caseSets("crypto"), "web-intl": await caseSets("intl") };
let server;

/** Returns the source of a toolkit with a tool for each set of cases. */
const source = (id, names) => `
import { defineToolkit, tool, z } from "kitbag/extend/toolkit";
import { runCases } from ${JSON.stringify(`${WEB}run.mjs`)};
${names.map((name, at) => `import set${at} from ${JSON.stringify(`${WEB}cases/${name}.mjs`)};`).join("\n")}
const run = (name, set) => tool({ name, description: "Runs its cases.", input: z.object({}), handler: async () => JSON.stringify(await runCases({ [name]: set })) });
export default defineToolkit({
  id: ${JSON.stringify(id)}, name: "Web", description: "The web platform.", icon: "🌐", version: "1.0.0", egress: ["cases.example"],
  tools: [${names.map((name, at) => `run(${JSON.stringify(name)}, set${at})`).join(", ")}],
});`;

before(async () => {
  if (skip) return;
  server = await startServer(["--call-time", "10m"]);
  for (const [id, sets] of Object.entries(toolkits)) {
    const directory = await folder({ "extension.mjs": source(id, Object.keys(sets)) });
    const built = await kitbagBuild(`${directory}/extension.mjs`, `${directory}/dist`);
    assert.equal(built.status, 0, built.stderr);
    await server.cli(["toolkit", "deploy", `${directory}/dist/${id}.wasm`]);
  }
});

after(() => server?.stop());

for (const [id, sets] of Object.entries(toolkits)) {
  const expected = await expectedOutcomes(sets);
  for (const set of Object.keys(sets)) {
    test(`${id}: ${set}`, { skip }, async (t) => {
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: `${id}__${set}`, arguments: {} } };
      const answer = await server.fetch(JSON.stringify(call), { "content-type": "application/json", accept: "application/json" });
      const { result } = await answer.json();
      assert.equal(result?.isError, false, JSON.stringify(result));
      const actual = JSON.parse(result.content[0].text);
      for (const name of Object.keys(expected).filter((it) => it.startsWith(`${set}: `))) {
        await t.test(name, () => assert.deepEqual(actual[name], expected[name]));
      }
    });
  }
}
