// The interfaces that a component may import, derived from its declaration.
import assert from "node:assert/strict";
import { test } from "node:test";

import { grantedInterfaces } from "../dist/build/imports.js";

const NOTHING = { secrets: [], egress: [], scopes: [] };

test("a declaration that asks for nothing grants the log, progress, clocks and randomness", () => {
  assert.deepEqual(grantedInterfaces(NOTHING), [
    "kitbag:toolkit/log",
    "kitbag:toolkit/progress",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:io/poll",
    "wasi:random/random",
  ]);
});

for (const [declared, interfaces] of [
  [{ secrets: ["KEY"] }, ["kitbag:toolkit/secrets"]],
  [{ scopes: ["svc:search"] }, ["kitbag:toolkit/search"]],
  [{ scopes: ["svc:ingest"] }, ["kitbag:toolkit/ingest"]],
  [{ scopes: ["svc:cache"] }, ["kitbag:toolkit/cache"]],
  [{ egress: ["a.example"] }, ["wasi:http/outgoing-handler", "wasi:http/types", "wasi:io/error", "wasi:io/streams"]],
]) {
  test(`${JSON.stringify(declared)} grants what it says, and nothing else`, () => {
    const before = grantedInterfaces(NOTHING);
    const added = grantedInterfaces({ ...NOTHING, ...declared }).filter((name) => !before.includes(name));
    assert.deepEqual(added, interfaces);
  });
}
