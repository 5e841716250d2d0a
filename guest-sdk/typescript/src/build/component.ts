// Makes the component of a bundle.
import { Worker } from "node:worker_threads";

import type { Manifest } from "../manifest.js";
import type { ThreadMessage } from "./component-thread.js";
import type { ComponentizeRequest, Made, Parts } from "./engine.js";
import { BuildFailure } from "./failure.js";
import { grantedInterfaces } from "./imports.js";
import type { Reporter } from "./reporter.js";

/** The bundle's name in stack traces. */
export const BUNDLE = "toolkit.js";

/**
 * Time limit for the module's top level in the engine. It has already run in Node.js, within a shorter limit.
 */
const START_TIMEOUT_MS = 30_000;

/**
 * Makes the component of a bundle; it imports only what the manifest grants. `explain` turns an error of the
 * engine into the message for the author.
 */
export function makeComponent(parts: Parts, manifest: Manifest, explain: (error: string) => string, report: Reporter): Promise<Made> {
  const request: ComponentizeRequest = { ...parts, granted: grantedInterfaces(manifest) };
  // A thread, so that a module that never finishes can be terminated.
  const worker = new Worker(new URL("./component-thread.js", import.meta.url), { workerData: request, env: {}, execArgv: ["--no-warnings"] });
  return new Promise<Made>((resolve, reject) => {
    // What a listener throws would end the process.
    const refuse = (error: string) => {
      try {
        reject(new BuildFailure("source", `the toolkit cannot start in the sandbox:\n${explain(error)}`));
      } catch (failure) {
        reject(failure);
      }
    };
    const timer = setTimeout(() => refuse(`it took longer than ${START_TIMEOUT_MS / 1000} s to start`), START_TIMEOUT_MS);
    worker.on("message", (message: ThreadMessage) => {
      if ("printed" in message) return message.printed.trimEnd().split("\n").forEach((line) => report.printed(line));
      if ("failure" in message) return refuse(message.failure);
      resolve(message.made);
    });
    worker.once("error", (error) => reject(new BuildFailure("toolchain", `the component was not made: ${error.message}`)));
    worker.once("exit", (status) => {
      clearTimeout(timer);
      reject(new BuildFailure("toolchain", `the component was not made: the thread that makes it ended with status ${status}`));
    });
  }).finally(() => worker.terminate());
}
