// The prelude of a bundle teaches an engine what \\p{…} means: it must mean what Node.js means by it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";

import { unicodeProperties, unknownProperties } from "../dist/build/unicode-properties.js";

const PATTERNS = [
  ["\\p{L}+", "gu", "Éa b-ñ"],
  ["^\\P{L}$", "u", "1"],
  ["[^\\p{L}\\d]+", "gu", "a-b1 c"],
  ["[\\P{L}]", "gu", "é1"],
  ["\\p{Script=Greek}+", "gu", "aβγ"],
  ["\\p{Lu}", "giu", "aB"],
  ["[\\p{L}--[a-z]]", "gv", "aÉ"],
  ["[\\P{Lu}--\\p{N}]", "gv", "aB1"],
  ["\\P{Lu}", "giu", "aB1"],
  ["\\p{Extended_Pictographic}", "gu", "a😀b"],
  ["\\[\\p{L}\\]", "u", "[a]"],
  ["\\p{L}", "", "p{L}"],
];

test("a bundle without them begins with nothing", () => {
  assert.equal(unicodeProperties("/[a-z]/u"), undefined);
  assert.equal(unicodeProperties("/\\p{NoSuchProperty}/u"), undefined);
});

test("each pattern finds what it found before", () => {
  const prelude = unicodeProperties(PATTERNS.map(([source]) => JSON.stringify(source)).join("\n"));
  const taught = createContext({});
  // Whatever is left of an escape would be a syntax error in the sandbox's engine.
  runInContext(`globalThis.native = RegExp; ${prelude}`, taught);
  for (const [source, flags, text] of PATTERNS) {
    const { source: spelled, found } = runInContext(
      `(() => { const it = new RegExp(${JSON.stringify(source)}, "${flags}"); return { source: it.source, found: JSON.stringify(${JSON.stringify(text)}.match(it)) }; })()`,
      taught,
    );
    assert.equal(found, JSON.stringify(text.match(new RegExp(source, flags))), source);
    if (flags !== "") assert.doesNotMatch(spelled, /\\[pP]\{/);
  }
  assert.equal(runInContext('RegExp("a") instanceof RegExp && /a/ instanceof RegExp && new RegExp(/b/g).flags === "g"', taught), true);
});

test("a taught RegExp is still the one that expressions come from", () => {
  const taught = createContext({});
  runInContext(unicodeProperties("\\p{L}"), taught);
  for (const holds of ["/a/.constructor === RegExp", "new RegExp('a').constructor === RegExp", "(it => RegExp(it) === it)(/a/)", "(it => RegExp(it, 'g') !== it)(/a/)", "'a1b'.split(/\\d/y).length === 2"]) {
    assert.equal(runInContext(holds, taught), true, holds);
  }
});

test("what no table can stand for is named", () => {
  assert.deepEqual(unknownProperties(String.raw`/\p{RGI_Emoji}|\p{RGI_Emoji}|\p{L}/v; new RegExp("\\P{Nope}", "u")`), ["\\p{RGI_Emoji}", "\\P{Nope}"]);
});

test("every letter is as Node.js has it", () => {
  const taught = createContext({});
  runInContext(unicodeProperties("\\p{L} \\P{L} \\p{Cs}"), taught);
  for (const escape of ["\\p{L}", "\\P{L}", "\\p{Cs}"]) {
    const here = new RegExp(`^${escape}$`, "u");
    const there = runInContext(`new RegExp(${JSON.stringify(`^${escape}$`)}, "u")`, taught);
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const letter = String.fromCodePoint(code);
      if (here.test(letter) !== there.test(letter)) assert.fail(`${escape} at ${code.toString(16)}`);
    }
  }
});
