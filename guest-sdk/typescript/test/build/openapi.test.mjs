// A toolkit that was made from a document builds, types included.
import assert from "node:assert/strict";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { get, openapi, post, written } from "../openapi/support.mjs";
import { kitbagBuild } from "../support.mjs";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const TSCONFIG = fileURLToPath(new URL("../../../../host/toolchain/scaffold/typescript/tsconfig.json.tmpl", import.meta.url));

test("a generated toolkit builds", async () => {
  const list = { type: "array", items: { type: "string" } };
  const parameters = [{ name: "id", in: "path", required: true, schema: { type: "integer" } }, { name: "f", in: "query", style: "deepObject", schema: { type: "object", properties: { a: list } } }, { name: "c", in: "query", explode: false, schema: list }];
  const responses = { 200: { description: "OK", content: { "application/json": { schema: { type: "object", required: ["id"], properties: { id: { type: "integer" }, in: { type: "string", nullable: true } } } } } } };
  const upload = { type: "object", required: ["file"], properties: { file: { type: "string", format: "binary" }, note: { type: "string" } } };
  const { place } = await written(openapi({ "/a/{id}": get(parameters, { responses }), "/b": post(upload, { mediaType: "multipart/form-data" }), "/c": { ...post({ type: "object", properties: { default: { type: "string" }, "x-y": list } }, { required: false }) } }));
  await writeFile(join(place, "tsconfig.json"), await readFile(TSCONFIG, "utf8"));
  await symlink(join(PACKAGE, "node_modules/typescript"), join(place, "node_modules/typescript"));

  const { status, stdout, stderr } = await kitbagBuild(place, join(place, "dist"));

  assert.equal(status, 0, stdout + stderr);
  const manifest = JSON.parse(await readFile(join(place, "dist/manifest.json"), "utf8"));
  assert.deepEqual(manifest.tools.map((it) => it.name), ["get_it", "post_it", "post_it_2"]);
});
