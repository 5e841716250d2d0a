// `dispatch` and `toFetchHandler`: calls without server or sandbox, with the same grants and errors.
import assert from "node:assert/strict";
import { test } from "node:test";

import { defineToolkit, dispatch, toFetchHandler, tool, ToolError, z } from "kitbag/extend/toolkit";

/** Returns a toolkit with one tool, `go`, with the given handler. */
function toolkit(handler, config = {}, options = {}) {
  const { input = z.object({}), output, ...rest } = config;
  return defineToolkit(
    {
      id: "one",
      name: "One",
      description: "One tool.",
      icon: "1️⃣",
      version: "1.0.0",
      tools: [tool({ name: "go", description: "Goes.", input, ...(output && { output }), handler })],
      ...rest,
    },
    options,
  );
}

const go = (handler, config, call = {}, options) => dispatch(toolkit(handler, config, options), { tool: "go", ...call });

const failed = (error, retryable = false) => ({ ok: false, code: "TOOL_ERROR", error, retryable });

test("a bare string is a text", async () => {
  assert.deepEqual(await go(async () => "hello"), { ok: true, text: "hello" });
});

test("a structured value surfaces only where output is declared", async () => {
  const handler = async () => ({ text: "t", structured: { n: 1 } });
  assert.deepEqual(await go(handler), { ok: true, text: "t", structured: { n: 1 } });
  const output = z.object({ n: z.int() });
  assert.deepEqual(await go(handler, { output }), { ok: true, text: "t", structured: { n: 1 }, structuredContent: { n: 1 } });
});

test("a structured value that does not fit is a tool error naming the path", async () => {
  const result = await go(async () => ({ text: "t", structured: { a: [{ n: "x" }] } }), { output: z.object({ a: z.array(z.object({ n: z.int() })) }) });
  assert.equal(result.code, "TOOL_ERROR");
  assert.match(result.error, /does not match its output schema: \/a\/0\/n: /);
});

test("a result with members that would be lost fails, and the log names them", async () => {
  const image = { type: "image", data: "aGk=", mimeType: "image/png" };
  const cases = [
    [{ text: "you may not", isError: true }, /^the handler's result cannot have isError: to report a failure, throw new ToolError/],
    [{ content: [{ type: "text", text: "t" }], isError: true }, /cannot have isError/],
    [{ text: "t", structuredContent: {} }, /cannot have structuredContent: .* is named structured$/],
    [{ text: "t", extra: 1 }, /cannot have extra: there are text, structured, content$/],
    [{ text: "t", content: image }, /^content must be a list/],
    [{ text: "t", content: [image, { type: "text", text: "t" }] }, /^content\[1\] must be of the type image, audio, resource, resource_link/],
    [{ text: "t", content: [{ ...image, annotations: 1 }] }, /^content\[0\]\.annotations must be an object/],
    [{ text: "t", content: [{ ...image, annotations: { prioriy: 1 } }] }, /^content\[0\]\.annotations cannot have prioriy: there are audience, priority, lastModified$/],
    [{ text: "t", content: [{ ...image, annotations: { priority: 2 } }] }, /^content\[0\]\.annotations\.priority must be a number from 0 to 1$/],
    [{ text: "t", content: [{ ...image, annotations: { audience: ["model"] } }] }, /^content\[0\]\.annotations\.audience must be a list of "user" and "assistant"$/],
    [{ text: "t", content: [{ ...image, annotations: { lastModified: "2026-11-26" } }] }, /^content\[0\]\.annotations\.lastModified must be a time such as/],
    [{ text: "t", content: [{ type: "image", mimeType: "image/png" }] }, /^content\[0\]\.data must be a Uint8Array or a base64 string/],
    [{ text: "t", content: [{ type: "resource", resource: { uri: "a:b", text: "t", _meta: {} } }] }, /^content\[0\]\.resource cannot have _meta/],
  ];
  for (const [returned, message] of cases) {
    const result = await go(async () => returned);
    assert.deepEqual({ ...result }, failed("The tool failed."), JSON.stringify(returned));
    assert.match(result.trace.failure.message, message);
  }
  const annotations = { audience: ["user"], priority: 0.5, lastModified: "2026-11-26T09:30:00+01:00" };
  const valid = { text: "t", isError: undefined, content: [image, { ...image, annotations }] };
  assert.deepEqual((await go(async () => valid)).content, valid.content);
});

test("where output is declared, a text alone is a tool error", async () => {
  const output = z.object({ n: z.int() });
  for (const returned of ["t", { text: "t" }]) {
    const result = await go(async () => returned, { output });
    assert.deepEqual(result, failed("The tool's structured result does not match its output schema: /: the handler returned no structured value"));
  }
});

test("wrong arguments never reach the handler", async () => {
  let ran = false;
  const result = await go(async () => ((ran = true), ""), { input: z.object({ n: z.int() }) }, { arguments: { n: "x" } });
  assert.deepEqual(result, { ok: false, code: "INVALID_PARAMS", error: 'Invalid arguments: /n: value is not of type "integer"', retryable: false });
  assert.equal(ran, false);
});

test("a refinement is checked as well, and defaults are filled in", async () => {
  const input = z.object({ n: z.int().refine(async (n) => n % 2 === 0, "must be even"), s: z.string().default("x") });
  assert.equal((await go(async () => "", { input }, { arguments: { n: 3 } })).error, "Invalid arguments: /n: must be even");
  assert.equal((await go(async ({ s }) => s, { input }, { arguments: { n: 2 } })).text, "x");
});

test("a schema may contain itself", async () => {
  const Category = z.object({ name: z.string(), get children() { return z.array(Category).default([]); } });
  const tree = { name: "a", children: [{ name: "b", children: [{ name: "c" }] }] };
  const handler = async ({ root }, ctx) => {
    const fetched = await ctx.fetchJson("https://api.example/", { schema: Category });
    return { text: root.children[0].children[0].name, structured: fetched };
  };
  const config = { input: z.object({ root: Category }), output: Category, egress: ["api.example"] };
  const result = await go(handler, config, { arguments: { root: tree } }, { fetchImpl: async () => Response.json(tree) });
  assert.equal(result.text, "c");
  assert.deepEqual(result.structuredContent.children[0].children[0], { name: "c", children: [] });
  const refused = await go(handler, config, { arguments: { root: { name: "a", children: [{ name: 1 }] } } });
  assert.match(refused.error, /^Invalid arguments: \/root\/children\/0\/name: /);
});

test("only a ToolError speaks to the model", async () => {
  assert.deepEqual(await go(async () => { throw new ToolError("No.", { retryable: true, data: 1 }); }), failed("No.", true));
  const result = await go(async () => { throw new Error("inner"); });
  assert.deepEqual(result, failed("The tool failed."));
  assert.equal(result.trace.failure.message, "inner");
});

test("a request to a host that is not listed never leaves", async () => {
  const asked = [];
  const options = { fetchImpl: async (url) => (asked.push(url), new Response("{}")) };
  const handler = async (_, ctx) => {
    try {
      return await (await ctx.fetch("https://evil.example/x")).text();
    } catch (error) {
      return `${error instanceof TypeError} ${error.message}`;
    }
  };
  const said = 'true network error: evil.example is not listed in egress: add "evil.example" to the toolkit\'s egress';
  assert.equal((await go(handler, { egress: ["api.example"] }, {}, options)).text, said);
  assert.equal((await go(handler, {}, {}, options)).text, said);
  assert.deepEqual(asked, []);
});

test("a redirect to a host that is not listed is not followed", async () => {
  const options = { fetchImpl: async () => new Response(null, { status: 302, headers: { location: "https://evil.example/" } }) };
  const result = await go(async (_, ctx) => (await ctx.fetch("https://api.example/")).text(), { egress: ["api.example"] }, {}, options);
  assert.equal(result.ok, false);
  assert.deepEqual(result.trace.requests, [{ method: "GET", url: "https://api.example/" }]);
});

test("a mock sees what the handler sent, with a User-Agent where it set none", async () => {
  const seen = [];
  const options = { fetchImpl: async (url, init) => (seen.push([url, init.method, init.headers]), new Response("ok")) };
  const handler = async (_, ctx) => {
    await ctx.fetch(new URL("https://api.example/a"), { method: "POST", headers: { "X-Key": "1" } });
    await ctx.fetch("https://api.example/b", { headers: { "User-Agent": "own" } });
    return "done";
  };
  assert.ok((await go(handler, { egress: ["api.example"] }, {}, options)).ok);
  assert.deepEqual(seen, [
    ["https://api.example/a", "POST", { "X-Key": "1", "user-agent": "Mozilla/5.0 (compatible; Kitbag/0.1.0)" }],
    ["https://api.example/b", undefined, { "User-Agent": "own" }],
  ]);
});

test("headers of the connection are ignored, with one warning", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  const seen = [];
  const options = { fetchImpl: async (input, init) => (seen.push([...new Headers(init.headers).keys()]), new Response("ok")) };
  const handler = async (_, ctx) => {
    for (let time = 0; time < 2; time += 1) await ctx.fetch("https://api.example/a", { method: "PUT", headers: { Host: "x", "content-length": "7", "x-own": "1" }, body: "b" });
    await fetch(new Request("https://api.example/b", { headers: { upgrade: "h2c", "x-own": "1" } }));
    return "done";
  };

  assert.ok((await go(handler, { egress: ["api.example"] }, {}, options)).ok);

  assert.deepEqual(seen, Array(3).fill(["user-agent", "x-own"]));
  const said = warn.mock.calls.map(({ arguments: [text] }) => text);
  assert.deepEqual(said.map((text) => /request header (\S+) is ignored/.exec(text)[1]), ["content-length", "host", "upgrade"]);
});

test("a declared auth signs in where the test brings the credentials", async () => {
  const auth = { type: "oauth2_client_credentials", tokenUrl: "https://auth.example/t", clientIdSecret: "ID", clientSecretSecret: "SECRET", scope: "read", apiHost: "api.example" };
  const config = { auth, secrets: ["ID", "SECRET"], egress: ["auth.example", "api.example", "other.example"] };
  const seen = [];
  const options = {
    fetchImpl: async (url, init) => {
      seen.push([String(url), new Headers(init.headers).get("authorization"), init.body]);
      return url.startsWith("https://auth.example") ? Response.json({ access_token: "tok" }) : new Response("{}");
    },
  };
  const handler = async (_, ctx) => {
    await ctx.fetchJson("https://api.example/1");
    await ctx.fetchJson("https://api.example/2", { init: { headers: { authorization: "own" } } });
    await ctx.fetchJson("https://other.example/3");
    await ctx.fetchJson("https://api.example/4");
    return "done";
  };
  assert.equal((await go(handler, config, { secrets: { ID: "i", SECRET: "s" } }, options)).text, "done");
  assert.deepEqual(seen, [
    ["https://auth.example/t", `Basic ${btoa("i:s")}`, "grant_type=client_credentials&scope=read"],
    ["https://api.example/1", "Bearer tok", undefined],
    ["https://api.example/2", "own", undefined],
    ["https://other.example/3", null, undefined],
    ["https://api.example/4", "Bearer tok", undefined],
  ]);
});

/** Returns a declaration with `auth`, and a network whose token endpoint responds with `answer`. */
const signingIn = (answer) => {
  const auth = { type: "oauth2_client_credentials", tokenUrl: "https://auth.example/t", clientIdSecret: "ID", clientSecretSecret: "SECRET", apiHost: "api.example" };
  const fetchImpl = async (url, init) =>
    String(url).startsWith("https://auth.example") ? answer() : Response.json({ bearer: new Headers(init.headers).get("authorization") });
  return [{ auth, secrets: ["ID", "SECRET"], egress: ["auth.example", "api.example"] }, { fetchImpl }];
};
const askApi = async (_, ctx) => (await ctx.fetchJson("https://api.example/1")).bearer;
const bothCredentials = { secrets: { ID: "i d", SECRET: "canary-secret" } };

test("a call fails for want of the credentials of auth with the command that sets them", async () => {
  const [config, options] = signingIn(() => assert.fail("nothing is asked for"));
  const commands = ["ID", "SECRET"].map((name) => `kitbag secret set one ${name} --from-stdin`);
  const caught = async (_, ctx) => {
    const error = await ctx.fetch("https://api.example/1").catch((it) => it);
    throw new ToolError(`${error instanceof TypeError} ${error.message}`, { retryable: true });
  };
  for (const handler of [askApi, caught]) {
    const both = failed(`The credentials ID and SECRET are not set. Set them with: ${commands.join(" and ")}`);
    assert.deepEqual(await go(handler, config, {}, options), both);
    assert.deepEqual(await go(handler, config, { secrets: { ID: "i" } }, options), failed(`The credential SECRET is not set. Set it with: ${commands[1]}`));
  }
  assert.equal((await go(async (_, ctx) => ctx.fetch("https://api.example/1").then(() => "sent", () => "did without"), config, {}, options)).text, "did without");
});

test("credentials that the token endpoint refuses are named, and what is no token", async () => {
  const said = (answer) => { const [config, options] = signingIn(answer); return go(askApi, config, bothCredentials, options); };
  const refused = await said(() => Response.json({ error: "invalid_client" }, { status: 401 }));
  assert.match(refused.error, /^The token endpoint auth\.example refused the credentials ID and SECRET with HTTP status 401 \(invalid_client\)\. Set them with: kitbag secret set one ID /);
  assert.equal(refused.retryable, false);
  assert.doesNotMatch((await said(() => Response.json({ error: "canary" }, { status: 400 }))).error, /canary/);
  assert.deepEqual(await said(() => new Response("<html>")), failed("The answer of the token endpoint auth.example cannot be used: it is no JSON object with access_token."));
  assert.match((await said(() => Response.json({ access_token: "t", token_type: "mac" }))).error, /its token_type is not Bearer/);
  assert.deepEqual(await said(() => new Response("", { status: 503 })), failed("The token endpoint auth.example answered with HTTP status 503. Try again later.", true));
  for (const type of [undefined, "bearer", "Bearer"]) assert.equal((await said(() => Response.json({ access_token: "t", token_type: type }))).text, "Bearer t");
});

test("a token that is refused is asked for again, once", async () => {
  const auth = { type: "oauth2_client_credentials", tokenUrl: "https://auth.example/t", clientIdSecret: "ID", clientSecretSecret: "SECRET", apiHost: "api.example" };
  const config = { auth, secrets: ["ID", "SECRET"], egress: ["auth.example", "api.example"] };
  for (const [status, valid, expected] of [[401, "Bearer 2", "200 2"], [403, "Bearer 2", "200 2"], [401, "none", "401 2"], [404, "none", "404 1"]]) {
    let minted = 0;
    const fetchImpl = async (url, init) => {
      if (url.startsWith("https://auth.example")) return Response.json({ access_token: String((minted += 1)) });
      return new Response(null, { status: new Headers(init.headers).get("authorization") === valid ? 200 : status });
    };
    const handler = async (_, ctx) => String((await ctx.fetch("https://api.example/", { method: "POST", body: "x" })).status);
    const result = await go(handler, config, { secrets: { ID: "i", SECRET: "s" } }, { fetchImpl });
    assert.equal(`${result.text} ${minted}`, expected);
  }
});

test("a request asks for one other token at most, also after a redirect", async () => {
  let minted = 0;
  const [config] = signingIn();
  const seen = [];
  const fetchImpl = async (url, init) => {
    if (url.startsWith("https://auth.example")) return Response.json({ access_token: String((minted += 1)) });
    const token = new Headers(init.headers).get("authorization");
    seen.push(`${new URL(url).pathname} ${token}`);
    if (url.endsWith("/2") || token === "Bearer 1") return new Response(null, { status: 401 });
    return new Response(null, { status: 307, headers: { location: "/2" } });
  };
  const handler = async (_, ctx) => String((await ctx.fetch("https://api.example/1")).status);
  assert.equal((await go(handler, config, bothCredentials, { fetchImpl })).text, "401");
  assert.deepEqual(seen, ["/1 Bearer 1", "/1 Bearer 2", "/2 Bearer 2"]);
});

test("requests whose token is refused at the same time share the new one", async () => {
  const auth = { type: "oauth2_client_credentials", tokenUrl: "https://auth.example/t", clientIdSecret: "ID", clientSecretSecret: "SECRET", apiHost: "api.example" };
  const config = { auth, secrets: ["ID", "SECRET"], egress: ["auth.example", "api.example"] };
  let minted = 0;
  const fetchImpl = async (url, init) => {
    if (url.startsWith("https://auth.example")) return Response.json({ access_token: String((minted += 1)) });
    if (url.endsWith("/late")) await new Promise((resolve) => setTimeout(resolve, 20));
    return new Response(null, { status: new Headers(init.headers).get("authorization") === "Bearer 2" ? 200 : 401 });
  };
  const handler = async (_, ctx) => {
    const answers = await Promise.all(["a", "b", "late"].map((path) => ctx.fetch(`https://api.example/${path}`)));
    return answers.map(({ status }) => status).join(" ");
  };
  const result = await go(handler, config, { secrets: { ID: "i", SECRET: "s" } }, { fetchImpl });
  assert.equal(`${result.text} ${minted}`, "200 200 200 2");
});

const SIGN_IN_HOSTS = ["auth.example", "api.example", "api.example:80", "api.example:8443", "other.example", "localhost:8080"];
const apiKey = { type: "api_key", secret: "KEY", apiHost: "api.example" };
const basicAuth = { type: "basic", usernameSecret: "USER", passwordSecret: "PASSWORD", apiHost: "api.example" };
const userAccount = {
  type: "oauth2_authorization_code",
  authorizationUrl: "https://auth.example/authorize",
  tokenUrl: "https://auth.example/t",
  clientIdSecret: "ID",
  apiHost: "api.example",
};

/** Sends requests with a declared `auth`, and returns the URL and a header of each that arrived. `respond` answers them. */
async function arriving(auth, world, requests, { header = "authorization", respond = () => new Response("{}"), config = {} } = {}) {
  const seen = [];
  const fetchImpl = async (input, init) => {
    const request = new Request(input, init);
    seen.push([request.url, request.headers.get(header)]);
    return respond(request);
  };
  const handler = async (_, ctx) => {
    for (const [url, init] of requests) await (await ctx.fetch(url, init)).text();
    return "done";
  };
  const result = await go(handler, { auth, egress: SIGN_IN_HOSTS, ...config }, world, { fetchImpl });
  assert.equal(result.text, "done", result.error);
  return seen;
}

test("a key goes into its header with its prefix, or into the query", async () => {
  const world = { secrets: { KEY: "k& 1" } };
  const url = "https://api.example/x?q=%2B1&empty#top";
  assert.deepEqual(await arriving(apiKey, world, [[url]]), [[url.split("#")[0], "k& 1"]].map(([it, value]) => [`${it}#top`, value]));
  assert.deepEqual(await arriving({ ...apiKey, name: "X-Key", prefix: "Token " }, world, [["https://api.example/"]], { header: "x-key" }), [["https://api.example/", "Token k& 1"]]);
  const inQuery = { ...apiKey, in: "query", name: "a key" };
  assert.deepEqual(await arriving(inQuery, world, [[url], ["https://api.example/"]]), [
    ["https://api.example/x?q=%2B1&empty&a+key=k%26+1#top", null],
    ["https://api.example/?a+key=k%26+1", null],
  ]);
  const request = new Request("https://api.example/", { method: "POST", body: "b", headers: { "user-agent": "own", "x-own": "1" } });
  const bodies = [];
  const respond = async (it) => (bodies.push([it.method, it.headers.get("x-own"), await it.text()]), new Response("{}"));
  await arriving([inQuery], world, [[request.clone()]], { respond });
  await arriving(apiKey, world, [[request]], { respond });
  assert.deepEqual(bodies, [["POST", "1", "b"], ["POST", "1", "b"]]);
});

test("user name and password and the token of an account are attached", async () => {
  const url = "https://api.example/";
  assert.deepEqual(await arriving(basicAuth, { secrets: { USER: "änne", PASSWORD: "p:w" } }, [[url]]), [[url, `Basic ${Buffer.from("änne:p:w").toString("base64")}`]]);
  assert.deepEqual(await arriving(userAccount, { account: "token" }, [[url]]), [[url, "Bearer token"]]);
});

test("nothing is attached elsewhere, nor where the handler has set its own", async () => {
  const world = { secrets: { KEY: "k-1" } };
  const urls = ["https://other.example/", "http://api.example/", "https://api.example:8443/", "http://localhost:8080/"];
  assert.deepEqual(await arriving(apiKey, world, urls.map((url) => [url])), urls.map((url) => [url, null]));
  assert.deepEqual(await arriving(apiKey, world, [["https://api.example/", { headers: { AUTHORIZATION: "own" } }]]), [["https://api.example/", "own"]]);
  for (const own of ["https://api.example/?a+key=own", "https://api.example/?b=1&%61%20key"]) {
    assert.deepEqual(await arriving({ ...apiKey, in: "query", name: "a key" }, world, [[own]]), [[own, null]]);
  }
  assert.deepEqual(await arriving({ ...apiKey, apiHost: "localhost:8080" }, world, [["http://localhost:8080/"]]), [["http://localhost:8080/", "k-1"]]);
});

test("each host gets what is declared for it", async () => {
  const grant = { type: "oauth2_client_credentials", tokenUrl: "https://auth.example/t", clientIdSecret: "ID", clientSecretSecret: "SECRET", apiHost: "api.example:8443" };
  const auth = [userAccount, grant, { ...apiKey, apiHost: "localhost:8080" }];
  const world = { account: "token", secrets: { ID: "i", SECRET: "s", KEY: "k-1" } };
  const respond = ({ url }) => (url.startsWith("https://auth.example") ? Response.json({ access_token: "minted" }) : new Response("{}"));
  const urls = ["https://api.example/", "https://api.example:8443/", "http://localhost:8080/", "https://other.example/"];
  const seen = await arriving(auth, world, urls.map((url) => [url]), { respond, config: { secrets: ["ID", "SECRET"] } });
  assert.deepEqual(seen, [
    ["https://api.example/", "Bearer token"],
    ["https://auth.example/t", `Basic ${btoa("i:s")}`],
    ["https://api.example:8443/", "Bearer minted"],
    ["http://localhost:8080/", "k-1"],
    ["https://other.example/", null],
  ]);
});

test("what is attached follows redirects of its own host alone", async () => {
  const leads = (steps) => ({ url }) => (url in steps ? new Response(null, { status: 307, headers: { location: steps[url] } }) : new Response("{}"));
  const [first, second, away, other] = ["https://api.example/1", "https://api.example/2", "https://other.example/", "http://localhost:8080/"];
  const world = { secrets: { KEY: "k-1", LOCAL: "l-1" } };
  const auth = [{ ...apiKey, name: "x-key" }, { ...apiKey, secret: "LOCAL", name: "x-key", apiHost: "other.example" }];
  const follow = (steps, from = first) => arriving(auth, world, [[from]], { header: "x-key", respond: leads(steps) });
  assert.deepEqual(await follow({ [first]: second }), [[first, "k-1"], [second, "k-1"]]);
  assert.deepEqual(await follow({ [first]: away }), [[first, "k-1"], [away, null]]);
  assert.deepEqual(await follow({ [first]: away, [away]: second }), [[first, "k-1"], [away, null], [second, null]]);
  assert.deepEqual(await follow({ [other]: first }, other), [[other, null], [first, null]]);
  const inQuery = await arriving({ ...apiKey, in: "query", name: "key" }, { secrets: { KEY: "k-1" } }, [[first]], { respond: leads({ [`${first}?key=k-1`]: second }) });
  assert.deepEqual(inQuery, [[`${first}?key=k-1`, null], [`${second}?key=k-1`, null]]);
});

test("a handler does not see what is attached, and the reply has none of it", async () => {
  const auth = [{ ...apiKey, in: "query", name: "key" }, { ...userAccount, apiHost: "other.example" }, { ...basicAuth, apiHost: "localhost:8080" }];
  const world = { secrets: { KEY: "canary of a key", USER: "canary-user", PASSWORD: "canary-password" }, account: "canary-of-an-account" };
  const fetchImpl = async (url, init) => new Response(`${url} ${new Headers(init.headers).get("authorization")}`);
  const handler = async (_, ctx) => {
    const said = [];
    for (const url of ["https://api.example/", "https://other.example/", "http://localhost:8080/"]) {
      const response = await ctx.fetch(url);
      assert.equal(response.url, url);
      said.push(await response.text());
    }
    ctx.log(...said);
    return said.join("\n");
  };
  const result = await go(handler, { auth, egress: SIGN_IN_HOSTS }, world, { fetchImpl });
  const expected = ["https://api.example/?key=[redacted] null", "https://other.example/ Bearer [redacted]", "http://localhost:8080/ Basic [redacted]"];
  assert.equal(result.text, expected.join("\n"));
  assert.deepEqual(result.trace.log, [expected]);
  assert.deepEqual(result.trace.requests[0], { method: "GET", url: "https://api.example/?key=canary+of+a+key" });
});

test("a call fails with the command that helps if something is missing, does not fit or is refused", async () => {
  const call = (auth, world, status = 200) => {
    const fetchImpl = async () => new Response("{}", { status });
    return go(async (_, ctx) => String(await ctx.fetchJson("https://api.example/")), { auth, egress: SIGN_IN_HOSTS }, world, { fetchImpl });
  };
  const set = (name) => `kitbag secret set one ${name} --from-stdin`;
  assert.deepEqual(await call(apiKey, {}), failed(`The credential KEY is not set. Set it with: ${set("KEY")}`));
  assert.deepEqual(await call(basicAuth, { secrets: { USER: "u" } }), failed(`The credential PASSWORD is not set. Set it with: ${set("PASSWORD")}`));
  const separates = "has a colon, which separates it from the password";
  assert.deepEqual(await call(basicAuth, { secrets: { USER: "u:v", PASSWORD: "p" } }), failed(`The credential USER cannot be used: it ${separates}. Set it with: ${set("USER")}`));
  assert.match((await call(apiKey, { secrets: { KEY: "k\r\nx: 1" } })).error, /^The credential KEY cannot be used: it has characters that a header cannot have\./);
  const connect = "Connect it with: kitbag toolkit sign-in one";
  assert.deepEqual(await call(userAccount, {}), failed(`This tool acts with your account at api.example, and none is connected. ${connect}`));
  const refused = await call(userAccount, { account: "old" }, 401);
  assert.match(refused.error, /^api\.example did not accept your connected account \(HTTP status 401\)\./);
  assert.equal(refused.retryable, false);
  assert.match((await call(userAccount, { account: "old" }, 403)).error, /403/);
  assert.doesNotMatch((await call(apiKey, { secrets: { KEY: "k" } }, 401)).error, /account/);
});

test("a test may give what only auth uses, and the handler cannot read it", async () => {
  const handler = async (_, ctx) => ctx.secret("KEY");
  const result = await go(handler, { auth: apiKey, egress: SIGN_IN_HOSTS }, { secrets: { KEY: "k-1" } });
  assert.match(result.trace.failure.message, /^the credential KEY is not declared/);
  await assert.rejects(go(handler, { auth: apiKey, egress: SIGN_IN_HOSTS }, { secrets: { OTHER: "k" } }), /secret OTHER: not declared/);
  await assert.rejects(go(handler, { auth: apiKey, egress: SIGN_IN_HOSTS }, { account: "a" }), /account: auth has no oauth2_authorization_code/);
  await assert.rejects(go(handler, { auth: userAccount, egress: SIGN_IN_HOSTS }, { account: "a b" }), /account: has characters that a header cannot have/);
});

test("headers that can be gone through once arrive", async () => {
  const own = new Map([["x-own", "1"]]);
  for (const headers of [() => own.entries(), () => own, () => ({ "x-own": "1" }), () => [["x-own", "1"]], () => new Headers(own)]) {
    const options = { fetchImpl: async (_, init) => new Response(new Headers(init.headers).get("x-own")) };
    const handler = async (_, ctx) => (await ctx.fetch("https://api.example/", { headers: headers() })).text();
    assert.equal((await go(handler, { egress: ["api.example"] }, {}, options)).text, "1", String(headers));
  }
});

test("a signal of null takes that of a Request away", async () => {
  const options = { fetchImpl: async () => { throw new Error("ECONNREFUSED"); } };
  const request = () => new Request("https://api.example/", { signal: AbortSignal.abort("stopped") });
  const handler = async (_, ctx) => {
    const said = [];
    for (const init of [undefined, {}, { signal: undefined }, { signal: null }]) said.push(await ctx.fetch(request(), init).catch((error) => error.message ?? error));
    return said.join(", ");
  };
  assert.equal((await go(handler, { egress: ["api.example"] }, {}, options)).text, "stopped, stopped, stopped, network error: api.example cannot be reached");
});

test("fetchJson maps what goes wrong", async () => {
  const answers = { "/400": [400, "no"], "/429": [429, ""], "/500": [500, ""], "/html": [200, "<html>", "text/html; charset=utf-8"], "/cut": [200, '{"id":'], "/302": [302, ""], "/shape": [200, '{"id":1}'], "/ok": [200, '{"id":"a"}'] };
  const options = {
    fetchImpl: async (url) => {
      const { pathname } = new URL(url);
      if (pathname === "/down") throw new Error("ECONNREFUSED");
      const [status, body, type = "application/json"] = answers[pathname];
      return new Response(body, { status, headers: { "content-type": type } });
    },
  };
  const config = { egress: ["api.example"], input: z.object({ path: z.string(), map: z.boolean().optional(), method: z.string().optional() }) };
  const handler = async ({ path, map, method }, ctx) => {
    const errorMap = (res, body) => (res.status === 400 ? new ToolError(`mapped ${body}`) : undefined);
    return JSON.stringify(await ctx.fetchJson(`https://api.example${path}`, { schema: z.object({ id: z.string() }), init: { method }, ...(map && { errorMap }) }));
  };
  const run = (path, map, method) => go(handler, config, { arguments: { path, map, method } }, options);
  assert.deepEqual(await run("/400"), failed("api.example answered with HTTP status 400"));
  assert.deepEqual(await run("/400", true), failed("mapped no"));
  assert.deepEqual(await run("/429", true), failed("api.example answered with HTTP status 429", true));
  assert.deepEqual(await run("/500"), failed("api.example answered with HTTP status 500", true));
  assert.deepEqual(await run("/302"), failed("api.example answered with HTTP status 302"));
  assert.deepEqual(await run("/html"), failed("api.example answered with malformed JSON (text/html)", true));
  assert.deepEqual(await run("/cut"), failed("api.example answered with malformed JSON", true));
  // Not retryable: the request may already have had its effect.
  assert.deepEqual(await run("/cut", false, "DELETE"), failed("api.example answered with malformed JSON"));
  assert.deepEqual(await run("/down"), failed("api.example gave no answer: network error: api.example cannot be reached", true));
  const shape = await run("/shape");
  assert.equal(shape.retryable, false);
  assert.match(shape.error, /unexpected JSON at \/id: /);
  assert.equal((await run("/ok")).text, '{"id":"a"}');
});

test("fetchJson does not ask for a retry where egress does not list the host", async () => {
  const said = (host) => failed(`${host} gave no answer: network error: ${host} is not listed in egress: add "${host}" to the toolkit's egress`);
  const options = { fetchImpl: async () => assert.fail("nothing is asked for") };

  for (const config of [{}, { egress: ["api.example"] }]) {
    assert.deepEqual(await go(async (_, ctx) => ctx.fetchJson("https://evil.example/x"), config, {}, options), said("evil.example"));
    assert.deepEqual(await go(async (_, ctx) => ctx.fetchJson(new Request("https://api.example:8443/")), config, {}, options), said("api.example:8443"));
  }
});

test("a large image goes through the fetch handler", async () => {
  const data = new Uint8Array(3 << 20).map((_, index) => index);
  const content = [{ type: "image", data, mimeType: "image/png" }, { type: "resource", resource: { uri: "x:1", blob: data.subarray(1) } }];
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "one__go", arguments: {} } });
  const server = toolkit(async () => ({ text: "t", content: content.slice(0, 1) }));
  const other = toolkit(async () => ({ text: "t", content: content.slice(1) }));

  const ask = async (it) => (await (await toFetchHandler(it)(new Request("http://t/", { method: "POST", body }))).json()).result.content[1];

  assert.deepEqual(new Uint8Array(Buffer.from((await ask(server)).data, "base64")), data);
  assert.deepEqual(new Uint8Array(Buffer.from((await ask(other)).resource.blob, "base64")), data.slice(1));
});

test("an empty body of a success is undefined for fetchJson", async () => {
  const options = { fetchImpl: async (url) => { const status = Number(new URL(url).pathname.slice(1)); return new Response(status === 200 ? " \n" : null, { status }); } };
  const config = { egress: ["api.example"], input: z.object({ status: z.int(), schema: z.enum(["none", "optional", "object"]) }) };
  const schemas = { optional: z.object({}).optional(), object: z.object({}) };
  const handler = async ({ status, schema }, ctx) =>
    String(await ctx.fetchJson(`https://api.example/${status}`, { init: { method: "DELETE" }, schema: schemas[schema] }));
  const run = (status, schema) => go(handler, config, { arguments: { status, schema } }, options);
  for (const status of [200, 201, 204, 205, 304]) {
    assert.equal((await run(status, "none")).text, "undefined");
    assert.equal((await run(status, "optional")).text, "undefined");
    assert.deepEqual(await run(status, "object"), failed(`api.example answered with HTTP status ${status} and an empty body`));
  }
});

test("secrets: declared, set, required", async () => {
  const config = { secrets: ["KEY", "OTHER"], input: z.object({ name: z.string(), require: z.boolean().default(false) }) };
  const handler = async ({ name, require }, ctx) => String(await (require ? ctx.requireSecret(name) : ctx.secret(name)));
  const read = (name, require) => go(handler, config, { arguments: { name, require }, secrets: { KEY: "short" } });
  assert.equal((await read("KEY")).text, "short");
  assert.equal((await read("OTHER")).text, "undefined");
  assert.deepEqual(await read("OTHER", true), failed("The credential OTHER is not set. Set it with: kitbag secret set one OTHER --from-stdin"));
  const undeclared = await read("NOPE");
  assert.deepEqual(undeclared, failed("The tool failed."));
  assert.match(undeclared.trace.failure.message, /NOPE is not declared/);
});

test("the value of a secret leaves neither in a result nor in the log", async () => {
  const handler = async (_, ctx) => {
    const key = await ctx.secret("KEY");
    ctx.log("key", { key });
    return { text: `it is ${key}`, structured: { key } };
  };
  const result = await go(handler, { secrets: ["KEY"] }, { secrets: { KEY: "canary-1" } });
  assert.doesNotMatch(JSON.stringify([result, result.trace]), /canary-1/);
  assert.equal(result.text, "it is [redacted]");
});

test("settings are what the user set over the defaults, and read-only", async () => {
  const config = { config: { a: { type: "string", label: "A", default: "x" }, b: { type: "number", label: "B" } } };
  const handler = async (_, ctx) => {
    assert.throws(() => { ctx.config.a = 1; }, TypeError);
    return JSON.stringify(ctx.config);
  };
  assert.equal((await go(handler, config)).text, '{"a":"x"}');
  assert.equal((await go(handler, config, { config: { a: "y", b: 2 } })).text, '{"a":"y","b":2}');
});

test("a call that no server could have is the test's own mistake", async () => {
  const server = toolkit(async () => "");
  await assert.rejects(dispatch(server, { tool: "nope" }), /has no tool "nope"; it has go/);
  await assert.rejects(dispatch(server, { tool: "go", secrets: { KEY: "x" } }), /secret KEY: not declared/);
  await assert.rejects(dispatch(server, { tool: "go", config: { a: 1 } }), /config a: not declared/);
});

test("the knowledge base is there with a scope, and does what the scope says", async () => {
  assert.equal((await go(async (_, ctx) => String(ctx.svc))).text, "undefined");
  const documents = [{ id: "1", title: "Whales", text: "About whales and ships.", source: "user", author: "Ana" }];
  const search = async (_, ctx) => {
    const hits = await ctx.svc.search("whales", { limit: 3, author: "ana" });
    return `${hits[0].document.id} ${(await ctx.svc.getDocument("1")).text}`;
  };
  assert.equal((await go(search, { scopes: ["svc:search"] }, { documents })).text, "1 About whales and ships.");
  const ingest = async (_, ctx) => String((await ctx.svc.ingest([{ title: "t", text: "x" }])).ingested);
  const stored = await go(ingest, { scopes: ["svc:ingest"] });
  assert.equal(stored.text, "1");
  assert.deepEqual(stored.trace.ingested, [{ title: "t", text: "x" }]);
  assert.match((await go(ingest, { scopes: ["svc:search"] })).error, /does not declare the scope svc:ingest/);
  assert.match((await go(search, { scopes: ["svc:ingest"] })).error, /does not declare the scope svc:search/);
  const bad = (doc) => go(async (_, ctx) => String((await ctx.svc.ingest([doc])).ingested), { scopes: ["svc:ingest"] });
  assert.match((await bad({ title: "t" })).error, /documents\[0\]\.text: is required/);
  assert.match((await bad({ text: "t" })).error, /documents\[0\]\.title: must be a string/);
});

const CACHE = { scopes: ["svc:cache"] };

test("the cache is there with its scope, lasts as long as the test has it, and is not the knowledge base", async () => {
  const cache = new Map();
  const handler = async (_, ctx) => {
    const before = await ctx.cache.get("etag");
    await ctx.cache.set("etag", `${before}!`, { seconds: 60 });
    return `${before} ${ctx.svc}`;
  };

  assert.equal((await go(handler, CACHE, { cache })).text, "undefined undefined");
  assert.equal((await go(handler, CACHE, { cache })).text, "undefined! undefined");
  assert.equal(cache.get("etag").value, "undefined!!");
  assert.ok(Math.abs(cache.get("etag").expires - Date.now() - 60_000) < 10_000);
  assert.equal((await go(handler, CACHE)).text, "undefined undefined");

  cache.get("etag").expires = Date.now();
  assert.equal((await go(handler, CACHE, { cache })).text, "undefined undefined");
  assert.equal((await go(async (_, ctx) => String(await ctx.cache.delete("etag")), CACHE, { cache })).text, "undefined");
  assert.equal(cache.size, 0);

  const refused = await go(handler, { scopes: ["svc:search"] }, { cache });
  assert.equal(refused.code, "TOOL_ERROR");
  assert.match(refused.trace.failure.message, /does not declare the scope svc:cache/);
  for (const use of [(ctx) => ctx.cache.set("a", "b"), (ctx) => ctx.cache.delete("a")]) {
    assert.match((await go(async (_, ctx) => String(await use(ctx)))).trace.failure.message, /does not declare the scope svc:cache/);
  }
  assert.equal(cache.size, 0);
});

test("what breaks a rule of the cache is the author's mistake, and nothing is kept", async () => {
  const cache = new Map();
  const refusal = async (use) => {
    const { ok, error, trace } = await go(async (_, ctx) => String(await use(ctx.cache)), CACHE, { cache });
    assert.equal(ok, false);
    assert.doesNotMatch(error, /cache/);
    return trace.failure.message;
  };

  for (const [key, problem] of [
    ["", /key: is empty/],
    ["k".repeat(257), /key: is 257 bytes long, and may be 256/],
    ["ä".repeat(129), /key: is 258 bytes long/],
    ["\ud800", /key: has half of a character/],
    ["a\udc00b", /key: has half of a character/],
    [7, /key: must be a string/],
    [undefined, /key: must be a string/],
  ]) {
    for (const use of [(it) => it.get(key), (it) => it.set(key, "v"), (it) => it.delete(key)]) assert.match(await refusal(use), problem);
  }
  for (const [value, problem] of [
    ["v".repeat(65_537), /value: is 65537 bytes long, and may be 65536/],
    ["\ud83d", /value: has half of a character/],
    [{ a: 1 }, /value: must be a string/],
  ]) {
    assert.match(await refusal((it) => it.set("k", value)), problem);
  }
  for (const seconds of [0, -1, 1.5, 2_592_001, 2 ** 32, Number.NaN, "60"]) assert.match(await refusal((it) => it.set("k", "v", { seconds })), /seconds: /);
  assert.equal(cache.size, 0);

  const largest = async (_, ctx) => String(await ctx.cache.set("\0".padEnd(256, "k"), "😀".repeat(16_384), { seconds: 2_592_000 }));
  assert.equal((await go(largest, CACHE, { cache })).ok, true);
  assert.equal(cache.size, 1);
});

test("in the cache the oldest values make room", async () => {
  const cache = new Map();
  const fill = (count, length) => async (_, ctx) => {
    for (let number = 0; number < count; number += 1) await ctx.cache.set(String(number), "v".repeat(length));
    return "";
  };

  await go(fill(17, 65_536), CACHE, { cache });
  assert.deepEqual([...cache.keys()], Array.from({ length: 15 }, (_, index) => String(index + 2)));
  await go(fill(1001, 1), CACHE, { cache: cache.clear() ?? cache });
  assert.equal(cache.size, 1000);
  assert.ok(!cache.has("0") && cache.has("1") && cache.has("1000"));
});

test("a test may answer for the knowledge base itself", async () => {
  const svc = { search: async (query) => [{ document: { id: "9", title: query, source: "user" }, snippet: "s", score: 1 }] };
  const result = await go(async (_, ctx) => (await ctx.svc.search("q"))[0].document.title, { scopes: ["svc:search"] }, { svc });
  assert.equal(result.text, "q");
});

test("a name as MCP lists it, and arguments as args, are understood", async () => {
  const server = toolkit(async ({ n }) => String(n), { input: z.object({ n: z.int() }) });
  assert.equal((await dispatch(server, { name: "one__go", args: { n: 4 } })).text, "4");
});

test("the fetch handler speaks MCP", async () => {
  const handle = toFetchHandler(toolkit(async () => "hello"));
  const send = async (body, headers = {}) => handle(new Request("http://test/mcp", { method: "POST", headers, body: typeof body === "string" ? body : JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }) }));
  const result = async (body) => (await (await send(body)).json()).result;
  assert.equal((await result({ method: "initialize", params: { protocolVersion: "2025-06-18" } })).protocolVersion, "2025-06-18");
  assert.deepEqual((await result({ method: "tools/list" })).tools.map(({ name }) => name), ["one__go"]);
  assert.deepEqual(await result({ method: "tools/call", params: { name: "one__go" } }), { content: [{ type: "text", text: "hello" }], isError: false });
  assert.ok((await result({ method: "server/discover" })).supportedVersions.includes("2026-07-28"));
  assert.equal((await send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }))).status, 202);
  assert.equal((await send("{")).status, 400);
  assert.equal((await send("[]")).status, 400);
  assert.equal((await handle(new Request("http://test/mcp"))).status, 405);
  assert.equal((await (await send({ method: "nope" })).json()).error.code, -32601);
});
