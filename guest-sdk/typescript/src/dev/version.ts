// One version of a running toolkit. Each call runs in a thread of its own.
import { basename, dirname } from "node:path";

import type { Plugin } from "esbuild";

import { bundle } from "../build/bundle.js";
import { BUNDLE } from "../build/component.js";
import { missingParts } from "../build/missing.js";
import { checkSchemaLibrary, manifestFrom, readingCode } from "../build/read.js";
import { embeddedMap } from "../build/source-map.js";
import { callTool, type CheckedCall, type Ending } from "../local/call.js";
import type { DispatchResult, Target } from "../local/dispatch.js";
import { callOffer } from "../local/offers.js";
import { redactor } from "../local/redaction.js";
import { applyChange, type UserState } from "../local/user-state.js";
import type { Manifest } from "../manifest.js";
import type { OfferTarget } from "../offers.js";
import { problemText } from "../problems.js";
import { failureOf, limitsOfCalls } from "../rules.js";
import { FrameMap } from "../sandbox/stack.js";
import { CallThread, type Listener, type ThreadEnd } from "./call-thread.js";
import type { Outbound } from "./outbound.js";
import type { Console } from "./console.js";
import type { CallData, ThreadData } from "./protocol.js";
import { withAuthorFrames, withAuthorPlaces } from "./failure-text.js";
import { accountOf, usedSecrets } from "./world.js";

/** Maximum number of calls that run at the same time, each in its own thread. */
const MAX_RUNNING_CALLS = 8;
/** Maximum number of calls that wait for a running call to end; further calls fail with `busy`. */
const MAX_WAITING_CALLS = 64;

/** Environment of calls. It survives changes of the toolkit. */
export interface DevWorld {
  secrets: Record<string, string>;
  config: Record<string, unknown>;
  user: UserState;
}

/** Options of a version. */
export interface VersionOptions {
  outbound: Outbound;
  console: Console;
  /** Time limit of a call in milliseconds. */
  callTime: number;
}

/**
 * One version of the toolkit's code. Calls that are running when a new version replaces it finish with the old one.
 */
export class ToolkitVersion {
  /** A thread that has started and waits for the next call. */
  #spare: CallThread | undefined;
  #running = 0;
  #closed = false;
  readonly #waiting: (() => void)[] = [];

  private constructor(
    readonly manifest: Manifest,
    /** The author's files, relative to the entry's folder. */
    readonly sources: string[],
    /** Uses of APIs that the sandbox lacks. */
    readonly warnings: string[],
    readonly data: ThreadData,
    readonly frames: FrameMap,
    readonly options: VersionOptions,
    first: CallThread,
  ) {
    this.#spare = first;
  }

  /** Bundles the toolkit and reads its declaration as a build does; throws a `BuildFailure`. */
  static async make(entry: string, options: VersionOptions): Promise<ToolkitVersion> {
    const root = dirname(entry);
    checkSchemaLibrary(root);
    const made = await bundle(entry, readingCode(entry), "reading", [withoutBuffer()]);
    const data = { code: made.code, file: BUNDLE, limits: limitsOfCalls() };
    const frames = new FrameMap(embeddedMap(made.map, BUNDLE, root));
    const first = new CallThread(data, startListener(options.console));
    try {
      const answer = await first.answer;
      const { manifest, warnings: refused } = manifestFrom(answer.kind === "thrown" ? { ...answer, message: withAuthorFrames(answer.message, frames) } : answer, basename(entry));
      const warnings = [...refused.map(problemText), ...(await missingParts(root, made.sources))];
      return new ToolkitVersion(manifest, made.sources, warnings, data, frames, options, first);
    } catch (error) {
      first.end();
      throw error;
    }
  }

  /** Runs a call in a thread of its own, and returns the reply for the client. `target` names a resource by its path. */
  async call(target: Target, args: Record<string, unknown>, world: DevWorld): Promise<DispatchResult> {
    const slot = this.#waitForSlot();
    if (slot === undefined) return failureOf({ cause: "busy" }) as DispatchResult;
    await slot;
    try {
      return await this.#run(target, args, world);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Ends the spare thread. Running calls continue. */
  close(): void {
    this.#closed = true;
    this.#spare?.end();
    this.#spare = undefined;
  }

  /** Resolves when the call may run; returns `undefined` if too many calls are waiting. */
  #waitForSlot(): Promise<void> | undefined {
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

  async #run(target: Target, args: Record<string, unknown>, world: DevWorld): Promise<DispatchResult> {
    const { id } = this.manifest;
    const name = target.kind === "tool" ? target.name : `${target.kind} ${target.name}`;
    const secrets = usedSecrets(this.manifest, world.secrets);
    const account = accountOf(this.manifest, world.secrets);
    const redacted = new Set<string>(Object.values(secrets));
    const { console } = this.options;
    const say = (text: string) => console.line(redactor(redacted)(text));
    const listener: Listener = {
      printed: (text) => say(`  ${name} | ${withAuthorFrames(text, this.frames)}`),
      logged: (entry) => say(`  ${name} logged ${entry.map((it) => withAuthorPlaces(it, this.frames)).join(" ")}`),
      requested: (method, url, outcome) => say(`  ${name} ${method} ${url}: ${outcome}`),
      attached: (value) => redacted.add(value),
      changed: (change) => applyChange(world.user, change, id, redacted),
    };

    say(`← ${name} ${JSON.stringify(args)}`);
    const began = performance.now();
    const input = { args, redacted, config: world.config };
    const handle = async (target: Target, { args, config }: CheckedCall): Promise<Ending> => {
      const end = await this.#handle({ target, args, secrets, account, config, user: world.user }, listener);
      if (end.kind === "ended") {
        if (end.failure !== undefined) say(`  ${withAuthorFrames(end.failure, this.frames).replaceAll("\n", "\n  ")}`);
        return end.ending;
      }
      const { callTime } = this.options;
      say(`✗ ${name} ${end.kind === "late" ? `did not end within ${callTime / 1000} s, and was ended` : `ended its thread: ${end.message}`}`);
      return { kind: "failed", cause: end.kind === "late" ? { cause: "deadline", milliseconds: callTime } : { cause: "handler" } };
    };
    const described = this.manifest.tools.find((it) => target.kind === "tool" && it.name === target.name);
    const result = (described !== undefined
      ? await callTool(this.manifest, described, input, (checked) => handle(target, checked))
      : await callOffer(this.manifest, target as OfferTarget, input, handle)) as DispatchResult;
    const took = `${Math.round(performance.now() - began)} ms`;
    say(result.ok ? `→ ${name} in ${took}${result.text === undefined ? "" : `: ${result.text}`}` : `✗ ${name} in ${took}: ${result.code} ${result.error}`);
    return result;
  }

  /** Runs a handler in a thread. */
  async #handle(call: CallData, listener: Listener): Promise<ThreadEnd> {
    const thread = this.#takeThread();
    const answer = await thread.answer.catch((error: unknown) => ({ kind: "thrown" as const, message: String(error) }));
    if (answer.kind !== "declaration") return { kind: "died", message: "message" in answer ? answer.message : answer.kind };
    const { outbound, callTime } = this.options;
    return thread.run(call, { outbound, egress: this.manifest.egress }, listener, callTime);
  }

  /** Returns the spare thread, or a new one, and starts another spare for the next call. */
  #takeThread(): CallThread {
    const thread = this.#spare ?? this.#newThread();
    this.#spare = this.#closed ? undefined : this.#newThread();
    return thread;
  }

  #newThread(): CallThread {
    const thread = new CallThread(this.data, startListener());
    // Prevents an unhandled rejection; the call that takes the thread handles the error.
    thread.answer.catch(() => {});
    return thread;
  }
}

/**
 * Replaces the name `Buffer` in the bundle. The global itself must stay in the thread, because the Web APIs
 * of Node.js need it. It gives access to bytes only.
 */
function withoutBuffer(): Plugin {
  return {
    name: "buffer",
    setup: ({ initialOptions }) => {
      initialOptions.define = { ...initialOptions.define, Buffer: "Buffer_does_not_exist_in_the_sandbox" };
    },
  };
}

/**
 * Returns the listener for the start of a module. Only the first thread of a version gets a console: the
 * others would print the same lines again.
 */
function startListener(console?: Console): Listener {
  return { printed: (text) => console?.line(`  | ${text}`), logged: () => {}, requested: () => {}, attached: () => {}, changed: () => {} };
}
