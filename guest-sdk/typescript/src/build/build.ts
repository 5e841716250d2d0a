import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import type { Plugin } from "esbuild";

import { problemText } from "../problems.js";
import { limitsOfCalls } from "../rules.js";
import { bundle, withoutLocales, withoutPackageMaps } from "./bundle.js";
import { BUNDLE, makeComponent } from "./component.js";
import { engineFor, entryCode, extrasOf, withMap, type ModuleStart } from "./entry.js";
import type { Made } from "./engine.js";
import { BuildFailure } from "./failure.js";
import { memoryWarnings } from "./memory.js";
import { asScript } from "./script.js";
import { missingParts } from "./missing.js";
import { readDeclaration, type Reading } from "./read.js";
import { checkRehearsal, deferralWarning, isDeferrable } from "./rehearse.js";
import { warningsOnly, type Built, type Reporter } from "./reporter.js";
import { embeddedMap } from "./source-map.js";
import { chainTo, failureAtStart } from "./start-failure.js";
import { checkTypes } from "./types.js";

/** Options of a build. */
export interface BuildOptions {
  /** Output folder; by default `dist` next to the entry file. */
  out?: string | undefined;
}

/** Turns `extension.ts` into a component and its manifest. */
export async function buildToolkit(path: string, options: BuildOptions, report: Reporter): Promise<Built> {
  const began = performance.now();
  const entry = await findEntry(path);
  const root = dirname(entry);

  report.step("reading the declaration");
  const reading = readDeclaration(entry, report);
  const making = reading.then((read) => makeFrom(entry, read, report));
  // Types are checked meanwhile, in another process. Errors are reported in this order: the cause of an unreadable module
  // (such as a Node-only import) often causes type errors too, and type errors cause failures of the component.
  for (const outcome of await Promise.allSettled([reading, checkTypes(entry, report), making])) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
  const [{ manifest, text, warnings }, { component, memory }] = await Promise.all([reading, making]);
  for (const problem of warnings) report.warning(problemText(problem));
  for (const line of memoryWarnings(memory, limitsOfCalls().callMemory)) report.warning(line);
  const out = resolve(options.out ?? join(root, "dist"));
  const results = { component: join(out, `${manifest.id}.wasm`), manifest: join(out, "manifest.json") };
  await mkdir(out, { recursive: true });
  const unchanged = await replaceFile(results.component, component);
  await replaceFile(results.manifest, text);
  return {
    ...results,
    id: manifest.id,
    version: manifest.version,
    size: component.length,
    memory,
    milliseconds: Math.round(performance.now() - began),
    unchanged,
  };
}

/** Makes the component of a toolkit with a valid declaration. */
async function makeFrom(entry: string, { manifest, text, bundle: read }: Reading, report: Reporter): Promise<Made> {
  const root = dirname(entry);
  for (const line of await missingParts(root, read.sources)) report.warning(line);

  report.step(`bundling ${manifest.id} ${manifest.version}`);
  const plugins = (await mentions(root, read.sources, "locales")) ? [] : [withoutLocales()];
  const extras = extrasOf(read.code);
  const start = async (modules: ModuleStart, reporter: Reporter) => {
    const bundled = async (more: Plugin[]) => asScript(await bundle(entry, entryCode(entry, extras, modules), "sandbox", [...plugins, ...more]));
    const made = await bundled([]);
    const code = withMap(made.code, embeddedMap(made.map, BUNDLE, root));
    const started = await makeComponent({ engine: engineFor(extras), bundle: code, text }, manifest, reporter);
    // The same code, with a source map that leads to the imported files of packages.
    return { bundle: started.error === undefined ? made : await bundled([withoutPackageMaps()]), ...started };
  };

  report.step("making the component");
  const first = await start("once", report);
  if (first.error === undefined) return first.made;
  if (!isDeferrable(first.error, first.bundle, root)) throw failureAtStart(first.error, first.bundle, root);

  const rehearsal = await start("rehearsal", warningsOnly(() => {}));
  checkRehearsal(rehearsal.error ?? "", rehearsal.bundle, root);
  const deferred = await start("each-call", warningsOnly(() => {}));
  if (deferred.error !== undefined) throw failureAtStart(deferred.error, deferred.bundle, root);
  report.warning(deferralWarning(first.error, chainTo(first.error, first.bundle, root)));
  return deferred.made;
}

async function mentions(root: string, sources: string[], word: string): Promise<boolean> {
  const texts = await Promise.all(sources.map((source) => readFile(join(root, source), "utf8")));
  return texts.some((text) => text.includes(word));
}

/** Returns the path of the entry file: `path` itself, or the `extension.ts` in the folder `path`. */
export async function findEntry(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return resolve(path);
  const inside = join(path, "extension.ts");
  if (found?.isDirectory() && (await stat(inside).catch(() => undefined))?.isFile()) return resolve(inside);
  throw new BuildFailure("usage", found === undefined ? `there is no ${path}` : `there is no extension.ts in ${path}`);
}

/** Writes a file atomically. Returns whether it already had this content. */
async function replaceFile(path: string, content: string | Uint8Array): Promise<boolean> {
  const before = await readFile(path).catch(() => undefined);
  if (before?.equals(Buffer.from(content)) === true) return true;
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, content);
  await rename(temporary, path);
  return false;
}
