// The command line that the program runs, and updates with a newer document.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { folder } from "../support.mjs";
import { get, openapi, post } from "./support.mjs";

const COMMANDS = fileURLToPath(new URL("../../bin/kitbag.js", import.meta.url));

function run(...args) {
  return new Promise((resolve) => {
    execFile(process.execPath, [COMMANDS, "openapi", ...args], { maxBuffer: 1 << 26 }, (error, stdout) => resolve({ status: error?.code ?? 0, ...JSON.parse(stdout) }));
  });
}

const before = openapi({ "/a": get(), "/b": post({ type: "object", properties: { x: { type: "string" } } }), "/c": get([], { operationId: "old" }) });
const after = openapi({ "/a": get(), "/b": post({ type: "object", properties: { x: { type: "integer" } } }), "/d": get([], { operationId: "new" }) });

/** Makes a toolkit in a folder beside its document. */
async function toolkit() {
  const place = await folder({ "openapi.json": JSON.stringify(before), "shop/x": "" });
  const made = await run("new", "--directory", join(place, "shop"), "shop", join(place, "openapi.json"));
  for (const { name, text } of made.files) await writeFile(join(place, "shop", name), text);
  return { place, shop: join(place, "shop"), text: (name) => readFile(join(place, "shop", name), "utf8") };
}

test("the command makes files, and says what was made and what was not", async () => {
  const place = await folder({ "openapi.json": JSON.stringify(openapi({ "/a": get(), "/b": { trace: { responses: {} } } })) });

  const made = await run("new", "shop", join(place, "openapi.json"));
  const listed = await run("list", join(place, "openapi.json"));
  const failed = await run("new", "shop", join(place, "nothing.json"));
  const misused = await run("new", "shop");

  assert.deepEqual(made.files.map((it) => it.name), ["extension.ts", "api.ts", "operations.ts", "operations.test.ts", "openapi.json"]);
  assert.deepEqual(made.tools.map((it) => it.tool), ["get_it"]);
  assert.deepEqual(made.notMade, [{ operation: "TRACE /b", reason: "a toolkit cannot send TRACE" }]);
  assert.deepEqual(listed.operations.map((it) => it.tool), ["get_it", undefined]);
  assert.deepEqual([failed.status, failed.event, failed.kind], [1, "failed", "document"]);
  assert.deepEqual([misused.status, misused.kind], [2, "usage"]);
});

test("an update shows what is new, changed and gone, and writes nothing unless it is asked to", async () => {
  const { place, shop, text } = await toolkit();
  const operations = await text("operations.ts");
  assert.equal((await run("update", shop)).isSame, true);
  await writeFile(join(place, "openapi.json"), JSON.stringify(after));

  const update = await run("update", shop);

  assert.equal(update.isSame, false);
  assert.deepEqual(update.added, [{ tool: "new", constant: "new_", operation: "GET /d" }]);
  assert.deepEqual(update.changed, [{ tool: "post_it", operation: "POST /b" }]);
  assert.deepEqual(update.removed, [{ tool: "old", operation: "GET /c" }]);
  assert.deepEqual(update.written, []);
  assert.equal(await text("operations.ts"), operations);
});

test("an update writes the generated files, and never those of the author", async () => {
  const { place, shop, text } = await toolkit();
  await writeFile(join(shop, "extension.ts"), (await text("extension.ts")).replace("🔌", "🛒"));
  const extension = await text("extension.ts");
  await writeFile(join(place, "openapi.json"), JSON.stringify(after));

  const update = await run("update", shop, "--write");

  assert.deepEqual(update.written, ["operations.ts", "operations.test.ts", "openapi.json"]);
  assert.equal(await text("extension.ts"), extension);
  assert.match(await text("operations.ts"), /export const new_ = tool/);
  assert.equal((await run("update", shop)).isSame, true);
});

test("an update overwrites no generated file that was edited", async () => {
  const { place, shop, text } = await toolkit();
  await writeFile(join(shop, "operations.ts"), `${await text("operations.ts")}\n// mine\n`);
  await writeFile(join(place, "openapi.json"), JSON.stringify(after));

  const update = await run("update", shop, "--write");

  assert.equal(update.event, "failed");
  assert.match(update.message, /operations\.ts was edited/);
  assert.match(await text("operations.ts"), /\/\/ mine/);
});

test("only a toolkit that was made from a document can be updated", async () => {
  assert.match((await run("update", await folder({ "extension.ts": "" }))).message, /only a toolkit that was made with --openapi/);
});
