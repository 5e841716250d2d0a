// The table of declarations that the host and both SDKs must judge in the same way.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { DeclarationError, defineToolkit, z } from "kitbag/extend/toolkit";

const table = JSON.parse(await readFile(new URL("../../../tests/declarations.json", import.meta.url), "utf8"));

const handler = async () => "";

/** Returns a zod schema for one of the table's JSON Schemas. */
function schema(json) {
  return { object: () => z.object({ n: z.int().optional() }), string: () => z.string(), array: () => z.array(z.string()) }[json.type]();
}

function config(declaration) {
  const tools = declaration.tools.map(({ inputSchema, outputSchema, ...tool }) => ({
    ...tool,
    input: schema(inputSchema),
    ...(outputSchema && { output: schema(outputSchema) }),
    handler,
  }));
  const { prompts, resources } = declaration;
  return {
    ...declaration,
    tools,
    ...(prompts && { prompts: prompts.map((prompt) => ({ ...prompt, arguments: named(prompt.arguments), handler })) }),
    ...(resources && { resources: resources.map(({ mediaType: mimeType, variables, ...resource }) => ({ ...resource, mimeType, variables: named(variables), handler })) }),
  };
}

/** Returns what is proposed for arguments or variables as an object by their names. */
function named(list) {
  return list && Object.fromEntries(list.map(({ name, completes, ...rest }) => [name, { ...rest, ...(completes && { complete: handler }) }]));
}

function problemsOf(declaration) {
  try {
    defineToolkit(declaration);
    return [];
  } catch (error) {
    assert.ok(error instanceof DeclarationError, error);
    return error.problems;
  }
}

for (const { name, declaration, problems } of table) {
  test(name, () => assert.deepEqual(problemsOf(config(declaration)), problems));
}

const least = {
  id: "books",
  name: "Books",
  description: "Finds books.",
  icon: "📚",
  version: "1.0.0",
  tools: [{ name: "find", description: "Finds a book.", input: z.object({}), handler }],
};

test("what has the wrong type is named, beside everything else that is wrong", () => {
  const found = problemsOf({
    ...least,
    id: 7,
    name: undefined,
    egres: ["a.example"],
    secrets: "KEY",
    visibility: "public",
    tools: [{ name: "find", description: "d", input: { type: "object" }, mutating: "no", annotations: { readonlyHint: true } }, null],
    auth: { type: "basic", passwordSecret: 1, tokenUrl: "https://a.example" },
  });
  assert.deepEqual(
    found.map(({ path, message }) => `${path}: ${message.split(";")[0]}`),
    [
      "id: must be a string",
      "name: is required",
      "tools[0].input: must be a schema made with z, such as z.object({})",
      "tools[0].annotations.readonlyHint: there is no such field",
      "tools[0].mutating: must be true or false",
      "tools[0].handler: must be a function (args, ctx)",
      "tools[1]: must be an object",
      "secrets: must be a list of strings",
      "visibility: must be \"shared\" or \"private\"",
      "auth.usernameSecret: is required",
      "auth.passwordSecret: must be a string",
      "auth.apiHost: is required",
      "auth.tokenUrl: there is no such field",
      "egres: there is no such field",
    ],
  );
});

test("each sign-in is checked by the type that was meant", () => {
  const key = { type: "api_key", secret: "KEY", apiHost: "a.example" };
  const account = { type: "oauth2_authorization_code", authorizationUrl: "https://a.example/", tokenUrl: "https://a.example/", clientIdSecret: "ID", apiHost: "a.example" };
  const types = "must be one of: oauth2_client_credentials, oauth2_authorization_code, api_key, basic";
  for (const [auth, expected] of [
    [null, ["auth: must be an object"]],
    [{}, ["auth.type: is required"]],
    [{ type: "digest", user: "a" }, [`auth.type: ${types}`]],
    [{ type: "toString" }, [`auth.type: ${types}`]],
    [[key, "b"], ["auth[1]: must be an object"]],
    [[{ ...key, in: "body" }, { ...key, type: 1 }], ['auth[0].in: must be "header" or "query"', `auth[1].type: ${types}`]],
    [{ ...account, clientAuth: "none", authorizationParams: { prompt: 1 } }, ['auth.clientAuth: must be "basic" or "post"', "auth.authorizationParams.prompt: must be a string"]],
    [{ ...account, authorizationParams: ["a"] }, ["auth.authorizationParams: must be an object"]],
  ]) {
    const found = problemsOf({ ...least, egress: ["a.example"], auth });
    assert.deepEqual(found.map(({ path, message }) => `${path}: ${message}`), expected, JSON.stringify(auth));
  }
});

test("the manifest has the sign-ins as they are declared, and one of a list alone", () => {
  const basic = { type: "basic", usernameSecret: "USER", passwordSecret: "PASSWORD", apiHost: "a.example" };
  const key = { type: "api_key", secret: "KEY", in: "query", name: "key", apiHost: "b.example" };
  const auth = (given) => defineToolkit({ ...least, egress: ["a.example", "b.example"], auth: given }).manifest.auth;
  assert.deepEqual(auth([basic, key]), [basic, key]);
  assert.deepEqual(auth([basic]), basic);
  assert.equal(auth([]), undefined);
});

test("a schema that JSON cannot hold is refused where it stands", () => {
  const tools = [{ ...least.tools[0], input: z.object({ when: z.date() }), output: z.object({ n: z.bigint() }) }];
  const found = problemsOf({ ...least, tools });
  assert.deepEqual(found.map(({ path }) => path), ["tools[0].input", "tools[0].output"]);
  assert.match(found[0].message, /Date cannot be represented/);
});

test("the error says everything in one text", () => {
  assert.throws(() => defineToolkit({ ...least, id: "A", name: "" }), /"A" is not valid:\n {2}id: must match .*\n {2}name: must not be empty/);
});

test("schemas say what is accepted and what is returned", () => {
  const input = z.object({ a: z.string().default("x"), n: z.coerce.number(), s: z.string().regex(/^[a-z]$/i) });
  const output = z.object({ a: z.string().default("x") });
  const [tool] = defineToolkit({ ...least, tools: [{ ...least.tools[0], input, output }] }).manifest.tools;
  assert.deepEqual(tool.inputSchema, {
    type: "object",
    properties: { a: { default: "x", type: "string" }, n: { type: ["number", "string", "boolean", "null", "array"] }, s: { type: "string", description: "Matches /^[a-z]$/i" } },
    required: ["n", "s"],
  });
  assert.deepEqual(tool.outputSchema, {
    type: "object",
    properties: { a: { default: "x", type: "string" } },
    required: ["a"],
    additionalProperties: false,
  });
});

test("a choice between objects is an object", () => {
  const input = z.discriminatedUnion("t", [z.object({ t: z.literal("a") }), z.object({ t: z.literal("b") })]);
  const [tool] = defineToolkit({ ...least, tools: [{ ...least.tools[0], input }] }).manifest.tools;
  assert.equal(tool.inputSchema.type, "object");
});

test("hints take their defaults, and an own hint stays", () => {
  const hints = (config, tool) => defineToolkit({ ...least, ...config, tools: [{ ...least.tools[0], ...tool }] }).manifest.tools[0].annotations;
  assert.deepEqual(hints({}, {}), { readOnlyHint: true, destructiveHint: false, openWorldHint: false });
  assert.deepEqual(hints({}, { mutating: true }), { readOnlyHint: false });
  assert.deepEqual(hints({ scopes: ["svc:ingest"] }, {}), { readOnlyHint: false });
  const own = { readOnlyHint: true, openWorldHint: true };
  assert.deepEqual(hints({ scopes: ["svc:ingest"] }, { mutating: true, annotations: own }), { ...own, destructiveHint: false });
});
