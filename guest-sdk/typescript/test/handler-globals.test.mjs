// Handlers in tests see the globals of the sandbox; everything else in the process sees those of Node.js.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

import { defineToolkit, dispatch, tool, z } from "kitbag/extend/toolkit";

import { CRYPTO_GLOBALS, MISSING_LANGUAGE_GLOBALS, MISSING_NODE_GLOBALS, WEB_GLOBALS } from "../dist/sandbox-globals.js";
import { bundled } from "./web/bundle.mjs";
import { ENGINE, inEngine } from "./web/engine.mjs";

const MISSING = [...MISSING_LANGUAGE_GLOBALS, ...MISSING_NODE_GLOBALS];

/** Calls a toolkit with one tool. */
const go = (handler, config = {}, call = {}) => {
  const described = { id: "one", name: "One", description: "One tool.", icon: "1️⃣", version: "1.0.0", ...config };
  const tools = [tool({ name: "go", description: "Goes.", input: z.object({ n: z.int().default(1) }), handler })];
  return dispatch(defineToolkit({ ...described, tools }), { tool: "go", ...call });
};

const wait = () => new Promise((resolve) => setTimeout(resolve, 5));

/** How a global looks to code that uses it in each of the usual ways. */
const looks = (name) =>
  [`typeof ${name}`, `${JSON.stringify(name)} in globalThis`, `typeof globalThis.${name}`, name]
    .map((code) => {
      try {
        return String(new Function(`return ${code}`)()).slice(0, 20);
      } catch (error) {
        return error.name;
      }
    })
    .join();

test("what the sandbox lacks does not exist in a handler", async () => {
  const properties = () => [...MISSING, "fetch", "navigator", "self"].map((name) => Object.getOwnPropertyDescriptor(globalThis, name));
  const before = properties();

  const result = await go(async () => {
    const first = MISSING.map(looks);
    await wait();
    return JSON.stringify([...new Set([...first, ...MISSING.map(looks)])]);
  });

  assert.deepEqual(JSON.parse(result.text), ["undefined,false,undefined,ReferenceError"]);
  assert.deepEqual(properties(), before);
});

test("what the sandbox has exists in a handler", async () => {
  const result = await go(async () => JSON.stringify([self === globalThis, global === globalThis, navigator.userAgent, typeof reportError, typeof fetch, typeof SharedArrayBuffer]));

  assert.deepEqual(JSON.parse(result.text), [true, true, "Kitbag", "function", "function", "function"]);
});

test("code that runs for a long time finds the same as before", async () => {
  const outcomes = (rounds) => {
    const found = new Set();
    for (let round = 0; round < rounds; round += 1) {
      try {
        found.add(typeof process + typeof Buffer.from);
      } catch (error) {
        found.add(error.name);
      }
    }
    return [...found].join();
  };

  assert.equal(outcomes(10_000), "objectfunction");
  assert.equal((await go(async () => outcomes(2_000))).text, "ReferenceError");
  assert.equal(outcomes(10_000), "objectfunction");
});

test("other code sees everything while a handler runs, and what it changes stays", async () => {
  let proceed;
  const call = go(async () => {
    const before = typeof setImmediate;
    await new Promise((resolve) => (proceed = resolve));
    return before + typeof setImmediate;
  });
  await wait();

  assert.deepEqual([looks("process"), looks("Buffer")].map((it) => it.split(",")[0]), ["object", "function"]);
  const { setImmediate: original } = globalThis;
  globalThis.setImmediate = "changed";
  assert.equal(setImmediate, "changed");
  proceed();

  assert.equal((await call).text, "undefinedundefined");
  assert.equal(setImmediate, "changed");
  globalThis.setImmediate = original;
});

test("calls at the same time are apart, and a global that a handler defines ends with its call", async () => {
  const handler = async ({ n }) => {
    globalThis.Buffer = n;
    await wait();
    return String(Buffer);
  };
  const calls = await Promise.all([1, 2, 3].map((n) => go(handler, {}, { arguments: { n } })));

  assert.deepEqual(calls.map(({ text }) => text), ["1", "2", "3"]);
  assert.equal((await go(async () => typeof Buffer)).text, "undefined");
  assert.equal(typeof Buffer.from, "function");
});

test("globals are back after a handler that throws", async () => {
  await go(async () => {
    throw new Error("no");
  });

  assert.equal(looks("process").split(",")[0], "object");
  assert.ok(Object.hasOwn(globalThis, "Buffer"));
});

test("mocks of a test see everything", async () => {
  const seen = () => [typeof process, typeof Buffer, typeof setImmediate].join();
  const fetchImpl = async () => {
    const at = seen();
    await wait();
    return new Response(`${at} ${seen()}`);
  };
  const svc = { search: async () => [{ document: { title: seen() } }] };
  const handler = async (_, ctx) => {
    const answer = await (await ctx.fetch("https://a.example/")).text();
    return `${answer} ${(await ctx.svc.search("x"))[0].document.title} ${typeof process}`;
  };

  const result = await go(handler, { egress: ["a.example"], scopes: ["svc:search"] }, { fetchImpl, svc });

  const everything = "object,function,function";
  assert.equal(result.text, `${everything} ${everything} ${everything} undefined`);
});

test("the web platform of Node.js works in a handler", async () => {
  const packed = async () => new Response(new Blob(["ab"]).stream().pipeThrough(new CompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip"))).text();
  const handler = async () => {
    const form = new FormData();
    form.set("f", new File(["x"], "x.txt"));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode("a"));
    const control = new AbortController();
    const later = new Promise((resolve) => control.signal.addEventListener("abort", () => resolve("aborted")));
    setTimeout(() => control.abort());
    console.log("a line of a handler");
    return JSON.stringify([await packed(), (await new Response(form).text()).includes("x.txt"), digest.byteLength, await later, structuredClone({ a: [1] }).a[0]]);
  };

  assert.deepEqual(JSON.parse((await go(handler)).text), ["ab", true, 32, "aborted", 1]);
});

test("an exception about a missing global names the sandbox", async () => {
  const failure = async (handler) => (await go(handler)).trace.failure;

  const buffer = await failure(async () => Buffer.from("a"));
  assert.equal(buffer.message, "Buffer is not defined in the sandbox: use Uint8Array, TextEncoder, btoa and atob");
  assert.match(buffer.stack, /^ReferenceError: Buffer is not defined in the sandbox: [^]*handler-globals\.test/);
  assert.equal((await failure(async () => new WebSocket("wss://a.example"))).message, "WebSocket is not defined in the sandbox");
  assert.equal((await failure(async () => nothing)).message, "nothing is not defined");
});

test("the global fetch reaches the hosts of egress and no other", async () => {
  const asked = [];
  const fetchImpl = async (url) => (asked.push(url), new Response("reached"));
  const handler = async () => {
    const reached = await (await fetch("https://a.example/")).text();
    const refused = await fetch(new Request("https://evil.example/")).catch((error) => `${error.name} ${error.message}`);
    return `${reached}, ${refused}`;
  };

  const result = await go(handler, { egress: ["a.example"] }, { fetchImpl });
  const without = await go(async () => fetch("https://a.example/").catch((error) => error.name), {}, { fetchImpl });

  assert.match(result.text, /^reached, TypeError network error: evil\.example is not listed in egress/);
  assert.deepEqual(result.trace.requests, [{ method: "GET", url: "https://a.example/" }]);
  assert.equal(without.text, "TypeError");
  assert.deepEqual(asked, ["https://a.example/"]);
});

test("a fetch that the test puts in place of the global one answers requests", async () => {
  const { fetch: original } = globalThis;
  globalThis.fetch = async () => new Response("of the test");
  try {
    const result = await go(async (_, ctx) => (await ctx.fetch("https://a.example/")).text(), { egress: ["a.example"] });
    assert.equal(result.text, "of the test");
  } finally {
    globalThis.fetch = original;
  }
});

test("every global of this Node.js is in one of the lists", () => {
  const language = runInNewContext("Object.getOwnPropertyNames(globalThis)");
  const listed = new Set([...language, ...WEB_GLOBALS, ...CRYPTO_GLOBALS, ...MISSING]);

  const found = Object.getOwnPropertyNames(globalThis).filter((name) => !listed.has(name) && !name.startsWith("__zod"));

  assert.deepEqual(found, []);
});

test("the engine has the web platform's globals of the list and no others", { skip: ENGINE === undefined && "TEST_ENGINE is not set" }, async () => {
  const own = "export default Object.getOwnPropertyNames(globalThis);";
  const [language, installed] = [(await inEngine(own)).value, (await inEngine(await bundled([own]))).value];

  assert.deepEqual(WEB_GLOBALS.filter((name) => !installed.includes(name)), []);
  assert.deepEqual(installed.filter((name) => !language.includes(name) && !WEB_GLOBALS.includes(name)), []);
});
