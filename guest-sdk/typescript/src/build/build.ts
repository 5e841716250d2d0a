import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { bundle, withoutLocales } from "./bundle.js";
import { BUNDLE, makeComponent } from "./component.js";
import { engineFor, entryCode, extrasOf, withMap } from "./entry.js";
import { BuildFailure } from "./failure.js";
import { asScript } from "./script.js";
import { missingParts } from "./missing.js";
import { readDeclaration } from "./read.js";
import type { Built, Reporter } from "./reporter.js";
import { embeddedMap } from "./source-map.js";
import { startFailureText } from "./start-failure.js";
import { checkTypes } from "./types.js";

/** How a build may differ from the default. */
export interface BuildOptions {
  /** Where the results go; by default `dist` beside the entry. */
  out?: string | undefined;
}

/** Turns `extension.ts` into a component and its manifest. */
export async function buildToolkit(path: string, options: BuildOptions, report: Reporter): Promise<Built> {
  const began = performance.now();
  const entry = await findEntry(path);
  const root = dirname(entry);

  report.step("reading the declaration");
  // Both take a second, and neither needs the other.
  const [reading, types] = await Promise.allSettled([readDeclaration(entry, report), checkTypes(entry, report)]);
  // What keeps a module from being read is behind many a type error, and says more: a Node-only import, say.
  if (reading.status === "rejected") throw reading.reason;
  if (types.status === "rejected") throw types.reason;
  const { manifest, text, bundle: read } = reading.value;
  for (const line of await missingParts(root, read.sources)) report.warning(line);

  report.step(`bundling ${manifest.id} ${manifest.version}`);
  const plugins = (await mentions(root, read.sources, "locales")) ? [] : [withoutLocales()];
  const extras = extrasOf(read.code);
  const made = await asScript(await bundle(entry, entryCode(entry, extras), "sandbox", plugins));
  const map = embeddedMap(made.map, BUNDLE, root);

  report.step("making the component");
  const parts = { engine: engineFor(extras), bundle: withMap(made.code, map), text };
  const component = await makeComponent(parts, manifest, (why) => startFailureText(why, made, root), report);
  const out = resolve(options.out ?? join(root, "dist"));
  const results = { component: join(out, `${manifest.id}.wasm`), manifest: join(out, "manifest.json") };
  await mkdir(out, { recursive: true });
  const unchanged = await replace(results.component, component);
  await replace(results.manifest, text);
  return {
    ...results,
    id: manifest.id,
    version: manifest.version,
    size: component.length,
    milliseconds: Math.round(performance.now() - began),
    unchanged,
  };
}

async function mentions(root: string, sources: string[], word: string): Promise<boolean> {
  const texts = await Promise.all(sources.map((source) => readFile(join(root, source), "utf8")));
  return texts.some((text) => text.includes(word));
}

/** Returns the module that `path` names, or that lies in the folder that it names. */
export async function findEntry(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile()) return resolve(path);
  const inside = join(path, "extension.ts");
  if (found?.isDirectory() && (await stat(inside).catch(() => undefined))?.isFile()) return resolve(inside);
  throw new BuildFailure("usage", found === undefined ? `there is no ${path}` : `there is no extension.ts in ${path}`);
}

/** Writes a file so that nobody ever sees half of it. Returns whether it was the same before. */
async function replace(path: string, content: string | Uint8Array): Promise<boolean> {
  const before = await readFile(path).catch(() => undefined);
  if (before?.equals(Buffer.from(content)) === true) return true;
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, content);
  await rename(temporary, path);
  return false;
}
