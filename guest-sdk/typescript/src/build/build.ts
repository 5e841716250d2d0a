import { createHash } from "node:crypto";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { bundle, withoutLocales } from "./bundle.js";
import { BUNDLE, makeComponent } from "./component.js";
import { BuildFailure } from "./failure.js";
import { missingParts } from "./missing.js";
import { versionOf } from "./package.js";
import { readDeclaration } from "./read.js";
import type { Built, Reporter } from "./reporter.js";
import { embeddedMap } from "./source-map.js";
import { checkTypes } from "./types.js";
import { entryCode, readContract } from "./world.js";

const COMPONENT_MAKER = "@bytecodealliance/componentize-js";
const MAP_PLACEHOLDER = '"kitbag:source-map"';
/** Beside the results: what they were made of. */
const BUILD_RECORD_FILE = ".kitbag-build.json";

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
  const contract = await readContract();
  const made = await bundle(entry, entryCode(entry, contract, manifest, MAP_PLACEHOLDER), "sandbox", plugins);
  const map = embeddedMap(made.map, BUNDLE, root);
  const at = made.code.lastIndexOf(MAP_PLACEHOLDER);
  const code = made.code.slice(0, at) + JSON.stringify(map) + made.code.slice(at + MAP_PLACEHOLDER.length);

  const out = resolve(options.out ?? join(root, "dist"));
  const results = { component: join(out, `${manifest.id}.wasm`), manifest: join(out, "manifest.json") };
  const source = digest(`${code}\n${versionOf(COMPONENT_MAKER)}\n${contract.text}`);
  const before = await lastBuild(out, results.component, source);

  if (before === undefined) report.step("making the component (about 15 s)");
  const component = before ?? (await makeComponent(code, contract, manifest, map, report));
  await mkdir(out, { recursive: true });
  if (before === undefined) await replace(results.component, component);
  await replace(results.manifest, text);
  await replace(join(out, BUILD_RECORD_FILE), `${JSON.stringify({ source, component: digest(component) })}\n`);
  return {
    ...results,
    id: manifest.id,
    version: manifest.version,
    size: component.length,
    milliseconds: Math.round(performance.now() - began),
    unchanged: before !== undefined,
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

/**
 * Returns the component that is there, if it was made of the same. Two components of one source differ
 * in bytes (the engine's hash seeds are in them), and a server refuses other bytes under a version that
 * it knows: a second build must not be another.
 */
async function lastBuild(out: string, component: string, source: string): Promise<Uint8Array | undefined> {
  try {
    const record = JSON.parse(await readFile(join(out, BUILD_RECORD_FILE), "utf8")) as { source: string; component: string };
    const bytes = await readFile(component);
    return record.source === source && record.component === digest(bytes) ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a file so that nobody ever sees half of it. */
async function replace(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, content);
  await rename(temporary, path);
}

function digest(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
