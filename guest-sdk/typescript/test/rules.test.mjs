// The module rules.wasm.
import assert from "node:assert/strict";
import { test } from "node:test";

import { entryFor, meant, text } from "../dist/handler-rules.js";
import { describeChoices, notListed } from "../dist/texts.js";
import { host } from "../dist/local/host.js";
import { allows, argumentsFailure, failureOf, manifestOf, permits, settingsOf, wrongRange } from "../dist/rules.js";

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

test("what some clients refuse of a declaration is a warning, and its manifest says which version it was written for", () => {
  const inputSchema = { type: "object", properties: { "a b": {} } };
  const declaration = { id: "books", name: "Books", description: "Finds books.", icon: "📚", version: "1.0.0", tools: [{ name: "find", description: "Finds.", inputSchema }] };

  const { manifest, warnings } = manifestOf(declaration);

  assert.match(manifest.kitbag, /^\d+\.\d+\.\d+$/);
  assert.equal(warnings.length, 1);
  assert.equal(warnings[0].path, "tools[0].input");
  assert.match(warnings[0].message, /^Claude refuses every request with the property "a b"/);
});

test("a text that says much more than its structured value is a warning", () => {
  const toolkit = { id: "a", name: "A", description: "d", icon: "a", version: "1.0.0", tools: [] };
  const result = { toolkit, tool: "diff", uncounted: 0, structured: '{"added":1}', output: { type: "object" }, content: [] };

  assert.match(host("result", { ...result, text: 5000 }).warning, /^the text of "diff" says much more than its structured value/);
  assert.equal(host("result", { ...result, text: 100 }).warning, undefined);
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

test("a host is listed by its entry alone, and the refusal names the entry", () => {
  const egress = ["api.example", "api.example:8443", "other.example:443", "[::1]"];
  for (const [url, entry, isListed] of [
    ["https://api.example/x", "api.example", true],
    ["http://API.example.:80/", "api.example", true],
    ["https://api.example:8443/", "api.example:8443", true],
    ["https://api.example:8444/", "api.example:8444", false],
    ["https://other.example/", "other.example", true],
    ["http://other.example/", "other.example", false],
    ["https://sub.api.example/", "sub.api.example", false],
    ["https://api.example@evil.example/", "evil.example", false],
    ["https://evil.example/?https://api.example", "evil.example", false],
    ["https://[::1]/", "[::1]", true],
    ["https://[::2]/", "[::2]", false],
    ["data:text/plain,x", "", false],
  ]) {
    assert.deepEqual([allows(egress, new URL(url)), entryFor(new URL(url))], [isListed, entry], url);
  }
  assert.equal(notListed(new URL("https://evil.example:81/")), 'evil.example:81 is not listed in egress: add "evil.example:81" to the toolkit\'s egress');
});

test("a lone surrogate becomes U+FFFD, as in the sandbox, and an escape that is text stays", () => {
  const text = "a\ud83d \\ud83d \\\ud83d 😀";

  const { placed } = host("ingest", { source: "a", keys: [], documents: [{ title: "T", text }], secrets: [] });
  assert.equal(placed[0].document.text, text.toWellFormed());
  assert.equal(failureOf({ cause: "tool-error", message: text, retryable: false }).error, text.toWellFormed());
});

test("the branch that a value was meant for is the nearest", () => {
  assert.deepEqual(meant([[[0, "type"]], [[1, "constant"], [1, "other"]], [[1, "other"]]]), { branch: 2, of: 1 });
  assert.deepEqual(meant([[[0, "type"]], [[1, "constant"]], [[1, "constant"], [1, "other"]]]), { discriminator: [1, 2] });
  assert.deepEqual(meant([[[0, "type"]], [[0, "constant"]]]), { anyOf: [0, 1] });
  assert.equal(describeChoices(["a", "b", "a"], 3), "a, or b");
  assert.equal(describeChoices(["a", "b", "c", "d", "e", "f"], 7), "value fits none of 7 choices");
  assert.throws(() => text("no-such-text", []), /no text no-such-text/);
});
