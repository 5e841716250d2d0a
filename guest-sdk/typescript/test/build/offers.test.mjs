// Prompts, resources and completions: the same in a test, under `kitbag dev`, and in the sandbox of a server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { complete, getPrompt, readResource, toFetchHandler } from "kitbag/extend/toolkit";

import { develop } from "../../dist/dev/develop.js";
import { importToolkit, kitbagBuild, temporary } from "../support.mjs";
import { program, startServer } from "../parity/server.mjs";

const TOOLKIT = fileURLToPath(new URL("../toolkits/offers/extension.ts", import.meta.url));
const TOKEN = "0".repeat(32);
const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream", authorization: `Bearer ${TOKEN}` };

const noServer = program === undefined && "no kitbag program: set TEST_KITBAG, or build it with cargo";
let directory, toolkit, server, dev;

before(async () => {
  directory = await temporary();
  toolkit = await importToolkit(TOOLKIT, directory);
  const options = { listen: { host: "127.0.0.1", port: 0 }, token: TOKEN, settings: {}, allowedRanges: [], callTime: 30_000 };
  dev = await develop(TOOLKIT, options, { line: () => {} });
  if (noServer) return;
  server = await startServer();
  const built = await kitbagBuild(TOOLKIT, directory);
  assert.equal(built.status, 0, built.stderr);
  await server.cli(["toolkit", "deploy", `${directory}/shelf.wasm`]);
});

after(async () => {
  await dev?.close();
  await server?.stop();
});

const body = (method, params) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const WAYS = [
  ["in a test", (method, params) => toFetchHandler(toolkit)(new Request("http://local/mcp", { method: "POST", headers: HEADERS, body: body(method, params) }))],
  ["under kitbag dev", (method, params) => fetch(dev.url, { method: "POST", headers: HEADERS, body: body(method, params) })],
  ["on a server", (method, params) => server.fetch(body(method, params), HEADERS), noServer],
];

const link = { type: "resource_link", uri: "kitbag://shelf/books/7", name: "book" };
const review = { name: "shelf__review", arguments: { book: "Emma", tone: "strict" } };
const CASES = [
  [
    "prompts/list",
    {},
    (result) => {
      const [first] = result.prompts;
      assert.deepEqual([first.name, first.title, first.arguments.map(({ name, required }) => [name, required])], ["shelf__review", "Review", [["book", true], ["tone", false]]]);
      assert.equal(result.prompts.length, 5);
    },
  ],
  [
    "prompts/get",
    review,
    ({ messages }) =>
      assert.deepEqual(messages, [
        { role: "user", content: { type: "text", text: "Review Emma, strict, in 100 words." } },
        { role: "assistant", content: { type: "text", text: "Yes." } },
        { role: "user", content: link },
        { role: "user", content: { type: "image", data: "AQI=", mimeType: "image/png" } },
      ]),
  ],
  ["prompts/get", { name: "shelf__plain" }, ({ messages }) => assert.deepEqual(messages, [{ role: "user", content: { type: "text", text: "Hello." } }])],
  ["prompts/get", { name: "shelf__review", arguments: {} }, { code: -32602, message: /"book" is a required property/ }],
  ["prompts/get", { name: "shelf__none" }, { code: -32602, message: /unknown prompt/ }],
  ["prompts/get", { name: "shelf__fail" }, { code: -32603, message: /^There is no such book\.$/ }],
  ["prompts/get", { name: "shelf__wrong" }, { code: -32603, message: /failed/ }],
  ["resources/read", { uri: "kitbag://shelf/books/a%20b" }, ({ contents }) => assert.deepEqual(contents, [{ uri: "kitbag://shelf/books/a%20b", mimeType: "text/markdown", text: "# a b" }])],
  ["resources/read", { uri: "kitbag://shelf/cover" }, ({ contents }) => assert.deepEqual(contents, [{ uri: "kitbag://shelf/cover", mimeType: "image/png", blob: "AP8=" }])],
  ["resources/read", { uri: "kitbag://shelf/books" }, ({ contents }) => assert.equal(contents[0].mimeType, "application/json")],
  ["resources/read", { uri: "kitbag://shelf/books/.." }, { code: -32002, message: /unknown resource/ }],
  ["resources/read", { uri: "kitbag://other/books/7" }, { code: -32002, message: /unknown resource/ }],
  [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "shelf__review" }, argument: { name: "book", value: "E" }, context: { arguments: { tone: "kind" } } },
    ({ completion }) => assert.deepEqual(completion, { values: ["E, kind"], total: 1, hasMore: false }),
  ],
  [
    "completion/complete",
    { ref: { type: "ref/resource", uri: "kitbag://shelf/books/{isbn}" }, argument: { name: "isbn", value: "7" } },
    ({ completion }) => assert.deepEqual(completion, { values: ["71", "72"], total: 2, hasMore: false }),
  ],
  ["tools/call", { name: "shelf__link", arguments: {} }, ({ content }) => assert.deepEqual(content, [link])],
];

for (const [method, params, expected] of CASES) {
  for (const [way, ask, skip] of WAYS) {
    test(`${method} ${JSON.stringify(params)} ${way}`, { skip }, async () => {
      const reply = await (await ask(method, params)).json();
      if (typeof expected === "function") {
        assert.equal(reply.error, undefined);
        return expected(reply.result);
      }
      assert.equal(reply.error?.code, expected.code, JSON.stringify(reply));
      assert.match(reply.error.message, expected.message);
    });
  }
}

test("a test sees what a client would receive, without secrets, and what the handler threw", async () => {
  const told = await getPrompt(toolkit, { prompt: "secret", secrets: { API_KEY: "s3cr3t-value" } });
  const missing = await getPrompt(toolkit, { prompt: "shelf__secret" });
  const wrong = await getPrompt(toolkit, { prompt: "wrong" });
  const cover = await readResource(toolkit, { uri: "cover" });
  const names = await complete(toolkit, { prompt: "review", argument: "tone", value: "S" });

  assert.equal(told.messages[0].content.text, "[redacted]");
  assert.match(missing.error, /API_KEY is not set/);
  assert.match(wrong.trace.failure.message, /messages\[0\]\.role must be/);
  assert.deepEqual(cover.contents, { uri: "kitbag://shelf/cover", mimeType: "image/png", blob: new Uint8Array([0, 255]) });
  assert.deepEqual(names.values, ["strict"]);
  await assert.rejects(getPrompt(toolkit, { prompt: "none" }), /has no prompt "none"/);
});
