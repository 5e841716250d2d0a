// The table of replies that must be identical byte for byte on the server and in both SDKs
// (tests/replies.json). Here: the toolkit in TypeScript, in a test, under `kitbag dev` and in the sandbox of
// a server.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { toFetchHandler } from "kitbag/extend/toolkit";

import { develop } from "../../dist/dev/develop.js";
import { importToolkit, kitbagBuild, temporary } from "../support.mjs";
import { program, startServer, withoutServer } from "../parity/server.mjs";

const TOOLKIT = fileURLToPath(new URL("../toolkits/replies/extension.ts", import.meta.url));
const TOKEN = "0".repeat(32);
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream", authorization: `Bearer ${TOKEN}` };
const cases = JSON.parse(await readFile(new URL("../../../../tests/replies.json", import.meta.url), "utf8"));

const noServer = program === undefined && "no kitbag program: set TEST_KITBAG, or build it with cargo";
let directory, toolkit, server;
/** Servers of `kitbag dev`, one for each combination of secrets and settings. */
const devServers = new Map();

before(async () => {
  directory = await temporary();
  toolkit = await importToolkit(TOOLKIT, directory);
  if (noServer) return;
  server = await startServer();
  const built = await kitbagBuild(TOOLKIT, directory);
  assert.equal(built.status, 0, built.stderr);
  await server.cli(["toolkit", "deploy", `${directory}/replies.wasm`]);
});

after(async () => {
  for (const running of devServers.values()) await (await running).close();
  await server?.stop();
});

function body({ tool, arguments: args, repeat }) {
  const repeated = repeat === undefined ? {} : { [repeat[0]]: Array(repeat[2]).fill(repeat[1]) };
  const params = { name: `replies__${tool}`, arguments: { ...args, ...repeated } };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
}

async function inATest({ secrets, config, ...call }) {
  const handler = toFetchHandler(toolkit, { secrets, config });
  return (await handler(new Request("http://local/mcp", { method: "POST", headers: HEADERS, body: body(call) }))).text();
}

async function underDev({ secrets = {}, config = {}, ...call }) {
  const world = JSON.stringify({ secrets, config });
  if (!devServers.has(world)) devServers.set(world, startDev(secrets, config, devServers.size));
  const { url } = await devServers.get(world);
  return (await fetch(url, { method: "POST", headers: HEADERS, body: body(call) })).text();
}

async function startDev(secrets, config, index) {
  const envFile = `${directory}/${index}.env`;
  await writeFile(envFile, Object.entries(secrets).map(([name, value]) => `${name}=${value}\n`).join(""));
  const settings = Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)]));
  const options = { listen: { host: "127.0.0.1", port: 0 }, token: TOKEN, envFile, settings, allowedRanges: [], callTime: 30_000 };
  return develop(TOOLKIT, options, { line: () => {} });
}

async function onAServer({ secrets = {}, config = {}, ...call }) {
  for (const [name, value] of Object.entries(secrets)) await server.cli(["secret", "set", "replies", name, "--from-stdin"], value);
  for (const [key, value] of Object.entries(config)) await server.cli(["config", "set", "replies", key, String(value)]);
  const answer = await server.fetch(body(call), HEADERS);
  for (const name of Object.keys(secrets)) await server.cli(["secret", "unset", "replies", name]);
  for (const key of Object.keys(config)) await server.cli(["config", "unset", "replies", key]);
  return withoutServer(await answer.text());
}

for (const { result, error, ...call } of cases) {
  const expected = JSON.stringify({ jsonrpc: "2.0", id: 1, ...(result && { result }), ...(error && { error }) });
  for (const [way, answer, skip] of [["in a test", inATest], ["under kitbag dev", underDev], ["on a server", onAServer, noServer]]) {
    const { tool, arguments: args, repeat, ...world } = call;
    test(`${tool} ${JSON.stringify({ ...args, ...(repeat && { [repeat[0]]: `${repeat[2]} times` }) })} ${JSON.stringify(world)} ${way}`, { skip }, async () => {
      assert.equal(await answer(call), expected);
    });
  }
}
