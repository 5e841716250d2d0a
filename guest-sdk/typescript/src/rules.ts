// Rules shared with the server: the crate kitbag-manifest, compiled to WebAssembly.

import { readModule } from "./checkout.js";
import type { Declaration } from "./declaration.js";
import type { Json, Manifest, ManifestField } from "./manifest.js";
import { DeclarationError, type Problem } from "./problems.js";
import type { DispatchFailure } from "./reply.js";

// Saved here because a thread of `kitbag dev` removes the global `WebAssembly` before its first call.
const { Instance, Module } = WebAssembly;

/** Limits of calls; times are in milliseconds, sizes in bytes. */
export interface Limits {
  callTime: number;
  callMemory: number;
  mcpRequest: number;
  connectTimeout: number;
  userAgent: string;
  /** Maximum number of schema violations reported for one value. */
  reportedViolations: number;
  /** Version of the server that these rules belong to. */
  version: string;
}

/** Cause of a call's failure. */
export type Cause =
  | { cause: "tool-error"; message: string; retryable: boolean }
  | { cause: "invalid-params"; message: string }
  | { cause: "handler" }
  | { cause: "deadline"; milliseconds: number }
  | { cause: "limit"; name: string }
  | { cause: "busy" };

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

/** Returns the error envelope for a failed call. */
export function failureOf(cause: Cause): DispatchFailure {
  return ask<{ failure: DispatchFailure }>({ ask: "failure", ...cause }).failure;
}

/** Returns the settings for a handler, and the problems of values that do not fit, by key. */
export function settingsOf(fields: Record<string, ManifestField>, values: Record<string, unknown>): { config: Record<string, Json>; problems: Record<string, string> } {
  return ask({ ask: "settings", fields, values });
}

/** Returns a schema in the portable form in which a server lists it. */
export function listedSchema(schema: Json): Json {
  return ask<{ schema: Json }>({ ask: "listed", schema }).schema;
}

/** Returns the schema of a tool's arguments as a server lists it: portable, and one object at its root. */
export function listedArguments(schema: Json): Json {
  return ask<{ schema: Json }>({ ask: "listed-arguments", schema }).schema;
}

/** Whether `egress` lists the URL's host. */
export function allows(egress: readonly string[], url: URL): boolean {
  return ask({ ask: "allows", egress, url: url.href });
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
