// A bundle as a script: what it imports, what it exports, and that everything else stays where it was.
import assert from "node:assert/strict";
import { test } from "node:test";

import { asScript } from "../dist/build/script.js";

/** Runs a script; its imports are of modules of Node.js. */
const run = (code) => new Function(`return ${code}`)();
const bundle = (code) => ({ code, map: JSON.stringify({ version: 3, sources: [], mappings: "AAAA;AACA" }), sources: [], metafile: {} });

test("a script's value is a promise of what the bundle exports", async () => {
  for (const [code, expected] of [
    ["var one=1;\nexport{one as call};\n", 1],
    ["var call=await Promise.resolve(2);export{call};", 2],
    ['import{join as j,sep}from"node:path";import*as url from"node:url";var call=j("a",sep,typeof url.parse);export{call};', "a/function"],
    ['import"node:path";var call="import{x}from\\"y\\"";export{call};', 'import{x}from"y"'],
  ]) {
    const script = await asScript(bundle(code));

    assert.equal(await run(script.code), expected, script.code);
  }
});

test("what is not imported or exported stays in its column, one line further down", async () => {
  const code = 'import{a}from"kitbag:url";var one=1;\nvar two=2;export{two as call};';

  const { code: script, map } = await asScript(bundle(code));

  const lines = script.split("\n");
  assert.equal(lines[1].indexOf("var one"), code.indexOf("var one"));
  assert.equal(lines[2].indexOf("var two"), 0);
  assert.equal(JSON.parse(map).mappings, ";AAAA;AACA");
});

test("a bundle that exports anything else is refused", async () => {
  await assert.rejects(asScript(bundle('import d from"kitbag:url";var a=1;export{a};')), /cannot have the import/);
  for (const code of ["var a=1;", "var a=1,b=2;export{a,b};", "export default 1;", 'export*from"kitbag:url";']) {
    await assert.rejects(asScript(bundle(code)), /one export/, code);
  }
});
