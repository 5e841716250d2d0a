// The rules that the server keeps as well: the crate kitbag-manifest, compiled to WebAssembly.
import { readFileSync } from "node:fs";

import type { Declaration } from "./declaration.js";
import type { DispatchFailure } from "./local/dispatch.js";
import type { Json, Manifest, ManifestField } from "./manifest.js";
import { DeclarationError, type Problem } from "./problems.js";

// A thread of `kitbag dev` has no such global any more when its first call comes.
const { Instance, Module } = WebAssembly;

/** Limits of calls; times are in milliseconds, sizes in bytes. */
export interface Limits {
  callTime: number;
  mcpRequest: number;
  /** What each piece of content counts for besides its parts. */
  contentOverhead: number;
  redirects: number;
  connectTimeout: number;
  userAgent: string;
  redactedBytes: number;
  searchResults: number;
  maxSearchResults: number;
  /** Of the server that these rules belong to. */
  version: string;
}

/** Why a call failed. */
export type Cause =
  | { cause: "tool-error"; message: string; retryable: boolean }
  | { cause: "invalid-params"; message: string }
  | SignInCause
  | { cause: "handler" }
  | { cause: "deadline"; milliseconds: number }
  | { cause: "limit"; name: string }
  | { cause: "busy" };

/** Why the sign-in of a declared `auth` came to nothing, where trying again does not help. */
export type SignInCause =
  | { cause: "missing-credentials"; toolkit: string; names: string[] }
  | { cause: "refused-credentials"; toolkit: string; names: string[]; host: string; status: number; code: string }
  | { cause: "unusable-token"; host: string; reason: string };

/** Returns the manifest of a declaration, and the text of `manifest.json`; all problems are thrown at once. */
export function manifestOf(declaration: Declaration): { manifest: Manifest; text: string } {
  const { manifest: text, problems } = ask<{ manifest?: string; problems?: Problem[] }>({ ask: "declaration", declaration });
  if (text === undefined) throw new DeclarationError(declaration.id, problems!);
  return { manifest: JSON.parse(text) as Manifest, text };
}

/** Returns what a client receives for arguments that do not fit. */
export function argumentsFailure(schema: Json, args: Json): DispatchFailure | undefined {
  return ask<{ failure?: DispatchFailure }>({ ask: "arguments", schema, arguments: args }).failure;
}

/** Returns what reaches the client of a result's structured value, or what it receives instead. `size` is in bytes. */
export function checkedResult(size: number, structured: string | undefined, output: Json | undefined): { structured?: Json; failure?: DispatchFailure } {
  return ask({ ask: "result", size, structured, output });
}

/** Returns what a client receives of a call that failed. */
export function failureOf(cause: Cause): DispatchFailure {
  return ask<{ failure: DispatchFailure }>({ ask: "failure", ...cause }).failure;
}

/** Returns what a handler sees of a user's settings, and what is wrong with some of them. */
export function settingsOf(fields: Record<string, ManifestField>, values: Record<string, unknown>): { config: Record<string, Json>; problems: Record<string, string> } {
  return ask({ ask: "settings", fields, values });
}

/** Whether `egress` lists the URL's host. */
export function allows(egress: readonly string[], url: URL): boolean {
  return ask({ ask: "allows", egress, url: url.href });
}

/** Returns the first text that is no range of addresses. */
export function wrongRange(ranges: readonly string[]): string | undefined {
  return ask<string | null>({ ask: "ranges", ranges }) ?? undefined;
}

/** Whether a handler may reach an address; `opened` are ranges that it may reach although they are private. */
export function permits(opened: readonly string[], address: string): boolean {
  return ask({ ask: "permits", opened, address });
}

let limits: Limits | undefined;

/** The limits of a server whose operator changed none. */
export function limitsOfCalls(): Limits {
  return (limits ??= ask<Limits>({ ask: "limits" }));
}

/** Takes limits over from a thread that has asked: the module takes a while to load. */
export function knowLimits(known: Limits): void {
  limits = known;
}

interface Exports {
  memory: WebAssembly.Memory;
  allocate(length: number): number;
  answer(pointer: number, length: number): bigint;
  run_check(check: number): void;
  _initialize?(): void;
}

interface Running {
  exports: Exports;
  /** A check was left in its middle: the instance has served its time. */
  isSpent: boolean;
}

let module: WebAssembly.Module | undefined;
let running: Running | undefined;

/** Asks the module; both sides speak JSON. */
function ask<T>(request: object): T {
  const current = (running ??= start());
  const { memory, allocate, answer } = current.exports;
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const pointer = allocate(bytes.length);
  new Uint8Array(memory.buffer, pointer, bytes.length).set(bytes);
  // Until it has answered, it may not be asked again.
  running = undefined;
  const place = BigInt.asUintN(64, answer(pointer, bytes.length));
  const text = new TextDecoder().decode(new Uint8Array(memory.buffer, Number(place >> 32n), Number(place & 0xffff_ffffn)));
  if (!current.isSpent) running = current;
  const answered = JSON.parse(text) as T & { error?: string };
  if (typeof answered === "object" && answered?.error !== undefined) throw new Error(`the rules do not understand: ${answered.error}`);
  return answered;
}

/** Leaves a check; see `unwind.rs` of kitbag-manifest. */
const END_OF_CHECK = Symbol("end of a check");

function readRules(): Uint8Array<ArrayBuffer> {
  const file = new URL("../rules.wasm", import.meta.url);
  try {
    return new Uint8Array(readFileSync(file));
  } catch (cause) {
    throw new Error("rules.wasm is missing in the package kitbag: in a checkout, `just build-rules` makes it", { cause });
  }
}

function start(): Running {
  module ??= new Module(readRules());
  const imports: WebAssembly.Imports = {};
  // The standard library names what it could ask the system for; rules ask for nothing but a seed.
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
        current.isSpent = true;
      }
    },
    end_check: () => {
      throw END_OF_CHECK;
    },
  };
  const exports = new Instance(module, imports).exports as unknown as Exports;
  const current: Running = { exports, isSpent: false };
  exports._initialize?.();
  return current;
}
