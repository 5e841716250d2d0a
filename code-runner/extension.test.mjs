import assert from "node:assert/strict";
import { test } from "node:test";

import { dispatch } from "kitbag/extend/toolkit";

import toolkit from "./extension.ts";

/** The host: it adds numbers, and refuses everything else. */
async function host(url, { body }) {
  const { host, pathname } = new URL(url);
  assert.equal(host, "tools.kitbag.invalid");
  const { a, b } = JSON.parse(body);
  if (pathname === "/my-math/add") return Response.json({ value: { sum: a + b } });
  return Response.json({ error: { message: `there is no tool ${pathname}`, code: "UNKNOWN_TOOL", retryable: false } });
}

const run = async (code) => {
  const result = await dispatch(toolkit, { tool: "run_code", arguments: { code, calls: 9 }, fetchImpl: host });
  return result.ok ? result.text : `! ${result.error}`;
};

test("code calls tools, computes with what they return, and returns a value", async () => {
  assert.equal(await run('return (await tools["my-math"].add({ a: 1, b: 2 })).sum * 2;'), "6");
  const many = "const all = await Promise.all([1, 2, 3].map((a) => tools['my-math'].add({ a, b: 1 }))); return all.map(({ sum }) => sum);";
  assert.equal(await run(many), "[2,3,4]");
  assert.equal(await run("return 'as it is';"), "as it is");
  assert.equal(await run("1 + 1"), "The code returned nothing.");
});

test("what the code prints comes after what it returns, within bounds", async () => {
  assert.equal(await run("console.log('one', { two: 2 }); return 3;"), '3\n\nPrinted:\none {"two":2}\n');
  const long = await run("for (let n = 0; n < 100000; n += 1) console.log('x'.repeat(100)); return 1;");
  assert.ok(long.length < 9_000 && long.endsWith("there is room for)\n"), long.slice(-100));
  assert.match(await run("console.log('x'.repeat(10_000)); return 1;"), /^1\n\nPrinted:\nx{8000}…/);
  assert.ok((await run("throw new Error('x'.repeat(900_000));")).length < 5_000);
  assert.match(await run("return 'x'.repeat(100_000);"), /^! RangeError: the code returns 100000 characters/);
});

test("errors have the lines of the code", async () => {
  assert.match(await run("const one = 1;\nreturn one.two.three;"), /^! TypeError: .*\(line 2\)$/);
  assert.match(await run("\nawait tools.math.sub({});"), /^! ToolError: there is no tool \/math\/sub \(line 2\)$/);
  assert.match(await run("console.log('here');\nthrow new Error('x');"), /^! Error: x \(line 2\)\n\nPrinted before:\nhere\n$/);
  assert.match(await run("return 1 +;"), /^! SyntaxError: /);
  assert.match(await run("throw 'a text';"), /^! The code threw a text$/);
  assert.equal(await run("try { await tools.math.sub({}); } catch (error) { return [error.code, error.retryable]; }"), '["UNKNOWN_TOOL",false]');
});

test("what code does to its tools and its result harms itself alone", async () => {
  assert.match(await run("tools.math = 1;"), /^! TypeError: /);
  assert.equal(await run("return Object.keys(tools);"), "[]");
  assert.match(await run("return await fetch('https://example.com');"), /^! TypeError: code has no network/);
  assert.equal(await run("return await tools;"), "{}");
  assert.match(await run("return { get a() { throw new Error('got'); } };"), /^! Error: got/);
  assert.match(await run("const a = {}; a.a = a; return a;"), /^! TypeError: /);
  assert.match(await run("return 1n;"), /^! TypeError: /);
  assert.equal(await run("return () => 1;"), "The code returned nothing.");
  assert.match(await run("const a = Object.create(null); a.a = a; throw a;"), /^! The code threw \(a value that cannot be shown\)$/);
  assert.match(await run("throw { get message() { throw 1; }, toString: null };"), /^! The code threw \(a value that cannot be shown\)$/);
  assert.match(await run("for (let n = 0; n < 20; n += 1) await tools['my-math'].add({ a: 1, b: 2 });"), /^! ToolError: code makes at most 9 calls/);
  assert.equal(await run("return { toJSON: () => 'told' };"), '"told"');
});
