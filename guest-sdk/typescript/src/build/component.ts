// Makes a component from a bundle.
import { Worker } from "node:worker_threads";

import { makeMissing } from "../checkout.js";
import type { Manifest } from "../manifest.js";
import type { ThreadMessage } from "./component-thread.js";
import { COMPONENTIZER, type ComponentizeRequest, type Made, type Parts } from "./engine.js";
import { BuildFailure } from "./failure.js";
import { grantedInterfaces } from "./imports.js";
import type { Reporter } from "./reporter.js";

/** The bundle's name in stack traces. */
export const BUNDLE = "toolkit.js";

/**
 * Time limit for the module's top level in the engine. It has already run in Node.js, within a shorter limit.
 */
const START_TIMEOUT_MS = 30_000;

/** The outcome of starting a bundle: a component, or the engine's error with its stack in lines of the bundle. */
export type Started = { made: Made; error?: undefined } | { error: string };

/** Starts a bundle and makes its component, which imports only what the manifest grants. */
export function makeComponent(parts: Parts, manifest: Manifest, report: Reporter): Promise<Started> {
  const request: ComponentizeRequest = { ...parts, granted: grantedInterfaces(manifest) };
  makeMissing(parts.engine, COMPONENTIZER);
  // A thread, so that a module that never finishes can be terminated.
  const worker = new Worker(new URL("./component-thread.js", import.meta.url), { workerData: request, env: {}, execArgv: ["--no-warnings"] });
  return new Promise<Started>((resolve, reject) => {
    const timer = setTimeout(() => resolve({ error: `it took longer than ${START_TIMEOUT_MS / 1000} s to start` }), START_TIMEOUT_MS);
    worker.on("message", (message: ThreadMessage) => {
      if ("printed" in message) return message.printed.trimEnd().split("\n").forEach((line) => report.printed(line));
      resolve("failure" in message ? { error: message.failure } : message);
    });
    worker.once("error", (error) => reject(new BuildFailure("toolchain", `the component was not made: ${error.message}`)));
    worker.once("exit", (status) => {
      clearTimeout(timer);
      reject(new BuildFailure("toolchain", `the component was not made: the thread that makes it ended with status ${status}`));
    });
  }).finally(() => worker.terminate());
}
