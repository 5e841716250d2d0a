// Reads a toolkit's declaration by running its module in a thread of Node.js.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

import { makeMissing } from "../checkout.js";
import type { Declaration } from "../declaration.js";
import { DeclarationError, type Problem } from "../problems.js";
import { manifestOf, type CheckedManifest } from "../rules.js";
import { noDefaultExport } from "./bundle-failure.js";
import { bundle, type Bundle } from "./bundle.js";
import { BuildFailure } from "./failure.js";
import { locate } from "./package.js";
import type { Reporter } from "./reporter.js";

/** Time limit for running the top level of the module. */
const READ_TIMEOUT_MS = 10_000;
/** Exit status of Node.js when a top-level `await` never settles. */
const EXIT_UNSETTLED_AWAIT = 13;

/** The result of running a toolkit's module. */
export type ModuleOutcome =
  | { kind: "declaration"; declaration: Declaration }
  | { kind: "no-default-export" }
  | { kind: "no-toolkit" }
  | { kind: "problems"; message: string; problems: readonly Problem[] }
  | { kind: "thrown"; message: string };

/** A declaration. */
export interface Reading extends CheckedManifest {
  /** The bundle that was read. */
  bundle: Bundle;
}

/** Reads the declaration of the toolkit in `entry`. */
export async function readDeclaration(entry: string, report: Reporter): Promise<Reading> {
  checkSchemaLibrary(dirname(entry));
  const made = await bundle(entry, readingCode(entry), "reading");
  const directory = await mkdtemp(join(tmpdir(), "kitbag-read-"));
  try {
    const file = join(directory, `toolkit-${randomUUID()}.mjs`);
    const root = pathToFileURL(join(dirname(entry), "/"));
    const located = { ...(JSON.parse(made.map) as object), sourceRoot: root.href };
    const map = Buffer.from(JSON.stringify(located)).toString("base64");
    await writeFile(file, `${made.code}\n//# sourceMappingURL=data:application/json;base64,${map}\n`);
    const outcome = await runReadingThread(file, report);
    // File names are shown relative to the author's folder, as everywhere else.
    if (outcome.kind === "thrown") outcome.message = outcome.message.replaceAll(root.href, "").replaceAll(fileURLToPath(root), "");
    return { ...manifestFrom(outcome, basename(entry)), bundle: made };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Returns the entry module of a bundle for reading the declaration. It tolerates a missing default export. */
export function readingCode(entry: string): string {
  return `import * as module from ${JSON.stringify(entry)}; export default module.default;`;
}

/**
 * Throws a `BuildFailure` if the installed zod is older than version 4: its schemas would not be recognised.
 */
export function checkSchemaLibrary(root: string): void {
  const found = locate("zod/package.json", root);
  const version = found === undefined ? undefined : (JSON.parse(readFileSync(found, "utf8")) as { version: string }).version;
  if (version === undefined || Number.parseInt(version, 10) >= 4) return;
  throw new BuildFailure("source", `zod ${version} is installed, and toolkits are written with zod 4: npm install zod@4`);
}

/** Returns the manifest; throws a `BuildFailure` if the module has no valid declaration. */
export function manifestFrom(outcome: ModuleOutcome, name: string): CheckedManifest {
  switch (outcome.kind) {
    case "declaration":
      try {
        return manifestOf(outcome.declaration);
      } catch (error) {
        if (!(error instanceof DeclarationError)) throw error;
        throw new BuildFailure("declaration", error.message, error.problems);
      }
    case "no-default-export":
      throw new BuildFailure("source", noDefaultExport(name));
    case "no-toolkit":
      throw new BuildFailure("source", `the default export of ${name} is no toolkit: it must be the result of defineToolkit({ … })`);
    case "problems":
      throw new BuildFailure("declaration", outcome.message, outcome.problems);
    case "thrown":
      throw new BuildFailure("source", `${name} failed while it was read:\n${outcome.message}`);
  }
}

function exitMessage(status: number): string {
  if (status === EXIT_UNSETTLED_AWAIT) return "its top level awaits what never comes";
  return `it ended the process with status ${status}`;
}

function runReadingThread(file: string, report: Reporter): Promise<ModuleOutcome> {
  makeMissing("rules.wasm");
  const worker = new Worker(new URL("./reading-thread.js", import.meta.url), {
    workerData: pathToFileURL(file).href,
    env: {},
    execArgv: ["--enable-source-maps", "--no-warnings"],
    stdout: true,
    stderr: true,
  });
  for (const stream of [worker.stdout, worker.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => text.trimEnd().split("\n").forEach((line) => report.printed(line)));
  }
  return new Promise<ModuleOutcome>((resolve, reject) => {
    const timer = setTimeout(() => {
      const limit = `${READ_TIMEOUT_MS / 1000} s`;
      reject(new BuildFailure("source", `the module did not finish within ${limit}; what takes time belongs into a handler`));
    }, READ_TIMEOUT_MS);
    worker.once("message", (outcome: ModuleOutcome) => resolve(outcome));
    worker.once("error", (error) => resolve({ kind: "thrown", message: error instanceof Error ? (error.stack ?? error.message) : String(error) }));
    worker.once("exit", (status) => resolve({ kind: "thrown", message: exitMessage(status) }));
    worker.once("exit", () => clearTimeout(timer));
  }).finally(() => worker.terminate());
}
