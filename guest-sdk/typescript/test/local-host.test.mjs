// What the host of a test does as a server does it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { defineToolkit, dispatch, readResource, resource, tool, ToolError, z } from "kitbag/extend/toolkit";

const SECRET = "s3cr3t-value";
const API = "https://api.example/";

function toolkit(handler, config = {}) {
  const go = tool({ name: "go", description: "Goes.", input: z.object({}), handler });
  return defineToolkit({ id: "one", name: "One", description: "One tool.", icon: "1️⃣", version: "1.0.0", tools: [go], ...config });
}

const go = (handler, config, call = {}) => dispatch(toolkit(handler, config), { tool: "go", ...call });

const HOSTS = { egress: ["api.example", "other.example", "auth.example"] };
const read = async (_, ctx) => (await ctx.fetch(API, { headers: { "x-own": "1", ...(ctx.userId === "sends" && { "x-key": SECRET }) } })).text();

/** Calls a handler whose first request is redirected. Returns the result and the requests that arrived. */
async function redirected(location, config, call) {
  const arrived = [];
  const fetchImpl = async (input, init) => {
    const { url, headers } = new Request(input, init);
    arrived.push([url, headers.get("x-key"), headers.get("x-own")]);
    return url.startsWith(API) && arrived.length === 1 ? new Response(null, { status: 307, headers: { location: location(url) } }) : new Response("ok");
  };
  return { result: await go(read, { ...HOSTS, ...config }, { fetchImpl, ...call }), arrived };
}

test("an attached query parameter does not follow a redirect", async () => {
  const auth = { type: "api_key", secret: "KEY", in: "query", name: "key", apiHost: "api.example" };
  const call = { secrets: { KEY: SECRET } };

  const away = await redirected((url) => url.replace("api.", "other."), { auth }, call);
  const own = await redirected((url) => url.replace("?", "next?a=1&"), { auth }, call);

  assert.deepEqual(away.arrived.map(([url]) => url), [`${API}?key=${SECRET}`, "https://other.example/"]);
  assert.deepEqual(own.arrived.map(([url]) => url), [`${API}?key=${SECRET}`, `${API}next?a=1&key=${SECRET}`]);
});

test("a header with a secret stays with its origin, whatever its name", async () => {
  const call = { secrets: { KEY: SECRET }, userId: "sends" };

  const away = await redirected(() => "https://other.example/", { secrets: ["KEY"] }, call);
  const own = await redirected(() => "/next", { secrets: ["KEY"] }, call);

  assert.deepEqual(away.arrived[1], ["https://other.example/", null, "1"]);
  assert.deepEqual(own.arrived[1], [`${API}next`, SECRET, "1"]);
});

test("a redirect that a server refuses fails", async () => {
  for (const location of ["https://user:p@other.example/", "http://other.example/", "ftp://other.example/", "https://evil.example/"]) {
    const { result, arrived } = await redirected(() => location);
    assert.equal(result.ok, false, location);
    assert.equal(arrived.length, 1, location);
  }
});

test("secrets leave in no encoding", async () => {
  const handler = async (_, ctx) => {
    const key = await ctx.secret("KEY");
    ctx.progress({ progress: 1, message: key });
    return { text: `${Buffer64(key)} ${encodeURIComponent(key)}`, structured: { [key]: 12345678 } };
  };
  const Buffer64 = (text) => btoa(text).replaceAll("=", "");
  const config = { secrets: ["KEY", "PIN"] };

  const result = await go(handler, config, { secrets: { KEY: SECRET, PIN: "12345678" } });

  assert.equal(result.text, "[redacted] [redacted]");
  assert.deepEqual(result.structured, { "[redacted]": "[redacted]" });
  assert.equal(result.trace.progress[0].message, "[redacted]");
});

const grant = { type: "oauth2_client_credentials", tokenUrl: "https://auth.example/t", clientIdSecret: "ID", clientSecretSecret: "SECRET", apiHost: "api.example" };

test("a token that cannot be renewed is the reply", async () => {
  const call = (tokens) => {
    let asked = 0;
    const fetchImpl = async (url) => (String(url).startsWith(API) ? new Response("", { status: 401 }) : tokens[asked++]);
    const handler = async (_, ctx) => { throw new ToolError(`${(await ctx.fetch(API)).status}`); };
    return go(handler, { ...HOSTS, auth: grant, secrets: ["ID", "SECRET"] }, { secrets: { ID: "the-id", SECRET: "the-secret" }, fetchImpl });
  };

  const renewed = await call([Response.json({ access_token: "t-1" }), Response.json({ error: "invalid_client" }, { status: 400 })]);
  const inSuccess = await call([Response.json({ error: "invalid_grant" })]);
  const form = await call([new Response("error=invalid_grant", { headers: { "content-type": "application/x-www-form-urlencoded" } })]);

  assert.match(renewed.error, /HTTP status 400 \(invalid_client\)/);
  assert.match(inSuccess.error, /HTTP status 200 \(invalid_grant\)/);
  assert.match(form.error, /HTTP status 200 \(invalid_grant\)/);
});

test("a hint that clients refuse fails the call, also if JavaScript takes it for a time", async () => {
  const content = [{ type: "image", data: "aGk=", mimeType: "image/png", annotations: { lastModified: "2026-02-30T00:00:00Z" } }];

  const { error } = await go(async () => ({ text: "t", content }));

  assert.equal(error, "The tool's result is not valid: content[0].annotations.lastModified: must be a time such as 2026-11-26T09:30:00Z");
});

test("an embedded document claims no URI of another toolkit", async () => {
  const embedded = (uri) => ({ type: "resource", resource: { uri, text: "t" } });
  const returned = { text: "t", content: [embedded("kitbag://other/a"), embedded("kitbag://one/a"), embedded("kitbag://documents/1")] };

  const { content } = await go(async () => returned);

  assert.deepEqual(content.map(({ resource: { uri } }) => uri), ["other/a", "kitbag://one/a", "documents/1"]);
});

test("a run that has ended at a question asks no other", async () => {
  const handler = async (_, ctx) => {
    ctx.log("begins");
    const all = await Promise.all(["a", "b"].map((key) => ctx.ask({ key, message: `${key}?` })));
    return all.map(({ action }) => action).join(" ");
  };

  const { text, trace } = await go(handler, { scopes: ["svc:ask"] }, { answers: { a: {}, b: "decline" } });

  assert.deepEqual([text, trace.questions.length, trace.log.length], ["accept decline", 2, 3]);
});

test("an answer that is missing or does not fit is the test's own mistake", async () => {
  const schema = z.object({ n: z.int() });
  const handler = async (_, ctx) => {
    try {
      return JSON.stringify(await ctx.ask({ key: "a", message: "a?", schema }));
    } catch {
      return "did without";
    }
  };
  const call = (answers) => go(handler, { scopes: ["svc:ask"] }, { answers });

  await assert.rejects(call({ b: {} }), /the test has no answer to the question "a"/);
  await assert.rejects(call({ a: { n: "x" } }), /the answer to the question "a" does not fit: \/n: /);
});

test("ingested documents are found and have no secrets", async () => {
  const call = (url) => go(async (_, ctx) => {
    const text = `a whale, ${await ctx.secret("KEY")}`;
    for (const title of ["first", "second"]) await ctx.svc.ingest([{ title, text, url }]);
    const found = await ctx.svc.search("whale");
    const { title } = await ctx.svc.getDocument(found.at(-1).document.id);
    return found.map(({ document, snippet }) => `${document.title}: ${snippet}`).join() + title;
  }, { scopes: ["svc:search", "svc:ingest"], secrets: ["KEY"] }, { secrets: { KEY: SECRET } });

  assert.equal((await call("https://a.example/")).text, "second: a whale, [redacted]second");
  assert.match((await call(`https://a.example/${SECRET}`)).error, /documents\[0\]\.url: holds a secret/);
});

test("a snippet ends with a whole character", async () => {
  const documents = [{ id: "1", title: "Whales", text: `${"a".repeat(199)}🐳 whale`, source: "user" }];

  const { text } = await go(async (_, ctx) => (await ctx.svc.search("whale"))[0].snippet, { scopes: ["svc:search"] }, { documents });

  assert.equal(text, `${"a".repeat(199)}🐳`);
});

test("a resource is named by its whole URI where there is none", async () => {
  const book = resource({ name: "book", description: "A book.", uri: "books/{isbn}", handler: async () => "b" });

  const { error } = await readResource(toolkit(async () => "", { resources: [book] }), { uri: "kitbag://other/books/7" });

  assert.match(error, /unknown resource "kitbag:\/\/other\/books\/7"/);
});
