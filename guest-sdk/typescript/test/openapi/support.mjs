// Helpers of the tests of documents.
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { dispatch } from "kitbag/extend/toolkit";

import { readDocument } from "../../dist/openapi/document.js";
import { generate, list } from "../../dist/openapi/generate.js";
import { openSource } from "../../dist/openapi/source.js";
import { folder } from "../support.mjs";
import { argumentsFor } from "./samples.mjs";
import { readRequest, standIn } from "./stand-in.mjs";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

/** A document with some operations. */
export function openapi(paths, { version = "3.0.3", servers = [{ url: "https://api.example/v1" }], ...rest } = {}) {
  return { openapi: version, info: { title: "Shop", version: "1" }, servers, paths, ...rest };
}

/** A GET operation with these parameters. */
export function get(parameters = [], rest = {}) {
  return { get: { operationId: "getIt", parameters, responses: { 200: { description: "OK" } }, ...rest } };
}

/** A POST operation with this body. */
export function post(schema, { mediaType = "application/json", media = {}, required = true, ...rest } = {}) {
  return { post: { operationId: "postIt", requestBody: { required, content: { [mediaType]: { schema, ...media } } }, responses: { 204: { description: "Done" } }, ...rest } };
}

/** Reads a document. */
export async function read(document) {
  const place = await folder({ "openapi.json": typeof document === "string" ? document : JSON.stringify(document) });
  return readDocument(await openSource(join(place, "openapi.json")));
}

/** Makes a toolkit of a document, and writes it into a folder. */
export async function written(document, choice = {}) {
  const generated = generate(await read(document), { id: "shop", location: "openapi.json", only: [], ...choice });
  const place = await folder(Object.fromEntries(generated.files.map(({ name, text }) => [name, text])));
  await linkPackage(place);
  return { ...generated, place };
}

/** Makes a toolkit of a document, and loads it. */
export async function made(document, choice = {}) {
  const { place, ...generated } = await written(document, choice);
  const { default: toolkit } = await import(pathToFileURL(join(place, "extension.ts")).href);
  const source = (name) => generated.files.find((it) => it.name === name).text;
  return { ...generated, toolkit, place, source, document };
}

/** Makes `kitbag` and `zod` importable in a folder. */
export async function linkPackage(place) {
  await mkdir(join(place, "node_modules/@types"), { recursive: true });
  await symlink(PACKAGE, join(place, "node_modules/kitbag"));
  await symlink(join(PACKAGE, "node_modules/zod"), join(place, "node_modules/zod"));
  await symlink(join(PACKAGE, "node_modules/@types/node"), join(place, "node_modules/@types/node"));
  await writeFile(join(place, "package.json"), `{ "type": "module" }`);
}

/** Lists the operations of a document. */
export async function listed(document, only = []) {
  return list(await read(document), only).operations;
}

/** Calls a tool, and returns its result and the request that the API received. */
export async function call({ toolkit }, tool, args = {}, { answer = () => new Response(null, { status: 204 }), ...world } = {}) {
  let request;
  const result = await dispatch(toolkit, {
    ...world,
    tool,
    arguments: args,
    fetchImpl: async (url, init) => {
      request = await readRequest(url, init);
      return answer(request);
    },
  });
  return { result, request };
}

/** Calls every tool with few arguments and with all, and returns what is wrong with the requests. */
export async function checked({ toolkit, document }, base = "https://api.example/v1") {
  const check = standIn(document, { base });
  const problems = [];
  for (const tool of toolkit.manifest.tools) {
    for (const all of [false, true]) {
      const args = argumentsFor(tool.inputSchema, { all });
      const { result, request } = await call({ toolkit }, tool.name, args);
      problems.push(...(request === undefined ? [`${tool.name}: ${result.error} ${result.trace.failure}`] : check(request)));
    }
  }
  return problems;
}
