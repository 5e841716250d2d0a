// The knowledge base and the cache of `dispatch` and those of a server give the same results and errors.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { dispatch } from "kitbag/extend/toolkit";

import { importToolkit, kitbagBuild, temporary } from "../support.mjs";
import { program, startServer } from "../parity/server.mjs";

const KEEPER = fileURLToPath(new URL("../toolkits/keeper/extension.ts", import.meta.url));
const FEED = { key: "channel-7", name: "Sea tales", label: "channel" };
const STORED = [
  { title: "Whales", text: "Whales sing in the deep.", url: "https://sea.example/whales", author: "Ana", feed: FEED },
  { title: "Ships", text: "Ships carry tea." },
];
/** The same documents, as a test passes them to `dispatch`. */
const DOCUMENTS = [
  { id: "1", source: "keeper", title: "Whales", text: "Whales sing in the deep.", url: "https://sea.example/whales", author: "Ana", feed: "Sea tales" },
  { id: "2", source: "keeper", title: "Ships", text: "Ships carry tea." },
];

const skip = program === undefined && "no kitbag program: set TEST_KITBAG, or build it with cargo";
let server, toolkit;

before(async () => {
  if (skip) return;
  const directory = await temporary();
  toolkit = await importToolkit(KEEPER, directory);
  server = await startServer();
  const built = await kitbagBuild(KEEPER, directory);
  assert.equal(built.status, 0, built.stderr);
  await server.cli(["toolkit", "deploy", `${directory}/keeper.wasm`]);
  assert.equal(await inSandbox("ingest", { docs: STORED }), '{"ingested":2}');
  // A document is found once it is indexed.
  for (const query of ["whales", "ships"]) await found(query);
});

async function found(query) {
  const deadline = Date.now() + 60_000;
  while ((await inSandbox("search", { query })) === "[]") {
    assert(Date.now() < deadline, `${query} cannot be found`);
    await setTimeout(20);
  }
}

after(() => server?.stop());

async function inSandbox(tool, args) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: `keeper__${tool}`, arguments: args } });
  const answer = await server.fetch(body, { "content-type": "application/json" });
  const { result } = await answer.json();
  return result.content[0].text;
}

/** Returns what the model reads when the call runs in this process. */
async function inProcess(tool, args) {
  const result = await dispatch(toolkit, { tool, arguments: args, documents: structuredClone(DOCUMENTS) });
  const { ok, code, error, retryable } = result;
  return ok ? result.text : JSON.stringify({ ok, code, error, retryable });
}

const cache = (...uses) => ["cache", { uses }];
const doc = (rest) => ["ingest", { docs: [{ title: "T", text: "x", ...rest }] }];

for (const [tool, args] of [
  cache(["get", "a"], ["set", "a", "1"], ["get", "a"], ["set", "a", "2", { seconds: 60 }], ["get", "a"], ["delete", "a"], ["get", "a"], ["delete", "a"]),
  cache(["set", "b\u0000", "😀\u0000"], ["get", "b\u0000"], ["get", "b"], ["set", "b", "", null], ["get", "b"], ["set", "b", "", {}]),
  cache(["get", ""], ["get", "k".repeat(256)], ["get", "k".repeat(257)], ["get", "ä".repeat(129)], ["get", 7], ["get"], ["get", "half"]),
  cache(["set", "", "v"], ["set", "c"], ["set", "c", { a: 1 }], ["set", "c", "half"], ["set", "half", "v"], ["delete", ""], ["delete", "half"]),
  cache(["set", "d", "v".repeat(65_536)], ["set", "d", "v".repeat(65_537)], ["set", "", "v".repeat(65_537), { seconds: 0 }]),
  ...[0, 1, -1, 1.5, 2_592_000, 2_592_001, 5e9, "60", null].map((seconds) => cache(["set", "e", "v", { seconds }])),
  ["search", { query: "whales" }],
  ["search", { query: "whales", options: {} }],
  ["search", { query: "whales", options: { limit: 1 } }],
  ["search", { query: "whales", options: { source: "keeper" } }],
  ["search", { query: "whales", options: { source: "user" } }],
  ["search", { query: "whales", options: { author: "ANA" } }],
  ["search", { query: "whales", options: { author: "Bo" } }],
  ["search", { query: "nothingofthekind" }],
  ["search", { query: "" }],
  ["search", { query: "   " }],
  ["search", {}],
  ["search", { query: 7 }],
  ["search", { query: "whales", options: { limit: 0 } }],
  ["search", { query: "whales", options: { limit: -1 } }],
  ["search", { query: "whales", options: { limit: 51 } }],
  ["search", { query: "whales", options: { limit: 5e9 } }],
  ["search", { query: "whales", options: { limit: 2 ** 32 - 1 } }],
  ["search", { query: "", options: { limit: 0 } }],
  ["search", { query: "w".repeat(2001) }],
  ["search", { query: "whales", options: { limit: 1.5 } }],
  ["search", { query: "whales", options: { limit: "3" } }],
  ["search", { query: "whales", options: { source: 7 } }],
  ["search", { query: "whales", options: { author: {} } }],
  ["search", { query: "whales", options: null }],
  ["first", { query: "whales" }],
  ["first", { query: "tea" }],
  ["document", { id: "no-such" }],
  ["document", { id: "" }],
  ["document", {}],
  ["document", { id: 1 }],
  ["ingest", {}],
  ["ingest", { docs: "text" }],
  ["ingest", { docs: [null] }],
  ["ingest", { docs: ["text"] }],
  ["ingest", { docs: [] }],
  ["ingest", { docs: [{ text: "x" }] }],
  ["ingest", { docs: [{ title: "T" }] }],
  ["ingest", { docs: [{ title: "T", text: "x" }, { title: "", text: "y" }] }],
  ["ingest", { docs: [{ title: "", url: "x" }, { title: "T", text: "x", feed: { key: "", name: "" } }] }],
  doc({ title: " " }),
  doc({ url: "https://user:pass@sea.example/" }),
  doc({ audioUrl: "https://sea.example/a.mp3", mimeType: "video/mp4" }),
  doc({ text: " " }),
  doc({ text: 7 }),
  doc({ url: 7 }),
  doc({ url: "no url" }),
  doc({ url: "" }),
  doc({ author: "" }),
  doc({ author: ["Ana", "Bo"] }),
  doc({ fileUrl: "no url" }),
  doc({ fileUrl: "ftp://sea.example/a.pdf" }),
  doc({ fileUrl: "file:///etc/passwd" }),
  doc({ audioUrl: "no url" }),
  doc({ fileUrl: "https://sea.example/a.pdf", audioUrl: "https://sea.example/a.mp3" }),
  doc({ mimeType: "application/pdf" }),
  doc({ fileUrl: "https://sea.example/a.pdf", mimeType: "not a type" }),
  doc({ captureOnly: true }),
  doc({ captureOnly: "yes" }),
  doc({ feed: "channel" }),
  doc({ feed: {} }),
  doc({ feed: { key: "", name: "N" } }),
  doc({ feed: { key: "k", name: " " } }),
  doc({ feed: { key: "k" } }),
  doc({ feed: { key: "k", name: "N", label: 7 } }),
  doc({ feed: null }),
  doc({ source: "user" }),
  doc({ title: "😀".repeat(1001) }),
  doc({ url: `https://sea.example/${"ä".repeat(1000)}` }),
  doc({ feed: { key: "a\u0000", name: "N" } }),
  ["ingest", { docs: Array(1001).fill({ title: "T", text: "x" }) }],
]) {
  test(`${tool} ${JSON.stringify(args).slice(0, 200)}`, { skip }, async () => {
    assert.equal(await inProcess(tool, args), await inSandbox(tool, args));
  });
}
