// fetch in the engine over a simulated network: cases that cannot be compared with Node.js.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { bundled } from "./bundle.mjs";
import { ENGINE, inEngine } from "./engine.mjs";

const HOST = fileURLToPath(new URL("network-host.mjs", import.meta.url));

/** Replaces the host's network with the simulated one. */
const network = {
  name: "network",
  setup(build) {
    build.onResolve({ filter: /^kitbag:host$/ }, ({ importer }) =>
      importer === HOST ? { path: "kitbag:host", external: true } : { path: HOST },
    );
  },
};

test("fetch asks the host, and reads what it answers", { skip: ENGINE === undefined && "TEST_ENGINE is not set" }, async (t) => {
  const code = await bundled(
    [
      'import cases from "./network-cases.mjs";',
      'import { runCases } from "./run.mjs";',
      "export default runCases({ fetch: cases });",
    ],
    [network],
  );

  const { value } = await inEngine(code);

  for (const [name, outcome] of Object.entries(value)) await t.test(name, () => assert.deepEqual(outcome, true));
});
