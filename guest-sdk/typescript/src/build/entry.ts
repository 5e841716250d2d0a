import { join } from "node:path";

import { PACKAGE } from "./package.js";

/** Placeholder for the source map, which is known only after bundling. */
const MAP_PLACEHOLDER = '"kitbag:source-map"';

/**
 * APIs of the full engine only. Code that mentions one needs that engine, and the module that installs the API.
 */
const EXTRAS = [
  { module: "web/subtle.js", mentioned: /\bsubtle\b|\bCryptoKey\b/ },
  { module: "web/intl.js", mentioned: /\bIntl\b|\btoLocale\w+|\blocaleCompare\b/ },
];

/** Returns the modules that install the APIs of the full engine that a toolkit's code mentions. */
export function extrasOf(code: string): string[] {
  return EXTRAS.filter(({ mentioned }) => mentioned.test(code)).map(({ module }) => module);
}

/** Returns the file name of the engine variant with these extras. */
export function engineFor(extras: readonly string[]): string {
  return extras.length === 0 ? "engine.wasm" : "engine-full.wasm";
}

/** Time at which the toolkit's modules run: once in the build, at the beginning of each call, or once in a rehearsal. */
export type ModuleStart = "once" | "each-call" | "rehearsal";

/** Returns the source of a component's entry module, which connects the author's toolkit to the engine. */
export function entryCode(extension: string, extras: readonly string[], start: ModuleStart): string {
  const sandbox = (module: string) => JSON.stringify(join(PACKAGE, "dist/sandbox", module));
  const platform = ["web/install.js", ...extras, "schemas.js"].map((module) => `import ${sandbox(module)};`);
  const toolkit = JSON.stringify(extension);
  return {
    once: [
      ...platform,
      `import toolkit from ${toolkit};`,
      `import { callable } from ${sandbox("component.js")};`,
      `export const call = callable(toolkit, ${MAP_PLACEHOLDER});`,
    ],
    "each-call": [
      ...platform,
      `import { callableLater } from ${sandbox("component.js")};`,
      `export const call = callableLater(() => import(${toolkit}), ${MAP_PLACEHOLDER});`,
    ],
    rehearsal: [
      ...platform,
      `import { endRehearsal } from ${sandbox("rehearsal.js")};`,
      `import toolkit from ${toolkit};`,
      `import { callable } from ${sandbox("component.js")};`,
      `export const call = endRehearsal(callable(toolkit, ${MAP_PLACEHOLDER}));`,
    ],
  }[start].join("\n");
}

/** Returns the bundle with the source map inserted. */
export function withMap(code: string, map: object): string {
  const at = code.lastIndexOf(MAP_PLACEHOLDER);
  if (at === -1) throw new Error("the bundle has no place for its source map");
  return code.slice(0, at) + JSON.stringify(map) + code.slice(at + MAP_PLACEHOLDER.length);
}
