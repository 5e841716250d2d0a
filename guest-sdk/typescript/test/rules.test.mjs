// The module rules.wasm, and the rules that this package implements itself because handlers need them in the
// sandbox.
import assert from "node:assert/strict";
import { test } from "node:test";

import { allows as allowsInSandbox } from "../dist/egress.js";
import { knowledgeClient } from "../dist/knowledge.js";
import { allows, argumentsFailure, limitsOfCalls, permits, settingsOf, wrongRange } from "../dist/rules.js";

test("a check that takes too many steps ends, and the next one begins anew", () => {
  const patterns = Array.from({ length: 40 }, (_, index) => ({ pattern: `^[a-z]+${index}$` }));
  const schema = { type: "object", properties: { words: { items: { anyOf: patterns } } } };

  for (let round = 0; round < 3; round += 1) {
    assert.match(argumentsFailure(schema, { words: Array(45_000).fill("word39") }).error, /more than 5000000 steps/);
    assert.equal(argumentsFailure(schema, { words: ["word39"] }), undefined);
  }
});

test("a schema that multiplies is refused before it is compiled", () => {
  const definitions = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [index, { anyOf: [{ $ref: `#/$defs/${index + 1}` }, { $ref: `#/$defs/${index + 1}` }] }]));
  const schema = { type: "object", properties: { a: { $ref: "#/$defs/0" } }, $defs: { ...definitions, 40: {} } };

  assert.throws(() => argumentsFailure(schema, { a: 1 }), /checking one value may take/);
});

test("settings are those that fit, over the defaults", () => {
  const fields = { language: { type: "string", label: "L", default: "en", required: false }, limit: { type: "number", label: "L", required: false } };

  assert.deepEqual(settingsOf(fields, { language: "de", limit: "many", gone: 1 }), {
    config: { language: "de" },
    problems: { limit: "must be a number", gone: "not declared" },
  });
});

test("ranges of addresses are read, and open what is private", () => {
  assert.equal(wrongRange(["10.0.0.0/8", "fd00::/8"]), undefined);
  assert.equal(wrongRange(["10.0.0.0/8", "10.0.0.0/33"]), "10.0.0.0/33");
  assert.ok(permits([], "1.1.1.1") && !permits([], "10.1.2.3") && permits(["10.0.0.0/8"], "10.1.2.3"));
});

test("a handler's side decides about hosts as the host does", () => {
  const egress = ["api.example", "api.example:8443", "other.example:443", "[::1]"];
  for (const url of [
    "https://api.example/x", "http://API.example.:80/", "https://api.example:8443/", "https://api.example:8444/", "https://other.example/",
    "http://other.example/", "https://sub.api.example/", "https://api.example@evil.example/", "https://evil.example/?https://api.example",
    "https://[::1]/", "https://[::2]/", "data:text/plain,x",
  ]) {
    assert.equal(allowsInSandbox(egress, new URL(url)), allows(egress, new URL(url)), url);
  }
});

test("a handler's side knows how many results a search has at most", async () => {
  const { maxSearchResults } = limitsOfCalls();
  const client = knowledgeClient(["svc:search"], { search: async () => [] });

  assert.deepEqual(await client.search("whales", { limit: maxSearchResults }), []);
  await assert.rejects(client.search("whales", { limit: maxSearchResults + 1 }), new RegExp(`1 to ${maxSearchResults}`));
});
