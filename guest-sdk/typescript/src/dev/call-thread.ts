// A thread from the server's side: started, asked for one call, ended.
import { Worker } from "node:worker_threads";

import { BuildFailure } from "../build/failure.js";
import type { Answer } from "../build/read.js";
import type { Outbound, OutboundRequest } from "./outbound.js";
import type { CallData, FromThread, ThreadData, ToThread } from "./protocol.js";

/** A module that has not ended by then never will. */
const START_TIMEOUT_MS = 10_000;
/** As much as a call has on a server, and what Node.js itself needs. */
const MAX_HEAP_MIB = 256;

/** How a call's thread came to its end. */
export type ThreadEnd =
  | Extract<FromThread, { kind: "ended" }>
  /** It was ended at the deadline. */
  | { kind: "late" }
  /** It ended without an answer. */
  | { kind: "died"; message: string };

/** Hears what happens in a thread while it happens. */
export interface Listener {
  printed(text: string): void;
  logged(entry: unknown[]): void;
  requested(method: string, url: string, outcome: string): void;
}

/** Where a call's requests go. */
export interface Network {
  outbound: Outbound;
  egress: readonly string[];
}

/** One thread; it runs one call at most, as an instance in the sandbox does. */
export class CallThread {
  /** What the module is. */
  readonly answer: Promise<Answer>;
  readonly #worker: Worker;
  readonly #requests = new Map<number, AbortController>();
  #listener: Listener;
  #network: Network | undefined;
  #ended: ((end: ThreadEnd) => void) | undefined;
  /** Of a thread that died before it was asked for anything. */
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
    this.#worker.on("exit", () => this.#die("the thread ended"));
  }

  /** Runs a call for at most `milliseconds`. The thread is of no use afterwards. */
  async run(call: CallData, network: Network, listener: Listener, milliseconds: number): Promise<ThreadEnd> {
    if (this.#death !== undefined) return this.#death;
    this.#listener = listener;
    this.#network = network;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<ThreadEnd>((resolve) => {
        this.#ended = resolve;
        timer = setTimeout(() => resolve({ kind: "late" }), milliseconds);
        this.#tell({ kind: "call", call });
      });
    } finally {
      clearTimeout(timer);
      this.end();
    }
  }

  /** Ends the thread, whatever it does, and its requests. */
  end(): void {
    for (const request of this.#requests.values()) request.abort();
    void this.#worker.terminate();
  }

  #start(): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.end();
        reject(new BuildFailure("source", `the module did not finish within ${START_TIMEOUT_MS / 1000} s; what takes time belongs into a handler`));
      }, START_TIMEOUT_MS);
      this.#worker.on("message", (message: FromThread) => {
        if (message.kind === "answer") {
          clearTimeout(timer);
          resolve(message.answer);
        } else this.#hear(message);
      });
      this.#worker.once("error", (error) => resolve({ kind: "thrown", message: String((error as Error)?.stack ?? error) }));
      this.#worker.once("exit", () => {
        clearTimeout(timer);
        resolve({ kind: "thrown", message: "its thread ended" });
      });
    });
  }

  #hear(message: Exclude<FromThread, { kind: "answer" }>): void {
    switch (message.kind) {
      case "printed":
        return this.#listener.printed(message.text);
      case "logged":
        return this.#listener.logged(message.entry);
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
      this.#tell({ kind: "response", id, status, statusText, headers: [...headers], body: stream }, stream === null ? [] : [stream]);
    } catch (error) {
      const { message, cause } = error as Error;
      const why = cause instanceof Error ? cause.message : message;
      this.#listener.requested(request.method, request.url, why);
      this.#tell({ kind: "no-response", id, message: why });
    }
  }

  #tell(message: ToThread, transferred: ReadableStream[] = []): void {
    this.#worker.postMessage(message, transferred as never[]);
  }

  #die(message: string): void {
    this.#death ??= { kind: "died", message };
    for (const request of this.#requests.values()) request.abort();
    this.#ended?.(this.#death);
  }
}
