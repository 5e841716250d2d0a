// One version of a toolkit that runs: threads for its calls, one at a time each.
import { basename, dirname } from "node:path";

import type { Plugin } from "esbuild";

import { bundle } from "../build/bundle.js";
import { BUNDLE } from "../build/component.js";
import { missingParts } from "../build/missing.js";
import { checkSchemaLibrary, judge, readingCode } from "../build/read.js";
import { embeddedMap } from "../build/source-map.js";
import { callTool } from "../local/call.js";
import type { DispatchResult } from "../local/dispatch.js";
import { redactor } from "../local/redaction.js";
import type { Manifest } from "../manifest.js";
import { failureOf, limitsOfCalls } from "../rules.js";
import { FrameMap } from "../sandbox/stack.js";
import type { SvcDocument } from "../types.js";
import { CallThread, type Listener, type ThreadEnd } from "./call-thread.js";
import { keep } from "./documents.js";
import type { Outbound } from "./outbound.js";
import type { Console } from "./console.js";
import type { CallData, ThreadData } from "./protocol.js";
import { inAuthorsLines } from "./failure-text.js";

/** Calls that run at once; each has a thread of its own. */
const MAX_RUNNING_CALLS = 8;
/** Calls that wait for their turn. */
const MAX_WAITING_CALLS = 64;

/** What calls find around them; it outlives a version. */
export interface DevWorld {
  secrets: Record<string, string>;
  config: Record<string, unknown>;
  documents: SvcDocument[];
}

/** Where a version runs. */
export interface VersionOptions {
  outbound: Outbound;
  console: Console;
  /** How long a call may take, in milliseconds. */
  callTime: number;
}

/** A version that a change made; the calls of the one before end as they began. */
export class ToolkitVersion {
  #spare: CallThread | undefined;
  #running = 0;
  #closed = false;
  readonly #waiting: (() => void)[] = [];

  private constructor(
    readonly manifest: Manifest,
    /** The author's files, relative to the entry's folder. */
    readonly sources: string[],
    /** What the sandbox would not have. */
    readonly warnings: string[],
    readonly data: ThreadData,
    readonly frames: FrameMap,
    readonly options: VersionOptions,
    first: CallThread,
  ) {
    this.#spare = first;
  }

  /** Bundles the toolkit and reads its declaration by the rules of a build; a fault is a `BuildFailure`. */
  static async make(entry: string, options: VersionOptions): Promise<ToolkitVersion> {
    const root = dirname(entry);
    checkSchemaLibrary(root);
    const made = await bundle(entry, readingCode(entry), "reading", [withoutBuffer()]);
    const data = { code: made.code, file: BUNDLE, limits: limitsOfCalls() };
    const frames = new FrameMap(embeddedMap(made.map, BUNDLE, root));
    const first = new CallThread(data, quietBut(options.console));
    try {
      const answer = await first.answer;
      const { manifest } = judge(answer.kind === "thrown" ? { ...answer, message: inAuthorsLines(answer.message, frames) } : answer, basename(entry));
      const warnings = await missingParts(root, made.sources);
      return new ToolkitVersion(manifest, made.sources, warnings, data, frames, options, first);
    } catch (error) {
      first.end();
      throw error;
    }
  }

  /** Runs a call in a thread of its own, and gives back what a client would receive. */
  async call(tool: string, args: Record<string, unknown>, world: DevWorld): Promise<DispatchResult> {
    const turn = this.#turn();
    if (turn === undefined) return failureOf({ cause: "busy" }) as DispatchResult;
    await turn;
    try {
      return await this.#run(tool, args, world);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Ends what does not run a call. */
  close(): void {
    this.#closed = true;
    this.#spare?.end();
    this.#spare = undefined;
  }

  #turn(): Promise<void> | undefined {
    if (this.#running < MAX_RUNNING_CALLS) {
      this.#running += 1;
      return Promise.resolve();
    }
    if (this.#waiting.length >= MAX_WAITING_CALLS) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        this.#running += 1;
        resolve();
      });
    });
  }

  async #run(tool: string, args: Record<string, unknown>, world: DevWorld): Promise<DispatchResult> {
    const { id, secrets: declared } = this.manifest;
    const name = tool.slice(id.length + 2);
    const secrets = Object.fromEntries(Object.entries(world.secrets).filter(([secret]) => declared.includes(secret)));
    const redact = redactor(Object.values(secrets));
    const { console } = this.options;
    const say = (text: string) => console.line(redact(text));
    const heard: Listener = {
      printed: (text) => say(`  ${name} | ${text}`),
      logged: (entry) => say(`  ${name} logged ${entry.map((it) => JSON.stringify(it)).join(" ")}`),
      requested: (method, url, outcome) => say(`  ${name} ${method} ${url}: ${outcome}`),
    };

    say(`← ${name} ${JSON.stringify(args)}`);
    const began = performance.now();
    const described = this.manifest.tools.find((it) => it.name === name)!;
    const asked = { args, secrets, config: world.config };
    const result = await callTool(this.manifest, described, asked, async ({ args, config }) => {
      const end = await this.#handle({ tool: name, args, secrets, config, documents: world.documents }, heard);
      if (end.kind === "ended") {
        keep(world.documents, end.ingested, id);
        if (end.failure !== undefined) say(`  ${inAuthorsLines(end.failure, this.frames).replaceAll("\n", "\n  ")}`);
        return end.ending;
      }
      const { callTime } = this.options;
      say(`✗ ${name} ${end.kind === "late" ? `did not end within ${callTime / 1000} s, and was ended` : `ended its thread: ${end.message}`}`);
      return { kind: "failed", cause: end.kind === "late" ? { cause: "deadline", milliseconds: callTime } : { cause: "handler" } };
    });
    const took = `${Math.round(performance.now() - began)} ms`;
    say(result.ok ? `→ ${name} in ${took}: ${result.text}` : `✗ ${name} in ${took}: ${result.code} ${result.error}`);
    return result as DispatchResult;
  }

  /** Runs a handler in a thread. */
  async #handle(call: CallData, heard: Listener): Promise<ThreadEnd> {
    const thread = this.#take();
    const answer = await thread.answer.catch((error: unknown) => ({ kind: "thrown" as const, message: String(error) }));
    if (answer.kind !== "declaration") return { kind: "died", message: "message" in answer ? answer.message : answer.kind };
    const { outbound, callTime } = this.options;
    return thread.run(call, { outbound, egress: this.manifest.egress }, heard, callTime);
  }

  /** The thread that is ready; the next call finds another one. */
  #take(): CallThread {
    const thread = this.#spare ?? this.#thread();
    this.#spare = this.#closed ? undefined : this.#thread();
    return thread;
  }

  #thread(): CallThread {
    const thread = new CallThread(this.data, quietBut());
    // Whoever takes it hears of it.
    thread.answer.catch(() => {});
    return thread;
  }
}

/**
 * What Node.js has of the web needs the global `Buffer`, so that one stays in a thread; here its name goes
 * out of the bundle. It leads to bytes only.
 */
function withoutBuffer(): Plugin {
  return {
    name: "buffer",
    setup: ({ initialOptions }) => {
      initialOptions.define = { ...initialOptions.define, Buffer: "Buffer_does_not_exist_in_the_sandbox" };
    },
  };
}

/** While a module starts, its first thread alone is heard: the others would only repeat it. */
function quietBut(console?: Console): Listener {
  return { printed: (text) => console?.line(`  | ${text}`), logged: () => {}, requested: () => {} };
}
