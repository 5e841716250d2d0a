// Hostile toolkits: each call ends with a clear error, and the server still answers the next call.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { folder, kitbagBuild } from "../support.mjs";
import { program, startServer } from "../parity/server.mjs";

const skip = program === undefined && "no kitbag program: set TEST_KITBAG, or build it with cargo";
/** Long enough for a machine that is busy; what never ends runs on another server. */
const CALL_SECONDS = 120;
const SHORT_SECONDS = 5;
let server;
let hasty;

const HANDLERS = {
  never: "() => new Promise(() => {})",
  later: "async () => { setTimeout(() => {}, 10); await new Promise(() => {}); }",
  microtasks: "() => new Promise(() => { const again = () => queueMicrotask(again); again(); })",
  loop: "() => { for (;;); }",
  recursion: "async () => { const deep = (n) => 1 + deep(n + 1); try { deep(0); } catch (error) { return error.name + ': ' + error.message; } }",
  recursionUncaught: "async () => { const deep = (n) => 1 + deep(n + 1); return String(deep(0)); }",
  json: "async () => { let nested = []; for (let i = 0; i < 1e5; i += 1) nested = [nested]; return JSON.stringify(nested); }",
  parse: "async () => { JSON.parse('['.repeat(1e6)); return ''; }",
  pattern: "async () => String(/^(a+)+$/.test('a'.repeat(40) + '!'))",
  string: "async () => { let text = 'x'; for (;;) text += text; }",
  array: "async () => { const all = []; for (;;) all.push(new Uint8Array(16 << 20)); }",
  cycles: "async () => { for (let i = 0; i < 2_500; i += 1) { const a = {}; a.a = a; a.bytes = new Uint8Array(32_768); } return 'collected'; }",
  sort: "async () => { [3, 2, 1].sort(() => { throw new Error('in a comparison'); }); return ''; }",
  prototype: "async () => { Array.prototype.map = () => { throw new Error('mine'); }; JSON.stringify = () => { throw new Error('mine'); }; return 'done'; }",
  rejected: "async () => { Promise.reject(new TypeError('nobody awaits me')); return 'done'; }",
  hangs: "async () => { (async () => { throw new TypeError('the cause'); })(); await new Promise(() => {}); }",
  fetches: "async () => { try { await fetch('https://a.example/'); } catch (error) { return error.name; } }",
  leftovers: "() => String(made)",
  fine: "async () => 'fine'",
};

before(async () => {
  if (skip) return;
  [server, hasty] = await Promise.all([CALL_SECONDS, SHORT_SECONDS].map((seconds) => startServer(["--call-time", `${seconds}s`])));
  const tools = Object.entries(HANDLERS).map(([name, handler]) => `{ name: "${name}", description: "Does it.", input: z.object({}), handler: ${handler} }`);
  const code = `
import { defineToolkit, z } from "kitbag/extend/toolkit";
let made = "nothing";
Promise.resolve("what the top level left").then((it) => { made = it; });
export default defineToolkit({ id: "hostile", name: "Hostile", description: "Does its worst.", icon: "😈", version: "1.0.0", tools: [${tools.join(",\n")}] });`;
  await deploy("hostile", code);
});

after(() => Promise.all([server?.stop(), hasty?.stop()]));

async function deploy(id, code) {
  const directory = await folder({ "extension.mjs": code });
  const built = await kitbagBuild(`${directory}/extension.mjs`, `${directory}/dist`);
  assert.equal(built.status, 0, built.stderr);
  for (const one of [server, hasty]) await one.cli(["toolkit", "deploy", `${directory}/dist/${id}.wasm`]);
}

async function call(name, toolkit = "hostile", at = server) {
  const began = performance.now();
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: `${toolkit}__${name}`, arguments: {} } };
  const answer = await at.fetch(JSON.stringify(body), { "content-type": "application/json", accept: "application/json" });
  const { result } = await answer.json();
  return { text: result.content[0].text, seconds: (performance.now() - began) / 1000 };
}

const log = () => server.cli(["toolkit", "logs", "hostile", "--limit", "1"]);

for (const name of ["never", "later"]) {
  test(`a promise that nothing can settle: ${name}`, { skip }, async () => {
    const { text, seconds } = await call(name);
    assert.match(text, /The tool failed\./);
    assert.match(await log(), /waits for a promise that nothing can settle/);
    assert.ok(seconds < CALL_SECONDS, "not only at the deadline");
  });
}

for (const name of ["microtasks", "loop", "pattern"]) {
  test(`what never ends, ends at the deadline: ${name}`, { skip }, async () => {
    const { text } = await call(name, "hostile", hasty);
    assert.match(text, new RegExp(`The tool ran longer than ${SHORT_SECONDS} s and was stopped`));
  });
}

test("recursion without end is an error that a script can catch", { skip }, async () => {
  assert.match((await call("recursion")).text, /RangeError: Maximum call stack size exceeded/);
  await call("recursionUncaught");
  assert.match(await log(), /RangeError: Maximum call stack size exceeded\n\s+at deep \(extension\.mjs:\d+:\d+\)/);
});

for (const [name, what] of [
  ["json", /RangeError: Maximum call stack size exceeded|limit \(stack limit\)|deadline/],
  ["parse", /RangeError: Maximum call stack size exceeded|limit \(stack limit\)/],
  ["string", /string too long|out of memory|limit \(memory limit\)/],
  ["array", /out of memory|limit \(memory limit\)/],
]) {
  test(`what takes too much says so: ${name}`, { skip }, async () => {
    await call(name);
    assert.match(await log(), what);
  });
}

for (const [name, what] of [
  ["rejected", /a promise was rejected, and nobody awaits it: TypeError: nobody awaits me\n/],
  ["hangs", /nothing can settle[^]*; a promise was rejected that nobody awaits/],
]) {
  test(`what a script does not catch is in the log: ${name}`, { skip }, async () => {
    await call(name);
    assert.match(await log(), what);
  });
}

test("a request without egress is an error, and not the end of the call", { skip }, async () => {
  assert.equal((await call("fetches")).text, "TypeError");
});

test("jobs of the top level have run when a call begins", { skip }, async () => {
  assert.equal((await call("leftovers")).text, "what the top level left");
});

test("garbage in cycles is collected", { skip }, async () => {
  assert.equal((await call("cycles")).text, "collected");
});

test("what a script throws from within the engine's own functions is told", { skip }, async () => {
  await call("sort");
  assert.match(await log(), /Error: in a comparison/);
});

test("a script that breaks the language breaks its own call alone", { skip }, async () => {
  await call("prototype");
  assert.equal((await call("fine")).text, "fine");
});

test("a top level that needs much memory of the engine leaves a whole heap", { skip }, async () => {
  // Decoding takes more memory than is left free for calls, outside of the heap of scripts.
  await deploy(
    "heavy",
    `
import { defineToolkit, z } from "kitbag/extend/toolkit";
const { length } = new TextDecoder("utf-16le").decode(new Uint8Array(1_000_000).fill(65));
const rows = () => Array.from({ length: 20_000 }, (_, at) => ({ at, text: "row " + at }));
export default defineToolkit({ id: "heavy", name: "Heavy", description: "Starts with much.", icon: "🐘", version: "1.0.0",
  tools: [{ name: "go", description: "Goes.", input: z.object({}), handler: async () => String(length + rows().at(-1).at) }] });`,
  );

  assert.equal((await call("go", "heavy")).text, "519999");
});
