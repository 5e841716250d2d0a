// `kitbag dev` applies the grants of the sandbox, and serves the newest working version.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { request } from "node:http";
import { chmod, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { AddressGuard } from "../dist/dev/addresses.js";
import { develop } from "../dist/dev/develop.js";
import { listenAddress } from "../dist/dev/server.js";
import { devToken } from "../dist/dev/token.js";
import { MISSING_LANGUAGE_GLOBALS, MISSING_NODE_GLOBALS } from "../dist/sandbox-globals.js";
import { folder } from "./support.mjs";

const running = [];
after(() => Promise.all(running.map((it) => it.close())));

const TOKEN = "of-the-test";

/** Returns the source of a toolkit with one tool; `handler` is the source of its handler. */
const extension = (handler, rest = "", before = "") => `
import { defineToolkit, tool, z } from "kitbag/extend/toolkit";
${before}
export default defineToolkit({
  id: "small", name: "Small", description: "Small.", icon: "🐜", version: "1.0.0", ${rest}
  tools: [tool({ name: "go", description: "Goes.", input: z.object({ what: z.string().optional() }), handler: ${handler} })],
});`;

/** Serves a toolkit; `lines` are the lines of the console. */
async function served(files, options = {}) {
  const directory = await folder(typeof files === "string" ? { "extension.ts": files } : files);
  const lines = [];
  const { env, ...rest } = options;
  if (env !== undefined) await writeFile(join(directory, ".env"), env);
  const defaults = { listen: { host: "127.0.0.1", port: 0 }, token: TOKEN, settings: {}, allowedRanges: [], callTime: 20_000 };
  const development = await develop(directory, { ...defaults, ...(env !== undefined && { envFile: join(directory, ".env") }), ...rest }, { line: (text) => lines.push(text) });
  running.push(development);
  const { url } = development;
  const rpc = async (method, params = {}) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" }, body });
    return response.json();
  };
  const call = async (args = {}) => {
    const { result } = await rpc("tools/call", { name: "small__go", arguments: args });
    return result.content[0].text;
  };
  return { url, rpc, call, lines, directory, said: () => lines.join("\n"), write: (name, text) => writeFile(join(directory, name), text) };
}

async function eventually(holds) {
  const end = Date.now() + 15_000;
  for (;;) {
    if (await holds()) return;
    if (Date.now() > end) throw new Error("the condition was not met in time");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Starts an HTTP server on loopback; returns its host and port. */
async function api(answer) {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  running.push({ close: () => (server.closeAllConnections(), new Promise((closed) => server.close(closed))) });
  return `127.0.0.1:${server.address().port}`;
}

const reporting = (attempt) => `async ({ what }, ctx) => { try { return String(await (${attempt})); } catch (error) { return error.name + ": " + error.message; } }`;

test("a tool is listed and called", async () => {
  const dev = await served(extension("async ({ what }) => `went ${what}`"));

  const { result } = await dev.rpc("tools/list");
  assert.deepEqual(result.tools.map(({ name }) => name), ["small__go"]);
  assert.equal(await dev.call({ what: "home" }), "went home");
  assert.match(dev.said(), /small 1\.0\.0 is served.*small__go/);
  assert.match(dev.said(), /← go \{"what":"home"\}\n→ go in \d+ ms: went home/);
});

test("a host that egress does not list is refused", async () => {
  const host = await api((_, response) => response.end("reached"));
  const attempt = reporting(`ctx.fetch("http://${host}/").then((it) => it.text())`);

  const listed = await served(extension(attempt, `egress: ["${host}"],`), { allowedRanges: ["127.0.0.0/8"] });
  assert.equal(await listed.call(), "reached");
  const unlisted = await served(extension(attempt, `egress: ["api.example.com"],`), { allowedRanges: ["127.0.0.0/8"] });
  assert.equal(await unlisted.call(), `TypeError: network error: ${host} is not listed in egress: add "${host}" to the toolkit's egress`);
});

test("the global fetch reaches the hosts of egress and no other, and nothing before a call", async () => {
  const host = await api((_, response) => response.end("reached"));
  const attempt = reporting(`fetch("http://${host}/").then((it) => it.text())`);

  const listed = await served(extension(attempt, `egress: ["${host}"],`), { allowedRanges: ["127.0.0.0/8"] });
  assert.equal(await listed.call(), "reached");
  const unlisted = await served(extension(attempt, 'egress: ["api.example.com"],'), { allowedRanges: ["127.0.0.0/8"] });
  assert.match(await unlisted.call(), /^TypeError: network error: .* is not listed in egress/);
  const early = await served(extension(reporting("early"), `egress: ["${host}"],`, `const early = fetch("http://${host}/").catch((error) => error.message);`), { allowedRanges: ["127.0.0.0/8"] });
  assert.equal(await early.call(), "the module's top level sends a request, which only a call may do");
});

test("an address that is not public is refused, by number and by name", async () => {
  const host = await api((_, response) => response.end("reached"));
  const port = host.split(":")[1];
  for (const name of [host, `localhost:${port}`]) {
    const dev = await served(extension(reporting(`ctx.fetch("http://${name}/").then((it) => it.text())`), `egress: ["${name}"],`));
    assert.equal(await dev.call(), `TypeError: network error: ${name} cannot be reached`);
    assert.match(dev.said(), /127\.0\.0\.1.*is not a public address \(--allow-private-ranges lets it through\)/);
  }
});

test("a redirect is judged like any other request", async () => {
  const host = await api((_, response) => response.writeHead(302, { location: "http://localhost:1/" }).end());
  const dev = await served(extension(reporting(`ctx.fetch("http://${host}/").then((it) => it.text())`), `egress: ["${host}"],`), { allowedRanges: ["127.0.0.0/8"] });

  assert.match(await dev.call(), /^TypeError: network error/);
});

test("whoever stops a request has its reason, also while the answer is read", async () => {
  const host = await api((_, response) => response.write("a beginning, and no end"));
  const attempt = `ctx.fetch("http://${host}/", { signal: AbortSignal.timeout(300) })`;
  const dev = await served(extension(reporting(`${attempt}.then((it) => what === "url" ? it.url : it.text())`), `egress: ["${host}"],`), { allowedRanges: ["127.0.0.0/8"] });

  assert.match(await dev.call(), /^TimeoutError: /);
  assert.equal(await dev.call({ what: "url" }), `http://${host}/`);
});

test("responses may be compressed as in the sandbox, and no other way", async () => {
  const host = await api((incoming, response) => {
    if (incoming.url === "/gzip") return response.setHeader("content-encoding", "gzip").end(gzipSync("packed"));
    if (incoming.url === "/br") return response.setHeader("content-encoding", "br").end(brotliCompressSync("packed"));
    response.end(incoming.headers["accept-encoding"]);
  });
  const dev = await served(extension(reporting(`ctx.fetch("http://${host}/" + what).then((it) => it.text())`), `egress: ["${host}"],`), { allowedRanges: ["127.0.0.0/8"] });

  assert.equal(await dev.call({ what: "" }), "gzip, deflate");
  assert.equal(await dev.call({ what: "gzip" }), "packed");
  assert.match(await dev.call({ what: "br" }), /^TypeError: network error: the answer is compressed in a way that was not asked for/);
});

test("headers of the connection are ignored as in the sandbox, with a warning", async () => {
  const host = await api((incoming, response) => response.end(incoming.headers.host + incoming.headers["x-own"]));
  const attempt = reporting(`fetch("http://${host}/", { headers: { host: "x", "transfer-encoding": "chunked", "x-own": "1" } }).then((it) => it.text())`);
  const dev = await served(extension(attempt, `egress: ["${host}"],`), { allowedRanges: ["127.0.0.0/8"] });

  assert.equal(await dev.call(), `${host}1`);
  assert.match(dev.said(), /go \| warning: the request header host is ignored, here and on a server/);
});

test("a handler that waits for what nothing settles fails at once, and others do not", async () => {
  const host = await api((_, response) => setTimeout(() => response.end("late"), 300));
  const handler = `async ({ what }) => {
    if (what === "timer") return new Promise((resolve) => setTimeout(resolve, 300, "in time"));
    if (what === "signal") return new Promise((resolve) => AbortSignal.timeout(300).addEventListener("abort", () => resolve("aborted")));
    if (what === "request") return (await fetch("http://${host}/")).text();
    if (what === "digest") return String((await crypto.subtle.digest("SHA-256", new Uint8Array(1 << 24))).byteLength);
    return new Promise(() => {});
  }`;
  const dev = await served(extension(handler, `egress: ["${host}"],`), { allowedRanges: ["127.0.0.0/8"], callTime: 60_000 });

  for (const [what, text] of [["timer", "in time"], ["signal", "aborted"], ["request", "late"], ["digest", "32"]]) assert.equal(await dev.call({ what }), text);
  const began = performance.now();
  assert.match(await dev.call(), /The tool failed/);

  assert.ok(performance.now() - began < 30_000);
  assert.match(dev.said(), /go ended its thread: the handler waits for a promise that nothing can settle/);
});

test("logged errors, unhandled rejections and network errors have their stacks in the author's lines", async () => {
  const before = `
function broken(): never {
  throw new TypeError("broken here");
}
async function load(ctx: any) {
  return ctx.fetch("https://elsewhere.example/");
}`;
  const handler = `async ({ what }, ctx) => {
    try { broken(); } catch (error) { ctx.log("failed", error); console.error(error); console.log((error as Error).stack); }
    Promise.reject(new RangeError("unhandled"));
    if (what === "several") await Promise.any([load(ctx), load(ctx)]);
    return String(await load(ctx));
  }`;
  const dev = await served(extension(handler, 'egress: ["api.example.com"],', before));

  await dev.call();
  await dev.call({ what: "several" });

  const said = dev.said();
  assert.match(said, /logged "failed" \{"name":"TypeError","message":"broken here","stack":\["at broken \(extension\.ts:5:9\)"/);
  assert.equal(said.match(/\n\s+at broken \(extension\.ts:5:9\)/g).length, 4, said);
  assert.match(said, /unhandled rejection: RangeError: unhandled\n\s+at .*extension\.ts:14:/);
  assert.match(said, /TypeError: network error: elsewhere\.example is not listed[^\n]*\n\s+at load \(extension\.ts:8:/);
  assert.match(said, /AggregateError: [^\n]*\n(\s+at [^\n]*\n)*\s*Error 1 of 2: TypeError: network error[^\n]*\n\s+at load \(extension\.ts:8:/);
  assert.doesNotMatch(said, /toolkit\.js|node:internal/);
});

test("the console has what the sandbox's has", async () => {
  const names = ["assert", "clear", "count", "countReset", "debug", "dir", "dirxml", "error", "group", "groupCollapsed", "groupEnd", "info", "log", "table", "time", "timeEnd", "timeLog", "trace", "warn"];
  const dev = await served(extension(`async () => { console.group("a group"); console.time("t"); return Object.keys(console).sort().join(); }`));

  assert.equal(await dev.call(), names.join());
  assert.match(dev.said(), /a group/);
});

test("nothing of Node.js can be reached", async () => {
  const names = [...MISSING_LANGUAGE_GLOBALS, ...MISSING_NODE_GLOBALS.filter((name) => name !== "Buffer"), "Worker"];
  const there = ["fetch", "SharedArrayBuffer", "URL", "TextEncoder", "structuredClone", "crypto", "setTimeout", "Headers", "Request", "Response", "ReadableStream", "CompressionStream", "console", "self", "MessageChannel", "Intl", "navigator", "reportError"];
  const dev = await served(extension(`async () => JSON.stringify([${JSON.stringify([...names, ...there])}.filter((name) => name in globalThis)])`));

  assert.deepEqual(JSON.parse(await dev.call()), [there]);

  const buffers = await served(extension(reporting("typeof Buffer + Buffer.from(what)")));
  assert.equal(await buffers.call({ what: "a" }), "ReferenceError: Buffer_does_not_exist_in_the_sandbox is not defined");
});

test("what there is of the web works without the rest of Node.js", async () => {
  const attempts = {
    text: 'new Response("é").text()',
    json: "Response.json({ a: 1 }).json().then((it) => it.a)",
    bytes: "new Response(new Uint8Array([1, 2])).arrayBuffer().then((it) => it.byteLength)",
    blob: 'new Response(new Blob(["ab"])).blob().then((it) => it.size)',
    urlencoded: 'new Response(new URLSearchParams({ a: "b" })).formData().then((it) => it.get("a"))',
    multipart: '(async () => { const form = new FormData(); form.set("a", "b"); form.set("f", new File(["x"], "x.txt")); return (await new Response(form).text()).includes("x.txt"); })()',
    request: 'new Request("https://a.example/", { method: "POST", body: "abc" }).clone().text()',
    gzip: 'new Response(new Blob(["ab"]).stream().pipeThrough(new CompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip"))).text()',
    digest: 'crypto.subtle.digest("SHA-256", new TextEncoder().encode("a")).then((it) => it.byteLength)',
    timer: "new Promise((resolve) => setTimeout(resolve, 1, 'later'))",
    url: 'URL.canParse("https://a.example") && structuredClone({ a: [1] }).a[0] + atob(btoa("x")) + crypto.randomUUID().length',
    timeout: "new Promise((resolve) => AbortSignal.timeout(5).addEventListener('abort', () => resolve('aborted')))",
  };
  const tries = Object.entries(attempts).map(([name, attempt]) => `${name}: await (async () => ${attempt})().catch((error) => error.stack)`);
  const dev = await served(extension(`async () => JSON.stringify({ ${tries.join(", ")} })`));

  assert.deepEqual(JSON.parse(await dev.call()), {
    ...{ text: "é", json: 1, bytes: 2, blob: 2, urlencoded: "b", multipart: true, request: "abc", gzip: "ab", digest: 32 },
    ...{ timer: "later", url: "1x36", timeout: "aborted" },
  });
});

test("import() leads nowhere, however it is spelled", async () => {
  const attempts = ["import(what)", 'new Function("n", "return import(n)")(what)', '(0, eval)(`import("${what}")`)', '(async () => {}).constructor("n", "return import(n)")(what)'];
  for (const attempt of attempts) {
    const dev = await served(extension(reporting(attempt)));
    assert.match(await dev.call({ what: "node:fs" }), /^TypeError: a toolkit is one bundle/, attempt);
  }
});

test("a Node-only import is refused as a build refuses it", async () => {
  const dev = await served(extension("async () => os.EOL", "", 'import os from "node:os";'));

  const { error } = await dev.rpc("tools/list");
  assert.match(error.message, /cannot be served yet: .*extension\.ts imports "node:os", which exists in Node\.js only/);
});

test("only declared secrets are there, and no reply or line shows them", async () => {
  const dev = await served(extension(`async ({ what }, ctx) => { ctx.log("have", await ctx.secret("API_KEY")); console.log(await ctx.secret("API_KEY")); try { return String(await ctx.secret(what)); } catch (error) { return error.message; } }`, 'secrets: ["API_KEY"],'), { env: "API_KEY=a-long-secret\nOTHER=another-secret\n" });

  assert.equal(await dev.call({ what: "API_KEY" }), "[redacted]");
  assert.match(await dev.call({ what: "OTHER" }), /the credential OTHER is not declared/);
  assert.match(dev.said(), /go logged "have" "\[redacted\]"/);
  assert.match(dev.said(), /warning: credential OTHER: the toolkit does not declare it/);
  assert.doesNotMatch(dev.said(), /a-long-secret|another-secret/);
});

test("what auth declares is attached, and no reply or line shows it", async () => {
  const [basic, account] = await Promise.all([0, 1].map(() => api(({ url, headers }, response) => response.end(`${url} ${headers.authorization}`))));
  const auth = (given) => `egress: [${JSON.stringify(given.apiHost)}], auth: ${JSON.stringify(given)},`;
  const handler = `async (_, ctx) => { const text = await (await ctx.fetch("http://HOST/")).text(); console.log(text); return text; }`;
  const serve = (host, given, env) => served(extension(handler.replace("HOST", host), auth(given)), { env, allowedRanges: ["127.0.0.0/8"] });

  const first = await serve(basic, { type: "basic", usernameSecret: "USER", passwordSecret: "PASSWORD", apiHost: basic }, "USER=the-user\nPASSWORD=the-password\nKITBAG_ACCOUNT=unused\n");
  assert.equal(await first.call(), "/ Basic [redacted]");
  assert.match(first.said(), / {2}go \| \/ Basic \[redacted\]/);
  assert.match(first.said(), /credential KITBAG_ACCOUNT: the toolkit does not declare it/);
  assert.doesNotMatch(first.said(), /credential USER|credential PASSWORD/);

  const grant = { type: "oauth2_authorization_code", authorizationUrl: `http://${account}/a`, tokenUrl: `http://${account}/t`, clientIdSecret: "ID", apiHost: account };
  const second = await serve(account, grant, "KITBAG_ACCOUNT=token-of-the-account\n");
  assert.equal(await second.call(), "/ Bearer [redacted]");
  assert.doesNotMatch(second.said(), /token-of-the-account|not set|not connected/);
  const third = await serve(account, grant);
  assert.match(third.said(), /account: not connected; --env-file takes a line KITBAG_ACCOUNT=<access token>/);
  assert.match(await third.call(), /and none is connected/);
});

test("settings arrive in their types; one that does not fit is named", async () => {
  const config = 'config: { limit: { type: "number", label: "L", default: 1 }, loud: { type: "boolean", label: "B", default: false } },';
  const dev = await served(extension("async (_, ctx) => JSON.stringify(ctx.config)", config), { settings: { limit: "5", loud: "maybe", other: "x" } });

  assert.deepEqual(JSON.parse(await dev.call()), { limit: 5, loud: false });
  assert.match(dev.said(), /setting loud: must be true or false/);
  assert.match(dev.said(), /setting other: not declared/);
});

test("the knowledge base needs its scope, and keeps what was ingested for the next call", async () => {
  const without = await served(extension("async (_, ctx) => String(ctx.svc)"));
  assert.equal(await without.call(), "undefined");

  const handler = `async ({ what }, ctx) => {
    if (what) await ctx.svc.ingest([{ title: what, text: "text of " + what, url: "https://a.example/" + what }]);
    return (await ctx.svc.search("text")).map((it) => it.document.title + "/" + it.document.source).join();
  }`;
  const dev = await served(extension(handler, 'scopes: ["svc:search", "svc:ingest"],'));
  assert.equal(await dev.call({ what: "one" }), "one/small");
  await dev.call({ what: "one" });
  assert.equal(await dev.call(), "one/small");
});

test("the cache needs its scope, and keeps values for the next call, also of one that does not end", async () => {
  const handler = `async ({ what }, ctx) => {
    const before = await ctx.cache.get("last");
    if (what) await ctx.cache.set("last", what); else await ctx.cache.delete("last");
    if (what === "endless") for (;;);
    return String(before);
  }`;
  const dev = await served(extension(handler, 'scopes: ["svc:cache"],'), { callTime: 2000 });
  assert.equal(await dev.call({ what: "one" }), "undefined");
  await dev.call({ what: "endless" });
  assert.equal(await dev.call(), "endless");
  assert.equal(await dev.call(), "undefined");

  const without = await served(extension(handler));
  await without.call();
  assert.match(without.said(), /does not declare the scope svc:cache/);
});

test("each call finds the module as it was when it started", async () => {
  const dev = await served(extension("async () => String((calls += 1))", "", "let calls = 0;"));

  assert.deepEqual([await dev.call(), await dev.call()], ["1", "1"]);
});

test("a change is served soon, and a broken one leaves the version before it", async () => {
  const dev = await served({ "extension.ts": extension("async () => word", "", 'import { word } from "./word.js";'), "word.ts": 'export const word = "one";' });
  assert.equal(await dev.call(), "one");

  await dev.write("word.ts", 'export const word = "two";');
  await eventually(async () => (await dev.call()) === "two");

  await dev.write("word.ts", "export const word = ;");
  await eventually(() => /error: word\.ts:1:\d+: /.test(dev.said()));
  assert.match(dev.said(), /small 1\.0\.0 is served on: the version before this change/);
  assert.equal(await dev.call(), "two");

  await dev.write("word.ts", 'export const word = "three";');
  await eventually(async () => (await dev.call()) === "three");
});

test("a bad declaration is told with all its problems, and one that is corrected is served", async () => {
  const dev = await served(extension("async () => 'ok'", 'secrets: ["key"], egress: ["https://a.example"],'));
  assert.match(dev.said(), /secrets\[0\]: .*\n {2}egress\[0\]: /);
  assert.match((await dev.rpc("tools/list")).error.message, /secrets\[0\]/);

  await dev.write("extension.ts", extension("async () => 'ok'"));
  await eventually(async () => (await dev.rpc("tools/list")).error === undefined);
  assert.equal(await dev.call(), "ok");
});

test("a wrong type is said, and served", async () => {
  const dev = await served(extension("async () => { const n: number = 'text' as never as string; return String(n); }"));

  assert.equal(await dev.call(), "text");
  await eventually(() => /warning: the types are wrong:\nextension\.ts\(\d+,\d+\)[^]*a build would refuse this/.test(dev.said()));
});

test("a fault that is taken back is said to be gone", async () => {
  const good = extension("async () => 'ok'");
  const dev = await served(good);
  const announced = () => dev.said().match(/small 1\.0\.0 is served, after/g).length;
  assert.equal(announced(), 1);

  await dev.write("extension.ts", `${good};const x = ;`);
  await eventually(() => /error: extension\.ts:\d+:\d+: /.test(dev.said()));
  await dev.write("extension.ts", good);

  await eventually(() => announced() === 2);
});

test("an entry that is gone is named, and served again when it is back", async () => {
  const dev = await served(extension("async () => 'ok'"));
  const [entry, away] = ["extension.ts", "away.txt"].map((name) => join(dev.directory, name));

  await rename(entry, away);
  await eventually(() => dev.said().includes("error: there is no extension.ts in this folder\n"));
  await rename(away, entry);

  await eventually(() => dev.said().match(/is served, after/g).length === 2);
});

test("a wrong type is said although the program is the same, and said to be right again", async () => {
  const typed = (type) => extension("async () => String(n)", "", `const n: ${type} = 1;`);
  const dev = await served(typed("number"));

  await dev.write("extension.ts", typed("string"));
  await eventually(() => /warning: the types are wrong:\nextension\.ts\(\d+,\d+\)/.test(dev.said()));
  await dev.write("extension.ts", typed("number"));

  await eventually(() => dev.said().endsWith("\nthe types are right again"));
});

test("an endless handler is ended, what it logged is told, and others are served meanwhile", async () => {
  const dev = await served(extension('async ({ what }, ctx) => { if (what !== "loop") return "ok"; ctx.log("before"); for (;;); }'), { callTime: 700 });

  const endless = dev.call({ what: "loop" });
  assert.equal(await dev.call(), "ok");
  assert.deepEqual(JSON.parse(await endless), { ok: false, code: "TOOL_ERROR", error: "The tool ran longer than 0.7 s and was stopped.", retryable: false });
  assert.match(dev.said(), /go logged "before"/);
  assert.match(dev.said(), /✗ go did not end within 0\.7 s, and was ended/);
  assert.equal(await dev.call(), "ok");
});

test("a module that never ends starting is given up, and a handler that takes all memory too", { timeout: 60_000 }, async () => {
  const endless = await served(extension("async () => ''", "", "for (;;);"));
  assert.match(endless.said(), /the module did not finish within 10 s/);

  const greedy = await served(extension("async () => { const all = []; for (;;) all.push(new Array(100_000).fill(all.length)); }"));
  assert.match(await greedy.call(), /The tool failed/);
  assert.match(greedy.said(), /✗ go ended its thread: .*memory/);
});

test("a failure's story is told in the author's own lines", async () => {
  const dev = await served(extension('async () => inner()', "", 'function inner(): never {\n  throw new Error("inner story", { cause: new TypeError("deeper") });\n}'));

  assert.match(await dev.call(), /The tool failed/);
  assert.match(dev.said(), /Error: inner story\n\s+at inner \(extension\.ts:4:\d+\)/);
  assert.match(dev.said(), /Caused by: TypeError: deeper/);
  assert.doesNotMatch(dev.said(), /toolkit\.js|node:internal/);
});

test("a failure is told in the line where it happened, although a bundler could have moved it", async () => {
  const second = "export function id(text: string): string {\n  const value = JSON.parse(text);\n  return value.id;\n}";
  const dev = await served({
    "extension.ts": extension('async () => id("null")', "", 'import { id } from "./second.ts";'),
    "second.ts": second,
  });

  assert.match(await dev.call(), /The tool failed/);

  assert.match(dev.said(), /at id \(second\.ts:3:\d+\)/);
});

test("bodies stream, and a request can be given up", async () => {
  let open;
  const host = await api((incoming, response) => {
    if (incoming.url === "/slow") return void incoming.on("close", () => (open = false), (open = true));
    incoming.pipe(response);
  });
  const handler = `async (_, ctx) => {
    const echoed = await (await ctx.fetch("http://${host}/", { method: "POST", body: new Blob(["a", "b"]).stream() })).text();
    const reason = await ctx.fetch("http://${host}/slow", { signal: AbortSignal.timeout(200) }).catch((error) => error.name);
    return echoed + " " + reason;
  }`;
  const dev = await served(extension(handler, `egress: ["${host}"],`), { allowedRanges: ["127.0.0.0/8"] });

  assert.equal(await dev.call(), "ab TimeoutError");
  await eventually(() => open === false);
});

test("pages, other names, other addresses and whoever has no token are refused", async () => {
  const dev = await served(extension("async () => 'ok'"));
  const { port } = new URL(dev.url);
  const status = (headers, { path = "/mcp", method = "POST", body = '{"jsonrpc":"2.0","id":1,"method":"ping"}' } = {}) =>
    new Promise((resolve, reject) => {
      const asking = request({ host: "127.0.0.1", port, path, method, headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asking.on("error", reject).end(body);
    });

  assert.equal(await status({}), 200);
  assert.equal(await status({ host: `localhost:${port}` }), 200);
  assert.equal(await status({ origin: `http://localhost:${port}` }), 200);
  assert.equal(await status({ host: `rebound.example:${port}` }), 403);
  assert.equal(await status({ host: "127.0.0.1" }), 403);
  assert.equal(await status({ origin: "http://rebound.example" }), 403);
  assert.equal(await status({ origin: "null" }), 403);
  assert.equal(await status({ "content-type": "text/plain" }), 415);
  for (const authorization of ["", "Bearer", "Bearer ", TOKEN, `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, "Bearer of-the-tes"]) {
    assert.equal(await status({ authorization }), 401, authorization);
  }
  assert.equal(await status({}, { path: "/" }), 404);
  assert.equal(await status({}, { method: "GET", body: "" }), 405);
  assert.equal(await status({}, { body: " ".repeat((8 << 20) + 1) }), 413);
  assert.equal(await status({}, { body: " ".repeat(8 << 20) }), 400);
  for (const address of ["0.0.0.0:8788", "192.168.1.2:8788", "[::]:8788", "example.com:1", "127.0.0.1", "127.0.0.1:99999"]) {
    assert.throws(() => listenAddress(address), { name: "BuildFailure" }, address);
  }
  assert.deepEqual(listenAddress("[::1]:0"), { host: "::1", port: 0 });
});

test("the token is one user's, and is kept for that user alone", async () => {
  const state = await folder({});
  const file = join(state, "kitbag", "dev-token");

  const [first, second] = await Promise.all([devToken(state), devToken(state)]);

  assert.match(first, /^[0-9a-f]{32}$/);
  assert.equal(second, first);
  assert.equal(await devToken(state), first);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  await chmod(file, 0o644);
  assert.notEqual(await devToken(state), first, "others may have read it");
  assert.match(await devToken(join(file, "no-folder")), /^[0-9a-f]{32}$/);
});

test("addresses are judged as the server judges them", () => {
  const guard = new AddressGuard(["10.1.0.0/16"]);
  for (const address of ["1.1.1.1", "100.63.255.255", "172.32.0.0", "198.20.0.0", "2606:4700::1111", "::ffff:1.1.1.1", "10.1.2.3"]) {
    assert.ok(guard.permits(address), `${address} was refused`);
  }
  for (const address of ["0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "168.63.129.16", "169.254.169.254", "172.16.0.1", "192.0.0.192", "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:a00:1", "64:ff9b::7f00:1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "2001:db8::1", "2002:7f00:1::", "3fff::1", "ff02::1"]) {
    assert.ok(!guard.permits(address), `${address} was permitted`);
  }
});

test("the command ends where its address is taken, although its input goes on", { timeout: 20_000 }, async () => {
  const taken = createServer();
  await new Promise((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const directory = await folder({ "extension.ts": extension("async () => ''") });
  const command = fileURLToPath(new URL("../bin/kitbag.js", import.meta.url));
  const args = [command, "dev", "--until-eof", "--listen", `127.0.0.1:${taken.address().port}`, directory];
  const dev = spawn(process.execPath, args, { stdio: ["pipe", "ignore", "pipe"], timeout: 10_000, killSignal: "SIGKILL" });
  let said = "";
  dev.stderr.on("data", (text) => (said += text));

  const [status] = await once(dev, "close");

  taken.close();
  assert.match(said, /another program listens there/);
  assert.equal(status, 2);
});
