// Generates a test for each tool: a call with the document's examples, and the expected request.
import { csv, deep, file, given, jsonText, piped, preparedRequest, spaced, type ApiRequest } from "./request-parts.js";
import { accepts, NoSample, sampleOf, smallCopy } from "./sample.js";
import { isRecord } from "./json.js";
import type { SignIn } from "./security.js";
import type { ToolkitAuth } from "../types.js";
import type { Binding, Tool } from "./tools.js";
import { literal } from "./words.js";

interface Case {
  tool: string;
  arguments: Record<string, unknown>;
  request: string;
  body: string | undefined;
  answer: unknown;
  structured: boolean;
}

/** Returns the source of the tests. */
export function testsSource(tools: Tool[], signIn: SignIn, base: string): string {
  const cases: Case[] = [];
  const todo: string[] = [];
  for (const tool of tools) {
    const made = caseOf(tool, base);
    if (made === undefined) todo.push(tool.name);
    else cases.push(made);
  }
  return `/// <reference types="node" />
// One call of each tool, and the request that it makes. Generated with operations.ts: tests of your own belong into another file.
import assert from "node:assert/strict";
import { test } from "node:test";

import { dispatch } from "kitbag/extend/toolkit";

import toolkit from "./extension.ts";

${worldSource(signIn)}
const CASES: { tool: string; arguments: object; request: string; body?: string; answer: unknown; structured?: true }[] = [
${cases.map(caseSource).join("")}];

for (const it of CASES) {
  test(it.tool, async () => {
    const requests: string[] = [];
    const bodies: string[] = [];
    const result = await dispatch(toolkit, {
      ...WORLD,
      tool: it.tool,
      arguments: it.arguments as Record<string, unknown>,
      fetchImpl: async (url, init) => {
        const request = new Request(url as string, init as RequestInit);
${tokenSource(signIn.auth)}        requests.push(\`\${request.method} \${pathOf(request.url)}\`);
        bodies.push(await request.text());
        return it.answer === undefined ? new Response(null, { status: 204 }) : Response.json(it.answer);
      },
    });

    assert.ok(result.ok, JSON.stringify(result));
    assert.deepEqual(requests, [it.request]);
    if (it.body !== undefined) assert.deepEqual(bodies, [it.body]);
    if (it.structured) assert.deepEqual(result.structuredContent, it.answer);
  });
}
${todo.length === 0 ? "" : `\n// No value was found for their arguments, whose patterns have no example.\n${todo.map((it) => `test.todo(${literal(it)});\n`).join("")}`}
${pathSource(signIn.auth)}`;
}

/** Returns the source of the calls' credentials. */
function worldSource({ auth, secrets }: SignIn): string {
  const names = new Set(secrets);
  if (auth?.type === "api_key") names.add(auth.secret);
  if (auth?.type === "basic") names.add(auth.usernameSecret).add(auth.passwordSecret);
  if (auth?.type === "oauth2_authorization_code") names.add(auth.clientIdSecret).add(auth.clientSecretSecret!);
  const entries = [...names].map((name) => `    ${name}: ${literal(`test-${name.toLowerCase().replaceAll("_", "-")}`)},\n`).join("");
  const account = auth?.type === "oauth2_authorization_code" ? `  account: "test-account",\n` : "";
  const text = (entries === "" ? "" : `  secrets: {\n${entries}  },\n`) + account;
  return `/** Credentials of the tests. */\nconst WORLD = ${text === "" ? "{}" : `{\n${text}}`};\n`;
}

function tokenSource(auth: ToolkitAuth | undefined): string {
  if (auth?.type !== "oauth2_client_credentials") return "";
  return `        if (request.url === ${literal(auth.tokenUrl)}) return Response.json({ access_token: "test-token", token_type: "Bearer", expires_in: 3600 });\n`;
}

function pathSource(auth: ToolkitAuth | undefined): string {
  const isInQuery = auth?.type === "api_key" && auth.in === "query";
  const key = isInQuery ? encodeURIComponent(auth.name.toWellFormed()).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") : "";
  const without = isInQuery ? `.replace(new RegExp(${literal(`[?&]${key}=[^&]*$`)}), "")` : "";
  return `/** Path and query of a URL${isInQuery ? ", without the key" : ""}. */
function pathOf(url: string): string {
  return url.slice(new URL(url).origin.length)${without};
}
`;
}

function caseSource({ tool, arguments: args, request, body, answer, structured }: Case): string {
  const lines = [
    `tool: ${literal(tool)},`,
    `arguments: ${value(args)},`,
    `request: ${literal(request)},`,
    ...(body === undefined ? [] : [`body: ${literal(body)},`]),
    `answer: ${value(answer)},`,
    ...(structured ? ["structured: true,"] : []),
  ];
  return `  {\n${lines.map((it) => `    ${it}\n`).join("")}  },\n`;
}

/** Returns a JSON value as an expression. JSON is valid JavaScript except for `__proto__`, which no sample has. */
function value(json: unknown): string {
  return json === undefined ? "undefined" : literalJson(json);
}

function literalJson(json: unknown): string {
  if (typeof json === "string") return literal(json);
  if (Array.isArray(json)) return `[${json.map(literalJson).join(", ")}]`;
  if (!isRecord(json)) return JSON.stringify(json);
  const entries = Object.entries(json).map(([name, it]) => `${/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : literal(name)}: ${literalJson(it)}`);
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}

function caseOf(tool: Tool, base: string): Case | undefined {
  let args: Record<string, unknown>;
  let answer: unknown;
  try {
    args = sampleOf(tool.input) as Record<string, unknown>;
    const example = smallCopy(tool.answer);
    if (tool.output === undefined) answer = example ?? (tool.operation.answer === undefined ? undefined : {});
    else answer = example !== undefined && accepts(tool.output, example) ? example : sampleOf(tool.output);
  } catch (error) {
    if (error instanceof NoSample) return undefined;
    throw error;
  }
  const sent = requestOf(tool, args, base);
  if (sent === undefined) return undefined;
  return { tool: tool.name, arguments: args, ...sent, answer, structured: tool.output !== undefined };
}

const WRITERS = { csv, spaced, piped, deep, jsonText };

/** Returns the request that the generated handler makes. */
function requestOf(tool: Tool, args: Record<string, unknown>, base: string): Pick<Case, "request" | "body"> | undefined {
  const written = ({ argument, name, writer, contentType }: Binding): [string, unknown] => {
    const it = Object.hasOwn(args, argument) ? args[argument] : undefined;
    if (writer === "file") return [name, file(it as string | undefined, name, contentType)];
    return [name, writer === undefined ? it : WRITERS[writer](it)];
  };
  const record = (bindings: Binding[]) => Object.fromEntries(bindings.map(written));
  const parts: ApiRequest = { path: record(tool.path), query: record(tool.query), headers: record(tool.headers), server: tool.server };
  const { body } = tool;
  if (body !== undefined) {
    const option = { json: "json", form: "form", multipart: "multipart", text: "text", binary: "base64" }[body.kind];
    const content = "length" in body.members ? membersInOrder(record(body.members), body.members) : args[body.members.whole];
    Object.assign(parts, { [option]: "length" in body.members && body.isOptional ? given(content as object) : content, contentType: body.mediaType });
  }
  try {
    const { url, init } = preparedRequest(base, `${tool.operation.method} ${tool.operation.path}`, parts);
    return { request: `${tool.operation.method} ${url.pathname}${url.search}`, body: typeof init.body === "string" ? init.body : undefined };
  } catch {
    // The value cannot be sent, such as an object where the document allows any type.
    return undefined;
  }
}

/** Returns members in the handler's order: those that it names come after those that it passes on. */
function membersInOrder(record: Record<string, unknown>, bindings: Binding[]): Record<string, unknown> {
  const isPlain = ({ argument, name, writer }: Binding) => argument === name && writer === undefined;
  const ordered = [...bindings.filter(isPlain), ...bindings.filter((it) => !isPlain(it))];
  return Object.fromEntries(ordered.map(({ name }) => [name, record[name]]));
}
