// How a generated toolkit signs in: `auth`, `egress` and `secrets` from `securitySchemes` and `servers`.
import assert from "node:assert/strict";
import { test } from "node:test";

import { call, get, made, openapi } from "./support.mjs";

const document = (schemes, security = [Object.fromEntries(Object.keys(schemes).map((name) => [name, []]))], paths = { "/a": get() }) =>
  openapi(paths, { security, components: { securitySchemes: schemes } });
const signIn = async (...args) => {
  const { toolkit } = await made(document(...args));
  const { auth, secrets, egress } = toolkit.config;
  return { auth, secrets, egress };
};
const apiHost = "api.example";

test("each type of a security scheme has its sign-in", async () => {
  const token = { type: "api_key", secret: "SHOP_TOKEN", name: "Authorization", prefix: "Bearer ", apiHost };
  const client = { clientIdSecret: "SHOP_CLIENT_ID", clientSecretSecret: "SHOP_CLIENT_SECRET" };
  const code = { authorizationUrl: "https://id.example/authorize", tokenUrl: "https://id.example/token", scopes: {} };
  const cases = [
    [{ type: "apiKey", in: "header", name: "X-Key" }, { type: "api_key", secret: "SHOP_S", name: "X-Key", apiHost }],
    [{ type: "apiKey", in: "query", name: "key" }, { type: "api_key", secret: "SHOP_S", in: "query", name: "key", apiHost }],
    [{ type: "http", scheme: "Bearer" }, token],
    [{ type: "http", scheme: "basic" }, { type: "basic", usernameSecret: "SHOP_USERNAME", passwordSecret: "SHOP_PASSWORD", apiHost }],
    [{ type: "oauth2", flows: { authorizationCode: code } }, { type: "oauth2_authorization_code", authorizationUrl: code.authorizationUrl, tokenUrl: code.tokenUrl, ...client, apiHost }],
    [{ type: "oauth2", flows: { clientCredentials: { tokenUrl: "/token" } } }, { type: "oauth2_client_credentials", tokenUrl: "https://api.example/token", ...client, apiHost }],
    [{ type: "oauth2", flows: { implicit: { authorizationUrl: "https://id.example" } } }, token],
    [{ type: "openIdConnect", openIdConnectUrl: "https://id.example" }, token],
  ];
  for (const [scheme, expected] of cases) assert.deepEqual((await signIn({ s: scheme })).auth, expected);
});

test("the hosts of the API and of its tokens are in egress, and only names that handlers need in secrets", async () => {
  const code = { authorizationUrl: "https://login.example/authorize", tokenUrl: "https://id.example/token" };
  const scopes = [{ s: ["read", "write"] }];

  const account = await signIn({ s: { type: "oauth2", flows: { authorizationCode: code } } }, scopes);
  const own = await signIn({ s: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "https://id.example/token" } } } });

  assert.deepEqual(account.egress, ["api.example", "id.example"]);
  assert.equal(account.auth.scope, "read write");
  assert.equal(account.secrets, undefined);
  assert.deepEqual(own.secrets, ["SHOP_CLIENT_ID", "SHOP_CLIENT_SECRET"]);
});

test("two keys that are needed together are an auth and a header", async () => {
  const schemes = { key: { type: "apiKey", in: "header", name: "X-Key" }, app: { type: "apiKey", in: "header", name: "X-App" } };
  const toolkit = await made(document(schemes));

  const { request } = await call(toolkit, "get_it", {}, { secrets: { SHOP_API_KEY: "first-key", SHOP_APP: "second-key" } });

  assert.equal(request.headers.get("x-key"), "first-key");
  assert.equal(request.headers.get("x-app"), "second-key");
  assert.deepEqual(toolkit.toolkit.config.secrets, ["SHOP_APP"]);
});

test("an operation that needs another sign-in than the toolkit has is not made", async () => {
  const schemes = { user: { type: "http", scheme: "bearer" }, admin: { type: "apiKey", in: "header", name: "X-Admin" }, cookie: { type: "apiKey", in: "cookie", name: "c" } };
  const paths = { "/a": get(), "/b": get([], { operationId: "b" }), "/admin": get([], { operationId: "admin", security: [{ admin: [] }] }), "/open": get([], { operationId: "open", security: [] }), "/either": get([], { operationId: "either", security: [{ cookie: [] }, { user: [] }] }) };

  const { tools, notMade } = await made(document(schemes, [{ user: [] }], paths));

  assert.deepEqual(tools.map((it) => it.tool), ["get_it", "b", "open", "either"]);
  assert.match(notMade[0].reason, /needs the sign-in "admin", and the toolkit has "user"/);
});

test("an operation on another host has an entry of its own", async () => {
  const upload = get([], { operationId: "upload", servers: [{ url: "https://upload.example" }] });
  const { toolkit } = await made(document({ s: { type: "http", scheme: "bearer" } }, undefined, { "/a": get(), "/u": upload }));

  const { request } = await call({ toolkit }, "upload", {}, { secrets: { SHOP_TOKEN: "the-token" } });

  assert.equal(request.url, "https://upload.example/u");
  assert.equal(request.headers.get("authorization"), "Bearer the-token");
  assert.deepEqual(toolkit.config.egress, ["api.example", "upload.example"]);
});

test("the server is the first with HTTPS, its variables filled in, or the author's", async () => {
  const servers = [{ url: "http://plain.example" }, { url: "https://{region}.example/{v}", variables: { region: { default: "eu" }, v: { default: "v2" } } }];
  const egress = async (rest, choice) => (await made(openapi({ "/a": get() }, rest), choice)).toolkit.config.egress;

  assert.deepEqual(await egress({ servers }), ["eu.example"]);
  assert.deepEqual(await egress({ servers: [] }, { server: "https://own.example:8443/x" }), ["own.example:8443"]);
  await assert.rejects(egress({ servers: [{ url: "https://user:secret@a.example" }] }), /--api-url URL/);
  await assert.rejects(egress({ servers: [{ url: "javascript:alert(1)" }] }), /--api-url URL/);
  await assert.rejects(egress({ servers: [{ url: "https://{tenant}.example" }] }), /--api-url URL/);
});

test("credentials that would not be attached over http are a note", async () => {
  const schemes = { s: { type: "http", scheme: "bearer" } };
  const notesOf = async (url) => (await made({ ...document(schemes), servers: [{ url }] })).notes;

  assert.match((await notesOf("http://api.example"))[0], /no credentials are attached/);
  assert.deepEqual(await notesOf("http://127.0.0.1:8080"), []);
});
