import { join } from "node:path";

import { PACKAGE } from "./package.js";

/** Stands for the source map, which exists once the bundle does. */
const MAP_PLACEHOLDER = '"kitbag:source-map"';

/** What only one variant of the engine has: code that mentions it needs that variant, and a module that installs it. */
const EXTRAS = [
  { module: "web/subtle.js", mentioned: /\bsubtle\b|\bCryptoKey\b/ },
  { module: "web/intl.js", mentioned: /\bIntl\b|\btoLocale\w+|\blocaleCompare\b/ },
];

/** Returns which extras a toolkit's code mentions. */
export function extrasOf(code: string): string[] {
  return EXTRAS.filter(({ mentioned }) => mentioned.test(code)).map(({ module }) => module);
}

/** Returns the file of the variant that has these extras. */
export function engineFor(extras: readonly string[]): string {
  return extras.length === 0 ? "engine.wasm" : "engine-full.wasm";
}

/** Returns the module that a component's bundle starts from: it connects the author's toolkit with the engine. */
export function entryCode(extension: string, extras: readonly string[]): string {
  const sandbox = join(PACKAGE, "dist/sandbox");
  return [
    ...["web/install.js", ...extras, "schemas.js"].map((module) => `import ${JSON.stringify(join(sandbox, module))};`),
    `import toolkit from ${JSON.stringify(extension)};`,
    `import { callable } from ${JSON.stringify(join(sandbox, "component.js"))};`,
    `export const call = callable(toolkit, ${MAP_PLACEHOLDER});`,
  ].join("\n");
}

/** Puts the source map into its place in the bundle. */
export function withMap(code: string, map: object): string {
  const at = code.lastIndexOf(MAP_PLACEHOLDER);
  if (at === -1) throw new Error("the bundle has no place for its source map");
  return code.slice(0, at) + JSON.stringify(map) + code.slice(at + MAP_PLACEHOLDER.length);
}
