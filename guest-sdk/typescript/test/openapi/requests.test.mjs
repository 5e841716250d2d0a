// The requests of generated tools: each value is where the document says, written as it says.
import assert from "node:assert/strict";
import { test } from "node:test";

import { call, checked, get, made, openapi, post } from "./support.mjs";

const query = (name, schema, rest = {}) => ({ name, in: "query", schema, ...rest });
const texts = { type: "array", items: { type: "string" } };

async function sent(document, tool, args) {
  const toolkit = await made(document);
  const { result, request } = await call(toolkit, tool, args);
  assert.ok(request !== undefined, JSON.stringify(result));
  return { ...request, target: `${request.method} ${request.url.slice("https://api.example".length)}` };
}

test("lists and objects of a query are written in the styles of OpenAPI", async () => {
  const color = { type: "object", properties: { R: { type: "integer" }, G: { type: "integer" } } };
  const cases = [
    [query("v", texts), ["a b", "c"], "v=a%20b&v=c"],
    [query("v", texts, { explode: false }), ["a,b", "c"], "v=a%2Cb,c"],
    [query("v", texts, { style: "spaceDelimited", explode: false }), ["a", "b"], "v=a%20b"],
    [query("v", texts, { style: "pipeDelimited", explode: false }), ["a", "b"], "v=a%7Cb"],
    [query("v", color), { R: 1, G: 2 }, "R=1&G=2"],
    [query("v", color, { explode: false }), { R: 1, G: 2 }, "v=R,1,G,2"],
    [query("v", color, { style: "deepObject", explode: true }), { R: 1, G: 2 }, "v[R]=1&v[G]=2"],
    [{ name: "v", in: "query", content: { "application/json": { schema: color } } }, { R: 1 }, "v=%7B%22R%22%3A1%7D"],
    [query("v", { type: "string" }), "a&b=c#d", "v=a%26b%3Dc%23d"],
    [query("v", { type: "boolean" }), false, "v=false"],
  ];
  for (const [parameter, value, expected] of cases) {
    const { target } = await sent(openapi({ "/it": get([parameter]) }), "get_it", { v: value });

    assert.equal(target, `GET /v1/it?${expected}`);
  }
});

test("values of a path are escaped, and lists in it separated by commas", async () => {
  const parameters = [
    { name: "owner", in: "path", required: true, schema: { type: "string" } },
    { name: "ids", in: "path", required: true, schema: { type: "array", items: { type: "integer" } } },
  ];
  const { target } = await sent(openapi({ "/{owner}/items/{ids}.json": get(parameters) }), "get_it", { owner: "a/b?c#d%", ids: [1, 2] });

  assert.equal(target, "GET /v1/a%2Fb%3Fc%23d%25/items/1,2.json");
});

test("no value leads to another path", async () => {
  const toolkit = await made(openapi({ "/users/{id}": get([{ name: "id", in: "path", required: true, schema: { type: "string" } }]) }));

  for (const id of ["", ".", "..", "%2e", "%2E%2e"]) {
    const { result, request } = await call(toolkit, "get_it", { id });
    if (request !== undefined) assert.ok(new URL(request.url).pathname.startsWith("/v1/users/%25"), request.url);
    else assert.match(result.error, /id is empty|is \. or \.\./);
  }
});

test("a header has its value, and never a line break", async () => {
  const toolkit = await made(openapi({ "/it": get([{ name: "X-Request-ID", in: "header", required: true, schema: { type: "string" } }, { name: "X-Tags", in: "header", schema: texts }]) }));

  const { request } = await call(toolkit, "get_it", { x_request_id: "7", x_tags: ["a", "b"] });
  const { result, request: none } = await call(toolkit, "get_it", { x_request_id: "7\r\nX-Admin: 1" });

  assert.equal(request.headers.get("x-request-id"), "7");
  assert.equal(request.headers.get("x-tags"), "a,b");
  assert.equal(none, undefined);
  assert.match(result.error, /X-Request-ID has a character/);
});

test("the members of a JSON body are arguments beside those of the path", async () => {
  const schema = { type: "object", required: ["name"], properties: { name: { type: "string" }, tag: { type: "string", nullable: true } } };
  const item = post(schema);
  item.post.parameters = [{ name: "id", in: "path", required: true, schema: { type: "integer" } }];
  const document = openapi({ "/pets/{id}": item });

  const { target, body, headers } = await sent(document, "post_it", { id: 3, name: "Rex", tag: null });

  assert.equal(target, "POST /v1/pets/3");
  assert.equal(body.toString(), '{"name":"Rex","tag":null}');
  assert.equal(headers.get("content-type"), "application/json");
});

test("a body whose names are taken, or that is no plain object, is one argument", async () => {
  const taken = post({ type: "object", properties: { id: { type: "string" } } });
  taken.post.parameters = [{ name: "id", in: "path", required: true, schema: { type: "integer" } }];
  const list = post({ type: "array", items: { type: "integer" } });
  const map = post({ type: "object", additionalProperties: { type: "integer" } });

  assert.equal((await sent(openapi({ "/a/{id}": taken }), "post_it", { id: 1, body: { id: "x" } })).body.toString(), '{"id":"x"}');
  assert.equal((await sent(openapi({ "/a": list }), "post_it", { body: [1, 2] })).body.toString(), "[1,2]");
  assert.equal((await sent(openapi({ "/a": map }), "post_it", { body: { a: 1 } })).body.toString(), '{"a":1}');
});

test("an optional body without values is not sent", async () => {
  const document = openapi({ "/a": post({ type: "object", properties: { note: { type: "string" } } }, { required: false }) });

  assert.equal((await sent(document, "post_it", {})).body.length, 0);
  assert.equal((await sent(document, "post_it", { note: "x" })).body.toString(), '{"note":"x"}');
});

test("fields of a form are written as its encoding says", async () => {
  const schema = { type: "object", properties: { amount: { type: "integer" }, expand: texts, meta: { type: "object", additionalProperties: { type: "string" } }, tags: texts } };
  const media = { encoding: { expand: { style: "deepObject", explode: true }, meta: { style: "deepObject", explode: true } } };
  const document = openapi({ "/charges": post(schema, { mediaType: "application/x-www-form-urlencoded", media }) });

  const { body, headers } = await sent(document, "post_it", { amount: 5, expand: ["a", "b"], meta: { k: "v w" }, tags: ["x", "y"] });

  assert.equal(body.toString(), "amount=5&tags=x&tags=y&expand[0]=a&expand[1]=b&meta[k]=v%20w");
  assert.equal(headers.get("content-type"), "application/x-www-form-urlencoded");
});

test("a file of a multipart form is given in base64, and sent as bytes", async () => {
  const schema = { type: "object", required: ["file"], properties: { file: { type: "string", format: "binary" }, note: { type: "string" }, meta: { type: "object", properties: { a: { type: "integer" } } } } };
  const document = openapi({ "/upload": post(schema, { mediaType: "multipart/form-data", media: { encoding: { file: { contentType: "image/png" } } } }) });

  const { body, headers } = await sent(document, "post_it", { file: "aGVsbG8=", note: "n", meta: { a: 1 } });
  const form = await new Response(body, { headers }).formData();

  assert.equal(await form.get("file").text(), "hello");
  assert.equal(form.get("file").type, "image/png");
  assert.equal(form.get("note"), "n");
  assert.equal(await form.get("meta").text(), '{"a":1}');
});

test("a body of bytes or text is one argument", async () => {
  const bytes = await sent(openapi({ "/a": post({ type: "string", format: "binary" }, { mediaType: "application/octet-stream" }) }), "post_it", { body: "aGVsbG8=" });
  const text = await sent(openapi({ "/a": post({ type: "string" }, { mediaType: "text/markdown" }) }), "post_it", { body: "# A" });

  assert.equal(bytes.body.toString(), "hello");
  assert.equal(bytes.headers.get("content-type"), "application/octet-stream");
  assert.equal(text.body.toString(), "# A");
  assert.equal(text.headers.get("content-type"), "text/markdown");
});

test("names that are no names of JavaScript are sent as the document has them", async () => {
  const parameters = ["filter[name]", "page-size", "in", "default", "constructor", "__proto", "Ünï", "ctx", "json"].map((name) => query(name, { type: "string" }));
  const toolkit = await made(openapi({ "/it": get(parameters) }));
  const names = Object.keys(toolkit.toolkit.manifest.tools[0].inputSchema.properties);

  const { request } = await call(toolkit, "get_it", Object.fromEntries(names.map((name, index) => [name, `v${index}`])));

  const received = [...new URL(request.url).searchParams.keys()];
  assert.deepEqual(received, parameters.map((it) => it.name));
  assert.ok(names.every((name) => /^[a-zA-Z0-9_]{1,64}$/.test(name)), names.join());
});

test("an answer is text, a structured value, an image, or other bytes", async () => {
  const responses = { 200: { description: "OK", content: { "application/json": { schema: { type: "object", required: ["id"], properties: { id: { type: "integer" } } } } } } };
  const toolkit = await made(openapi({ "/a": get([], { responses }), "/b": get([], { operationId: "other" }) }));
  const answered = async (tool, answer) => (await call(toolkit, tool, {}, { answer: () => answer })).result;

  assert.deepEqual((await answered("get_it", Response.json({ id: 1, more: true }))).structuredContent, { id: 1, more: true });
  assert.match((await answered("get_it", Response.json({ id: "x" }))).error, /id/);
  assert.equal((await answered("other", new Response("plain", { headers: { "content-type": "text/plain" } }))).text, "plain");
  assert.equal((await answered("other", new Response(null, { status: 204 }))).text, "Done (HTTP status 204).");
  const [image] = (await answered("other", new Response("png", { headers: { "content-type": "image/png" } }))).content;
  assert.equal(image.type, "image");
  const [file] = (await answered("other", new Response("zip", { headers: { "content-type": "application/zip" } }))).content;
  assert.equal(file.resource.uri, "https://api.example/v1/b");
});

test("an error has its status and the reasons of the API", async () => {
  const toolkit = await made(openapi({ "/a": get() }));
  const failed = async (answer) => (await call(toolkit, "get_it", {}, { answer: () => answer })).result;

  const refused = await failed(Response.json({ error: { message: "name is required", code: 7 } }, { status: 422 }));
  assert.equal(refused.error, "api.example answered with HTTP status 422: name is required");
  assert.equal(refused.retryable, false);
  assert.equal((await failed(new Response("busy", { status: 503 }))).retryable, true);
  assert.match((await failed(Response.json({ errors: [{ detail: "a" }, { detail: "b" }] }, { status: 400 }))).error, /: a; b$/);
  assert.match((await failed(new Response("<html>…", { status: 401 }))).error, /401\. The credentials/);
});

test("Swagger 2.0: parameters, forms, bodies and collections", async () => {
  const document = {
    swagger: "2.0",
    info: { title: "Old", version: "1" },
    host: "api.example",
    basePath: "/v1",
    schemes: ["http", "https"],
    consumes: ["application/json"],
    parameters: { Limit: { name: "limit", in: "query", type: "integer", maximum: 10 }, Pet: { name: "pet", in: "body", required: true, schema: { $ref: "#/definitions/Pet" } } },
    paths: {
      "/pets": {
        get: { operationId: "listPets", parameters: [{ $ref: "#/parameters/Limit" }, { name: "tags", in: "query", type: "array", items: { type: "string", enum: ["a", "b"] }, collectionFormat: "pipes" }, { name: "ids", in: "query", type: "array", items: { type: "integer" } }], responses: { 200: { description: "OK" } } },
        post: { operationId: "addPet", parameters: [{ $ref: "#/parameters/Pet" }], responses: { 200: { description: "OK", schema: { $ref: "#/definitions/Pet" } } } },
      },
      "/form": { post: { operationId: "form", consumes: ["application/x-www-form-urlencoded"], parameters: [{ name: "a", in: "formData", type: "string", required: true }, { name: "list", in: "formData", type: "array", items: { type: "string" }, collectionFormat: "multi" }], responses: {} } },
      "/upload": { post: { operationId: "upload", parameters: [{ name: "file", in: "formData", type: "file", required: true }], responses: {} } },
    },
    definitions: { Pet: { type: "object", required: ["name"], properties: { name: { type: "string" }, age: { type: "integer", "x-nullable": true } } } },
  };
  const toolkit = await made(document);
  const target = async (tool, args) => (await call(toolkit, tool, args)).request;

  assert.equal((await target("list_pets", { limit: 3, tags: ["a", "b"], ids: [1, 2] })).url, "https://api.example/v1/pets?limit=3&tags=a%7Cb&ids=1,2");
  assert.equal((await target("add_pet", { name: "Rex", age: null })).body.toString(), '{"name":"Rex","age":null}');
  assert.equal((await target("form", { a: "1", list: ["x", "y"] })).body.toString(), "a=1&list=x&list=y");
  assert.deepEqual((await target("upload", { file: "aGVsbG8=" })).fields.get("file"), ["bytes"]);
  assert.deepEqual(await checked(toolkit), []);
});

test("every request of a document is as the document says", async () => {
  const pet = { type: "object", required: ["name", "kind"], properties: { id: { type: "integer", readOnly: true }, name: { type: "string", minLength: 2, maxLength: 20 }, kind: { enum: ["cat", "dog"] }, born: { type: "string", format: "date" }, tags: { type: "array", items: { $ref: "#/components/schemas/Tag" }, minItems: 1 } } };
  const document = openapi(
    {
      "/pets": { get: { operationId: "listPets", parameters: [query("limit", { type: "integer", minimum: 1, maximum: 100, exclusiveMaximum: true }), query("sort", { type: "string", enum: ["name", "-name"] })], responses: {} }, post: { ...post({ $ref: "#/components/schemas/Pet" }).post, operationId: "addPet" } },
      "/pets/{id}": { parameters: [{ name: "id", in: "path", required: true, schema: { type: "string", pattern: "^p-[0-9]{4}$" } }], put: { ...post({ allOf: [{ $ref: "#/components/schemas/Pet" }, { type: "object", properties: { note: { type: "string" } } }] }).post, operationId: "putPet" }, delete: { operationId: "deletePet", responses: { 204: { description: "Gone" } } } },
      "/shapes": post({ oneOf: [{ $ref: "#/components/schemas/Circle" }, { $ref: "#/components/schemas/Square" }], discriminator: { propertyName: "type", mapping: { circle: "#/components/schemas/Circle", square: "Square" } } }),
    },
    { components: { schemas: { Pet: pet, Tag: { type: "object", properties: { name: { type: "string" } } }, Circle: { type: "object", required: ["type", "r"], properties: { type: { enum: ["circle"] }, r: { type: "number" } } }, Square: { type: "object", required: ["type"], properties: { type: { enum: ["square"] }, a: { type: "number" } } } } } },
  );

  assert.deepEqual(await checked(await made(document)), []);
});
