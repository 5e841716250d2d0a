// Generates a toolkit from a document: the texts of its files, and the omitted operations with reasons.
import { createHash } from "node:crypto";

import type { OpenApiDocument } from "./document.js";
import { choiceNeeded, choose, MAX_TOOLS, MAX_UNCHOSEN } from "./choice.js";
import { comment, toolsSource } from "./emit.js";
import { recordAt, textAt } from "./json.js";
import { operationsOf, readOperation, type Operation, type OperationSite } from "./operations.js";
import { CannotMake, DocumentError } from "./problem.js";
import { baseUrlOf, hostOf, missingSignIn, ownServer, signInOf, type SignIn } from "./security.js";
import { sizeOf, type Shape } from "./shape.js";
import { testsSource } from "./tests.js";
import { makeTool, nameTools, type Tool } from "./tools.js";
import { literal, oneLine, prose } from "./words.js";

/** Maximum total size of the generated files, in bytes. */
const MAX_OUTPUT_BYTES = 16 << 20;
/** Number of types in all schemas beyond which calls start noticeably slower. */
const MANY_TYPES = 1000;
/** Maximum number of types in all schemas. Each takes some 16 KiB, and a toolkit's start may use 48 MiB. */
const MAX_TYPES = 2500;
/** Maximum number of further hosts with a sign-in: `auth` has at most eight entries. */
const MAX_OTHER_HOSTS = 7;

/** File with the tools. An update rewrites it. */
export const OPERATIONS_FILE = "operations.ts";
export const TESTS_FILE = "operations.test.ts";
/** File that records the origin of the toolkit, for updates. */
export const RECORD_FILE = "openapi.json";

export interface Choice {
  /** Id of the toolkit. */
  id: string;
  /** Path or URL of the document, as given by the author. */
  location: string;
  /** Chosen tags, operations and methods; empty for all. */
  only: readonly string[];
  /** Base URL of the API, in place of the document's. */
  server?: string | undefined;
}

export interface GeneratedFile {
  name: string;
  text: string;
}

/** Omitted operation, and the reason. */
export interface NotMade {
  operation: string;
  id?: string | undefined;
  reason: string;
}

/** Summary of a tool for a report. */
export interface ToolSummary {
  tool: string;
  constant: string;
  operation: string;
  /** Approximate size of the tool as a model reads it, in bytes. */
  bytes: number;
  notes: string[];
}

export interface Generated {
  files: GeneratedFile[];
  tools: ToolSummary[];
  notMade: NotMade[];
  notes: string[];
}

/** Content of `openapi.json`. */
export interface OpenApiRecord {
  document: string;
  /** SHA-256 of the document's files, in hexadecimal. */
  digest: string;
  only: readonly string[];
  server?: string | undefined;
  /** SHA-256 of the generated files; an update detects edits with it. */
  files: Record<string, string>;
  /** Operation of each tool, and SHA-256 of all input of its generated code. */
  tools: Record<string, { operation: string; digest: string }>;
}

/** Content of a document, for `--list`. */
export interface Listing {
  operations: { operation: string; id?: string | undefined; tool?: string | undefined; tags: string[]; bytes?: number | undefined; reason?: string | undefined }[];
}

/** Lists the operations of a document with the sizes of their tools. */
export function list(document: OpenApiDocument, only: readonly string[]): Listing {
  const { sites, unreadable } = operationsOf(document);
  const operations: Listing["operations"] = choose(sites, only).map((site) => {
    const head = { operation: titleOf(site), id: site.id, tags: site.tags.map(oneLine) };
    try {
      const tool = makeTool(document, readOperation(document, site));
      return { ...head, tool: tool.name, bytes: sizeOfListing(tool) };
    } catch (error) {
      return { ...head, reason: reasonOf(error) };
    }
  });
  return { operations: [...operations, ...unreadable.map((it) => ({ ...plain(it), tags: [] }))] };
}

/** Converts texts of a document to one line each. */
function plain({ operation, reason }: NotMade): NotMade {
  return { operation: oneLine(operation).slice(0, 300), reason: oneLine(reason) };
}

/** Generates the toolkit. Throws a `DocumentError` if there are no operations, or too many without a choice. */
export function generate(document: OpenApiDocument, choice: Choice): Generated {
  const { sites, unreadable } = operationsOf(document);
  if (sites.length === 0) throw new DocumentError(["the document has no operations", ...unreadable.slice(0, 20).map((it) => reasonLine(plain(it)))].join("\n"));
  const chosen = choose(sites, choice.only);
  if (chosen.length === 0) throw new DocumentError("the choice has no operations: --list shows what there is");
  if (choice.only.length === 0 && chosen.length > MAX_UNCHOSEN) throw new DocumentError(choiceNeeded(sites));
  if (chosen.length > MAX_TOOLS) throw new DocumentError(`the choice has ${chosen.length} operations, and a toolkit has at most ${MAX_TOOLS} tools`);

  const base = baseUrlOf(document, choice.server);
  const notMade = unreadable.map(plain);
  const attempt = <T>(site: OperationSite, make: () => T): T[] => {
    try {
      return [make()];
    } catch (error) {
      notMade.push({ operation: titleOf(site), id: site.id, reason: reasonOf(error) });
      return [];
    }
  };
  const operations = chosen.flatMap((site) => attempt(site, () => readOperation(document, site)));
  const signIn = { ...signInOf(document, choice.id, base, operations), otherHosts: [] };
  const tools = operations.flatMap((operation) => attempt(operation, () => toolOf(document, operation, signIn, base)));
  if (tools.length === 0) throw new DocumentError(`none of the operations can be made:\n${notMade.slice(0, 20).map(reasonLine).join("\n")}`);
  const notes = [...signIn.notes, ...plainTextNotes(base, signIn), ...limitTypes(tools)];
  nameTools(choice.id, tools);
  const servers = [base, ...tools.flatMap((it) => (it.server === undefined ? [] : [it.server]))];
  const egress = [...new Set([...servers.map(hostOf), ...signIn.egress])];

  const operationsFile = { name: OPERATIONS_FILE, text: operationsSource(document, tools) };
  const testsFile = { name: TESTS_FILE, text: testsSource(tools, signIn, base) };
  const files = [
    { name: "extension.ts", text: extensionSource(document, choice.id, tools, signIn, egress) },
    { name: "api.ts", text: apiSource(base, signIn) },
    operationsFile,
    testsFile,
    { name: RECORD_FILE, text: `${JSON.stringify(recordOf(document, choice, tools, [operationsFile, testsFile]), null, 2)}\n` },
  ];
  const size = files.reduce((sum, it) => sum + it.text.length, 0);
  if (size > MAX_OUTPUT_BYTES) throw new DocumentError(`the toolkit would have more than ${MAX_OUTPUT_BYTES >> 20} MiB: choose fewer operations with --only`);
  const summaries = tools.map((it) => ({ tool: it.name, constant: it.constant, operation: titleOf(it.operation), bytes: sizeOfListing(it), notes: it.notes }));
  return { files, tools: summaries, notMade, notes };
}

function plainTextNotes(base: string, { auth }: SignIn): string[] {
  const { protocol, hostname } = new URL(base);
  const isPlain = auth !== undefined && protocol === "http:" && !/^(localhost|127\..*|\[::1\])$/.test(hostname);
  return isPlain ? ["the API is at an http:// address, where no credentials are attached: name one with https:// by --api-url"] : [];
}

/** Removes the tools' `output` if all schemas together would be too large. Returns notes for the author. */
function limitTypes(tools: Tool[]): string[] {
  const typesOf = () => tools.reduce((sum, it) => sum + sizeOf(it.input) + (it.output === undefined ? 0 : sizeOf(it.output)), 0);
  const notes: string[] = [];
  if (typesOf() > MAX_TYPES) {
    for (const tool of tools) tool.output = undefined;
    notes.push(`no tool declares what it returns: the schemas would have more than ${MAX_TYPES} types`);
  }
  const types = typesOf();
  if (types > MAX_TYPES) {
    throw new DocumentError(`the arguments of ${tools.length} tools have ${types} types, and a toolkit has memory for ${MAX_TYPES}: choose fewer operations with --only`);
  }
  if (types > MANY_TYPES) notes.push(`the schemas have ${types} types, and each takes some 16 KiB of the memory of every call: fewer operations are faster (--only)`);
  return notes;
}

function toolOf(document: OpenApiDocument, operation: Operation, signIn: SignIn, base: string): Tool {
  const missing = missingSignIn(operation, signIn);
  if (missing !== undefined) throw new CannotMake(missing);
  const tool = makeTool(document, operation);
  tool.server = ownServer(document, operation, base);
  const host = hostOf(tool.server ?? base);
  const isSigned = operation.security.some((it) => it.size > 0);
  if (isSigned && host !== hostOf(base) && !signIn.otherHosts.includes(host)) {
    if (signIn.otherHosts.length === MAX_OTHER_HOSTS) throw new CannotMake(`its server is one of more than ${MAX_OTHER_HOSTS + 1} for which auth would need an entry`);
    signIn.otherHosts.push(host);
  }
  return tool;
}

/** Returns the reason of a `CannotMake`. Rethrows any other error, which is a bug of the generator. */
function reasonOf(error: unknown): string {
  if (error instanceof CannotMake) return oneLine(error.message);
  throw error;
}

/** Returns the line of a report about an omitted operation. */
export function reasonLine({ operation, reason }: NotMade): string {
  return `  ${operation}: ${reason}`;
}

function titleOf({ method, path }: OperationSite): string {
  return oneLine(`${method} ${path}`).slice(0, 300);
}

function documentTitle(document: OpenApiDocument): string {
  return prose(textAt(recordAt(document.root, "info"), "title"), 80) || "an API";
}

function operationsSource(document: OpenApiDocument, tools: Tool[]): string {
  const { text, writers } = toolsSource(tools);
  const helpers = writers.length === 0 ? "" : `import { ${writers.join(", ")} } from "kitbag/extend/openapi";\n`;
  return `// Tools for the operations of ${oneLine(documentTitle(document))}, one each.
//
// Generated from the document that ${RECORD_FILE} names. \`kitbag toolkit update-openapi\` writes this file anew: what you change
// belongs into extension.ts, as in \`{ ...operations.${tools[0]!.constant}, description: "…" }\`.
${helpers}import { tool, z } from "kitbag/extend/toolkit";

import { request } from "./api.ts";

${text}
`;
}

function apiSource(base: string, { headers }: SignIn): string {
  const lines = headers.map(({ name, secret, prefix }) => {
    const value = `await ctx.requireSecret(${literal(secret)})`;
    return `    ${literal(name)}: ${prefix === "" ? value : `${literal(prefix)} + (${value})`},\n`;
  });
  const option = lines.length === 0 ? "" : `  headers: async (ctx) => ({\n${lines.join("")}  }),\n`;
  return `// Requests to the API: its address, headers of all requests, and errors in words that help a model. This file is yours:
// \`kitbag toolkit update-openapi\` does not change it.
import { api } from "kitbag/extend/openapi";

export const request = api({
  baseUrl: ${literal(base)},
${option}  // Such as: errorMap: (response) => (response.status === 404 ? new ToolError("There is no such …") : undefined),
});
`;
}

function extensionSource(document: OpenApiDocument, id: string, tools: Tool[], signIn: SignIn, egress: string[]): string {
  const { secrets } = signIn;
  const title = documentTitle(document);
  const description = prose(textAt(recordAt(document.root, "info"), "description"), 120) || `Calls ${title}.`;
  const members = [
    `id: ${literal(id)},`,
    `name: ${literal(title)},`,
    `description: ${literal(description)},`,
    `icon: "🔌",`,
    `version: "0.1.0",`,
    `egress: [${egress.map(literal).join(", ")}],`,
    ...(secrets.length === 0 ? [] : [`secrets: [${secrets.map(literal).join(", ")}],`]),
    ...authSource(signIn),
    `// In your own words: { ...operations.${tools[0]!.constant}, description: "…" }.`,
    `tools: [\n${tools.map((it) => `    operations.${it.constant},\n`).join("")}  ],`,
  ];
  return `${comment(`${title}: what the toolkit may reach, and which tools it has. This file is yours.`)}
import { defineToolkit } from "kitbag/extend/toolkit";

import * as operations from "./operations.ts";

export default defineToolkit({
${members.map((it) => `  ${it}\n`).join("")}});
`;
}

function authSource({ auth, otherHosts }: SignIn): string[] {
  if (auth === undefined) return [];
  const entry = (apiHost: string, indent: string) => {
    const members = Object.entries({ ...auth, apiHost }).map(([name, value]) => `${indent}  ${name}: ${literal(String(value))},\n`);
    return `{\n${members.join("")}${indent}}`;
  };
  if (otherHosts.length === 0) return [`auth: ${entry(auth.apiHost, "  ")},`];
  return [`auth: [\n${[auth.apiHost, ...otherHosts].map((host) => `    ${entry(host, "    ")},\n`).join("")}  ],`];
}

function recordOf(document: OpenApiDocument, { location, only, server }: Choice, tools: Tool[], files: GeneratedFile[]): OpenApiRecord {
  return {
    document: location,
    digest: document.digest,
    only,
    ...(server !== undefined && { server }),
    files: Object.fromEntries(files.map((it) => [it.name, sha256(it.text)])),
    tools: Object.fromEntries(tools.map((it) => [it.name, { operation: titleOf(it.operation), digest: digestOf(it) }])),
  };
}

/** Returns the SHA-256 of all input of a tool's generated code. */
function digestOf({ operation: { method, path }, name, title, description, input, output, path: places, query, headers, body, server }: Tool): string {
  return sha256(JSON.stringify([method, path, name, title, description, input, output, places, query, headers, body, server]));
}

/** Returns a SHA-256 in hexadecimal digits. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Returns the approximate bytes that a model reads of a tool: name, description and schema of its arguments. */
function sizeOfListing({ name, description, input }: Tool): number {
  return name.length + description.length + 60 + schemaBytes(input);
}

function schemaBytes(shape: Shape): number {
  const own = 20 + (shape.description === undefined ? 0 : shape.description.length + 18);
  switch (shape.kind) {
    case "object":
      return shape.members.reduce((sum, it) => sum + it.name.length + 4 + (it.required ? it.name.length + 3 : 0) + schemaBytes(it.shape), own + 15);
    case "array":
      return own + 9 + schemaBytes(shape.items);
    case "record":
      return own + 25 + schemaBytes(shape.values);
    case "union":
      return shape.options.reduce((sum, it) => sum + schemaBytes(it) + 1, own + 10);
    case "both":
      return own + schemaBytes(shape.left) + schemaBytes(shape.right);
    case "enum":
      return own + JSON.stringify(shape.values).length + 8;
    default:
      return own;
  }
}
