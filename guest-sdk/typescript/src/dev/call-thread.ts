// Server side of a call's thread: starts the thread, runs one call, and ends the thread.
import { Worker } from "node:worker_threads";

import { BuildFailure } from "../build/failure.js";
import type { ModuleOutcome } from "../build/read.js";
import type { Change } from "../local/user-state.js";
import type { Outbound, OutboundRequest } from "./outbound.js";
import type { CallData, FromThread, ThreadData, ToThread } from "./protocol.js";

/** Time limit for running the top level of the module. */
const START_TIMEOUT_MS = 10_000;
/** Heap limit of a thread: the memory of a call on a server plus that of Node.js itself. */
const MAX_HEAP_MIB = 256;

/** Failure of a call whose thread ends by itself. */
const UNSETTLED = "the handler waits for a promise that nothing can settle: no timer and no request is under way";

/** End of a call's thread. */
export type ThreadEnd =
  | Extract<FromThread, { kind: "ended" }>
  /** The thread was terminated at the deadline. */
  | { kind: "late" }
  /** The thread ended without a result. */
  | { kind: "died"; message: string };

/** Receives the events of a thread as they occur. */
export interface Listener {
  printed(text: string): void;
  logged(entry: unknown[]): void;
  requested(method: string, url: string, outcome: string): void;
  /** A credential was attached to a request. It must be redacted in all output. */
  attached(value: string): void;
  /** The call has changed the state of its user. */
  changed(change: Change): void;
}

/** Sends a call's requests. */
export interface Network {
  outbound: Outbound;
  egress: readonly string[];
}

/** A thread that runs at most one call, like an instance in the sandbox. */
export class CallThread {
  /** The result of running the module. */
  readonly answer: Promise<ModuleOutcome>;
  readonly #worker: Worker;
  readonly #requests = new Map<number, AbortController>();
  #listener: Listener;
  #network: Network | undefined;
  #ended: ((end: ThreadEnd) => void) | undefined;
  /** Set after the thread has died; a later call ends at once with this. */
  #death: ThreadEnd | undefined;

  constructor(data: ThreadData, listener: Listener) {
    this.#listener = listener;
    this.#worker = new Worker(new URL("./thread.js", import.meta.url), {
      workerData: data,
      env: {},
      execArgv: ["--experimental-vm-modules", "--no-warnings"],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
      stdout: true,
      stderr: true,
    });
    this.answer = this.#start();
    this.#worker.on("error", (error) => this.#die(error instanceof Error ? (error.stack ?? error.message) : String(error)));
    this.#worker.on("exit", (status) => this.#die(status === 0 ? UNSETTLED : "the thread ended"));
  }

  /** Runs a call for at most `milliseconds`, and then ends the thread. */
  async run(call: CallData, network: Network, listener: Listener, milliseconds: number): Promise<ThreadEnd> {
    if (this.#death !== undefined) return this.#death;
    this.#listener = listener;
    this.#network = network;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<ThreadEnd>((resolve) => {
        this.#ended = resolve;
        timer = setTimeout(() => resolve({ kind: "late" }), milliseconds);
        this.#post({ kind: "call", call });
      });
    } finally {
      clearTimeout(timer);
      this.end();
    }
  }

  /** Terminates the thread and aborts its requests. */
  end(): void {
    for (const request of this.#requests.values()) request.abort();
    void this.#worker.terminate();
  }

  #start(): Promise<ModuleOutcome> {
    return new Promise<ModuleOutcome>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.end();
        reject(new BuildFailure("source", `the module did not finish within ${START_TIMEOUT_MS / 1000} s; what takes time belongs into a handler`));
      }, START_TIMEOUT_MS);
      this.#worker.on("message", (message: FromThread) => {
        if (message.kind === "answer") {
          clearTimeout(timer);
          resolve(message.answer);
        } else this.#handle(message);
      });
      this.#worker.once("error", (error) => resolve({ kind: "thrown", message: String((error as Error)?.stack ?? error) }));
      this.#worker.once("exit", () => {
        clearTimeout(timer);
        resolve({ kind: "thrown", message: "its thread ended" });
      });
    });
  }

  #handle(message: Exclude<FromThread, { kind: "answer" }>): void {
    switch (message.kind) {
      case "printed":
        return this.#listener.printed(message.text);
      case "logged":
        return this.#listener.logged(message.entry);
      case "attached":
        return this.#listener.attached(message.value);
      case "changed":
        return this.#listener.changed(message.change);
      case "request":
        return void this.#send(message.id, message);
      case "abort":
        return this.#requests.get(message.id)?.abort();
      case "ended":
        return this.#ended?.(message);
    }
  }

  async #send(id: number, request: OutboundRequest): Promise<void> {
    const control = new AbortController();
    this.#requests.set(id, control);
    const { outbound, egress } = this.#network ?? {};
    try {
      if (outbound === undefined || egress === undefined) throw new TypeError("requests are sent by calls only");
      const { status, statusText, headers, body } = await outbound.send(egress, request, control.signal);
      this.#listener.requested(request.method, request.url, String(status));
      const stream = body as ReadableStream<Uint8Array> | null;
      this.#post({ kind: "response", id, status, statusText, headers: [...headers], body: stream }, stream === null ? [] : [stream]);
    } catch (error) {
      const { message, cause } = error as Error;
      const reason = cause instanceof Error ? cause.message : message;
      this.#listener.requested(request.method, request.url, reason);
      this.#post({ kind: "no-response", id, message: reason });
    }
  }

  #post(message: ToThread, transferred: ReadableStream[] = []): void {
    this.#worker.postMessage(message, transferred as never[]);
  }

  #die(message: string): void {
    this.#death ??= { kind: "died", message };
    for (const request of this.#requests.values()) request.abort();
    this.#ended?.(this.#death);
  }
}
