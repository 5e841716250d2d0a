// Runs the same calls in this process and in the sandbox of a server. The replies must be identical byte for
// byte.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { toFetchHandler } from "kitbag/extend/toolkit";

import { importToolkit, kitbagBuild, temporary } from "../support.mjs";
import { program, startServer, withoutServer } from "../parity/server.mjs";
import { startUpstream } from "../parity/upstream.mjs";

const BOOKSHELF = fileURLToPath(new URL("../toolkits/bookshelf/extension.ts", import.meta.url));
const PROBE = fileURLToPath(new URL("../toolkits/probe/extension.ts", import.meta.url));
const WORLD = { secrets: { API_KEY: "parity-secret-1" }, config: { language: "de", limit: 7 } };
const cases = JSON.parse(await readFile(new URL("../parity/cases.json", import.meta.url), "utf8"));
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

const skip = program === undefined && "no kitbag program: set TEST_KITBAG, or build it with cargo";
let upstream, server, probe, bookshelf, directory;

/** Fails as on the server, where the bookshelf's hosts do not exist. */
const unreachable = async () => {
  throw new Error("no such host");
};

before(async () => {
  if (skip) return;
  upstream = await startUpstream(18997);
  directory = await temporary();
  probe = toFetchHandler(await importToolkit(PROBE, directory), WORLD);
  bookshelf = toFetchHandler(await importToolkit(BOOKSHELF, directory), { fetchImpl: unreachable });
  server = await startServer();
  for (const [entry, id] of [[PROBE, "probe-ts"], [BOOKSHELF, "bookshelf"]]) {
    const built = await kitbagBuild(entry, `${directory}/${id}`);
    assert.equal(built.status, 0, built.stderr);
    await server.cli(["toolkit", "deploy", `${directory}/${id}/${id}.wasm`]);
  }
  await server.cli(["secret", "set", "probe-ts", "API_KEY", "--from-stdin"], WORLD.secrets.API_KEY);
  for (const [key, value] of Object.entries(WORLD.config)) await server.cli(["config", "set", "probe-ts", key, String(value)]);
});

after(async () => {
  upstream?.stop();
  await server?.stop();
});

async function both(body, headers = {}, local = probe) {
  const text = JSON.stringify(body);
  const answers = [
    await server.fetch(text, { ...HEADERS, ...headers }),
    await local(new Request("http://local/mcp", { method: "POST", headers: { ...HEADERS, ...headers }, body: text })),
  ];
  return Promise.all(answers.map(async (answer) => `${answer.status} ${withoutServer(await answer.text())}`));
}

for (const [tool, args] of cases) {
  test(`${tool} ${JSON.stringify(args)}`, { skip }, async () => {
    const [id, name] = tool.includes("__") ? tool.split("__") : ["probe-ts", tool];
    const params = { name: `${id}__${name}`, arguments: args };
    const [sandbox, here] = await both({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, {}, id === "bookshelf" ? bookshelf : probe);
    assert.equal(here, sandbox);
  });
}

test("tools are listed in the same way", { skip }, async () => {
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const [sandbox, ofProbe] = await both(list);
  const [, ofBookshelf] = await both(list, {}, bookshelf);
  const tools = (answer) => JSON.parse(answer.slice("200 ".length)).result.tools;
  const here = [...tools(ofBookshelf), ...tools(ofProbe)];
  // Tools that are always on come first, whatever toolkit has them.
  const isFirst = ({ name }) => ["bookshelf__find_books", "probe-ts__shapes"].includes(name);
  const expected = [...here.filter(isFirst), ...here.filter((tool) => !isFirst(tool))];
  // The server's own tools have no prefix.
  const ofToolkits = tools(sandbox).filter(({ name }) => name.includes("__"));
  assert.equal(JSON.stringify(expected), JSON.stringify(ofToolkits));
});

test("the stateless revision is spoken in the same way", { skip }, async () => {
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" } };
  const headers = { "mcp-protocol-version": "2026-07-28" };
  for (const [method, params, name] of [
    ["tools/call", { name: "probe-ts__nothing", arguments: {} }, "probe-ts__nothing"],
    ["tools/call", { name: "probe-ts__nothing", arguments: {} }, "other"],
    ["prompts/list", {}],
    ["nope", {}],
  ]) {
    const sent = { ...headers, "mcp-method": method, ...(name && { "mcp-name": name }) };
    const [sandbox, here] = await both({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }, sent);
    assert.equal(here, sandbox, method);
  }
});

test("the log has the failure's story in the author's own lines", { skip }, async () => {
  await both({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "probe-ts__ends", arguments: { how: "throw" } } });
  const log = await server.cli(["toolkit", "logs", "probe-ts", "--limit", "1"]);
  const source = (await readFile(PROBE, "utf8")).split("\n");
  const line = source.findIndex((text) => text.includes('new Error("inner story")')) + 1;
  assert.match(log, /Error: inner story/);
  assert.match(log, new RegExp(`at ends \\(extension\\.ts:${line}:\\d+\\)`), log);
  assert.doesNotMatch(log, /toolkit\.js|initializer/);
});

test("logged, unhandled and network errors have their stacks in the author's own lines", { skip }, async () => {
  // Only there: in this process an unhandled rejection is the test's.
  await server.fetch(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "probe-ts__stacks", arguments: {} } }), HEADERS);
  const log = await server.cli(["toolkit", "logs", "probe-ts", "--limit", "1"]);
  const source = (await readFile(PROBE, "utf8")).split("\n");
  const line = (text) => source.findIndex((it) => it.includes(text)) + 1;
  const asks = `at asksElsewhere \\(extension\\.ts:${line('ctx.fetch("https://elsewhere')}:\\d+\\)`;

  assert.match(log, new RegExp(`"message":"network error: [^\n]*"stack":\\["${asks}"`), log);
  assert.match(log, new RegExp(`TypeError: network error: [^\n]*\n\\s+${asks}`), log);
  assert.match(log, new RegExp(`nobody awaits it: RangeError: nobody awaits me\n\\s+at [^\n]*extension\\.ts:${line('RangeError("nobody')}:`), log);
  assert.match(log, new RegExp(`AggregateError: [^]*\n\\s*Error 1 of 2: TypeError: network error[^\n]*\n\\s+${asks}`), log);
  assert.match(log, new RegExp(`\n\\s*Error 2 of 2: Error: inner\n\\s+at [^\n]*extension\\.ts:${line('new Error("inner", {')}:`), log);
  assert.doesNotMatch(log, /toolkit\.js/);
});

test("log entries and progress arrive, without the secret", { skip }, async () => {
  await both({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "probe-ts__logs", arguments: {} } });
  const log = await server.cli(["toolkit", "logs", "probe-ts", "--limit", "1"]);
  assert.match(log, /one/);
  assert.match(log, /five/);
  assert.doesNotMatch(log, /parity-secret-1/);
});

test("the server reads the manifest that was written", { skip }, async () => {
  const { manifest } = JSON.parse(await server.cli(["toolkit", "show", "probe-ts", "--json"]));
  assert.deepEqual(JSON.parse(await readFile(`${directory}/probe-ts/manifest.json`, "utf8")), manifest);
});
