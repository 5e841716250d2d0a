// The world of a component: what its declaration grants, and as many functions as every other one.
import assert from "node:assert/strict";
import { test } from "node:test";

import { contractOf, readContract, sandboxedWorld } from "../dist/build/world.js";

/** Interfaces that a world imports, with how many functions they have in all. */
function imported(world) {
  const [, body] = /^world sandboxed \{\n([^]*?)^\}/m.exec(world);
  return [...body.matchAll(/import ([^;]+);/g)].map(([, name]) => name);
}

test("every component imports equally many functions", async () => {
  const contract = await readContract();
  const all = Object.values(contract.functions).reduce((sum, count) => sum + count);

  for (const granted of [["log", "progress"], ["log", "progress", "secrets"], Object.keys(contract.functions)]) {
    const names = imported(sandboxedWorld(contract, { interfaces: granted, http: false }));
    const count = names.reduce((sum, name) => sum + (contract.functions[name] ?? 1), 0);
    assert.deepEqual(names.slice(0, granted.length), granted);
    assert.equal(count, all);
  }
});

test("a contract with more functions than there is padding for is refused", async () => {
  const { text } = await readContract();
  const larger = text
    .replace("world toolkit {", "interface paint {\n    draw: func();\n    erase: func();\n}\n\nworld toolkit {\n    import paint;");
  const contract = contractOf(larger);

  assert.equal(contract.functions.paint, 2);
  assert.throws(
    () => sandboxedWorld(contract, { interfaces: ["log", "progress"], http: false }),
    /a component without paint, secrets, search, ingest needs 6 padding functions, and build\/world\.ts has 4: add to PADDING there/,
  );
});

test("the contract says which version it is", async () => {
  const { text, version } = await readContract();
  assert.equal(contractOf(text.replace(`toolkit@${version};`, "toolkit@7.8.9;")).version, "7.8.9");
  assert.throws(() => contractOf("interface tools {}"), /not the contract of a toolkit/);
});
