// Rules shared with the server: the crate kitbag-manifest, compiled to WebAssembly.

import { readModule } from "./checkout.js";
import type { Declaration } from "./declaration.js";
import type { Json, Manifest, ManifestField, ManifestPrompt, ManifestResource } from "./manifest.js";
import { DeclarationError, type Problem } from "./problems.js";
import type { DispatchFailure } from "./reply.js";
import type { SvcIngestDoc, ToolContent } from "./types.js";

// Saved here because a thread of `kitbag dev` removes the global `WebAssembly` before its first call.
const { Instance, Module } = WebAssembly;

/** Limits of calls; times are in milliseconds, sizes in bytes. */
export interface Limits {
  callTime: number;
  callMemory: number;
  mcpRequest: number;
  /** Fixed size of each content block in addition to its parts. */
  contentOverhead: number;
  /** Maximum size of a result. */
  resultSize: number;
  redirects: number;
  connectTimeout: number;
  userAgent: string;
  redactedBytes: number;
  searchResults: number;
  /** Maximum number of questions per call. */
  questions: number;
  /** Maximum bytes of keys and values, number of values, and seconds of each value in a toolkit's cache for one user. */
  cacheBytes: number;
  cacheValues: number;
  cacheSeconds: number;
  /** Maximum number of schema violations reported for one value. */
  reportedViolations: number;
  /** Version of the server that these rules belong to. */
  version: string;
}

/** Cause of a call's failure. */
export type Cause =
  | { cause: "tool-error"; message: string; retryable: boolean }
  | { cause: "invalid-params"; message: string }
  | SignInCause
  | { cause: "handler" }
  | { cause: "deadline"; milliseconds: number }
  | { cause: "limit"; name: string }
  | { cause: "busy" }
  | { cause: "result-too-large" };

/** Cause of a permanent failure of a declared `auth`: a retry would fail too. */
export type SignInCause =
  | { cause: "missing-credentials"; toolkit: string; names: string[] }
  | { cause: "unusable-credential"; toolkit: string; name: string; problem: CredentialProblem }
  | { cause: "no-account"; toolkit: string; host: string }
  | { cause: "account-refused"; toolkit: string; host: string; status: number }
  | { cause: "refused-credentials"; toolkit: string; names: string[]; host: string; status: number; code: string }
  | { cause: "unusable-token"; host: string; problem: TokenProblem };

/** Problem with the value of a credential that is to be attached. */
export type CredentialProblem = "not-a-header-value" | "colon";

/** Problem with the successful response of a token endpoint. */
export type TokenProblem = "no-token" | "not-bearer" | "not-a-header-value";

/** A valid manifest, the text of `manifest.json`, and warnings about what some clients refuse. */
export interface CheckedManifest {
  manifest: Manifest;
  text: string;
  warnings: Problem[];
}

/** Returns the manifest of a declaration; throws a `DeclarationError` with all problems. */
export function manifestOf(declaration: Declaration): CheckedManifest {
  const { manifest: text, warnings, problems } = ask<{ manifest?: string; warnings: Problem[]; problems?: Problem[] }>({ ask: "declaration", declaration });
  if (text === undefined) throw new DeclarationError(declaration.id, problems!);
  return { manifest: JSON.parse(text) as Manifest, text, warnings };
}

/** Returns the error envelope for arguments that do not match `schema`; `undefined` if they do. */
export function argumentsFailure(schema: Json, args: Json): DispatchFailure | undefined {
  return ask<{ failure?: DispatchFailure }>({ ask: "arguments", schema, arguments: args }).failure;
}

/** Returns the error envelope for arguments that do not fit a prompt; `undefined` if they do. */
export function promptFailure(prompt: ManifestPrompt, args: Record<string, string>): DispatchFailure | undefined {
  return ask<{ failure?: DispatchFailure }>({ ask: "prompt", prompt, arguments: args }).failure;
}

/** Returns the index of the resource whose URI matches a path, with the values of its variables. */
export function foundResource(resources: readonly ManifestResource[], path: string): { index: number; variables: Record<string, string> } | undefined {
  return ask<{ index: number; variables: Record<string, string> } | null>({ ask: "resource", resources, path }) ?? undefined;
}

/** Returns content with absolute links to the toolkit's own resources. */
export function wholeLinks<Block extends ToolContent>({ id, resources = [] }: Manifest, content: Block[]): Block[] {
  if (resources.length === 0) return content;
  const whole = (uri: string) => (foundResource(resources, uri) === undefined ? uri : `kitbag://${id}/${uri}`);
  return content.map((block) => {
    if (block.type === "resource_link") return { ...block, uri: whole(block.uri) };
    return block.type === "resource" ? { ...block, resource: { ...block.resource, uri: whole(block.resource.uri) } } : block;
  });
}

/** Sizes and structured value of a handler's result. `text` and `size` are the bytes of the text and of the whole. */
export interface SizedResult {
  tool: string;
  text: number;
  size: number;
  structured: string | undefined;
  output: Json | undefined;
}

/** Returns the structured value for the client and a warning for the author, or the error envelope instead. */
export function checkedResult(result: SizedResult): { structured?: Json; warning?: string; failure?: DispatchFailure } {
  return ask({ ask: "result", ...result });
}

/** Returns the error envelope for a failed call. */
export function failureOf(cause: Cause): DispatchFailure {
  return ask<{ failure: DispatchFailure }>({ ask: "failure", ...cause }).failure;
}

/** Returns the settings for a handler, and the problems of values that do not fit, by key. */
export function settingsOf(fields: Record<string, ManifestField>, values: Record<string, unknown>): { config: Record<string, Json>; problems: Record<string, string> } {
  return ask({ ask: "settings", fields, values });
}

/** A valid document, normalised for storage. */
export interface CheckedDocument {
  title: string;
  /** Text to index; empty if there is only a file. */
  text: string;
  url: string | null;
  author: string | null;
  feed: { key: string; name: string; label: string | null } | null;
  /** Deduplication key within the document's feed. */
  identity: string;
}

/** Returns documents normalised for storage, or the problems of the batch. Requires members of the declared types. */
export function checkedDocuments(docs: readonly SvcIngestDoc[]): { documents?: CheckedDocument[]; problems?: Problem[] } {
  // As in the sandbox, only `true` counts, and an absent member is the same as null.
  return ask({ ask: "documents", documents: docs.map((doc) => ({ ...doc, captureOnly: doc.captureOnly === true })) });
}

/** Returns the problems of a question to the user; `schema` is JSON text. */
export function questionProblems(key: string, message: string, schema: string): Problem[] {
  return ask<{ problems: Problem[] }>({ ask: "question", key, message, schema }).problems;
}

/** Returns the fields of a user's answer for the handler, or the violations. */
export function answerFields(key: string, message: string, schema: string, fields: Record<string, unknown>): { fields?: Record<string, unknown>; violations?: string[] } {
  return ask({ ask: "answer", key, message, schema, fields });
}

/** Returns the problems of a search. */
export function searchProblems(query: string, limit: number): Problem[] {
  return ask<{ problems: Problem[] }>({ ask: "search", query, limit }).problems;
}

/** Returns the problems of a cache key, and of its value if given. */
export function cacheProblems(key: string, value?: string, seconds?: number): Problem[] {
  return ask<{ problems: Problem[] }>({ ask: "cache", key, value, seconds }).problems;
}

/** Returns a schema in the portable form in which a server lists it. */
export function listedSchema(schema: Json): Json {
  return ask<{ schema: Json }>({ ask: "listed", schema }).schema;
}

/** Whether `egress` lists the URL's host. */
export function allows(egress: readonly string[], url: URL): boolean {
  return ask({ ask: "allows", egress, url: url.href });
}

/** Whether a URL belongs to the `apiHost` of a sign-in, over `https` or on loopback. */
export function isApiHost(host: string, url: URL): boolean {
  return ask({ ask: "api-host", host, url: url.href });
}

/** Returns the first text that is not a CIDR range; `undefined` if all are. */
export function wrongRange(ranges: readonly string[]): string | undefined {
  return ask<string | null>({ ask: "ranges", ranges }) ?? undefined;
}

/** Whether a handler may reach an IP address. `opened` are private CIDR ranges that are allowed. */
export function permits(opened: readonly string[], address: string): boolean {
  return ask({ ask: "permits", opened, address });
}

let limits: Limits | undefined;

/** Returns a server's default limits. */
export function limitsOfCalls(): Limits {
  return (limits ??= ask<Limits>({ ask: "limits" }));
}

/** Sets the limits to those read by another thread, because loading the module takes time. */
export function setLimits(known: Limits): void {
  limits = known;
}

interface Exports {
  memory: WebAssembly.Memory;
  allocate(length: number): number;
  answer(pointer: number, length: number): bigint;
  run_check(check: number): void;
  _initialize?(): void;
}

interface RulesInstance {
  exports: Exports;
  /** A check was aborted, so the instance must not be used again. */
  isAborted: boolean;
}

let module: WebAssembly.Module | undefined;
let idleInstance: RulesInstance | undefined;

/** Sends a request to the module and returns its response; both are JSON. */
export function ask<T>(request: object): T {
  const current = (idleInstance ??= start());
  const { memory, allocate, answer } = current.exports;
  const bytes = new TextEncoder().encode(wellFormed(JSON.stringify(request)));
  const pointer = allocate(bytes.length);
  new Uint8Array(memory.buffer, pointer, bytes.length).set(bytes);
  // An instance handles one request at a time. After an exception it is not used again.
  idleInstance = undefined;
  const place = BigInt.asUintN(64, answer(pointer, bytes.length));
  const text = new TextDecoder().decode(new Uint8Array(memory.buffer, Number(place >> 32n), Number(place & 0xffff_ffffn)));
  if (!current.isAborted) idleInstance = current;
  const answered = JSON.parse(text) as T & { error?: string };
  if (typeof answered === "object" && answered?.error !== undefined) throw new Error(`the rules do not understand: ${answered.error}`);
  return answered;
}

/** Replaces lone surrogates in JSON, which are escaped there, with U+FFFD: Rust strings cannot contain them. */
function wellFormed(json: string): string {
  return json.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "$1\ufffd");
}

/** Thrown through the module to abort a check; see `unwind.rs` of kitbag-manifest. */
const END_OF_CHECK = Symbol("end of a check");

function start(): RulesInstance {
  module ??= new Module(readModule("rules.wasm"));
  const imports: WebAssembly.Imports = {};
  // Rust's standard library imports WASI functions; the rules call none of them but the one for a random
  // seed.
  for (const { module: from, name } of Module.imports(module)) {
    (imports[from] ??= {})[name] = () => {
      if (name.endsWith("random-u64")) return 0n;
      if (from.includes("random") || name.includes("random")) return 0;
      throw new Error(`the rules were left: ${from} ${name}`);
    };
  }
  imports["kitbag-rules"] = {
    catch_end: (check: number) => {
      try {
        current.exports.run_check(check);
      } catch (thrown) {
        if (thrown !== END_OF_CHECK) throw thrown;
        current.isAborted = true;
      }
    },
    end_check: () => {
      throw END_OF_CHECK;
    },
  };
  const exports = new Instance(module, imports).exports as unknown as Exports;
  const current: RulesInstance = { exports, isAborted: false };
  exports._initialize?.();
  return current;
}
