// What is read of a document, what is refused, and what is listed as not made.
import assert from "node:assert/strict";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";

import { generate } from "../../dist/openapi/generate.js";
import { readDocument } from "../../dist/openapi/document.js";
import { openSource } from "../../dist/openapi/source.js";
import { folder } from "../support.mjs";
import { call, get, listed, made, openapi, post, read } from "./support.mjs";

const CHOICE = { id: "shop", location: "openapi.yaml", only: [] };

const schemaOf = async (schema) => (await made(openapi({ "/a": post({ type: "object", properties: { it: schema } }) }))).toolkit.manifest.tools[0].inputSchema.properties.it;

test("an operation is a tool with its name, words and hints", async () => {
  const document = openapi({
    "/pets/{petId}": {
      parameters: [{ name: "petId", in: "path", required: true, description: "Which [pet](https://pets.example/a).", schema: { type: "integer" } }],
      get: { operationId: "getPetByID", summary: "Read a pet", description: "Reads a <b>pet</b> by <id>.\n\nOr fails.", responses: {} },
      delete: { summary: "Delete a pet.", deprecated: true, responses: {} },
    },
  });

  const { toolkit, tools } = await made(document);
  const [read, remove] = toolkit.manifest.tools;

  assert.equal(read.name, "get_pet_by_id");
  assert.equal(read.title, "Read a pet");
  assert.equal(read.description, "Read a pet. Reads a pet by <id>. Or fails.");
  assert.equal(read.inputSchema.properties.petId.description, "Which pet.");
  assert.equal(read.annotations.readOnlyHint, true);
  assert.equal(remove.name, "delete_pets_by_pet_id");
  assert.equal(remove.description, "Deprecated. Delete a pet.");
  assert.equal(remove.annotations.destructiveHint, true);
  assert.equal(remove.annotations.idempotentHint, true);
  assert.equal(remove.mutating, true);
  assert.deepEqual(tools.map((it) => it.operation), ["GET /pets/{petId}", "DELETE /pets/{petId}"]);
});

test("schemas mean the same as in the document", async () => {
  const cases = [
    [{ type: "string", nullable: true }, { type: ["string", "null"] }],
    [{ type: "integer", minimum: 0, exclusiveMinimum: true, maximum: 9, multipleOf: 3 }, { type: "integer", exclusiveMinimum: 0, maximum: 9, multipleOf: 3 }],
    [{ enum: ["a", "b", null] }, { anyOf: [{ type: "string", enum: ["a", "b"] }, { type: "null" }] }],
    [{ type: "array", items: { type: "boolean" }, maxItems: 3 }, { type: "array", items: { type: "boolean" }, maxItems: 3 }],
    [{ allOf: [{ type: "object", required: ["a"], properties: { a: { type: "string" } } }, { properties: { b: { type: "number" } } }] }, { type: "object", required: ["a"], properties: { a: { type: "string" }, b: { type: "number" } } }],
    [{ type: "object", properties: { a: { type: "string", readOnly: true }, b: { type: "string" } } }, { type: "object", properties: { b: { type: "string" } } }],
  ];
  for (const [schema, expected] of cases) assert.deepEqual(await schemaOf(schema), expected);
});

test("a 3.1 document has lists of types, constants and exclusive bounds that are numbers", async () => {
  const it = { type: ["string", "integer", "null"] };
  const document = openapi({ "/a": post({ type: "object", properties: { it, one: { const: "x" }, above: { type: "number", exclusiveMinimum: 2 } } }) }, { version: "3.1.0" });

  const { properties } = (await made(document)).toolkit.manifest.tools[0].inputSchema;

  assert.deepEqual(properties.it, { type: ["string", "integer", "null"] });
  assert.deepEqual(properties.one.const, "x");
  assert.deepEqual(properties.above, { type: "number", exclusiveMinimum: 2 });
});

test("what is one of several keeps all its members", async () => {
  const schema = { oneOf: [{ type: "object", properties: { a: { type: "string" } } }, { type: "object", properties: { b: { type: "string" } } }] };

  const { request } = await call(await made(openapi({ "/a": post(schema) })), "post_it", { body: { b: "kept" } });

  assert.equal(request.body.toString(), '{"b":"kept"}');
});

test("a discriminator tells variants apart by their constants", async () => {
  const variant = (name) => ({ type: "object", required: ["kind", name], properties: { kind: { type: "string" }, [name]: { type: "string" } } });
  const schema = { oneOf: [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Dog" }], discriminator: { propertyName: "kind", mapping: { cat: "#/components/schemas/Cat" } } };
  const toolkit = await made(openapi({ "/a": post(schema) }, { components: { schemas: { Cat: variant("meow"), Dog: variant("bark") } } }));

  assert.match(toolkit.source("operations.ts"), /z\.discriminatedUnion\("kind"/);
  assert.ok((await call(toolkit, "post_it", { body: { kind: "cat", meow: "x" } })).request);
  assert.ok((await call(toolkit, "post_it", { body: { kind: "Dog", bark: "x" } })).request);
  assert.equal((await call(toolkit, "post_it", { body: { kind: "cat", bark: "x" } })).request, undefined);
});

test("what refers to itself is described once, and sent on all levels", async () => {
  const schemas = { Node: { type: "object", properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/components/schemas/Node" } } } } };
  const toolkit = await made(openapi({ "/a": post({ $ref: "#/components/schemas/Node" }) }, { components: { schemas } }));
  const tree = { name: "a", children: [{ name: "b", children: [{ name: "c", other: 1 }] }] };

  const { request } = await call(toolkit, "post_it", tree);

  assert.deepEqual(JSON.parse(request.body.toString()), tree);
  assert.deepEqual(toolkit.tools[0].notes, ["an argument refers to itself, and is not described in full"]);
});

test("types that several tools have are one constant", async () => {
  const schemas = { Address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } };
  const body = { type: "object", properties: { from: { $ref: "#/components/schemas/Address" }, to: { $ref: "#/components/schemas/Address" } } };

  const { source } = await made(openapi({ "/a": post(body) }, { components: { schemas } }));

  assert.match(source("operations.ts"), /^const Address = z\.object\(\{$/m);
  assert.match(source("operations.ts"), /from: Address\.optional\(\),\n\s+to: Address\.optional\(\),/);
});

test("output is that of the only answer, if it is an object and small", async () => {
  const answers = (responses) => openapi({ "/a": get([], { responses }) });
  const json = (schema) => ({ description: "OK", content: { "application/json": { schema } } });
  const small = { type: "object", properties: { id: { type: "integer" }, state: { enum: ["a", "b"] } } };
  const large = { type: "object", properties: Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`m${index}`, { type: "string" }])) };
  const outputOf = async (responses) => (await made(answers(responses))).toolkit.manifest.tools[0].outputSchema;

  assert.deepEqual((await outputOf({ 200: json(small) })).properties, { id: { type: "integer" }, state: { type: "string" } });
  assert.equal(await outputOf({ 200: json(small), 204: { description: "None" } }), undefined);
  assert.equal(await outputOf({ 200: json({ type: "array", items: small }) }), undefined);
  assert.equal(await outputOf({ 200: json(large) }), undefined);
});

test("what cannot be made is listed with the reason, and never made", async () => {
  const parameter = (rest) => get([{ name: "v", required: true, schema: { type: "string" }, ...rest }]);
  const cases = [
    [{ "/a": parameter({ in: "cookie" }) }, /the parameter "v" is a cookie/],
    [{ "/a/{v}": parameter({ in: "path", style: "matrix" }) }, /the style "matrix"/],
    [{ "/a": parameter({ in: "query", content: { "application/xml": {} } }) }, /"application\/xml"/],
    [{ "/a": parameter({ in: "query", schema: { type: "array", items: { type: "object", properties: { a: {} } } } }) }, /objects within a list/],
    [{ "/a/{w}": get() }, /the path has \{w\}, which is no parameter/],
    [{ "/a?x=1": get() }, /such as \?/],
    [{ "/a/../b": get() }, /a segment \. or \.\./],
    [{ "/a": post({}, { mediaType: "application/xml" }) }, /its body is "application\/xml"/],
    [{ "/a": { get: post({}).post } }, /a GET request cannot have a body/],
    [{ "/a": { trace: { responses: {} } } }, /cannot send TRACE/],
    [{ "/a": { head: { responses: {} } } }, /HEAD has no content/],
    [{ "/a": post({ $ref: "#/components/schemas/Nothing" }) }, /there is nothing at "#\/components\/schemas\/Nothing"/],
    [{ "/a": post({ type: "object", properties: Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`m${index}`, { type: "string" }])) }) }, /more than 200 members/],
  ];
  for (const [paths, reason] of cases) {
    const { notMade, tools } = await made(openapi({ ...paths, "/ok": get() }));

    assert.equal(notMade.length, 1, JSON.stringify(paths));
    assert.match(notMade[0].reason, reason);
    assert.equal(tools.length, 1);
  }
});

test("an optional parameter that cannot be sent is left out, with a note", async () => {
  const { tools, toolkit } = await made(openapi({ "/a": get([{ name: "session", in: "cookie", schema: { type: "string" } }]) }));

  assert.deepEqual(tools[0].notes, [`leaves out an optional parameter: the parameter "session" is a cookie`]);
  assert.deepEqual(toolkit.manifest.tools[0].inputSchema.properties, {});
});

test("references lead to other files of the folder, also in YAML", async () => {
  const place = await folder({
    "api/openapi.yaml": `
openapi: 3.0.3
info: { title: Shop, version: 1 }
servers: [{ url: "https://api.example" }]
paths:
  /pets: { $ref: "paths/pets.yaml" }
`,
    "api/paths/pets.yaml": `
get:
  operationId: listPets
  parameters:
    - $ref: "../parts.json#/parameters/Limit"
  responses: {}
`,
    "api/parts.json": JSON.stringify({ parameters: { Limit: { name: "limit", in: "query", schema: { $ref: "#/schemas/Limit" } } }, schemas: { Limit: { type: "integer", maximum: 5 } } }),
  });

  const { files } = generate(await readDocument(await openSource(join(place, "api/openapi.yaml"))), CHOICE);

  assert.match(files[2].text, /limit: z\.number\(\)\.int\(\)\.max\(5\)\.optional\(\)/);
});

test("a path in a file that is missing is listed, and the others are made", async () => {
  const { tools, notMade } = await made(openapi({ "/gone": { $ref: "gone.yaml" }, "/ok": get() }));

  assert.deepEqual(tools.map((it) => it.operation), ["GET /ok"]);
  assert.equal(notMade[0].operation, "/gone");
  assert.match(notMade[0].reason, /is missing/);
});

test("no reference reads a file outside of the folder, or an address", async () => {
  const place = await folder({ "secret.json": `{ "type": "string" }`, "api/openapi.json": "" });
  await symlink(join(place, "secret.json"), join(place, "api/link.json"));
  for (const ref of ["../secret.json", "link.json", "/etc/hostname", "file:///etc/hostname", "https://evil.example/a.json", "http://127.0.0.1:1/a", "data:application/json,{}", "api%2F..%2F..%2Fsecret.json"]) {
    await writeFile(join(place, "api/openapi.json"), JSON.stringify(openapi({ "/a": post({ $ref: ref }), "/ok": get() })));

    const { notMade, tools } = generate(await readDocument(await openSource(join(place, "api/openapi.json"))), CHOICE);

    assert.equal(tools.length, 1, ref);
    assert.match(notMade[0].reason, /only files of its own folder|reads no other address|is missing/, ref);
  }
});

test("a document from a URL reads its own origin only, and no redirect", async () => {
  const reads = [];
  const serve = (answer) =>
    new Promise((resolve) => {
      const server = createServer((request, response) => {
        reads.push(request.url);
        answer(request.url, response);
      }).listen(0, "127.0.0.1", () => resolve([server, `http://127.0.0.1:${server.address().port}`]));
    });
  const [other, elsewhere] = await serve((_, response) => response.end("{}"));
  const [server, origin] = await serve((path, response) => {
    if (path === "/moved.json") return response.writeHead(302, { location: `${elsewhere}/secret` }).end();
    if (path === "/parts.json") return response.end(`{ "type": "object", "properties": { "a": { "type": "string" } } }`);
    const paths = { "/ok": post({ $ref: "parts.json" }), "/other": post({ $ref: `${elsewhere}/secret` }), "/moved": post({ $ref: "moved.json" }), "/file": post({ $ref: "file:///etc/hostname" }) };
    response.end(JSON.stringify({ ...openapi(paths), servers: [{ url: "/v2" }] }));
  });

  try {
    const { tools, notMade, files } = generate(await readDocument(await openSource(`${origin}/openapi.json`)), CHOICE);

    assert.deepEqual(tools.map((it) => it.operation), ["POST /ok"]);
    assert.equal(notMade.length, 3);
    assert.ok(!reads.includes("/secret"), reads.join());
    assert.ok(files[1].text.includes(`baseUrl: "${origin}/v2"`), files[1].text);
  } finally {
    server.close();
    other.close();
  }
});

test("a document has limits of size, depth, values and aliases", async () => {
  const deep = `${"[".repeat(1000)}${"]".repeat(1000)}`;
  const nested = `{"openapi":"3.0.0","info":{},"servers":[{"url":"https://a.example"}],"paths":{},"x":${deep}}`;
  const laughs = ["a: &a [x,x,x,x,x,x,x,x,x]", ...[..."bcdefghi"].map((name, index) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[index]}`)}]`)].join("\n");
  const aliases = `openapi: 3.0.0\nservers: [{ url: "https://a.example" }]\n${laughs}\npaths:\n  /a:\n    get:\n      responses: {}\n      parameters: [{ name: q, in: query, example: *i, schema: { type: string, example: *i } }]\n`;

  await assert.rejects(read(nested), /nested more than 200 levels/);
  await assert.rejects(read(`openapi: 3.0.0\nx: ${deep}`), /nested|cannot be read|neither JSON nor YAML/);
  await assert.rejects(read(" ".repeat((32 << 20) + 1)), /more than 32 MiB/);
  // Shared values are no problem, as long as nothing expands them.
  const started = Date.now();
  const outcome = await read(aliases).then((document) => generate(document, CHOICE).tools.length, (error) => error.message);
  assert.ok(outcome === 1 || /alias/i.test(outcome), String(outcome));
  assert.ok(Date.now() - started < 5000);
});

test("schemas that multiply end soon", async () => {
  const schemas = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`S${index}`, { allOf: [{ $ref: `#/components/schemas/S${index + 1}` }, { $ref: `#/components/schemas/S${index + 1}` }], properties: { a: { $ref: `#/components/schemas/S${index + 1}` }, b: { $ref: `#/components/schemas/S${index + 1}` } } }]));
  schemas.S40 = { type: "object" };
  schemas.Loop = { $ref: "#/components/schemas/Loop" };
  const started = Date.now();

  const { notMade } = await made(openapi({ "/a": post({ $ref: "#/components/schemas/S0" }), "/loop": post({ $ref: "#/components/schemas/Loop" }), "/ok": get() }, { components: { schemas } }));

  assert.ok(notMade.some((it) => it.operation === "POST /loop" && /further references/.test(it.reason)), JSON.stringify(notMade));
  assert.ok(Date.now() - started < 5000, String(Date.now() - started));
});

test("a pattern of a document is never run without a limit", async () => {
  const document = openapi({ "/a": get([{ name: "q", in: "query", required: true, example: "a".repeat(40) + "!", schema: { type: "string", pattern: "^(a+)+$" } }]) });
  const started = Date.now();

  await made(document);

  assert.ok(Date.now() - started < 3000);
});

test("tools are chosen by tag, operation and method, and have to be beyond 60", async () => {
  const operation = (id, tags) => ({ operationId: id, tags, responses: {} });
  const paths = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`/p${index}`, { get: operation(`getP${index}`, ["reading"]), post: operation(`postP${index}`, ["writing"]) }]));
  const document = openapi(paths);
  const chosen = async (...only) => (await made(document, { only })).tools.length;

  await assert.rejects(made(document), /has 80 operations[\s\S]*--only TAG[\s\S]*40 {2}reading/);
  assert.equal(await chosen("reading"), 40);
  assert.equal(await chosen("GET"), 40);
  assert.equal(await chosen("reading", "POST", "getP3"), 1);
  assert.equal(await chosen("get_p1", "postP2", "GET /p5"), 3);
  assert.equal(await chosen("writing", "post"), 40);
  await assert.rejects(chosen("readin"), /no tag, operation or method "readin": did you mean "reading"/);
  assert.equal((await listed(document, ["getP3"]))[0].tool, "get_p3");
  assert.ok((await listed(document)).every((it) => it.bytes > 50));
});

test("tools of one name are told apart", async () => {
  const paths = { "/a": get(), "/b": get(), "/c": get([], { operationId: "get-it" }) };

  const { tools } = await made(openapi(paths));

  assert.deepEqual(tools.map((it) => it.tool), ["get_it", "get_it_2", "get_it_3"]);
});

test("what a document says never becomes code", async () => {
  const evil = ['"', "'", "`", "${globalThis.hacked = 1}", "*/ globalThis.hacked = 1 /*", "\n globalThis.hacked = 1 //", "\u2028globalThis.hacked=1", "\\", "__proto__", "constructor", "</script>", "\u202eabc", "\ud800"].join(" ");
  const names = ["__proto__", "constructor", "a\"b", "a`b", "a\nb", "a*/b", "a\\", "${x}", "toString", "hasOwnProperty", "a\u2028b", "-", "1a", "await"];
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string", description: evil, default: evil, example: evil }]));
  Object.defineProperty(properties, "__proto__", { value: { type: "string" }, enumerable: true });
  const document = openapi(
    {
      "/a/{id}`\"'": {
        post: {
          operationId: evil,
          summary: evil,
          description: evil,
          tags: [evil],
          parameters: [{ name: "id", in: "path", required: true, description: evil, schema: { type: "string", enum: [evil, "x"] } }, ...names.filter((it) => it !== "__proto__").map((name) => ({ name, in: "query", schema: { type: "string", pattern: "^[/`\"*]*\u2028?$" } }))],
          requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/E" } } } },
          responses: { 200: { description: evil, content: { "application/json": { schema: { $ref: "#/components/schemas/E" }, example: properties } } } },
          security: [{ [evil]: [evil] }],
        },
      },
    },
    { components: { schemas: { E: { type: "object", description: evil, properties } }, securitySchemes: { [evil]: { type: "apiKey", in: "query", name: evil } } }, tags: [{ name: evil }] },
  );
  document.info = { title: evil, description: evil, version: evil };

  const { toolkit, place, files } = await made(document);
  const { request } = await call({ toolkit }, toolkit.manifest.tools[0].name, { id: "x", body: {} }, { secrets: Object.fromEntries([toolkit.config.auth.secret].map((it) => [it, "s"])) });

  assert.equal(globalThis.hacked, undefined);
  assert.equal({}.type, undefined);
  assert.ok(request.url.startsWith("https://api.example/v1/a/x"));
  for (const { name, text } of files) {
    if (!name.endsWith(".json")) assert.doesNotMatch(text, /[\u202e\u2028]|(^|\n)\s*globalThis/, name);
  }
  // The generated tests are code too.
  await import(join(place, "operations.test.ts"));
  assert.equal(globalThis.hacked, undefined);
  assert.match(await readFile(join(place, "openapi.json"), "utf8"), /"digest"/);
});

test("what is no document is refused", async () => {
  await assert.rejects(read("{}"), /no OpenAPI document/);
  await assert.rejects(read("[1]"), /not an object/);
  await assert.rejects(read(`{ "openapi": "4.0.0" }`), /"4.0.0" is not supported/);
  await assert.rejects(read("a: b: c: ["), /neither JSON nor YAML/);
  await assert.rejects(made({ openapi: "3.0.0", paths: {} }), /no operations/);
  await assert.rejects(made({ ...openapi({ "/a": get() }), servers: [] }), /name it with --api-url URL/);
  await assert.rejects(openSource("/nowhere/openapi.json"), /there is no file/);
});
