// From the bundle to the component.
import { Worker } from "node:worker_threads";

import type { Manifest } from "../manifest.js";
import type { Answer } from "./component-thread.js";
import type { Order, Parts } from "./engine.js";
import { BuildFailure } from "./failure.js";
import { grantedInterfaces } from "./imports.js";
import type { Reporter } from "./reporter.js";

/** The bundle's name in stack traces. */
export const BUNDLE = "toolkit.js";

/** A module that has not started by then never will: in Node.js it did within the same time. */
const START_TIMEOUT_MS = 30_000;

/** Makes the component of a bundle that imports what the manifest declares; `explain` turns what the engine throws into what is told. */
export function makeComponent(parts: Parts, manifest: Manifest, explain: (why: string) => string, report: Reporter): Promise<Uint8Array> {
  const order: Order = { ...parts, granted: grantedInterfaces(manifest) };
  // In a thread of its own: a module that never ends can be ended.
  const worker = new Worker(new URL("./component-thread.js", import.meta.url), { workerData: order, env: {}, execArgv: ["--no-warnings"] });
  return new Promise<Uint8Array>((resolve, reject) => {
    const refuse = (why: string) => reject(new BuildFailure("source", `the toolkit cannot start in the sandbox:\n${explain(why)}`));
    const timer = setTimeout(() => refuse(`it took longer than ${START_TIMEOUT_MS / 1000} s to start`), START_TIMEOUT_MS);
    worker.on("message", (answer: Answer) => {
      if ("printed" in answer) return answer.printed.trimEnd().split("\n").forEach((line) => report.printed(line));
      if ("failure" in answer) return refuse(answer.failure);
      resolve(answer.component);
    });
    worker.once("error", (error) => reject(new BuildFailure("toolchain", `the component was not made: ${error.message}`)));
    worker.once("exit", (status) => {
      clearTimeout(timer);
      reject(new BuildFailure("toolchain", `the component was not made: the thread that makes it ended with status ${status}`));
    });
  }).finally(() => worker.terminate());
}
